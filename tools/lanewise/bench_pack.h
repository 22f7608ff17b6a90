// What putting a whole model into a layout costs at load.
#pragma once

#include <cstdint>
#include <string>

#include "bench_crew.h"
#include "command.h"
#include "gguf/reader.h"
#include "json.h"
#include "layout/layout.h"

namespace lanewise::program {

/// Medians over the rounds. `fresh`: into memory that the system has still to give, as at load; `again`: into the same
/// memory once more.
struct PackTimes {
  std::uint64_t matrices = 0;
  std::uint64_t raw_matrices = 0;  ///< of formats that the layout doesn't hold: left where they are
  std::uint64_t raw_bytes = 0;
  std::uint64_t bytes = 0;         ///< of GGUF's, packed
  std::uint64_t packed_bytes = 0;  ///< with the padding of last tiles
  std::uint64_t file_bytes = 0;
  double read_s = 0;  ///< reading all shards with read(), as the page cache has them by then
  double copy_fresh_s = 0;
  double copy_again_s = 0;
  double pack_fresh_s = 0;
  double pack_again_s = 0;
  std::string wrong;  ///< the first matrix whose bytes don't come back; empty: all did
};

/// Errors: LW_ERROR_MEMORY, LW_ERROR_IO, LW_ERROR_NOT_FOUND (nothing to pack). stop_asked ends it early, with what
/// there is unfinished.
Result<PackTimes> time_packing(const gguf::Model& model, Layout layout, Crew& crew, unsigned rounds);

void print(Output& out, const PackTimes& times, std::string_view layout);
Json to_json(const PackTimes& times);

}  // namespace lanewise::program
