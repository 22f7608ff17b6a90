#include "gguf/reader.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <utility>

#include "gguf/cursor.h"
#include "gguf/split.h"

namespace lanewise::gguf {
namespace {

Error split_error(const std::string& path, const std::string& message) {
  return make_error(LW_ERROR_FILE_SPLIT, quoted(file_name(path)) + " " + message);
}

// Length of the start that `a` and `b` share plus that of the end they share in what is left: high for names that
// differ by one slip, and linear to find.
std::size_t likeness(std::string_view a, std::string_view b) {
  const std::size_t shorter = std::min(a.size(), b.size());
  std::size_t start = 0;
  while (start < shorter && a[start] == b[start]) ++start;
  std::size_t end = 0;
  while (end < shorter - start && a[a.size() - 1 - end] == b[b.size() - 1 - end]) ++end;
  return start + end;
}

struct IndexedName {
  std::string_view name;
  std::optional<std::uint64_t> index;  // UINT64_MAX where it doesn't fit
  std::string_view digits = {};
};

// Splits "NAME[i]"; no index where the end isn't of that form.
IndexedName split_index(std::string_view text) {
  const auto open = text.rfind('[');
  if (open == std::string_view::npos || !text.ends_with(']')) return {text, std::nullopt};
  const std::string_view digits = text.substr(open + 1, text.size() - open - 2);
  if (digits.empty() || !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) {
    return {text, std::nullopt};
  }
  std::uint64_t value = 0;
  for (const char digit : digits) {
    const auto figure = static_cast<std::uint64_t>(digit - '0');
    value = value > (UINT64_MAX - figure) / 10 ? UINT64_MAX : value * 10 + figure;
  }
  return {text.substr(0, open), value, digits};
}

Result<std::optional<SplitInfo>> split_of(const Shard& shard) { return read_split(shard.metadata()); }

}  // namespace

Result<Model::Part> Model::open_part(const std::string& path, FileAccess access) {
  FileOptions options;
  options.access = access;
  options.expected_prefix = "GGUF";
  Part part;
  part.path = path;
  LW_ASSIGN(file, MappedFile::open(path, options));
  part.file = std::move(file);
  part.bytes = part.file.bytes();
  LW_ASSIGN(shard, Shard::read(part.bytes));
  part.shard = std::move(shard);
  return part;
}

Result<Model> Model::open(const std::string& path, FileAccess access) try {
  LW_ASSIGN(part, open_part(path, access));
  LW_ASSIGN(split, split_of(part.shard));
  if (split) return open_split(std::move(part), access);
  Model model;
  model.parts_.push_back(std::move(part));
  LW_TRY(model.index_tensors());
  return model;
} catch (const std::bad_alloc&) {
  return make_error(LW_ERROR_MEMORY, "no memory for the tensor table of " + quoted(file_name(path)));
}

Result<Model> Model::open_bytes(std::span<const std::uint8_t> bytes) try {
  Part part;
  part.bytes = bytes;
  LW_ASSIGN(shard, Shard::read(bytes));
  part.shard = std::move(shard);
  LW_ASSIGN(split, split_of(part.shard));
  if (split) {
    return make_error(LW_ERROR_FILE_SPLIT, "the bytes are shard " + number(split->no + 1) + " of " +
                                               number(split->count) + " of a split model: open it by its file's name");
  }
  Model model;
  model.parts_.push_back(std::move(part));
  LW_TRY(model.index_tensors());
  return model;
} catch (const std::bad_alloc&) {
  return make_error(LW_ERROR_MEMORY, "no memory for the tensor table");
}

Result<Model> Model::open_split(Part given, FileAccess access) {
  LW_ASSIGN(found, split_of(given.shard));
  const SplitInfo split = *found;
  const std::string path = given.path;
  const auto name = parse_shard_name(path);
  const std::string place = "shard " + number(split.no + 1) + " of " + number(split.count);
  if (!name) {
    return split_error(path, "is " + place +
                                 " of a split model but isn't named like one (NAME-00001-of-00002.gguf), so "
                                 "that the others can't be found");
  }
  if (name->number != split.no + 1 || name->count != split.count) {
    return split_error(path, "is " + place + " by its metadata (split.no, split.count), another by its name");
  }
  Model model;
  for (std::uint64_t i = 0; i < split.count; ++i) {
    if (i == split.no) continue;
    const std::string other = gguf::shard_path(*name, i + 1);
    auto opened = open_part(other, access);
    if (!opened) {
      Error error = std::move(opened).error();
      const bool missing = error.code == LW_ERROR_NOT_FOUND;
      error.message = missing ? quoted(file_name(other)) + ", shard " + number(i + 1) + " of " + number(split.count) +
                                    ", is missing beside " + quoted(file_name(path))
                              : "in " + quoted(file_name(other)) + ": " + error.message;
      if (missing) error.code = LW_ERROR_FILE_SPLIT;
      return error;
    }
    LW_ASSIGN(theirs, split_of(opened->shard));
    if (!theirs) return split_error(other, "is named as a shard but its metadata say that it is whole");
    if (theirs->no != i || theirs->count != split.count) {
      return split_error(other, "is shard " + number(theirs->no + 1) + " of " + number(theirs->count) +
                                    " by its metadata (split.no, split.count), another by its name");
    }
    if (theirs->tensors != split.tensors) {
      return split_error(other, "announces " + count_of(theirs->tensors, "tensor") + " in all shards, " +
                                    quoted(file_name(path)) + " " + number(split.tensors));
    }
    model.parts_.push_back(std::move(opened).value());
  }
  model.parts_.insert(model.parts_.begin() + static_cast<std::ptrdiff_t>(split.no), std::move(given));
  std::uint64_t tensors = 0;
  for (const Part& part : model.parts_) tensors += part.shard.tensor_count();
  if (tensors != split.tensors) {
    return split_error(
        path, "announces " + count_of(split.tensors, "tensor") + " in all shards; they hold " + number(tensors));
  }
  LW_TRY(model.index_tensors());
  return model;
}

Outcome Model::index_tensors() {
  for (Part& part : parts_) {
    part.first = tensor_count_;
    tensor_count_ += part.shard.tensor_count();
  }
  if (tensor_count_ > UINT32_MAX) return make_error(LW_ERROR_FILE_TENSOR, "more than 2^32 - 1 tensors in all shards");
  by_name_ = std::make_unique<std::uint32_t[]>(tensor_count_);
  const std::span by_name(by_name_.get(), tensor_count_);
  std::iota(by_name.begin(), by_name.end(), 0u);
  std::ranges::sort(by_name, [this](std::uint32_t a, std::uint32_t b) {
    const int order = name_of(a).compare(name_of(b));
    return order != 0 ? order < 0 : a < b;
  });
  const auto twin = std::ranges::adjacent_find(by_name, {}, [this](std::uint32_t i) { return name_of(i); });
  if (twin == by_name.end()) return Done{};
  const std::uint32_t second = *(twin + 1);
  const Part& part = parts_[part_of(second)];
  const std::string where = parts_.size() > 1 ? ", the second time in " + quoted(file_name(part.path)) : "";
  return make_error(LW_ERROR_FILE_TENSOR, "tensor " + quoted(name_of(second)) + " is there twice" + where,
                    part.shard.entry_offset(static_cast<std::uint32_t>(second - part.first)));
}

std::uint32_t Model::part_of(std::uint64_t index) const {
  const auto after = std::ranges::upper_bound(parts_, index, {}, &Part::first);
  return static_cast<std::uint32_t>(after - parts_.begin() - 1);
}

std::string_view Model::name_of(std::uint64_t index) const {
  const Part& part = parts_[part_of(index)];
  return part.shard.name(static_cast<std::uint32_t>(index - part.first));
}

TensorView Model::tensor(std::uint64_t index) const {
  TensorView out;
  out.shard = part_of(index);
  const Part& part = parts_[out.shard];
  const auto local = static_cast<std::uint32_t>(index - part.first);
  const TensorEntry entry = part.shard.tensor(local);
  out.name = part.shard.name(local);
  out.type = entry.type;
  out.type_info = entry.info;
  out.format = find_format(entry.type);
  out.dims = entry.dims;
  out.dim_count = entry.dim_count;
  out.bytes = part.shard.data(entry);
  out.offset = part.shard.data_start() + entry.offset;
  return out;
}

std::optional<std::uint64_t> Model::tensor_index(std::string_view name) const {
  const std::span by_name(by_name_.get(), tensor_count_);
  const auto found = std::ranges::lower_bound(by_name, name, {}, [this](std::uint32_t i) { return name_of(i); });
  if (found == by_name.end() || name_of(*found) != name) return std::nullopt;
  return *found;
}

std::optional<TensorView> Model::find_tensor(std::string_view name) const {
  const auto index = tensor_index(name);
  if (!index) return std::nullopt;
  return tensor(*index);
}

Result<TensorView> Model::require_tensor(std::string_view name) const {
  const auto index = tensor_index(name);
  if (index) return tensor(*index);
  return make_error(LW_ERROR_NOT_FOUND, "there is no tensor " + quoted(name) + suggestions(name));
}

Result<MatrixView> Model::matrix(std::string_view name) const {
  // A tensor may really be called "x[0]": the whole text is tried first.
  IndexedName wanted = {name, std::nullopt};
  auto found = find_tensor(name);
  if (!found) {
    wanted = split_index(name);
    LW_ASSIGN(tensor, require_tensor(wanted.name));
    found = tensor;
  }
  const TensorView& tensor = *found;
  if (tensor.format == nullptr) {
    const std::string type = tensor.type_info != nullptr ? std::string(tensor.type_info->name) : number(tensor.type);
    return make_error(LW_ERROR_NOT_A_WEIGHT,
                      "tensor " + quoted(tensor.name) + " is of type " + type + ", which is not a weight format");
  }
  if (tensor.cols() == 0) {
    return make_error(LW_ERROR_UNSUPPORTED, "tensor " + quoted(tensor.name) + " has rows of no elements");
  }
  const std::uint64_t matrices = tensor.matrices();
  if (!wanted.index && matrices > 1) {
    return make_error(LW_ERROR_ARGUMENT, "tensor " + quoted(tensor.name) + " holds " + number(matrices) +
                                             " matrices: name one, as " + quoted(std::string(tensor.name) + "[0]"));
  }
  const std::uint64_t index = wanted.index.value_or(0);
  // One without rows is still a matrix, of no rows; an index then has nothing to choose from.
  if (wanted.index && index >= matrices) {
    constexpr std::size_t most_digits = 40;
    const std::string holds = matrices == 0 ? "it holds none"
                              : matrices == 1
                                  ? "it is a single one, [0]"
                                  : "it holds " + number(matrices) + ", [0] to [" + number(matrices - 1) + "]";
    return make_error(LW_ERROR_NOT_FOUND, "tensor " + quoted(tensor.name) + " has no matrix [" +
                                              std::string(wanted.digits.substr(0, most_digits)) +
                                              (wanted.digits.size() > most_digits ? "...]: " : "]: ") + holds);
  }
  MatrixView out;
  out.format = tensor.format->format;
  out.rows = tensor.rows();
  out.cols = tensor.cols();
  const std::uint64_t size = out.rows * row_bytes(*tensor.format, out.cols);
  if (index * size > tensor.bytes.size() || size > tensor.bytes.size() - index * size) {
    return make_error(LW_ERROR_IO, "the file was rewritten while it is open");
  }
  out.bytes = tensor.bytes.subspan(index * size, size);
  return out;
}

std::optional<TensorView> Model::companion_scale(const TensorView& tensor) const {
  constexpr std::string_view weight = ".weight";
  if (tensor.format == nullptr || tensor.format->format != Format::NVFP4) return std::nullopt;
  if (!tensor.name.ends_with(weight)) return std::nullopt;
  return find_tensor(std::string(tensor.name.substr(0, tensor.name.size() - weight.size())) + ".scale");
}

std::string Model::suggestions(std::string_view name) const {
  constexpr std::size_t most = 3;
  std::vector<std::pair<std::size_t, std::uint64_t>> best;  // likeness, index
  for (std::uint64_t i = 0; i < tensor_count_; ++i) {
    const std::size_t like = likeness(name, name_of(i));
    if (like * 2 < name.size()) continue;
    const auto at = std::ranges::find_if(best, [like](const auto& other) { return other.first < like; });
    best.insert(at, {like, i});
    if (best.size() > most) best.pop_back();
  }
  if (best.empty()) return tensor_count_ == 0 ? ": the model has no tensors" : "";
  std::string out = "; near to it:";
  for (const auto& [like, index] : best) out += " " + quoted(name_of(index));
  return out;
}

}  // namespace lanewise::gguf
