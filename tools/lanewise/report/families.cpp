#include <algorithm>
#include <cctype>

#include "report/plots.h"

namespace lanewise::program::report {

const std::vector<std::string> family_names{"floats", "q4_0 to q8_0", "K-quants", "IQ", "1 and 2 bits, fp4", "others"};

std::size_t family_of(const std::string& format) {
  std::string name = format;
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name == "f32" || name == "f16" || name == "bf16") return 0;
  if (name.starts_with("iq")) return 3;
  if (name.ends_with("_k")) return 2;
  if (name == "q1_0" || name == "q2_0" || name.starts_with("tq") || name.ends_with("fp4")) return 4;
  if (name.starts_with('q')) return 1;
  return 5;
}

std::vector<std::string> formats_of(const std::vector<const BenchCase*>& cases) {
  std::vector<std::string> list;
  for (const BenchCase* c : cases) {
    if (std::ranges::find(list, c->format) == list.end()) list.push_back(c->format);
  }
  return list;
}

std::vector<double> windows_of(const std::vector<const BenchCase*>& cases) {
  std::vector<double> list;
  for (const BenchCase* c : cases) {
    if (std::ranges::find(list, c->tokens) == list.end()) list.push_back(c->tokens);
  }
  std::ranges::sort(list);
  return list;
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace lanewise::program::report
