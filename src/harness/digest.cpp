#include "harness/digest.h"

#include <xxhash.h>

#include <cstdio>
#include <new>

#include "backends/cpu/cpu.h"
#include "harness/rows.h"

namespace lanewise {
namespace {

Result<Fingerprint> digest(const MatrixView& w, std::uint64_t tokens, Planes planes, std::string_view kernel,
                           const VerifyOptions& options) {
  LW_ASSIGN(plan, select({w.format, w.rows, w.cols, tokens, planes, Layout::raw}, "cpu", cpu_capabilities(), kernel));
  const std::vector<float> x = digest_x(tokens, w.cols);
  LW_ASSIGN(activation, Activation::create(planes, tokens, w.cols));
  LW_TRY(activation->set({x.data(), Dtype::f32, tokens, w.cols, w.cols}));
  std::vector<float> y(tokens * w.rows);
  const OutputView out{y.data(), Dtype::f32, w.rows};
  RowWork work(options, w.rows);
  const std::uint64_t chunk = std::max<std::uint64_t>(1, chunk_elements / w.cols);
  const bool done = work.run(w.rows, chunk, [&](std::uint64_t begin, std::uint64_t end) {
    if (options.replacement) {
      options.replacement(w, *activation, out, begin, end);
    } else {
      plan.kernel->launch(w, *activation, out, begin, end);
    }
  });
  if (!done) return make_error(LW_ERROR_INTERNAL, "cancelled");
  return fingerprint({reinterpret_cast<const std::uint8_t*>(y.data()), y.size() * sizeof(float)});
}

}  // namespace

std::string to_string(const Fingerprint& hash) {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high),
                static_cast<unsigned long long>(hash.low));
  return text;
}

std::vector<float> digest_x(std::uint64_t tokens, std::uint64_t cols) {
  std::vector<float> x(tokens * cols);
  for (std::uint64_t t = 0; t < tokens; ++t) {
    Random random(t);
    for (std::uint64_t k = 0; k < cols; ++k) {
      const std::uint64_t parts = random.next();
      std::int32_t sum = -2 * 65535;
      for (unsigned shift = 0; shift < 64; shift += 16) sum += static_cast<std::int32_t>(parts >> shift & 0xFFFFU);
      x[t * cols + k] = static_cast<float>(sum) * 0x1p-15F;
    }
  }
  return x;
}

Result<Fingerprint> digest_matrix(const MatrixView& w, std::uint64_t tokens, Planes planes, std::string_view kernel,
                                  const VerifyOptions& options) {
  Case sizes;
  sizes.format = w.format;
  sizes.rows = w.rows;
  sizes.cols = w.cols;
  sizes.tokens = tokens;
  LW_TRY(check_case(sizes));
  try {
    return digest(w, tokens, planes, kernel, options);
  } catch (const std::bad_alloc&) {
    return make_error(LW_ERROR_MEMORY, "memory ran out in a digest of " + std::to_string(w.rows) + " rows");
  }
}

struct ModelDigest::State {
  XXH3_state_t* xxh = XXH3_createState();
  State() {
    if (xxh == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(xxh);
  }
  ~State() { XXH3_freeState(xxh); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

ModelDigest::ModelDigest() : state_(std::make_unique<State>()) {}
ModelDigest::~ModelDigest() = default;

void ModelDigest::add(std::string_view name, const Fingerprint& hash) {
  std::string bytes(name);
  bytes.push_back('\0');
  for (const std::uint64_t half : {hash.high, hash.low}) {
    for (unsigned shift = 64; shift != 0;) bytes.push_back(static_cast<char>(half >> (shift -= 8) & 0xFFU));
  }
  XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
}

Fingerprint ModelDigest::result() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_->xxh);
  return {hash.low64, hash.high64};
}

}  // namespace lanewise
