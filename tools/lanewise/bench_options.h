// The options of `lanewise bench`, and its run on a device with memory of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command.h"
#include "device.h"

namespace lanewise::program {

struct BenchOptions {
  std::vector<std::string> formats;
  std::vector<std::string> shapes;
  std::vector<std::uint64_t> tokens{1, 2, 4, 8};
  std::string layout;
  std::string activation = "x16";
  std::string model;
  std::string pack;
  std::string json;
  unsigned rounds = 0;  ///< 0: seven on the CPU, five on a GPU
  std::uint64_t bytes = 0;
  std::uint32_t group = 0;    ///< matrices, or lists of experts, in one launch; 0: one, and of experts two
  std::uint32_t experts = 0;  ///< of a list; 0: none
  std::string peer;
  std::vector<std::string> peer_words;
  double peer_patience = 60;
  bool strict = false;
  bool hot = false;
  bool sleep = false;
  bool verbose = false;
  DeviceOptions device;
  std::vector<Argument> not_with_pack;
  std::vector<Argument> not_on_gpu;
  std::vector<Argument> not_on_cpu;
};

Exit bench_on_gpu(Context& context, const BenchOptions& options);

}  // namespace lanewise::program
