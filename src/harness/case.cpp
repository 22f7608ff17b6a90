#include "harness/case.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "backends/gpu/launch.h"
#include "base/checked.h"

namespace lanewise {
namespace {

Error bad(std::string message) { return make_error(LW_ERROR_ARGUMENT, std::move(message)); }

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

constexpr std::pair<Dtype, std::string_view> dtype_names[] = {
    {Dtype::f32, "f32"}, {Dtype::f16, "f16"}, {Dtype::bf16, "bf16"}};

std::string_view dtype_name(Dtype dtype) {
  for (const auto& [value, name] : dtype_names) {
    if (value == dtype) return name;
  }
  return "?";
}

Result<Dtype> parse_dtype(std::string_view name) {
  for (const auto& [value, known] : dtype_names) {
    if (known == name) return value;
  }
  return bad(quoted(name) + " is no type of x or y: f32, f16, bf16");
}

constexpr Layout all_layouts[] = {
#define LW_LAYOUT(name, packed) Layout::name,
#include "layout/layouts.def"
#undef LW_LAYOUT
};

Result<Layout> parse_layout(std::string_view name) {
  std::string known;
  for (const Layout layout : all_layouts) {
    if (layout_name(layout) == name) return layout;
    known.append(known.empty() ? "" : ", ").append(layout_name(layout));
  }
  return bad(quoted(name) + " is no layout: " + known);
}

Result<std::uint64_t> parse_number(std::string_view what, std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, value);
  if (text.empty() || fault != std::errc{} || stop != end) {
    return bad(std::string(what) + " is " + quoted(text) + ": a decimal number below 2^64 is wanted");
  }
  return value;
}

// Names in a problem string: no separator, no blank, nothing that a terminal would act on.
bool plain(unsigned char byte) { return byte > ' ' && byte != 0x7F && byte != ':' && byte != '%'; }

std::string escaped(std::string_view name) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (plain(byte)) {
      out.push_back(c);
    } else {
      out.push_back('%');
      out.push_back(digits[byte >> 4U]);
      out.push_back(digits[byte & 15U]);
    }
  }
  return out;
}

Result<std::string> unescaped(std::string_view key, std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    unsigned byte = 0;
    const char* first = text.data() + i + 1;
    const std::size_t left = text.size() - i - 1;
    const auto [stop, fault] = std::from_chars(first, first + std::min<std::size_t>(left, 2), byte, 16);
    if (fault != std::errc{} || stop != first + 2) {
      return bad(std::string(key) + " has a '%' that two hexadecimal digits don't follow: " + quoted(text));
    }
    out.push_back(static_cast<char>(byte));
    i += 2;
  }
  if (out.empty()) return bad(std::string(key) + " is empty: leave the key out instead");
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

Result<std::uint32_t> parse_small(std::string_view what, std::string_view text) {
  LW_ASSIGN(value, parse_number(what, text));
  if (value > UINT32_MAX) return bad(std::string(what) + " is " + quoted(text) + ": a number below 2^32 is wanted");
  return static_cast<std::uint32_t>(value);
}

Outcome set_tile(Case& problem, std::string_view text) {
  const auto parts = split(text, '/');
  if (parts.size() > problem.tile.size()) return bad("a tile has four numbers at most: " + quoted(text));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    LW_ASSIGN(value, parse_small("tile", parts[i]));
    problem.tile[i] = value;
  }
  return Done{};
}

Outcome set_group(Case& problem, std::string_view text) {
  for (const std::string_view part : split(text, '/')) {
    LW_ASSIGN(rows, parse_number("group", part));
    problem.group.push_back(rows);
  }
  return Done{};
}

Result<bool> parse_answer(std::string_view what, std::string_view text) {
  if (text != "yes" && text != "no") return bad(std::string(what) + " is " + quoted(text) + ": yes or no");
  return text == "yes";
}

template <class Numbers>
std::string joined(const Numbers& numbers) {
  std::string out;
  for (const auto number : numbers) out.append(out.empty() ? "" : "/").append(std::to_string(number));
  return out;
}

constexpr std::string_view shape_wanted = "a shape is K x rows, as in 4096x14336";

Outcome set_shape(Case& problem, std::string_view text) {
  const auto parts = split(text, 'x');
  if (parts.size() != 2) return bad(quoted(text) + " is no shape: " + std::string(shape_wanted));
  LW_ASSIGN(cols, parse_number("K", parts[0]));
  LW_ASSIGN(rows, parse_number("the number of rows", parts[1]));
  problem.cols = cols;
  problem.rows = rows;
  return Done{};
}

using Setter = Outcome (*)(Case&, std::string_view);

template <class T>
Outcome assign(T& to, Result<T> value) {
  if (!value) return std::move(value).error();
  to = std::move(value).value();
  return Done{};
}

