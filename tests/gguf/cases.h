// Files with a verdict, by name: what the reader must make of each. The fuzz corpus starts from the same list.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "gguf/raw_file.h"
#include "lanewise/lanewise.h"

namespace lanewise::gguf::test {

struct Case {
  std::string name;
  Bytes bytes;
  lw_status expected = LW_OK;  // LW_OK: it loads
  // Of the error; nothing where the case leaves it open.
  std::optional<std::uint64_t> offset = {};
  std::string says = {};  // a part of the error's sentence
  // For a file that loads: bytes up to the end of the table, which a file without data can't do without.
  std::size_t table = 0;
};

// For GoogleTest's messages.
inline void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

const std::vector<Case>& good_cases();
const std::vector<Case>& refused_cases();

struct NamedFile {
  std::string name;
  Bytes bytes;
};
// Three shards, "m-0000i-of-00003.gguf", with one tensor each ("a", "b", "c").
struct SplitPlan {
  std::vector<std::uint32_t> no = {0, 1, 2};
  std::vector<std::uint32_t> count = {3, 3, 3};
  std::vector<std::uint32_t> total = {3, 3, 3};
  std::vector<std::string> tensors = {"a", "b", "c"};
};
std::vector<NamedFile> shards(const SplitPlan& plan = {});

}  // namespace lanewise::gguf::test
