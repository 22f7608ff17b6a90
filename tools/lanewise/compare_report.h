// What `lanewise compare` says: a table a file, a line a file at the end, JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compare_measure.h"
#include "json.h"
#include "output.h"

namespace lanewise::program {

struct ComparedMatrix {
  std::string name;
  Format format = Format::F32;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::uint64_t bytes = 0;
  bool is_vector = false;
  double passes = 1;  ///< times that it is read for a token: below 1 of experts, 0 of an embedding that is looked up in
  bool x_given = false;
  MatrixErrors errors;
  std::vector<double> us;  ///< one a window; empty: not timed
};

struct ComparedFile {
  std::string path;
  std::vector<ComparedMatrix> matrices;
  std::vector<std::string> only_in_reference, only_here, other_shape, not_weights;
};

/// What a file comes to. Errors: the root of the mean of the squares, each matrix by the number of its weights; vectors
/// have no part.
struct FileSummary {
  std::string format;  ///< of most bytes
  std::uint64_t matrices = 0;
  std::uint64_t weights = 0;
  std::uint64_t bytes = 0;
  double bits_per_weight = 0;
  std::optional<double> weight_error, output_error, arithmetic_error;
  const ComparedMatrix* worst = nullptr;  ///< by the error of outputs
  std::vector<double> us;                 ///< one a window, of what a token reads; empty: not timed
};
FileSummary summarise(const ComparedFile& file, std::size_t windows);

/// "blk.*.attn_q.weight" of "blk.12.attn_q.weight": numbers between dots or in brackets.
std::string kind_of_name(const std::string& name);

struct CompareReport {
  std::vector<ComparedFile> files;  ///< the reference first
  std::vector<std::uint64_t> windows;
  bool timed = true;
  std::string x;  ///< what was multiplied
  std::string activation;
  std::vector<std::string> notes;

  /// Notes on what has no counterpart and on values that aren't finite, for a person.
  [[nodiscard]] std::vector<std::string> findings() const;
  void print(Output& out, bool every_tensor) const;
  [[nodiscard]] Json json() const;

 private:
  void print_file(Output& out, const ComparedFile& file, bool every_tensor) const;
  void print_summary(Output& out) const;
};

}  // namespace lanewise::program
