#include "compare_x.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "base/half.h"
#include "base/mapped_file.h"
#include "harness/fill.h"
#include "model.h"
#include "npy.h"

namespace lanewise::program {
namespace {

void put_in_lanes(ComparedX& x) {
  x.in_lanes.assign(x.blocks() * x.cols * ComparedX::lanes, 0);
  for (std::uint64_t t = 0; t < x.tokens; ++t) {
    double* lane = x.in_lanes.data() + t / ComparedX::lanes * x.cols * ComparedX::lanes + t % ComparedX::lanes;
    for (std::uint64_t k = 0; k < x.cols; ++k)
      lane[k * ComparedX::lanes] = static_cast<double>(x.values[t * x.cols + k]);
  }
}

Result<ComparedX> read_x(const std::string& path) {
  FileOptions reading;
  reading.expected_prefix = "\x93NUMPY";
  LW_ASSIGN(file, MappedFile::open(path, reading));
  note_input(path);
  LW_ASSIGN(header, parse_npy(file.bytes()));
  if (header.shape.empty() || header.shape.size() > 2) {
    return make_error(LW_ERROR_ARGUMENT,
                      fmt::format("x has shape {}: give [tokens, K] or [K]", shape_text(header.shape)));
  }
  ComparedX x;
  x.given = true;
  x.tokens = header.shape.size() == 1 ? 1 : header.shape[0];
  x.cols = header.shape.back();
  if (x.tokens == 0 || x.cols == 0 || x.tokens > ComparedXs::most_tokens) {
    return make_error(LW_ERROR_ARGUMENT, fmt::format("x has shape {}: 1 to {} tokens can be compared",
                                                     shape_text(header.shape), ComparedXs::most_tokens));
  }
  x.values.resize(header.elements);
  const std::uint8_t* data = file.bytes().data() + header.data_offset;
  for (std::uint64_t i = 0; i < header.elements; ++i) {
    if (header.dtype == Dtype::f32) {
      std::memcpy(&x.values[i], data + i * sizeof(float), sizeof(float));
    } else {
      std::uint16_t half = 0;
      std::memcpy(&half, data + i * sizeof(half), sizeof(half));
      x.values[i] = half_to_float(half);
    }
    if (std::isfinite(x.values[i])) continue;
    return make_error(LW_ERROR_ARGUMENT, "an element of x is not finite",
                      header.data_offset + i * dtype_bytes(header.dtype));
  }
  put_in_lanes(x);
  return x;
}

}  // namespace

Outcome ComparedXs::read(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    auto x = read_x(path);
    if (!x) {
      Error error = std::move(x).error();
      error.message = "'" + printable(path) + "': " + error.message;
      return error;
    }
    if (std::ranges::any_of(given_, [&](const Given& other) { return other.x.cols == x->cols; })) {
      return make_error(LW_ERROR_ARGUMENT,
                        fmt::format("'{}': K = {} is given by another file too", printable(path), x->cols));
    }
    given_.push_back({*std::move(x)});
  }
  return Done{};
}

const ComparedX& ComparedXs::of(std::uint64_t cols) {
  for (Given& given : given_) {
    if (given.x.cols != cols) continue;
    given.used = true;
    return given.x;
  }
  if (gauss_.cols == cols) return gauss_;
  gauss_ = {};
  gauss_.tokens = gauss_tokens;
  gauss_.cols = cols;
  gauss_.values.resize(gauss_tokens * cols);
  for (std::uint64_t t = 0; t < gauss_tokens; ++t) {
    Random random(gauss_seed, t);
    for (std::uint64_t k = 0; k < cols; ++k) gauss_.values[t * cols + k] = static_cast<float>(random.gauss());
  }
  put_in_lanes(gauss_);
  return gauss_;
}

std::vector<std::uint64_t> ComparedXs::unused() const {
  std::vector<std::uint64_t> list;
  for (const Given& given : given_) {
    if (!given.used) list.push_back(given.x.cols);
  }
  return list;
}

}  // namespace lanewise::program
