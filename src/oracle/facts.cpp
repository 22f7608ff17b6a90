#include "oracle/oracle.h"

namespace lanewise::oracle {
namespace {

//                              id  elements bytes group dgroup  min    float  exponent
constexpr Facts kFacts[kFormatCount] = {
    {"F32", 0, 1, 4, 1, 1, false, true, false},
    {"F16", 1, 1, 2, 1, 1, false, true, false},
    {"Q4_0", 2, 32, 18, 32, 32, false, false, false},
    {"Q4_1", 3, 32, 20, 32, 32, true, false, false},
    {"Q5_0", 6, 32, 22, 32, 32, false, false, false},
    {"Q5_1", 7, 32, 24, 32, 32, true, false, false},
    {"Q8_0", 8, 32, 34, 32, 32, false, false, false},
    {"Q2_K", 10, 256, 84, 16, 256, true, false, false},
    {"Q3_K", 11, 256, 110, 16, 256, false, false, false},
    {"Q4_K", 12, 256, 144, 32, 256, true, false, false},
    {"Q5_K", 13, 256, 176, 32, 256, true, false, false},
    {"Q6_K", 14, 256, 210, 16, 256, false, false, false},
    {"IQ2_XXS", 16, 256, 66, 32, 256, false, false, false},
    {"IQ2_XS", 17, 256, 74, 16, 256, false, false, false},
    {"IQ3_XXS", 18, 256, 98, 32, 256, false, false, false},
    {"IQ1_S", 19, 256, 50, 32, 256, false, false, false},
    {"IQ4_NL", 20, 32, 18, 32, 32, false, false, false},
    {"IQ3_S", 21, 256, 110, 32, 256, false, false, false},
    {"IQ2_S", 22, 256, 82, 16, 256, false, false, false},
    {"IQ4_XS", 23, 256, 136, 32, 256, false, false, false},
    {"IQ1_M", 29, 256, 56, 16, 256, false, false, false},
    {"BF16", 30, 1, 2, 1, 1, false, true, false},
    {"TQ1_0", 34, 256, 54, 256, 256, false, false, false},
    {"TQ2_0", 35, 256, 66, 256, 256, false, false, false},
    {"MXFP4", 39, 32, 17, 32, 32, false, false, true},
    {"NVFP4", 40, 64, 36, 16, 16, false, false, false},
    {"Q1_0", 41, 128, 18, 128, 128, false, false, false},
    {"Q2_0", 42, 64, 18, 64, 64, false, false, false},
};

constexpr int kIds = 64;

struct PositionById {
  signed char at[kIds];
};

constexpr PositionById kPosition = [] {
  PositionById position{};
  for (auto& at : position.at) at = -1;
  for (int i = 0; i < kFormatCount; ++i) position.at[kFacts[i].id] = static_cast<signed char>(i);
  return position;
}();

}  // namespace

const Facts* all_facts() { return kFacts; }

const Facts* facts(int ggml_id) {
  if (ggml_id < 0 || ggml_id >= kIds || kPosition.at[ggml_id] < 0) return nullptr;
  return &kFacts[kPosition.at[ggml_id]];
}

std::int64_t row_bytes(int id, std::int64_t cols) {
  const Facts* f = facts(id);
  if (f == nullptr || cols <= 0 || cols % f->block_elements != 0) return -1;
  return cols / f->block_elements * f->block_bytes;
}

}  // namespace lanewise::oracle
