#include "gguf/shard.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "base/checked.h"

namespace lanewise::gguf {
namespace {

constexpr std::string_view magic = "GGUF";
constexpr std::uint64_t tensor_count_field = 8;
constexpr std::uint64_t pair_count_field = 16;
constexpr std::uint64_t least_entry_bytes = 25;  // a name of one byte, no dims

Error bad_tensor(std::string message, std::uint64_t offset) {
  return make_error(LW_ERROR_FILE_TENSOR, std::move(message), offset);
}

std::string tensor_name(std::string_view name) { return "tensor " + quoted(name); }

// What a file that starts with these bytes is, for those that people take for a GGUF file.
std::string_view known_start(std::string_view start) {
  static constexpr std::pair<std::string_view, std::string_view> known[] = {
      {"vers", "; it may be the Git LFS pointer to a model: fetch the model itself (git lfs pull)"},
      {"<!DO", "; it looks like a web page: download the model itself"},
      {"<htm", "; it looks like a web page: download the model itself"},
      {std::string_view("PK\x03\x04", 4), "; it looks like a PyTorch or zip archive: convert the model to GGUF"},
      {"lmgg", "; it is a GGML file, older than GGUF: convert the model again"},
      {"fmgg", "; it is a GGMF file, older than GGUF: convert the model again"},
      {"tjgg", "; it is a GGJT file, older than GGUF: convert the model again"},
  };
  for (const auto& [bytes, text] : known) {
    if (start == bytes) return text;
  }
  return "";
}

Outcome check_magic(std::span<const std::uint8_t> file) {
  const std::string_view start = as_text(file.first(std::min(file.size(), magic.size())));
  if (start.empty()) return make_error(LW_ERROR_FILE_TRUNCATED, "the file is empty", 0);
  if (start == magic) return Done{};
  if (magic.starts_with(start)) {
    return file_ends_inside(Cursor(file), "the first word", magic.size());
  }
  return make_error(LW_ERROR_FILE_MAGIC,
                    "this is no GGUF file: it starts with '" + escape_for_terminal(start) + "', not with 'GGUF'" +
                        std::string(known_start(start)),
                    0);
}

Outcome check_version(std::uint32_t version) {
  if (version == 2 || version == 3) return Done{};
  std::string why = "GGUF version " + number(version) + " is not supported (2 and 3 are)";
  const std::uint32_t swapped =
      (version >> 24) | ((version >> 8) & 0xFF00u) | ((version << 8) & 0xFF0000u) | (version << 24);
  if (swapped >= 1 && swapped <= 0xFFFF) {
    why = "the file is in big-endian byte order (version " + number(swapped) + "): convert it to little-endian";
  } else if (version == 1) {
    why += ": convert the model again with a current tool";
  } else if (version > 3) {
    why += ": a newer release may read it";
  }
  return make_error(LW_ERROR_FILE_VERSION, std::move(why), magic.size());
}

// A count that the bytes after the header can't hold is refused before anything is done with it.
Outcome check_count(std::uint64_t count, std::uint64_t least, std::uint64_t remaining, std::string_view noun,
                    std::uint64_t offset) {
  if (count <= remaining / least) return Done{};
  std::string message = "the file announces " + count_of(count, noun);
  if (const auto needed = checked_mul(count, least)) {
    message += ", which take at least " + count_of(*needed, "byte") + "; " + number(remaining) +
               " follow, so at least " + number(*needed - remaining) + " are missing";
  } else {
    message += ", more than any file can hold";
  }
  return make_error(LW_ERROR_FILE_TRUNCATED, std::move(message), offset);
}

Result<std::uint64_t> read_alignment(const Metadata& metadata) {
  constexpr std::string_view key = "general.alignment";
  const auto value = metadata.find(key);
  if (!value) return default_alignment;
  const std::uint64_t offset = *metadata.offset_of(key);
  const auto wrong = [offset](const std::string& is) {
    return make_error(
        LW_ERROR_FILE_METADATA,
        "general.alignment is " + is + ", not a u32 that is a power of two from 8 to " + number(max_alignment), offset);
  };
  if (value->type() != ValueType::U32) return wrong("of type " + std::string(value_type_name(value->type())));
  const std::uint64_t alignment = *value->as_unsigned();
  if (!std::has_single_bit(alignment) || alignment < 8 || alignment > max_alignment) return wrong(number(alignment));
  return alignment;
}

// Dims, element count and bytes of `entry`, whose type is known. `offset`: of its dims.
Outcome measure(TensorEntry* entry, std::uint64_t offset) {
  const std::string which = tensor_name(entry->name);
  std::uint64_t elements = 1;
  bool empty = false;
  for (std::uint32_t i = 0; i < entry->dim_count; ++i) {
    const std::uint64_t dim = entry->dims[i];
    const std::uint64_t at = offset + 8 * std::uint64_t{i};
    if (dim > static_cast<std::uint64_t>(INT64_MAX)) {
      return bad_tensor(which + " has a negative dimension " + std::to_string(static_cast<std::int64_t>(dim)), at);
    }
    if (dim == 0) {
      empty = true;  // the others must still multiply without wrapping, for whoever multiplies them
      continue;
    }
    const auto product = checked_mul(elements, dim);
    if (!product || *product > static_cast<std::uint64_t>(INT64_MAX)) {
      return bad_tensor(which + " has more than 2^63 - 1 elements", at);
    }
    elements = *product;
  }
  if (entry->dims[0] % entry->info->block_elements != 0) {
    return bad_tensor(which + " has rows of " + count_of(entry->dims[0], "element") + ", not a multiple of the " +
                          number(entry->info->block_elements) + " in a block of " + std::string(entry->info->name),
                      offset);
  }
  const auto size = checked_mul(elements / entry->info->block_elements, entry->info->block_bytes);
  if (!size) return bad_tensor(which + " has more than 2^64 - 1 bytes", offset);
  entry->size = empty ? 0 : *size;
  return Done{};
}

Result<TensorEntry> read_entry(Cursor* cursor, std::uint64_t alignment, const std::string& which) {
  TensorEntry entry;
  const std::uint64_t start = cursor->position();
  std::uint64_t length = 0;
  std::span<const std::uint8_t> name;
  if (!cursor->read(&length)) return file_ends_inside(*cursor, which, sizeof length);
  if (length == 0) return bad_tensor(which + " has no name", start);
  if (length > max_name_bytes) {
    return bad_tensor(which + " has a name of " + number(length) + " bytes; " + number(max_name_bytes) + " are allowed",
                      start);
  }
  if (!cursor->take(length, &name)) return file_ends_inside(*cursor, which, length);
  entry.name = as_text(name);
  if (entry.name.find('\0') != std::string_view::npos) {
    return bad_tensor("the name of " + which + ", " + quoted(entry.name) + ", holds a null byte", start);
  }

  const std::uint64_t dims_field = cursor->position();
  const auto ends = [&] { return file_ends_inside(*cursor, "the table's entry of " + tensor_name(entry.name), 8); };
  if (!cursor->read(&entry.dim_count)) {
    return file_ends_inside(*cursor, "the table's entry of " + tensor_name(entry.name), 4);
  }
  if (entry.dim_count > max_dims) {
    return bad_tensor(tensor_name(entry.name) + " has " + number(entry.dim_count) + " dimensions; up to 4 are allowed",
                      dims_field);
  }
  for (std::uint32_t i = 0; i < entry.dim_count; ++i) {
    if (!cursor->read(&entry.dims[i])) return ends();
  }
  const std::uint64_t type_field = cursor->position();
  if (!cursor->read(&entry.type)) {
    return file_ends_inside(*cursor, "the table's entry of " + tensor_name(entry.name), 4);
  }
  entry.info = find_type(entry.type);
  if (entry.info == nullptr) {
    return make_error(LW_ERROR_FILE_TYPE,
                      tensor_name(entry.name) + " is of type " + number(entry.type) +
                          ", which is unknown to this release: a newer one may know it",
                      type_field);
  }
  if (entry.info->kind == TypeKind::REMOVED) {
    return make_error(LW_ERROR_FILE_TYPE,
                      tensor_name(entry.name) + " is of type " + number(entry.type) + " (" +
                          std::string(entry.info->name) +
                          "), which was removed from the format: quantise the model again",
                      type_field);
  }
  LW_TRY(measure(&entry, dims_field + sizeof entry.dim_count));
  entry.offset_field = cursor->position();
  if (!cursor->read(&entry.offset)) return ends();
  if (entry.offset % alignment != 0) {
    return bad_tensor(tensor_name(entry.name) + " starts at byte " + number(entry.offset) +
                          " of the data, not a multiple of the alignment, " + number(alignment),
                      entry.offset_field);
  }
  if (!checked_add(entry.offset, entry.size)) {
    return bad_tensor(tensor_name(entry.name) + " ends after byte 2^64 - 1", entry.offset_field);
  }
  return entry;
}

}  // namespace

Result<Shard> Shard::read(std::span<const std::uint8_t> file) {
  LW_TRY(check_magic(file));
  Cursor cursor(file, magic.size());
  Shard out;
  out.file_ = file;
  if (!cursor.read(&out.version_)) return file_ends_inside(cursor, "the header", sizeof out.version_);
  LW_TRY(check_version(out.version_));
  std::uint64_t tensors = 0;
  std::uint64_t pairs = 0;
  if (!cursor.read(&tensors) || !cursor.read(&pairs)) return file_ends_inside(cursor, "the header", sizeof tensors);
  LW_TRY(check_count(pairs, least_pair_bytes, cursor.remaining(), "metadata pair", pair_count_field));
  LW_TRY(check_count(tensors, least_entry_bytes, cursor.remaining(), "tensor", tensor_count_field));

  LW_ASSIGN(metadata, Metadata::read(&cursor, file, pairs));
  out.metadata_ = std::move(metadata);
  LW_ASSIGN(alignment, read_alignment(out.metadata_));
  out.alignment_ = alignment;
  LW_TRY(out.read_table(&cursor, tensors));
  // A file without tensors may end right here, before the data section that would follow.
  const auto data_start = checked_align(cursor.position(), alignment);
  if (!data_start) return bad_tensor("the data section starts after byte 2^64 - 1", cursor.position());
  out.data_start_ = *data_start;
  LW_TRY(out.check_data());
  return out;
}

Outcome Shard::read_table(Cursor* cursor, std::uint64_t count) {
  LW_TRY(check_count(count, least_entry_bytes, cursor->remaining(), "tensor", tensor_count_field));
  // Entries are counted and checked before memory is taken for them.
  const Cursor start = *cursor;
  std::uint64_t name_bytes = 0;
  const auto which = [count](std::uint64_t i) { return "tensor " + number(i + 1) + " of " + number(count); };
  for (std::uint64_t i = 0; i < count; ++i) {
    LW_ASSIGN(entry, read_entry(cursor, alignment_, which(i)));
    name_bytes += entry.name.size() + 1;
  }
  if (count >= UINT32_MAX) return bad_tensor(number(count) + " tensors are 2^32 - 1 or more", tensor_count_field);

  count_ = static_cast<std::uint32_t>(count);
  entries_ = std::make_unique<std::uint64_t[]>(count + 1);  // never of size 0
  names_at_ = std::make_unique<std::uint64_t[]>(count + 1);
  names_ = std::make_unique<char[]>(name_bytes);
  Cursor again = start;
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    entries_[i] = again.position();
    LW_ASSIGN(entry, read_entry(&again, alignment_, {}));
    names_at_[i] = at;
    std::memcpy(names_.get() + at, entry.name.data(), entry.name.size());
    at += entry.name.size() + 1;
  }
  names_at_[count] = at;
  return Done{};
}

