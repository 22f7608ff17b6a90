// Golden vectors: one matrix, one x, and every stage of their product, as a text that golden/README.md defines.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lanewise::golden {

inline std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

/// J_p or M_p of a d-group, F of them, and the scale (d or m).
struct Sum {
  std::int64_t k = 0;
  bool is_min = false;
  std::vector<std::int64_t> planes;
  float value = 0;
  float scale = 0;
};

struct Step {
  std::int64_t k = 0;
  int g = 0;
  int v = 0;
  char kind = 'J';  ///< J, M, or W for a float weight
  float term = 0;
  float after = 0;
};

struct Output {
  std::int64_t row = 0;
  std::int64_t token = 0;
  std::vector<Sum> sums;
  std::vector<Step> steps;
  std::array<std::vector<float>, 8> a;  ///< of the eighths that got a step; the others are all +0
  std::vector<float> r;
  float y = 0;
  std::uint16_t y_fp16 = 0;
  std::uint16_t y_bf16 = 0;
};

struct Token {
  bool poisoned = false;
  std::vector<int> e;
  std::vector<std::int32_t> q;
  std::vector<std::vector<std::int8_t>> planes;  ///< lowest first; none for a float format
};

/// What one number of planes gives.
struct Section {
  int planes = 0;
  std::vector<Token> tokens;
  std::vector<Output> outputs;
};

struct File {
  std::string about;  ///< one line
  std::string format;
  int id = 0;
  int block_elements = 0, block_bytes = 0;
  std::int64_t rows = 0, cols = 0, tokens = 0;
  std::vector<std::uint8_t> weights;
  std::vector<std::uint32_t> x;  ///< [tokens][cols], bits of fp32
  std::vector<Section> sections;
};

std::string to_text(const File& file);
/// False, with the line's number and a sentence in `error`, for a text that isn't as golden/README.md says.
bool parse(std::string_view text, File& file, std::string& error);

struct Named {
  std::string name;  ///< "Q4_K.txt"
  File file;
};
/// Every file of golden/, made from the oracle.
std::vector<Named> make_all();

}  // namespace lanewise::golden
