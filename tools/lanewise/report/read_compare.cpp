#include <fmt/format.h>

#include "report/read.h"

namespace lanewise::program::report {
namespace {

std::optional<double> error_of(const Json& object, std::string_view key) {
  const Json* part = object.find(key);
  return part != nullptr ? optional_number(*part, "relative_rms") : std::nullopt;
}

std::optional<CompareFile> read_file(const Json& entry) {
  CompareFile file;
  file.file = text_of(entry, "file");
  if (file.file.empty()) return std::nullopt;
  file.format = text_of(entry, "format");
  file.bytes = number_of(entry, "bytes");
  file.bits = number_of(entry, "bits_per_weight");
  file.weight_error = optional_number(entry, "weight_error");
  file.output_error = optional_number(entry, "output_error");
  for (const Json& time : list_of(entry, "us")) {
    if (number_of(time, "us") > 0) file.us.emplace_back(number_of(time, "tokens"), number_of(time, "us"));
  }
  for (const Json& each : list_of(entry, "matrices")) {
    CompareMatrix matrix;
    matrix.name = text_of(each, "name");
    matrix.format = text_of(each, "format");
    matrix.rows = number_of(each, "rows");
    matrix.cols = number_of(each, "cols");
    matrix.bytes = number_of(each, "bytes");
    matrix.bits = number_of(each, "bits_per_weight");
    matrix.weight_error = error_of(each, "weights");
    matrix.output_error = error_of(each, "outputs");
    file.matrices.push_back(std::move(matrix));
  }
  return file;
}

}  // namespace

CompareRun read_compare(const Json& document) {
  CompareRun run;
  if (const Json* machine = document.find("machine")) {
    run.device = text_of(*machine, "cpu");
    if (run.device.empty()) run.device = text_of(*machine, "device");
  }
  if (const Json* x = document.find("x")) run.x = text_of(*x, "what");
  const auto add = [&](const Json& entry, bool is_reference) {
    if (auto file = read_file(entry)) {
      file->is_reference = is_reference;
      run.files.push_back(*std::move(file));
    } else {
      ++run.unread;
    }
  };
  if (const Json* reference = document.find("reference")) add(*reference, true);
  for (const Json& entry : list_of(document, "files")) add(entry, false);
  return run;
}

}  // namespace lanewise::program::report