// Tensors tile the data section: in the order of their offsets, each starts where the one before it ends, rounded up to
// the alignment, and the file ends with the last. A gap or an overlap means that the table and the data disagree about
// a size: another project's format under a number of ours, for one.
Outcome Shard::check_data() const {
  const auto order = std::make_unique<std::uint32_t[]>(count_);
  const std::span sorted(order.get(), count_);
  std::iota(sorted.begin(), sorted.end(), 0u);
  const auto place = [this](std::uint32_t i) {
    const TensorEntry entry = tensor(i);
    return std::pair(entry.offset, entry.size);
  };
  std::ranges::sort(sorted, {}, place);

  std::uint64_t expected = 0;  // offset of the next tensor
  std::uint64_t end = 0;       // of the data so far, unpadded
  std::string_view previous;
  for (const std::uint32_t index : sorted) {
    const TensorEntry entry = tensor(index);
    if (entry.size == 0) continue;
    if (entry.offset != expected) {
      const bool overlap = entry.offset < expected;
      std::string message = tensor_name(entry.name) + " starts at byte " + number(entry.offset) + " of the data, " +
                            (overlap ? "inside " : "but byte " + number(expected) + " is where ");
      if (previous.empty()) {
        message += "the data starts";
      } else {
        message += tensor_name(previous) + (overlap ? ", which ends at byte " + number(end) : " ends");
        message += ": a size in the table is wrong, or a type's blocks are of another size than ggml's";
      }
      return bad_tensor(std::move(message), entry.offset_field);
    }
    end = entry.offset + entry.size;  // checked by read_entry
    const auto padded = checked_align(end, alignment_);
    if (!padded) return bad_tensor(tensor_name(entry.name) + " ends after byte 2^64 - 1", entry.offset_field);
    expected = *padded;
    previous = entry.name;
  }
  for (const std::uint32_t index : sorted) {
    const TensorEntry entry = tensor(index);
    if (entry.size == 0 && entry.offset > expected) {
      return bad_tensor(tensor_name(entry.name) + " has no elements but starts after the data ends",
                        entry.offset_field);
    }
  }

  // Only now against the file's size, so that a file cut short is told from one that never was whole.
  if (count_ == 0) return Done{};
  const std::uint64_t have = file_.size() - std::min<std::uint64_t>(file_.size(), data_start_);
  if (have < end) {
    const auto cut = std::ranges::find_if(sorted, [&](std::uint32_t index) {
      const auto [offset, size] = place(index);
      return size != 0 && offset + size > have;
    });
    const TensorEntry entry = tensor(*cut);
    const std::uint64_t missing = entry.offset + entry.size - have;
    const std::uint64_t behind = data_start_ - std::min<std::uint64_t>(file_.size(), data_start_);
    std::string message =
        "the file ends " + count_of(missing + behind, "byte") + " before the end of " + tensor_name(entry.name);
    if (end != entry.offset + entry.size) {
      message += " and " + count_of(end - have + behind, "byte") + " before its own";
    }
    return make_error(LW_ERROR_FILE_TRUNCATED,
                      message + ": if it was downloaded or copied, that was cut off; fetch it again", file_.size());
  }
  if (have > expected) {
    return bad_tensor(count_of(have - expected, "byte") + " that nothing announces follow the last tensor's data" +
                          (previous.empty() ? std::string() : ", " + quoted(previous)) +
                          ": a size in the table is wrong, or a type's blocks are of another size than ggml's",
                      data_start_ + expected);
  }
  return Done{};
}

TensorEntry Shard::tensor(std::uint32_t index) const {
  Cursor cursor(file_, entries_[index]);
  auto entry = read_entry(&cursor, alignment_, {});
  if (!entry) return {};  // only if the file was rewritten while it is open
  return *entry;
}

std::string_view Shard::name(std::uint32_t index) const {
  const std::uint64_t at = names_at_[index];
  return {names_.get() + at, static_cast<std::size_t>(names_at_[index + 1] - at - 1)};
}

std::span<const std::uint8_t> Shard::data(const TensorEntry& entry) const {
  if (entry.size == 0) return {};
  const std::uint64_t have = file_.size() - std::min<std::uint64_t>(file_.size(), data_start_);
  if (entry.offset > have || entry.size > have - entry.offset) return {};  // as in tensor()
  return file_.subspan(data_start_ + entry.offset, entry.size);
}

}  // namespace lanewise::gguf
