// What `lanewise bench` is to time: formats and shapes by name, or those of a model.
#pragma once

#include <string>
#include <vector>

#include "bench_model.h"
#include "bench_options.h"
#include "bench_peer.h"
#include "harness/case.h"
#include "json.h"

namespace lanewise::program {

struct BenchPlan {
  struct Matrix {
    Format format;
    Shape shape;
  };
  std::vector<Matrix> matrices;
  std::vector<ModelShape> shapes;  ///< with --model: the same, with how often they are read
  std::vector<std::string> notes;
};
/// Errors: an unknown format, a bad shape, a model that can't be read or has nothing to time.
Result<BenchPlan> plan_bench(const BenchOptions& options);

PeerOptions peer_options(const BenchOptions& options);

/// With --model, what the times come to: as text, and as JSON's `model`.
void print_projections(Output& out, const std::vector<Projection>& projections);
Json model_json(const std::string& file, const std::vector<ModelShape>& shapes,
                const std::vector<Projection>& projections);

}  // namespace lanewise::program
