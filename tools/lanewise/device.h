// The device options that the computing commands share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exit_codes.h"
#include "kernels/devices.h"
#include "kernels/kernel.h"
#include "options.h"

namespace lanewise::program {

/// A device of this machine, or a kind of device of which there is none.
struct DeviceEntry {
  std::string name;     ///< "cpu", "cuda:0"; "cuda" where there is none
  std::string why_not;  ///< empty: it can be used
  std::optional<gpu::DeviceInfo> gpu{};
};
std::vector<DeviceEntry> device_entries();

/// On what a command can compute.
enum class Computes : std::uint8_t { on_any_device, on_the_cpu };

struct DeviceOptions {
  std::string device = "cpu";
  std::string kernel;
  std::uint32_t threads = 0;  ///< 0: one a processor

  void declare_device(Arguments& arguments);
  void declare_threads(Arguments& arguments);
  Argument declare_kernel(Arguments& arguments);
};

/// Nothing where the device and the instruction set asked for (LANEWISE_ISA) are here; a Fault that lists what is,
/// otherwise.
std::optional<Fault> check_device(const DeviceOptions& options, Computes computes = Computes::on_any_device);
/// The same for the instruction set alone.
std::optional<Fault> check_isa();
/// The number of threads meant.
std::uint32_t thread_count(const DeviceOptions& options);

/// Declares --activation; x16 where it isn't given.
Argument declare_planes(Arguments& arguments, std::string* name);

/// The library's handles, freed in the right order by their owners.
struct DeviceCloser {
  void operator()(lw_device* device) const { lw_device_close(device); }
};
struct MatrixFreer {
  void operator()(lw_matrix* matrix) const { lw_matrix_free(matrix); }
};
struct ActivationFreer {
  void operator()(lw_activation* activation) const { lw_activation_free(activation); }
};
using DeviceHandle = std::unique_ptr<lw_device, DeviceCloser>;
using MatrixHandle = std::unique_ptr<lw_matrix, MatrixFreer>;
using ActivationHandle = std::unique_ptr<lw_activation, ActivationFreer>;

/// An error of the C interface as one of ours.
Error from_c(lw_status status, const lw_error& error);

Result<DeviceHandle> open_device(const DeviceOptions& options);

/// What a device has found wrong with kernels of its own, on stderr. Null: the CPU, which says nothing.
void print_warnings(const gpu::Device* device);

}  // namespace lanewise::program
