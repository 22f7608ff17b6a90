// The code books of the IQ formats.
#pragma once

#include <cstdint>

namespace lanewise::oracle {

// `entries` code words of `width` values each, entry by entry.
struct Grid {
  int entries;
  int width;
  const std::int8_t* values;
};

const Grid& grid_iq2_xxs();
const Grid& grid_iq2_xs();
const Grid& grid_iq2_s();
const Grid& grid_iq3_xxs();
const Grid& grid_iq3_s();
const Grid& grid_iq1();  // IQ1_S and IQ1_M: -1, 0, 1, before the shift of 1/8

}  // namespace lanewise::oracle
