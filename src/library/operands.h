// What a product is given, checked: the same on every device.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernel.h"
#include "library/handles.h"
#include "library/overlap.h"

namespace lanewise::edge {

/// What select() is asked for a matrix and an activation that makes `outputs` vectors of y.
Problem problem_of(const lw_matrix& matrix, const lw_activation& x, std::uint64_t outputs);
/// Null where check_matrix() gives an error.
const KernelDesc* kernel_of(const lw_device& device, const lw_matrix& matrix, const lw_activation& x,
                            std::uint64_t outputs);

/// What lw_gemv takes of a device's tuning for them; the kernel as above where there is none.
Choice choice_of(const lw_device& device, const lw_matrix& matrix, const lw_activation& x);

/// An open device and a live activation of it, set.
Outcome check_operands(const lw_device* device, const lw_activation* activation);
/// A live matrix of the device, of the activation's columns, with a kernel.
Outcome check_matrix(const lw_device& device, const lw_matrix* matrix, const lw_activation& x);

/// An output as kernels take it, and the bytes it covers (none where nothing is written).
struct Output {
  OutputView view;
  ByteVectors bytes;
};
Result<Output> check_output(const lw_output& y, std::uint64_t rows, std::uint64_t vectors,
                            const lw_activation& activation);
/// y shares no byte with the weights.
Outcome check_apart(const Output& y, const lw_matrix& matrix);
/// The outputs of a group, each checked before, share no byte among each other and with the weights.
Outcome check_outputs_apart(std::span<const lw_matrix* const> matrices, const lw_output* ys, const lw_activation& x);

/// One matrix, all tokens.
struct Product {
  const lw_device* device;
  const lw_matrix* matrix;
  const lw_activation* x;
  Output y;

  [[nodiscard]] bool is_empty() const { return y.bytes.is_empty(); }
  /// Without regard to tuning: several matrices of a call go by one kernel.
  [[nodiscard]] const KernelDesc& kernel() const { return *kernel_of(*device, *matrix, *x, x->tokens()); }
  [[nodiscard]] Choice choice() const { return choice_of(*device, *matrix, *x); }
};
Result<Product> check_product(const lw_device* device, const lw_matrix* matrix, const lw_activation* activation,
                              const lw_output& y);
/// The same again, without the checks and without `bytes`.
Product product_of(const lw_device& device, const lw_matrix& matrix, const lw_activation& x, const lw_output& y);

/// A list of experts and the ids of every token, `used` each. On a device with memory of its own the ids are device
/// memory.
struct ExpertProduct {
  const lw_device* device;
  std::span<const lw_matrix* const> matrices;
  const lw_activation* x;
  std::span<const std::int32_t> ids;
  std::uint64_t used;
  Output y;

  [[nodiscard]] bool is_empty() const { return y.bytes.is_empty(); }
};

}  // namespace lanewise::edge