constexpr std::pair<std::string_view, Setter> keys[] = {
    {"tensor", [](Case& p, std::string_view v) { return assign(p.tensor, unescaped("tensor", v)); }},
    {"tokens", [](Case& p, std::string_view v) { return assign(p.tokens, parse_number("tokens", v)); }},
    {"act", [](Case& p, std::string_view v) { return assign(p.planes, parse_planes(v)); }},
    {"layout", [](Case& p, std::string_view v) { return assign(p.layout, parse_layout(v)); }},
    {"kernel", [](Case& p, std::string_view v) { return assign(p.kernel, unescaped("kernel", v)); }},
    {"fill", [](Case& p, std::string_view v) { return assign(p.fill, parse_fill(v)); }},
    {"seed", [](Case& p, std::string_view v) { return assign(p.seed, parse_number("seed", v)); }},
    {"x", [](Case& p, std::string_view v) { return assign(p.input, parse_dtype(v)); }},
    {"y", [](Case& p, std::string_view v) { return assign(p.output, parse_dtype(v)); }},
    {"tile", set_tile},
    {"overlapped", [](Case& p, std::string_view v) { return assign(p.overlapped, parse_answer("overlapped", v)); }},
    {"group", set_group},
    {"experts", [](Case& p, std::string_view v) { return assign(p.experts, parse_small("experts", v)); }},
    {"apart", [](Case& p, std::string_view v) { return assign(p.apart, parse_number("apart", v)); }},
};

Error unknown_key(std::string_view key) {
  std::string known;
  for (const auto& entry : keys) known.append(known.empty() ? "" : ", ").append(entry.first);
  return bad(quoted(key) + " is no key of a problem: " + known);
}

Error unknown_format(std::string_view name) {
  std::string known;
  for (const FormatInfo& info : formats()) known.append(known.empty() ? "" : ", ").append(info.name);
  return bad(quoted(name) + " is no weight format: " + known);
}

// What group=, experts= and apart= need of each other and of the rows.
Outcome check_together(const Case& problem) {
  if (problem.apart != 0 && problem.is_together()) return bad("apart= is of one matrix alone: " + to_string(problem));
  std::uint64_t rows = 0;
  for (const std::uint64_t each : problem.group) {
    const auto sum = checked_add(rows, each);
    if (!sum) return bad("the rows of group= don't fit 64 bits: " + to_string(problem));
    rows = *sum;
    if (problem.experts != 0 && each % problem.experts != 0) {
      return bad(std::to_string(problem.experts) + " experts don't divide " + std::to_string(each) +
                 " rows: " + to_string(problem));
    }
  }
  if (!problem.group.empty() && rows != problem.rows) {
    return bad("the matrices of the group have " + std::to_string(rows) + " rows: " + to_string(problem));
  }
  if (problem.experts != 0 && problem.rows % problem.experts != 0) {
    return bad(std::to_string(problem.experts) + " experts don't divide the rows: " + to_string(problem));
  }
  const std::size_t most = problem.experts != 0 ? gpu::most_expert_targets : gpu::most_targets;
  if (problem.group.size() > most || problem.experts > gpu::most_experts) {
    return bad("a launch takes " + std::to_string(gpu::most_targets) + " matrices or " +
               std::to_string(gpu::most_expert_targets) + " lists of up to " + std::to_string(gpu::most_experts) +
               " experts: " + to_string(problem));
  }
  return Done{};
}

}  // namespace

std::string to_string(const Case& problem) {
  std::string out = "gemv:";
  out.append(format_info(problem.format).name);
  out.append(":").append(std::to_string(problem.cols)).append("x").append(std::to_string(problem.rows));
  if (!problem.tensor.empty()) out.append(":tensor=").append(escaped(problem.tensor));
  out.append(":tokens=").append(std::to_string(problem.tokens));
  out.append(":act=").append(planes_name(problem.planes));
  out.append(":layout=").append(layout_name(problem.layout));
  if (!problem.kernel.empty()) out.append(":kernel=").append(escaped(problem.kernel));
  out.append(":fill=").append(fill_name(problem.fill));
  out.append(":seed=").append(std::to_string(problem.seed));
  if (problem.input != Dtype::f32) out.append(":x=").append(dtype_name(problem.input));
  if (problem.output != Dtype::f32) out.append(":y=").append(dtype_name(problem.output));
  if (problem.tile != Case{}.tile) out.append(":tile=").append(joined(problem.tile));
  if (problem.overlapped) out.append(":overlapped=yes");
  if (!problem.group.empty()) out.append(":group=").append(joined(problem.group));
  if (problem.experts != 0) out.append(":experts=").append(std::to_string(problem.experts));
  if (problem.apart != 0) out.append(":apart=").append(std::to_string(problem.apart));
  return out;
}

