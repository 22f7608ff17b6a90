// The report's pictures, a file each. Nothing where the material has too little for one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/data.h"
#include "report/html.h"

namespace lanewise::program::report {

/// Of a run of bench, cold cases. `id`: a prefix, unique on the page.
std::optional<Figure> roofline(const BenchRun& run, const std::string& id);
std::optional<Figure> window_curves(const BenchRun& run, const std::string& id);
std::optional<Figure> heat_map(const BenchRun& run, const std::string& id);
std::optional<Figure> peer_ratios(const BenchRun& run, const std::string& id);
std::optional<Figure> decoding_speed(const BenchRun& run, const std::string& id);

/// Worst errors against window and planes, and by format.
std::optional<Figure> accuracy(const VerifyRun& run, const std::string& id);

/// Size and time against the error of outputs; the errors of each kind of tensor.
std::optional<Figure> pareto(const CompareRun& run, const std::string& id);
std::optional<Figure> tensor_errors(const CompareRun& run, const std::string& id);

std::optional<Figure> tuning_gains(const TuneRun& run, const std::string& id);

/// Numbers in the order of their first appearance, or of their size.
std::vector<std::string> formats_of(const std::vector<const BenchCase*>& cases);
std::vector<double> windows_of(const std::vector<const BenchCase*>& cases);
/// The index of a colour for a format by its family, and the families' names in that order.
std::size_t family_of(const std::string& format);
extern const std::vector<std::string> family_names;
double median_of(std::vector<double> values);

}  // namespace lanewise::program::report
