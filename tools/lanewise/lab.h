// What `lanewise lab` measures and says; cmd_lab.cpp reads its options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "tune_device.h"

namespace lanewise::program {

struct LabOptions {
  std::string action;
  std::vector<std::string> words;
  std::string beside;
  std::string layout;
  std::string activation = "x16";
  std::vector<std::uint64_t> tokens{1, 2, 4, 8};
  unsigned rounds = 15;
  unsigned runs = 3;
  TuneDeviceOptions measuring;
  std::string store;
  std::string json;
  DeviceOptions device;
};

/// TYPE K ROWS TOKENS TILE...: named tiles against each other.
Exit lab_tiles(Context& context, const LabOptions& options);
/// TYPE K TOKENS ROWS ROWS...: matrices in one launch against a launch each.
Exit lab_cat(Context& context, const LabOptions& options);
/// TYPE K ROWS TOKENS: parts of K, where a kernel has them to choose.
Exit lab_split(Context& context, const LabOptions& options);
/// MODEL: what each shape of a model gets, and why.
Exit lab_audit(Context& context, const LabOptions& options);

}  // namespace lanewise::program
