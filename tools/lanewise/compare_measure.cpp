#include "compare_measure.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "exit_codes.h"

namespace lanewise::program {
namespace {

// Sums are kept for each piece of rows and added up in their order. A piece of a large matrix is small enough that
// threads end together, and large enough that a piece's sums are little beside it.
constexpr std::uint64_t piece_rows = 16;

using Lanes = std::array<double, ComparedX::lanes>;

// Tasks of a pool can't fail, so they allocate nothing: rows are decoded in tiles. A multiple of every format's block.
constexpr std::uint64_t tile_cols = 2048;
using Tile = std::array<float, tile_cols>;
// y of one row for up to most_tokens.
using RowOutputs = std::array<Lanes, ComparedXs::most_tokens / ComparedX::lanes>;

// Calls visit(first column, columns) for each tile of a row.
template <class Visit>
void for_each_tile(std::uint64_t cols, const Visit& visit) {
  for (std::uint64_t k = 0; k < cols; k += tile_cols) visit(k, std::min(tile_cols, cols - k));
}

void decode(const MatrixView& w, std::uint64_t row, std::uint64_t first, std::uint64_t count, Tile& out) {
  const FormatInfo& info = w.info();
  dequantize_row(w.format, w.row(row) + first / info.block_elements * info.block_bytes, count, out.data());
}

// Adds a tile's part of a row times every token, in float64. Lanes don't depend on each other, so compilers use
// vectors.
void multiply_tile(const Tile& w, std::uint64_t first, std::uint64_t count, const ComparedX& x, RowOutputs& sums) {
  for (std::uint64_t b = 0; b < x.blocks(); ++b) {
    const double* lanes = x.block(b) + first * ComparedX::lanes;
    Lanes sum = sums[b];
    for (std::uint64_t k = 0; k < count; ++k) {
      const auto weight = static_cast<double>(w[k]);
      for (std::size_t lane = 0; lane < sum.size(); ++lane) sum[lane] += weight * lanes[k * sum.size() + lane];
    }
    sums[b] = sum;
  }
}

struct CompareWork {
  const ScaledMatrix& reference;
  const std::vector<ScaledMatrix>& others;
  const ComparedX* x;
  const std::vector<std::vector<float>>& ys;
  std::vector<std::vector<MatrixErrors>> pieces;  // by piece, then by other

  void do_piece(std::uint32_t piece) {
    const std::uint64_t begin = piece * piece_rows;
    const std::uint64_t end = std::min(begin + piece_rows, reference.w.rows);
    for (std::uint64_t row = begin; row < end && !stop_asked; ++row) do_row(row, pieces[piece]);
  }

