#include "tune/store.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "arithmetic/activation.h"
#include "base/checked.h"
#include "tune/json.h"

namespace lanewise::tune {
namespace {

constexpr std::uint64_t store_version = 1;

Error damaged(const std::string& what) { return make_error(LW_ERROR_ARGUMENT, "no store of tuning: " + what); }

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string percent(double ratio) {
  char text[24];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * (1 - ratio));
  return text;
}

Result<Layout> find_layout(std::string_view name) {
#define LW_LAYOUT(layout, packed) \
  if (name == #layout) return Layout::layout;
#include "layout/layouts.def"
#undef LW_LAYOUT
  return damaged("no layout '" + std::string(name.substr(0, 40)) + "'");
}

// A member that must be there, of the kind that must be there.
template <class Get>
auto member(const JsonValue& object, std::string_view key, const Get& get)
    -> Result<std::decay_t<decltype(*get(object))>> {
  const JsonValue* const value = object.find(key);
  if (value != nullptr) {
    if (auto found = get(*value)) return *found;
  }
  return damaged("'" + std::string(key) + "' is missing or of the wrong kind");
}
Result<std::string> text_of(const JsonValue& object, std::string_view key) {
  return member(object, key, [](const JsonValue& value) { return value.as_string(); });
}
Result<std::uint64_t> count_of(const JsonValue& object, std::string_view key, std::uint64_t most = UINT64_MAX) {
  auto found = member(object, key, [](const JsonValue& value) { return value.as_unsigned(); });
  if (found && *found > most) return damaged("'" + std::string(key) + "' is too large");
  return found;
}
Result<double> positive_of(const JsonValue& object, std::string_view key) {
  auto found = member(object, key, [](const JsonValue& value) { return value.as_number(); });
  if (found && !(*found > 0)) return damaged("'" + std::string(key) + "' isn't above 0");
  return found;
}

Result<TuningKey> parse_key(const JsonValue& value) {
  LW_ASSIGN(format, text_of(value, "format"));
  const FormatInfo* const info = find_format(std::string_view(format));
  if (info == nullptr) return damaged("no format '" + format.substr(0, 40) + "'");
  LW_ASSIGN(cols, count_of(value, "cols"));
  LW_ASSIGN(rows, count_of(value, "rows"));
  LW_ASSIGN(tokens, count_of(value, "tokens"));
  LW_ASSIGN(threads, count_of(value, "threads", UINT32_MAX));
  if (cols == 0 || rows == 0 || tokens == 0 || cols % info->block_elements != 0)
    return damaged("a shape that can't be");
  LW_ASSIGN(activation, text_of(value, "activation"));
  LW_ASSIGN(planes, parse_planes(activation));
  LW_ASSIGN(layout_text, text_of(value, "layout"));
  LW_ASSIGN(layout, find_layout(layout_text));
  return TuningKey{info->format, rows, cols, planes, layout, static_cast<std::uint32_t>(threads), tokens};
}

Result<StoreEntry> parse_entry(const JsonValue& value) {
  StoreEntry entry;
  LW_ASSIGN(key, parse_key(value));
  entry.key = key;
  LW_ASSIGN(tile, text_of(value, "tile"));
  LW_ASSIGN(default_tile, text_of(value, "default_tile"));
  LW_TRY(parse_tile(tile));
  LW_TRY(parse_tile(default_tile));
  entry.tile = tile;
  entry.default_tile = default_tile;
  LW_ASSIGN(default_us, positive_of(value, "default_us"));
  LW_ASSIGN(tuned_us, positive_of(value, "tuned_us"));
  LW_ASSIGN(ratio, positive_of(value, "ratio"));
  LW_ASSIGN(rounds, count_of(value, "rounds", UINT32_MAX));
  LW_ASSIGN(rejected, count_of(value, "rejected", UINT32_MAX));
  LW_ASSIGN(date, text_of(value, "date"));
  entry.default_us = default_us;
  entry.tuned_us = tuned_us;
  entry.ratio = ratio;
  entry.rounds = static_cast<std::uint32_t>(rounds);
  entry.rejected = static_cast<std::uint32_t>(rejected);
  entry.date = date;
  return entry;
}

Result<Fingerprint> parse_fingerprint(const JsonValue& value) {
  LW_ASSIGN(backend, text_of(value, "backend"));
  LW_ASSIGN(device, text_of(value, "device"));
  LW_ASSIGN(driver, text_of(value, "driver"));
  LW_ASSIGN(kernels, text_of(value, "kernels"));
  LW_ASSIGN(processors, count_of(value, "processors", UINT32_MAX));
  return Fingerprint{backend, device, driver, kernels, static_cast<std::uint32_t>(processors)};
}

const char* environment(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here writes the environment
  const char* const value = std::getenv(name);
  return value != nullptr && *value == '/' ? value : nullptr;
}

}  // namespace

void Store::put(StoreEntry entry) {
  const auto same = std::ranges::find(entries, entry.key, &StoreEntry::key);
  if (same != entries.end()) {
    *same = std::move(entry);
  } else {
    entries.push_back(std::move(entry));
  }
}

std::string store_text(const Store& store) {
  const Fingerprint& of = store.fingerprint;
  std::string text = "{\n  \"kind\": \"lanewise tuning\",\n  \"version\": " + std::to_string(store_version);
  text += ",\n  \"fingerprint\": {\"backend\": " + json_string(of.backend) + ", \"device\": " + json_string(of.device) +
          ", \"driver\": " + json_string(of.driver) + ", \"kernels\": " + json_string(of.kernels) +
          ", \"processors\": " + std::to_string(of.processors) + "},\n  \"entries\": [";
  const char* separator = "\n";
  for (const StoreEntry& entry : store.entries) {
    const TuningKey& key = entry.key;
    text.append(separator).append("    {\"format\": ").append(json_string(format_info(key.format).name));
    text += ", \"cols\": " + std::to_string(key.cols) + ", \"rows\": " + std::to_string(key.rows) +
            ", \"tokens\": " + std::to_string(key.tokens) +
            ", \"activation\": " + json_string(planes_name(key.planes)) +
            ", \"layout\": " + json_string(layout_name(key.layout)) + ", \"threads\": " + std::to_string(key.threads) +
            ", \"tile\": " + json_string(entry.tile) + ", \"default_tile\": " + json_string(entry.default_tile) +
            ", \"default_us\": " + number(entry.default_us) + ", \"tuned_us\": " + number(entry.tuned_us) +
            ", \"ratio\": " + number(entry.ratio) + ", \"rounds\": " + std::to_string(entry.rounds) +
            ", \"rejected\": " + std::to_string(entry.rejected) + ", \"date\": " + json_string(entry.date) + "}";
    separator = ",\n";
  }
  return text + (store.entries.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

Result<Store> parse_store(std::string_view text) {
  if (text.size() > most_store_bytes) return damaged("more than 64 MiB");
  LW_ASSIGN(document, parse_json(text));
  LW_ASSIGN(kind, text_of(document, "kind"));
  if (kind != "lanewise tuning") return damaged("it is of another kind");
  LW_ASSIGN(version, count_of(document, "version"));
  if (version != store_version) return damaged("it is of version " + std::to_string(version) + ", not 1");
  const JsonValue* const fingerprint = document.find("fingerprint");
  if (fingerprint == nullptr) return damaged("it has no fingerprint");
  Store store;
  LW_ASSIGN(of, parse_fingerprint(*fingerprint));
  store.fingerprint = of;
  const JsonValue* const entries = document.find("entries");
  if (entries == nullptr || entries->as_array() == nullptr) return damaged("it has no list of entries");
  for (const JsonValue& each : *entries->as_array()) {
    LW_ASSIGN(entry, parse_entry(each));
    store.entries.push_back(std::move(entry));
  }
  std::vector<TuningKey> keys;
  for (const StoreEntry& entry : store.entries) keys.push_back(entry.key);
  std::ranges::sort(keys);
  if (std::ranges::adjacent_find(keys) != keys.end()) return damaged("an entry stands twice");
  return store;
}

Result<Store> read_store(const std::string& path) {
  // Not a stream: those take running out of memory for the end of the file.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) {
    return make_error(errno == ENOENT || errno == ENOTDIR ? LW_ERROR_NOT_FOUND : LW_ERROR_IO,
                      "'" + path + "' can't be opened");
  }
  std::string text;
  char piece[65536];
  while (const std::size_t read = std::fread(piece, 1, sizeof piece, file.get())) {
    text.append(piece, read);
    if (text.size() > most_store_bytes) break;
  }
  if (std::ferror(file.get()) != 0) return make_error(LW_ERROR_IO, "'" + path + "' can't be read");
  auto store = parse_store(text);
  if (store) return store;
  Error failed = std::move(store).error();
  failed.message = "'" + path + "': " + failed.message;
  return failed;
}

Result<std::string> store_path(const Fingerprint& fingerprint) {
  const std::string name = "/lanewise/tuning-" + slug(fingerprint) + ".json";
  if (const char* const cache = environment("XDG_CACHE_HOME")) return cache + name;
  if (const char* const home = environment("HOME")) return std::string(home) + "/.cache" + name;
  return make_error(LW_ERROR_NOT_FOUND, "neither XDG_CACHE_HOME nor HOME names a folder to keep results in");
}

void overlay(const Store& store, std::string_view source, const gpu::Device* gpu, std::uint32_t capabilities,
             Tuning& tuning, std::vector<std::string>& ignored) {
  for (const StoreEntry& entry : store.entries) {
    const auto resolve = [&]() -> Outcome {
      LW_ASSIGN(tile, parse_tile(entry.tile));
      LW_ASSIGN(kernel, kernel_called(tile.kernel, entry.key.format, entry.key.layout, store.fingerprint.backend,
                                      capabilities, gpu));
      LW_TRY(check_setting(*kernel, tile.setting, gpu));
      const std::string on = store.fingerprint.device + ", " + entry.date;
      std::string why = entry.won() ? "tuned on " + on + ", " + percent(entry.ratio) + " less time than the default"
                                    : "the default, measured on " + on + ", and nothing beat it";
      why.append(" (").append(source).append(")");
      tuning.put({entry.key, kernel, tile.setting, std::move(why)});
      return Done{};
    };
    if (const Outcome outcome = resolve(); !outcome) {
      ignored.push_back("an entry of tuning is ignored (" + std::string(source) + "): " + outcome.error().message);
    }
  }
}

Tuning shipped_tuning(const Fingerprint& fingerprint, const gpu::Device* gpu, std::uint32_t capabilities,
                      std::vector<std::string>& ignored) {
  Tuning tuning;
  for (const Shipped& each : shipped_stores()) {
    const auto store = parse_store(each.text);
    if (!store) {
      ignored.push_back("src/tune/db/" + std::string(each.name) + " is ignored: " + store.error().message);
      continue;
    }
    const Fingerprint& of = store->fingerprint;
    if (of.backend != fingerprint.backend || of.device != fingerprint.device) continue;
    overlay(*store, "shipped with this version", gpu, capabilities, tuning, ignored);
  }
  return tuning;
}

}  // namespace lanewise::tune
