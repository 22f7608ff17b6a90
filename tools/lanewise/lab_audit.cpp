// lab audit: which tile each shape of a model gets on this device, and why.

#include <algorithm>

#include <fmt/format.h>

#include "bench_plan.h"
#include "gguf/escape.h"
#include "json.h"
#include "lab.h"
#include "selection.h"
#include "tune/store.h"
#include "tune_report.h"

namespace lanewise::program {
namespace {

// What the library would know after lw_tuning_load(); the lines say what of it isn't used.
Result<Tuning> load_tuning(const TuneDevice& device, const std::string& file, std::vector<std::string>& lines) {
  const tune::Fingerprint here = device.fingerprint();
  const tune::Machine machine = device.machine();
  Tuning tuning = tune::shipped_tuning(here, machine.gpu, machine.capabilities, lines);
  std::string path = file;
  if (path.empty()) {
    auto usual = tune::store_path(here);
    if (!usual) {
      lines.push_back(usual.error().message);
      return tuning;
    }
    path = *usual;
  }
  auto store = tune::read_store(path);
  if (!store) {
    // One that was named must be there.
    if (!file.empty() && store.error().code == LW_ERROR_NOT_FOUND) return std::move(store).error();
    if (store.error().code != LW_ERROR_NOT_FOUND) lines.push_back("results are ignored: " + store.error().message);
    if (store.error().code == LW_ERROR_NOT_FOUND) lines.emplace_back("nothing was tuned here yet: lanewise tune does");
    return tuning;
  }
  if (const std::string differs = tune::difference(store->fingerprint, here); !differs.empty()) {
    lines.push_back(fmt::format("results are ignored: '{}' was {}", path, differs));
    return tuning;
  }
  tune::overlay(*store, "measured here", machine.gpu, machine.capabilities, tuning, lines);
  return tuning;
}

}  // namespace

Exit lab_audit(Context& context, const LabOptions& options) {
  if (options.words.size() != 1) return bad_usage("lab audit takes MODEL");
  LW_ASSIGN(planes, parse_planes(options.activation));
  BenchOptions of_bench;
  of_bench.model = options.words[0];
  LW_ASSIGN(plan, plan_bench(of_bench));
  LW_TRY(check_json(options.json));
  LW_ASSIGN(device, open_tune_device(options.device, {}));
  std::vector<std::string> lines = plan.notes;
  LW_ASSIGN(tuning, load_tuning(*device, options.store, lines));
  std::optional<Layout> asked;
  if (!options.layout.empty()) {
    LW_ASSIGN(layout, parse_layout(options.layout));
    asked = layout;
  }
  const tune::Machine machine = device->machine();
  const std::uint32_t threads = machine.gpu == nullptr ? machine.threads : 0;
  const bool says_text = !context.quiet && options.json != "-";
  if (says_text) {
    context.out.print("{}\n", device->about());
    for (const std::string& line : lines) context.out.print("note: {}\n", gguf::escape_for_terminal(line, 400));
    context.out.print("\n{:<8}{:>13}{:>7}{:>9}  {}\n", "format", "K x rows", "tokens", "matrices", "tile, and why");
  }
  Json list = Json::array();
  std::size_t unmeasured = 0;
  std::size_t entries = 0;
  for (const ModelShape& shape : plan.shapes) {
    const FormatInfo& info = format_info(shape.format);
    const Layout layout = asked && has_layout(*asked, info) ? *asked : device->usual_layout(info);
    for (const std::uint64_t tokens : options.tokens) {
      const Problem problem{shape.format, shape.rows, shape.cols, tokens, planes, layout};
      auto chosen = select(problem, machine.backend, machine.capabilities, options.device.kernel, {&tuning, threads});
      if (!chosen) return no_kernel(std::move(chosen).error());
      ++entries;
      if (chosen->tuned == nullptr) ++unmeasured;
      const std::string tile = tune::tile_text(chosen->kernel->name, chosen->setting);
      if (says_text) {
        context.out.print("{:<8}{:>13}{:>7}{:>9}  {}: {}\n", info.name, fmt::format("{}x{}", shape.cols, shape.rows),
                          tokens, shape.count, tile, gguf::escape_for_terminal(chosen->why, 400));
      }
      list.push_back({{"format", info.name},
                      {"cols", shape.cols},
                      {"rows", shape.rows},
                      {"tokens", tokens},
                      {"activation", planes_name(planes)},
                      {"layout", layout_name(layout)},
                      {"threads", threads},
                      {"matrices", shape.count},
                      {"passes", shape.passes},
                      {"kernel", chosen->name},
                      {"tile", tile},
                      {"measured", chosen->tuned != nullptr},
                      {"why", chosen->why}});
    }
  }
  if (says_text) {
    context.out.print("\n{} of {} fell through to a default that nobody measured\n", unmeasured, entries);
  }
  if (options.json.empty()) return exit_ok;
  Json notes = Json::array();
  for (const std::string& line : lines) notes.push_back(line);
  const Json document{{"library_version", lw_version()},
                      {"arithmetic_version", lw_arithmetic_version()},
                      {"kind", "lab audit"},
                      {"device", options.device.device},
                      {"fingerprint", to_json(device->fingerprint())},
                      {"model", options.words[0]},
                      {"notes", notes},
                      {"entries", list},
                      {"unmeasured", unmeasured}};
  return write_json(context, options.json, document);
}

}  // namespace lanewise::program
