#include "report/data.h"

#include <algorithm>

#include <fmt/format.h>

#include "harness/case.h"
#include "report/read.h"
#include "report/text.h"

namespace lanewise::program::report {
namespace {

// A machine's facts, those that are numbers of bytes in their unit.
void read_machine(const Json& document, Source& source) {
  const Json* machine = document.find("machine");
  if (machine == nullptr) machine = document.find("fingerprint");
  if (machine == nullptr) return;
  for (const JsonMember& fact : machine->members()) {
    std::string key = fact.key;
    std::string value;
    if (const std::string* text = fact.value.as_string()) {
      value = *text;
    } else if (const auto number = fact.value.as_number()) {
      const bool bytes = key.ends_with("_bytes");
      if (bytes) key.resize(key.size() - 6);
      value = bytes ? bytes_text(*number) : count(*number);
    } else {
      continue;
    }
    std::ranges::replace(key, '_', ' ');
    source.machine.emplace_back(key, value);
  }
}

void read_source(const Json& document, const std::string& file, Source& source) {
  source.file = file;
  source.command = text_of(document, "command");
  source.commit = text_of(document, "commit");
  source.date = text_of(document, "date");
  for (const char* key : {"notes", "warnings"}) {
    for (const Json& note : list_of(document, key)) {
      if (const std::string* text = note.as_string()) source.notes.push_back(*text);
    }
  }
  read_machine(document, source);
}

std::optional<BenchCase> read_case(const Json& entry, double run_ceiling) {
  BenchCase c;
  c.format = text_of(entry, "format");
  c.rows = number_of(entry, "rows");
  c.cols = number_of(entry, "cols");
  c.tokens = number_of(entry, "tokens");
  c.us = number_of(entry, "median_us");
  c.bytes = number_of(entry, "bytes");
  if (c.format.empty() || !(c.rows > 0) || !(c.cols > 0) || !(c.tokens > 0) || !(c.us > 0) || !(c.bytes > 0)) return {};
  c.matrices = number_of(entry, "matrices", 1);
  c.experts = number_of(entry, "experts");
  c.kernel = text_of(entry, "kernel");
  c.layout = text_of(entry, "layout");
  c.activation = text_of(entry, "activation");
  c.problem = text_of(entry, "problem");
  c.cold = flag_of(entry, "cold", true);
  c.spread = number_of(entry, "spread");
  c.fraction = number_of(entry, "fraction");
  c.image_us = number_of(entry, "image_us");
  const double ceiling = number_of(entry, "ceiling_gbps", run_ceiling);
  c.floor_us = number_of(entry, "floor_us", ceiling > 0 ? c.bytes / ceiling / 1e3 : 0);
  c.overlapped_us = optional_number(entry, "overlapped_us");
  c.overlapped_fraction = optional_number(entry, "overlapped_fraction");
  c.outputs_differing = static_cast<std::uint64_t>(std::max(0.0, number_of(entry, "outputs_differing")));
  if (const auto us = optional_number(entry, "peer_us")) {
    c.peer = {*us, number_of(entry, "peer_over_ours"), text_of(entry, "peer_how")};
  }
  c.peer_missing = text_of(entry, "peer_missing");
  return c;
}

BenchRun read_bench(const Json& document, const std::string& file) {
  BenchRun run;
  read_source(document, file, run);
  run.ceiling_gbps = number_of(document, "ceiling_gbps");
  if (const Json* machine = document.find("machine")) {
    run.device = text_of(*machine, "device");
    if (run.device.empty()) run.device = text_of(*machine, "cpu");
  }
  for (const Json& entry : list_of(document, "cases")) {
    auto c = read_case(entry, run.ceiling_gbps);
    if (!c) {
      ++run.unread;
      continue;
    }
    if (run.name.empty()) run.name = text_of(entry, "device");
    run.cases.push_back(*std::move(c));
  }
  if (run.device.empty()) run.device = run.name.empty() ? "a device that the file doesn't name" : run.name;
  if (const Json* peer = document.find("peer")) {
    run.peer = text_of(*peer, "name");
    if (const std::string version = text_of(*peer, "version"); !version.empty()) run.peer += " " + version;
  }
  if (const Json* model = document.find("model")) {
    run.model = text_of(*model, "file");
    run.leaves_out = text_of(*model, "leaves_out");
    for (const Json& entry : list_of(*model, "projection")) {
      const Projected projected{number_of(entry, "tokens"), number_of(entry, "ms"),
                                number_of(entry, "tokens_per_second")};
      if (projected.tokens > 0 && projected.milliseconds > 0) run.projection.push_back(projected);
    }
  }
  return run;
}

VerifyCounts read_counts(const std::string& what, const Json& entry) {
  return {what,
          number_of(entry, "cases"),
          number_of(entry, "passed"),
          number_of(entry, "failed"),
          number_of(entry, "mistrusted"),
          number_of(entry, "values_compared"),
          number_of(entry, "weights_decoded"),
          number_of(entry, "worst_error_over_bound"),
          number_of(entry, "worst_relative_error")};
}

std::optional<VerifyCase> read_verdict(const Json& entry) {
  VerifyCase c;
  c.problem = text_of(entry, "problem");
  c.verdict = text_of(entry, "verdict");
  const auto problem = parse_case(c.problem);
  if (!problem || c.verdict.empty()) return std::nullopt;
  c.format = format_info(problem->format).name;
  c.fill = fill_name(problem->fill);
  c.tensor = problem->tensor;
  c.planes = static_cast<unsigned>(problem->planes);
  c.tokens = static_cast<double>(problem->tokens);
  if (const Json* errors = entry.find("float64")) {
    c.worst_ratio = number_of(*errors, "worst_ratio");
    c.worst_relative = number_of(*errors, "worst_relative");
  }
  return c;
}

VerifyRun read_verify(const Json& document, const Json& outer, const std::string& file) {
  VerifyRun run;
  read_source(outer, file, run);
  run.device = text_of(document, "device");
  if (run.device.empty()) {
    if (const Json* machine = outer.find("machine")) run.device = text_of(*machine, "device");
  }
  run.model = text_of(document, "source");
  run.complete = flag_of(document, "complete", true);
  if (const Json* total = document.find("total")) run.total = read_counts("all", *total);
  if (const Json* formats = document.find("formats")) {
    for (const JsonMember& each : formats->members()) run.formats.push_back(read_counts(each.key, each.value));
  }
  for (const Json& entry : list_of(document, "verdicts")) {
    if (auto c = read_verdict(entry)) {
      run.cases.push_back(*std::move(c));
    } else {
      ++run.unread;
    }
  }
  return run;
}

}  // namespace

std::string BenchCase::shape() const {
  std::string text = fmt::format("{:.0f}x{:.0f}", cols, rows);
  if (matrices > 1) text += fmt::format(" x{:.0f}", matrices);
  return text;
}

std::vector<const BenchCase*> BenchRun::cold() const {
  std::vector<const BenchCase*> list;
  for (const BenchCase& c : cases) {
    if (c.cold) list.push_back(&c);
  }
  return list;
}

void add_document(Material& material, const std::string& file, const Json& document) {
  const auto is_verification = [](const Json* part) {
    return part != nullptr && part->find("total") != nullptr && part->find("formats") != nullptr;
  };
  const std::string kind = text_of(document, "kind");
  bool known = false;
  if (kind == "tune") {
    material.tune.push_back(read_tune(document));
    read_source(document, file, material.tune.back());
    known = true;
  } else if (document.find("reference") != nullptr && document.find("files") != nullptr) {
    material.compare.push_back(read_compare(document));
    read_source(document, file, material.compare.back());
    known = true;
  } else {
    if (const Json* verification = document.find("verification"); is_verification(verification)) {
      material.verify.push_back(read_verify(*verification, document, file));
      known = true;
    } else if (is_verification(&document)) {
      material.verify.push_back(read_verify(document, document, file));
      known = true;
    }
    if (!list_of(document, "cases").empty()) {
      BenchRun run = read_bench(document, file);
      if (run.cases.empty()) {
        material.not_shown.emplace_back(file, "none of its cases is one of bench's");
        return;
      }
      material.bench.push_back(std::move(run));
      known = true;
    }
  }
  if (known) {
    material.files.push_back(file);
  } else {
    material.not_shown.emplace_back(file, "JSON, but not of verify, bench, tune or compare");
  }
}

}  // namespace lanewise::program::report
