#include "tune/fingerprint.h"

#include "backends/cpu/cpu.h"

namespace lanewise::tune {

Fingerprint fingerprint_of(const gpu::Device* device) {
  if (device != nullptr) {
    const gpu::DeviceInfo& info = device->info();
    return {info.backend, info.name, info.driver, std::string(kernels_hash(info.backend)), info.multiprocessors};
  }
  std::string isas;
  for (const std::string_view isa : cpu_isas()) isas.append(isas.empty() ? "" : " ").append(isa);
  return {"cpu", cpu_description(), isas, std::string(kernels_hash("cpu")), cpu_count()};
}

std::string difference(const Fingerprint& found, const Fingerprint& wanted) {
  const auto differs = [](std::string_view what, const std::string& a, const std::string& b) {
    return std::string(what) + " '" + a + "', this is '" + b + "'";
  };
  if (found.backend != wanted.backend) return differs("made on backend", found.backend, wanted.backend);
  if (found.device != wanted.device) return differs("made on", found.device, wanted.device);
  if (found.driver != wanted.driver) {
    return differs(wanted.backend == "cpu" ? "made with instruction sets" : "made with driver", found.driver,
                   wanted.driver);
  }
  if (found.kernels != wanted.kernels) return differs("made with kernels", found.kernels, wanted.kernels);
  if (found.processors != wanted.processors) {
    return differs("made on as many processors as", std::to_string(found.processors),
                   std::to_string(wanted.processors));
  }
  return {};
}

std::string slug(const Fingerprint& fingerprint) {
  std::string text = fingerprint.backend + "-";
  for (const char each : fingerprint.device.substr(0, 60)) {
    const bool is_digit = each >= '0' && each <= '9';
    const bool is_lower = each >= 'a' && each <= 'z';
    const bool is_upper = each >= 'A' && each <= 'Z';
    if (is_digit || is_lower) {
      text.push_back(each);
    } else if (is_upper) {
      text.push_back(static_cast<char>(each - 'A' + 'a'));
    } else if (!text.ends_with('-')) {
      text.push_back('-');
    }
  }
  while (text.ends_with('-')) text.pop_back();
  return text;
}

}  // namespace lanewise::tune