Outcome check_case(const Case& problem) {
  const FormatInfo& info = format_info(problem.format);
  if (problem.rows == 0 || problem.cols == 0 || problem.tokens == 0) {
    return bad("K, rows and tokens are 1 or more: " + to_string(problem));
  }
  if (problem.cols % info.block_elements != 0) {
    return bad("K is " + std::to_string(problem.cols) + ", which blocks of " + std::to_string(info.block_elements) +
               " elements don't divide: " + std::string(info.name));
  }
  // As signed 64-bit numbers: the oracle counts in them.
  const auto fits = [](std::uint64_t a, std::uint64_t b) {
    const auto product = checked_mul(a, b);
    return product && *product <= INT64_MAX / 8;
  };
  const std::uint64_t blocks = problem.cols / info.block_elements;
  if (!fits(blocks, info.block_bytes) || !fits(blocks * info.block_bytes, problem.rows) ||
      !fits(problem.cols, problem.rows) || !fits(problem.cols, problem.tokens) || !fits(problem.rows, problem.tokens)) {
    return bad("the sizes don't fit 64 bits: " + to_string(problem));
  }
  const auto all_rows = checked_add(problem.rows, problem.apart);
  if (!all_rows || !fits(blocks * info.block_bytes, *all_rows) || !fits(problem.cols, *all_rows)) {
    return bad("the sizes don't fit 64 bits: " + to_string(problem));
  }
  return check_together(problem);
}

Result<Case> parse_case(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts[0] != "gemv") return bad(quoted(parts[0]) + " is no operation: gemv");
  if (parts.size() < 3) return bad("a problem has a format and a shape, as in gemv:q4_K:4096x14336: " + quoted(text));
  Case problem;
  const FormatInfo* info = find_format(parts[1]);
  if (info == nullptr) return unknown_format(parts[1]);
  problem.format = info->format;
  LW_TRY(set_shape(problem, parts[2]));

  std::vector<std::string_view> seen;
  for (std::size_t i = 3; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    if (equals == std::string_view::npos) return bad(quoted(parts[i]) + " is no key=value");
    const std::string_view key = parts[i].substr(0, equals);
    const auto* const entry = std::ranges::find(keys, key, [](const auto& e) { return e.first; });
    if (entry == std::end(keys)) return unknown_key(key);
    if (std::ranges::find(seen, key) != seen.end()) return bad(quoted(key) + " is given twice");
    seen.push_back(key);
    if (Outcome set = entry->second(problem, parts[i].substr(equals + 1)); !set) {
      return bad(std::move(set).error().message);
    }
  }
  LW_TRY(check_case(problem));
  return problem;
}

Enumeration enumerate(const CaseGrid& grid) {
  Enumeration out;
  std::uint64_t seed = grid.seed;
  for (const Format format : grid.formats) {
    for (const Shape& shape : grid.shapes) {
      for (const Planes planes : grid.planes) {
        for (const Layout layout : grid.layouts) {
          for (const Fill fill : grid.fills) {
            for (const std::uint64_t tokens : grid.tokens) {
              Case problem{format, shape.rows, shape.cols, tokens, planes, layout, {}, fill, seed, {}};
              if (check_case(problem)) {
                out.cases.push_back(std::move(problem));
                ++seed;
              } else {
                ++out.left_out;
              }
            }
          }
        }
      }
    }
  }
  return out;
}

std::vector<Case> standard_cases(const std::vector<Format>& wanted, const std::vector<std::uint64_t>& tokens,
                                 const std::vector<Planes>& planes, std::uint64_t seed) {
  std::vector<Format> chosen = wanted;
  if (chosen.empty()) {
    for (const FormatInfo& info : formats()) chosen.push_back(info.format);
  }
  std::vector<Case> cases;
  for (const Format format : chosen) {
    const std::uint64_t block = format_info(format).block_elements;
    const std::uint64_t last = block < super_block ? std::max<std::uint64_t>(block, 32) : super_block;
    const Shape shapes[] = {
        {33, 3 * super_block + last},   // fewer than eight super-blocks, the last one short where the block allows
        {7, 11 * super_block},          // eight doesn't divide them
        {24, 16 * super_block + last},  // two and more an eighth
        {1, 8 * super_block},           // one row
        {41, block},                    // one block
    };
    std::size_t turn = 0;
    for (const Planes plane : planes) {
      for (const Fill fill : all_fills) {
        for (const std::uint64_t count : tokens) {
          const Shape& shape = shapes[turn++ % std::size(shapes)];
          cases.push_back({format, shape.rows, shape.cols, count, plane, Layout::raw, {}, fill, seed++, {}});
        }
      }
    }
  }
  return cases;
}

}  // namespace lanewise
