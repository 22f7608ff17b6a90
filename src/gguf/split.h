// Files of a split model: "STEM-00001-of-00003.gguf" and so on, each a whole GGUF file that holds some of the tensors.
// Metadata of every shard: split.no (from 0), split.count, split.tensors.count (of all shards together).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "gguf/metadata.h"

namespace lanewise::gguf {

struct SplitInfo {
  std::uint64_t no = 0;
  std::uint64_t count = 0;
  std::uint64_t tensors = 0;
};

struct ShardName {
  std::string stem;          ///< the path up to "-00001-of-..."
  std::uint64_t number = 0;  ///< from 1
  std::uint64_t count = 0;
};

/// Nothing where the file is whole: no split.count, or one of 0 (as tools that merge shards leave it) or 1.
/// Errors: LW_ERROR_FILE_SPLIT, at the pair's offset.
Result<std::optional<SplitInfo>> read_split(const Metadata& metadata);

/// Nothing where `path` isn't named like a shard.
std::optional<ShardName> parse_shard_name(const std::string& path);
std::string shard_path(const ShardName& name, std::uint64_t number);
/// The part of `path` after the last slash.
std::string file_name(const std::string& path);

}  // namespace lanewise::gguf
