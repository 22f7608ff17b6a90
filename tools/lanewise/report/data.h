// What the report shows, read from the JSON of verify, bench, tune and compare. Readers are lenient: a key that isn't
// there leaves its place empty, an entry without what it is about is counted in `unread`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "json.h"

namespace lanewise::program::report {

/// Of every document.
struct Source {
  std::string file;     ///< its name in the folder
  std::string command;  ///< that wrote it; empty: the file doesn't say
  std::string commit;
  std::string date;
  std::vector<std::pair<std::string, std::string>> machine;  ///< facts, in the order of the file
  std::vector<std::string> notes;                            ///< and warnings
  std::uint64_t unread = 0;                                  ///< entries that aren't what they should be
};

struct PeerFigure {
  double us = 0;
  double over_ours = 0;  ///< above 1: ours is the faster
  std::string how;
};

/// Times in microseconds.
struct BenchCase {
  std::string format, kernel, layout, activation, problem;
  double rows = 0, cols = 0, tokens = 0, bytes = 0;
  double matrices = 1, experts = 0;
  bool cold = true;
  double us = 0, spread = 0, fraction = 0, floor_us = 0, image_us = 0;
  std::optional<double> overlapped_us, overlapped_fraction;
  std::optional<PeerFigure> peer;
  std::string peer_missing;
  std::uint64_t outputs_differing = 0;

  /// "4096x14336", "2560x640 x16", "4096x4096 x3".
  [[nodiscard]] std::string shape() const;
  [[nodiscard]] double gbps() const { return bytes / us / 1e3; }
};

struct Projected {
  double tokens, milliseconds, tokens_per_second;
};

struct BenchRun : Source {
  std::string device;  ///< "NVIDIA H200", the processor's name
  std::string name;    ///< "cuda:0", "cpu"
  double ceiling_gbps = 0;
  std::string peer;  ///< its name and version
  std::vector<BenchCase> cases;
  std::string model;
  std::vector<Projected> projection;
  std::string leaves_out;

  /// Cold cases alone.
  [[nodiscard]] std::vector<const BenchCase*> cold() const;
};

struct VerifyCounts {
  std::string what;  ///< a format; "all"
  double cases = 0, passed = 0, failed = 0, mistrusted = 0;
  double outputs = 0, weights = 0;
  double worst_ratio = 0, worst_relative = 0;
};

struct VerifyCase {
  std::string format, fill, tensor, verdict, problem;
  unsigned planes = 0;
  double tokens = 0;
  double worst_ratio = 0;     ///< error / derived bound
  double worst_relative = 0;  ///< error / sum of |terms|
};

struct VerifyRun : Source {
  std::string device, model;
  bool complete = true;
  VerifyCounts total;
  std::vector<VerifyCounts> formats;
  std::vector<VerifyCase> cases;
};

struct CompareMatrix {
  std::string name, format;
  double rows = 0, cols = 0, bytes = 0, bits = 0;
  std::optional<double> weight_error, output_error;
};

struct CompareFile {
  std::string file, format;
  bool is_reference = false;
  double bytes = 0, bits = 0;
  std::optional<double> weight_error, output_error;
  std::vector<std::pair<double, double>> us;  ///< window, microseconds for all matrices once
  std::vector<CompareMatrix> matrices;
};

struct CompareRun : Source {
  std::string device;
  std::string x;                   ///< what was multiplied
  std::vector<CompareFile> files;  ///< the reference first
};

struct TuneEntry {
  std::string format, chosen, by_default;
  double rows = 0, cols = 0, tokens = 0, passes = 0;
  double default_us = 0, chosen_us = 0, ratio = 1, low = 1, high = 1;
  double rounds = 0, rejected = 0, candidates = 0;
  bool won = false;
};

struct TunedDecoding {
  double tokens, default_ms, tuned_ms, ratio;
};

struct TuneRun : Source {
  std::string device, model;
  bool finished = true;
  std::vector<TuneEntry> entries;
  std::uint64_t left = 0;  ///< entries that weren't tuned
  std::vector<TunedDecoding> decoding;
  std::string leaves_out;
};

struct Material {
  std::vector<BenchRun> bench;
  std::vector<VerifyRun> verify;
  std::vector<CompareRun> compare;
  std::vector<TuneRun> tune;
  std::vector<std::string> files;                              ///< read and shown
  std::vector<std::pair<std::string, std::string>> not_shown;  ///< file, why

  [[nodiscard]] bool empty() const { return files.empty(); }
};

/// Adds what a document holds, which may be several things; a document of nothing known goes to `not_shown`.
void add_document(Material& material, const std::string& file, const Json& document);

}  // namespace lanewise::program::report
