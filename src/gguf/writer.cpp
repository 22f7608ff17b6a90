#include "gguf/writer.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "base/checked.h"
#include "gguf/cursor.h"
#include "gguf/split.h"

namespace lanewise::gguf {
namespace {

constexpr std::uint32_t magic_word = 0x46554747;  // "GGUF" in little-endian order

Error misuse(std::string message) { return make_error(LW_ERROR_ARGUMENT, std::move(message)); }

Outcome check_name(std::string_view name, std::string_view noun) {
  const std::string what(noun);
  if (name.empty()) return misuse("a " + what + " is empty");
  if (name.size() > max_name_bytes) return misuse("a " + what + " is longer than " + number(max_name_bytes) + " bytes");
  if (name.find('\0') != std::string_view::npos)
    return misuse("the " + what + " " + quoted(name) + " holds a null byte");
  return Done{};
}

void put_pair(Bytes* out, std::string_view key, ValueType type, std::span<const std::uint8_t> value) {
  put_string(out, key);
  put_number(out, static_cast<std::uint32_t>(type));
  out->insert(out->end(), value.begin(), value.end());
}

template <MetadataNumber T>
void put_number_pair(Bytes* out, std::string_view key, T value) {
  Bytes bytes;
  put_number(&bytes, value);
  put_pair(out, key, value_type_of<T>(), bytes);
}

bool is_reserved(std::string_view key) {
  return key == "general.alignment" || key == "split.no" || key == "split.count" || key == "split.tensors.count";
}

std::uint64_t padding_after(std::uint64_t size, std::uint64_t alignment) {
  return (alignment - size % alignment) % alignment;
}

}  // namespace

void put_string(Bytes* out, std::string_view text) {
  put_number(out, std::uint64_t{text.size()});
  out->insert(out->end(), text.begin(), text.end());
}

void put_array_header(Bytes* out, ValueType element, std::uint64_t count) {
  put_number(out, static_cast<std::uint32_t>(element));
  put_number(out, count);
}

Outcome Writer::add_string(std::string_view key, std::string_view value) {
  Bytes bytes;
  put_string(&bytes, value);
  return add_value(key, ValueType::STRING, bytes);
}

Outcome Writer::add_strings(std::string_view key, std::span<const std::string_view> values) {
  Bytes bytes;
  put_array_header(&bytes, ValueType::STRING, values.size());
  for (const std::string_view value : values) put_string(&bytes, value);
  return add_value(key, ValueType::ARRAY, bytes);
}

Outcome Writer::add_value(std::string_view key, ValueType type, std::span<const std::uint8_t> value) {
  if (stage_ != Stage::DESCRIBE) return misuse("metadata come before the data");
  LW_TRY(check_name(key, "metadata key"));
  if (is_reserved(key)) return misuse("the writer itself writes " + quoted(key) + ", from its options");
  if (static_cast<std::uint32_t>(type) >= value_type_count) return misuse("unknown value type of " + quoted(key));
  Cursor cursor(value);
  const auto whole = skip_value(&cursor, type, "the value of " + quoted(key));
  if (!whole) return misuse(whole.error().message);
  if (cursor.remaining() != 0) return misuse("bytes follow the value of " + quoted(key));
  if (!keys_.emplace(key).second) return misuse("the metadata key " + quoted(key) + " is there twice");
  put_pair(&pairs_, key, type, value);
  ++pair_count_;
  return Done{};
}

Outcome Writer::add_tensor(std::string_view name, std::uint32_t type, std::span<const std::uint64_t> dims) {
  if (stage_ != Stage::DESCRIBE) return misuse("tensors are described before the data");
  LW_TRY(check_name(name, "tensor name"));
  const TypeInfo* info = find_type(type);
  if (info == nullptr || info->kind == TypeKind::REMOVED) {
    return misuse("tensor " + quoted(name) + " is of type " + number(type) + ", which can't be written");
  }
  if (dims.size() > max_dims) return misuse("tensor " + quoted(name) + " has more than 4 dimensions");
  std::uint64_t elements = 1;
  bool empty = false;
  for (const std::uint64_t dim : dims) {
    empty = empty || dim == 0;
    const auto product = checked_mul(elements, std::max<std::uint64_t>(dim, 1));
    if (!product || *product > static_cast<std::uint64_t>(INT64_MAX)) {
      return misuse("tensor " + quoted(name) + " has more than 2^63 - 1 elements");
    }
    elements = *product;
  }
  const std::uint64_t cols = dims.empty() ? 1 : dims[0];
  if (cols % info->block_elements != 0) {
    return misuse("rows of tensor " + quoted(name) + " are no whole blocks of " + std::string(info->name));
  }
  const auto size = checked_mul(elements / info->block_elements, info->block_bytes);
  if (!size || *size > static_cast<std::uint64_t>(INT64_MAX)) {
    return misuse("tensor " + quoted(name) + " has more than 2^63 - 1 bytes");
  }
  if (!names_.emplace(name).second) return misuse("tensor " + quoted(name) + " is there twice");
  tensors_.push_back({std::string(name), type, {dims.begin(), dims.end()}, empty ? 0 : *size});
  return Done{};
}

std::uint64_t Writer::shard_count() const {
  if (options_.tensors_per_shard == 0) return 1;
  return std::max<std::uint64_t>(1, ceil_div(tensors_.size(), options_.tensors_per_shard));
}

Bytes Writer::header(std::uint64_t shard) const {
  const std::uint64_t shards = shard_count();
  const std::uint64_t first = shards == 1 ? 0 : shard * options_.tensors_per_shard;
  const std::uint64_t last =
      shards == 1 ? tensors_.size() : std::min<std::uint64_t>(tensors_.size(), first + options_.tensors_per_shard);
  Bytes pairs;
  std::uint64_t count = 0;
  if (options_.alignment != default_alignment) {
    put_number_pair(&pairs, "general.alignment", static_cast<std::uint32_t>(options_.alignment));
    ++count;
  }
  if (shards > 1) {
    put_number_pair(&pairs, "split.no", static_cast<std::uint16_t>(shard));
    put_number_pair(&pairs, "split.count", static_cast<std::uint16_t>(shards));
    put_number_pair(&pairs, "split.tensors.count", static_cast<std::int32_t>(tensors_.size()));
    count += 3;
  }
  if (shard == 0) {
    pairs.insert(pairs.end(), pairs_.begin(), pairs_.end());
    count += pair_count_;
  }

  Bytes out;
  put_number(&out, magic_word);
  put_number(&out, options_.version);
  put_number(&out, last - first);
  put_number(&out, count);
  out.insert(out.end(), pairs.begin(), pairs.end());
  std::uint64_t offset = 0;
  for (std::uint64_t i = first; i < last; ++i) {
    const Planned& tensor = tensors_[i];
    put_string(&out, tensor.name);
    put_number(&out, static_cast<std::uint32_t>(tensor.dims.size()));
    for (const std::uint64_t dim : tensor.dims) put_number(&out, dim);
    put_number(&out, tensor.type);
    put_number(&out, offset);
    offset += tensor.size + padding_after(tensor.size, options_.alignment);
  }
  out.resize(out.size() + padding_after(out.size(), options_.alignment));
  return out;
}

Outcome Writer::check_begin() {
  if (stage_ != Stage::DESCRIBE) return misuse("the writer has begun already");
  if (options_.version != 2 && options_.version != 3) return misuse("GGUF version " + number(options_.version));
  if (!std::has_single_bit(options_.alignment) || options_.alignment < 8 || options_.alignment > max_alignment) {
    return misuse("an alignment of " + number(options_.alignment) + " is no power of two from 8 to " +
                  number(max_alignment));
  }
  std::uint64_t total = 0;
  for (const Planned& tensor : tensors_) {
    const auto sum = checked_add(total, tensor.size + options_.alignment);
    if (!sum || *sum > static_cast<std::uint64_t>(INT64_MAX))
      return misuse("all tensors take more than 2^63 - 1 bytes");
    total = *sum;
  }
  if (shard_count() > UINT16_MAX || tensors_.size() > INT32_MAX) return misuse("too many shards or tensors");
  return Done{};
}

Outcome Writer::begin(const std::string& path) {
  LW_TRY(check_begin());
  const std::uint64_t shards = shard_count();
  if (shards == 1) {
    paths_.push_back(path);
  } else {
    constexpr std::string_view extension = ".gguf";
    if (!path.ends_with(extension)) return misuse("the name of a split model must end in .gguf");
    const ShardName name = {path.substr(0, path.size() - extension.size()), 0, shards};
    for (std::uint64_t i = 0; i < shards; ++i) paths_.push_back(shard_path(name, i + 1));
  }
  stage_ = Stage::DATA;
  LW_TRY(open_next());
  return advance();
}

Outcome Writer::begin(Bytes* out) {
  LW_TRY(check_begin());
  if (shard_count() != 1) return misuse("a split model can't be written to memory");
  out->clear();
  memory_ = out;
  stage_ = Stage::DATA;
  LW_TRY(open_next());
  return advance();
}

Outcome Writer::open_next() {
  if (memory_ == nullptr) {
    auto file = OutputFile::create(paths_[opened_]);
    if (!file) {
      abandon();
      return std::move(file).error();
    }
    files_.push_back(std::move(file).value());
  }
  return emit(header(opened_++));
}

Outcome Writer::emit(std::span<const std::uint8_t> bytes) {
  if (memory_ != nullptr) {
    memory_->insert(memory_->end(), bytes.begin(), bytes.end());
    return Done{};
  }
  auto written = files_.back().write(bytes);
  if (!written) abandon();
  return written;
}

// Past every tensor that is complete: its padding, and the next shard where it was the last of one.
Outcome Writer::advance() {
  static constexpr std::array<std::uint8_t, 4096> zeros{};
  while (current_ < tensors_.size() && written_ == tensors_[current_].size) {
    for (std::uint64_t left = padding_after(written_, options_.alignment); left != 0;) {
      const std::uint64_t step = std::min<std::uint64_t>(left, zeros.size());
      LW_TRY(emit(std::span(zeros).first(step)));
      left -= step;
    }
    written_ = 0;
    ++current_;
    if (opened_ < shard_count() && current_ == opened_ * options_.tensors_per_shard) LW_TRY(open_next());
  }
  return Done{};
}

Outcome Writer::append(std::span<const std::uint8_t> bytes) {
  if (stage_ != Stage::DATA) return misuse("data come between begin() and finish()");
  while (!bytes.empty()) {
    if (current_ == tensors_.size()) return misuse(count_of(bytes.size(), "byte") + " more than the tensors hold");
    const std::uint64_t step = std::min<std::uint64_t>(bytes.size(), tensors_[current_].size - written_);
    LW_TRY(emit(bytes.first(step)));
    written_ += step;
    bytes = bytes.subspan(step);
    LW_TRY(advance());
  }
  return Done{};
}

std::uint64_t Writer::remaining() const {
  std::uint64_t left = 0;
  for (std::uint64_t i = current_; i < tensors_.size(); ++i) left += tensors_[i].size;
  return left - written_;
}

Outcome Writer::finish() {
  if (stage_ != Stage::DATA) return misuse("finish() comes once, after begin()");
  if (const std::uint64_t left = remaining(); left != 0) {
    return misuse(count_of(left, "byte") + " of tensor data are missing, from tensor " +
                  quoted(tensors_[current_].name));
  }
  for (OutputFile& file : files_) {
    auto committed = file.commit();
    if (!committed) {
      abandon();
      return committed;
    }
  }
  stage_ = Stage::DONE;
  files_.clear();
  return Done{};
}

void Writer::abandon() {
  for (OutputFile& file : files_) file.revoke();
  files_.clear();
  stage_ = Stage::FAILED;
}

}  // namespace lanewise::gguf