  void do_row(std::uint64_t row, std::vector<MatrixErrors>& errors) {
    const std::uint64_t cols = reference.w.cols;
    Tile expected;
    Tile got;
    RowOutputs exact{};
    if (x != nullptr) {
      for_each_tile(cols, [&](std::uint64_t first, std::uint64_t count) {
        decode(reference.w, row, first, count, expected);
        multiply_tile(expected, first, count, *x, exact);
      });
    }
    for (std::size_t i = 0; i < others.size(); ++i) {
      const ScaledMatrix& other = others[i];
      RowOutputs own{};
      for_each_tile(cols, [&](std::uint64_t first, std::uint64_t count) {
        decode(reference.w, row, first, count, expected);
        decode(other.w, row, first, count, got);
        for (std::uint64_t k = 0; k < count; ++k) {
          errors[i].weights.take(static_cast<double>(got[k]) * other.scale,
                                 static_cast<double>(expected[k]) * reference.scale);
        }
        if (x != nullptr) multiply_tile(got, first, count, *x, own);
      });
      if (x == nullptr) continue;
      for (std::uint64_t t = 0; t < x->tokens; ++t) {
        const std::uint64_t b = t / ComparedX::lanes;
        const std::uint64_t lane = t % ComparedX::lanes;
        const double y = static_cast<double>(ys[i][t * reference.w.rows + row]) * other.scale;
        errors[i].outputs.take(y, exact[b][lane] * reference.scale);
        errors[i].arithmetic.take(y, own[b][lane] * other.scale);
      }
    }
  }
};

std::optional<double> ratio(double above, double below) {
  if (below > 0) return above / below;
  return above == 0 ? std::optional<double>(0) : std::nullopt;
}

}  // namespace

void ValueErrors::take(double value, double reference) {
  if (!std::isfinite(value) || !std::isfinite(reference)) {
    ++not_finite;
    return;
  }
  const double difference = value - reference;
  ++values;
  squares += difference * difference;
  reference_squares += reference * reference;
  value_squares += value * value;
  products += value * reference;
  worst = std::max(worst, std::fabs(difference));
}

void ValueErrors::add(const ValueErrors& other) {
  values += other.values;
  not_finite += other.not_finite;
  squares += other.squares;
  reference_squares += other.reference_squares;
  value_squares += other.value_squares;
  products += other.products;
  worst = std::max(worst, other.worst);
}

std::optional<double> ValueErrors::relative_rms() const {
  if (values == 0) return std::nullopt;
  const auto part = ratio(squares, reference_squares);
  return part ? std::optional<double>(std::sqrt(*part)) : std::nullopt;
}

std::optional<double> ValueErrors::snr_db() const {
  const auto error = relative_rms();
  return error && *error > 0 ? std::optional<double>(-20 * std::log10(*error)) : std::nullopt;
}

std::optional<double> ValueErrors::cosine() const {
  const double both = std::sqrt(reference_squares) * std::sqrt(value_squares);
  return both > 0 ? std::optional<double>(products / both) : std::nullopt;
}

std::optional<double> ValueErrors::worst_over_rms() const {
  if (values == 0) return std::nullopt;
  return ratio(worst, std::sqrt(reference_squares / static_cast<double>(values)));
}

Result<ErrorMeter> ErrorMeter::open(const DeviceOptions& options, Planes planes) {
  LW_ASSIGN(device, open_device(options));
  return ErrorMeter(std::move(device), planes, thread_count(options));
}

Result<std::vector<float>> ErrorMeter::multiply(const MatrixView& w, const ComparedX& x) {
  lw_error error = LW_ERROR_INIT;
  lw_matrix* raw_matrix = nullptr;
  lw_status status = lw_matrix_from_bytes(device_.get(), static_cast<lw_format>(w.info().id), w.rows, w.cols, w.data,
                                          w.bytes(), &raw_matrix, &error);
  if (status != LW_OK) return from_c(status, error);
  const MatrixHandle matrix(raw_matrix);
  lw_activation* raw_activation = nullptr;
  status =
      lw_activation_create(device_.get(), static_cast<lw_planes>(planes_), x.tokens, x.cols, &raw_activation, &error);
  if (status != LW_OK) return from_c(status, error);
  const ActivationHandle activation(raw_activation);
  status = lw_activation_set(activation.get(), LW_DTYPE_F32, x.values.data(), x.tokens, 0, &error);
  if (status != LW_OK) return from_c(status, error);
  std::vector<float> y(x.tokens * w.rows);
  status = lw_gemv(device_.get(), matrix.get(), activation.get(), {y.data(), LW_DTYPE_F32, 0}, &error);
  if (status != LW_OK) return from_c(status, error);
  return y;
}

Result<std::vector<MatrixErrors>> ErrorMeter::measure(const ScaledMatrix& reference,
                                                      const std::vector<ScaledMatrix>& others, const ComparedX* x) {
  std::vector<std::vector<float>> ys;
  for (const ScaledMatrix& other : others) {
    if (x == nullptr || stop_asked) break;
    LW_ASSIGN(y, multiply(other.w, *x));
    ys.push_back(std::move(y));
  }
  const std::uint64_t pieces = (reference.w.rows + piece_rows - 1) / piece_rows;
  if (pieces > UINT32_MAX) return make_error(LW_ERROR_UNSUPPORTED, "more rows than can be compared");
  std::vector<MatrixErrors> all(others.size());
  if (stop_asked) return all;
  CompareWork work{reference, others, x, ys, std::vector(pieces, std::vector<MatrixErrors>(others.size()))};
  pool_->run(
      static_cast<std::uint32_t>(pieces),
      [](void* context, std::uint32_t piece) { static_cast<CompareWork*>(context)->do_piece(piece); }, &work);
  for (const auto& piece : work.pieces) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].weights.add(piece[i].weights);
      all[i].outputs.add(piece[i].outputs);
      all[i].arithmetic.add(piece[i].arithmetic);
    }
  }
  return all;
}

}  // namespace lanewise::program
