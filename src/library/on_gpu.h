// Products on a device with memory of its own: enqueued on the device handle's stream, nothing allocated, nothing
// waited for.
#pragma once

#include <span>
#include <string>

#include "library/operands.h"

namespace lanewise::edge {

Outcome multiply_on_gpu(const Product& product);
/// Matrices of one format and layout and outputs of one type share a launch, most_targets at a time.
Outcome multiply_group_on_gpu(const lw_device& device, std::span<const lw_matrix* const> matrices,
                              const lw_activation& x, const lw_output* ys);
Error no_parts_on_gpu(const lw_device& device);
/// Whether one launch can take two lists of experts.
bool go_together(const ExpertProduct& a, const ExpertProduct& b);
/// One list of experts, or two that go together. The experts of a list are of one format and layout.
Outcome multiply_experts_on_gpu(std::span<const ExpertProduct> products);
/// Waits; an error where an id of the activation's last such call was out of range.
Outcome check_ids_on_gpu(const lw_device& device, const lw_activation& x);
std::string explain_on_gpu(const lw_device& device, const lw_matrix& matrix, const lw_activation& x, const Plan& plan);

}  // namespace lanewise::edge
