// lab: single questions about kernels, answered by paired rounds.

#include <memory>

#include "command.h"
#include "json.h"
#include "lab.h"
#include "options.h"

namespace lanewise::program {
namespace {

Exit lab(Context& context, const LabOptions& options) {
  if (auto fault = check_device(options.device)) return *fault;
  if (options.action != "tiles" && !options.beside.empty()) return bad_usage("--beside is of lab tiles");
  if (options.action != "audit" && !options.store.empty()) return bad_usage("--store is of lab audit");
  if (options.action == "tiles") return lab_tiles(context, options);
  if (options.action == "cat") return lab_cat(context, options);
  if (options.action == "split") return lab_split(context, options);
  return lab_audit(context, options);
}

Job setup_lab(Arguments& arguments) {
  auto options = std::make_shared<LabOptions>();
  arguments.option("ACTION", &options->action, "tiles, cat, split or audit")
      .required()
      .one_of({"tiles", "cat", "split", "audit"});
  arguments.option("WORD", &options->words, "What it is about: see the examples").required();
  arguments
      .option("--beside", &options->beside, "Each tile in one call with a matrix of that type and rows, as k beside q")
      .type_name("TYPE,ROWS");
  arguments.option("--layout", &options->layout, "Where the bits of W lie (default: the device's fastest)")
      .type_name("L");
  declare_planes(arguments, &options->activation);
  arguments.tokens(&options->tokens);
  arguments.number("--rounds", &options->rounds, 5, 1000, "Rounds that count in a run, 5 to 1000 (default: 15)");
  arguments.number("--runs", &options->runs, 1, 100, "Runs, up to 100 (default: 3)");
  options->measuring.declare(arguments);
  arguments.option("--store", &options->store, "Of audit: results in this file (default: those in the cache)")
      .type_name("FILE");
  options->device.declare_device(arguments);
  options->device.declare_threads(arguments);
  declare_json(arguments, &options->json);
  return [options](Context& context) { return lab(context, *options); };
}

}  // namespace

const Command lab_command{
    "lab", "Compare tiles and launches with each other; say what a model's shapes get and why",
    "  lanewise lab tiles q4_K 4096 14336 1 default avx512:ahead=8192 avx512:parts=16   K, rows, tokens, tiles\n"
    "  lanewise lab tiles q4_K 4096 1024 1 default mma:tile=1/2/4/2 --beside q4_K,4096 --device cuda:0\n"
    "  lanewise lab cat q4_K 4096 1 1024 1024            K, tokens, rows: k and v in one launch, and in one each\n"
    "  lanewise lab split f16 4096 4096 1 --device cuda:0\n"
    "  lanewise lab audit model.gguf                     the tile of every shape and window, and why\n"
    "Tiles: kernel[:ahead=BYTES][:parts=N] on a CPU, kernel[:tile=A/B/C/D] on a GPU (docs/tuning.md); the first is "
    "what\n"
    "the others are compared with. Outputs are compared with the scalar kernel's first; a wrong bit is exit 1.",
    setup_lab};

}  // namespace lanewise::program
