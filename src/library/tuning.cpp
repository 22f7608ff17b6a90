#include "library/tuning.h"

#include <memory>
#include <string>
#include <vector>

#include "library/edge.h"
#include "tune/store.h"

namespace lanewise::edge {

void take_shipped_tuning(lw_device& device) {
  // What of it can't be used here is no error: `lanewise lab audit` says so.
  std::vector<std::string> ignored;
  Tuning shipped =
      tune::shipped_tuning(tune::fingerprint_of(device.gpu.get()), device.gpu.get(), device.capabilities, ignored);
  if (shipped.size() != 0) device.tuning = std::make_shared<const Tuning>(std::move(shipped));
}

}  // namespace lanewise::edge

namespace {

using namespace lanewise;  // NOLINT(google-build-using-namespace): the C interface stands outside it

Outcome load(lw_device& device, const char* path, std::uint64_t* entries) {
  const tune::Fingerprint here = tune::fingerprint_of(device.gpu.get());
  std::string file;
  if (path != nullptr) {
    file = path;
  } else {
    LW_ASSIGN(usual, tune::store_path(here));
    file = usual;
  }
  LW_ASSIGN(store, tune::read_store(file));
  if (const std::string differs = tune::difference(store.fingerprint, here); !differs.empty()) {
    return make_error(LW_ERROR_UNSUPPORTED, "'" + file + "' was " + differs);
  }
  auto tuning = device.tuning == nullptr ? std::make_shared<Tuning>() : std::make_shared<Tuning>(*device.tuning);
  std::vector<std::string> ignored;
  tune::overlay(store, "measured here", device.gpu.get(), device.capabilities, *tuning, ignored);
  if (entries != nullptr) *entries = store.entries.size() - ignored.size();
  device.tuning = std::move(tuning);
  return Done{};
}

}  // namespace

lw_status lw_tuning_load(lw_device* device, const char* path, uint64_t* entries, lw_error* error) {
  return edge::guarded(error, [&]() -> Outcome {
    if (!edge::is_valid(device)) return edge::argument_error("the device is a null pointer or no open device");
    return load(*device, path, entries);
  });
}
