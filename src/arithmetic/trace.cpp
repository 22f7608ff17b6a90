// One output of the scalar kernel with every step written down.
#include "arithmetic/scalar.h"
#include "arithmetic/scalar_steps.h"
#include "base/float_env.h"

namespace lanewise {
namespace {

struct Writer {
  std::vector<TraceStep>& steps;
  void step(const TraceStep& step) { steps.push_back(step); }
};

template <class T>
LW_NOINLINE void trace_row(const std::uint8_t* row, const Activation& x, std::uint64_t token, Trace& trace) {
  Writer writer{trace.steps};
  if constexpr (T::info.is_float()) {
    const FloatToken image = x.floats(scalar::float_image<T>(), token);
    trace.xq.assign(image.values, image.values + x.cols());
    trace.y = scalar::float_row<T>(row, image, x.cols(), writer, &trace.eighth_sums);
  } else {
    const NaturalToken image = x.natural(token);
    trace.q.resize(x.cols());
    for (std::uint64_t k = 0; k < x.cols(); ++k) {
      std::int32_t q = 0;
      for (std::uint32_t p = plane_count(x.planes()); p-- > 0;) q = q * 256 + image.plane(p)[k];
      trace.q[k] = q;
    }
    scalar::code_row<T>(row, x, &image, 1, &trace.y, writer, &trace.eighth_sums);
  }
}

}  // namespace

Trace trace_scalar(const MatrixView& w, const Activation& x, std::uint64_t row, std::uint64_t token) {
  const FloatEnvironment environment;
  Trace trace;
  const NaturalToken image = x.natural(token);
  trace.poisoned = image.poisoned;
  trace.exponents.assign(image.exponents, image.exponents + x.blocks());
  with_format(w.format, [&]<class T>(T) { trace_row<T>(w.row(row), x, token, trace); });
  return trace;
}

}  // namespace lanewise
