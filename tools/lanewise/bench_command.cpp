#include "bench_command.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/checked.h"
#include "selection.h"

namespace lanewise::program {

Exit BenchCommand::run() {
  if (Outcome planned = plan(); !planned) {
    if (kernel_missing_) return not_here(std::move(planned).error());
    return std::move(planned).error();
  }
  LW_TRY(check_json(options_.json));
  LW_TRY(meet_peer());
  LW_TRY(choose_memory());
  log().head(notes_);
  std::uint64_t done = 0;
  for (const Case& problem : problems_) {
    progress_.show(done++, problems_.size(), format_info(problem.format).name);
    LW_TRY(time(problem));
    if (stop_asked) return interrupted();
    if (context_.out.failed()) break;
  }
  return finish();
}

const KernelDesc* BenchCommand::kernel_for(Format format, Layout layout) const {
  return find_kernel({format, 16, 256, 1, base_.planes, layout}, backend_, capabilities_, base_.kernel);
}

Outcome BenchCommand::plan() {
  LW_ASSIGN(planes, parse_planes(options_.activation));
  base_.planes = planes;
  base_.fill = Fill::random;
  base_.kernel = options_.device.kernel;
  if (!options_.layout.empty()) {
    LW_ASSIGN(layout, parse_layout(options_.layout));
    asked_ = layout;
  }
  LW_ASSIGN(plan, plan_bench(options_));
  notes_ = std::move(plan.notes);
  shapes_ = std::move(plan.shapes);
  for (const BenchPlan::Matrix& matrix : plan.matrices) LW_TRY(add(matrix));
  return Done{};
}

Layout BenchCommand::layout_of(const FormatInfo& info) {
  const Layout wanted = asked_ ? *asked_ : usual_layout(info);
  if (has_layout(wanted, info)) return wanted;
  const std::string note = fmt::format("{} is read raw: layout {} holds codes alone", info.name, layout_name(wanted));
  if (std::ranges::count(notes_, note) == 0) notes_.push_back(note);
  return Layout::raw;
}

Outcome BenchCommand::add(const BenchPlan::Matrix& matrix) {
  Case problem = base_;
  problem.format = matrix.format;
  problem.rows = matrix.shape.rows;
  problem.cols = matrix.shape.cols;
  problem.layout = layout_of(format_info(problem.format));
  // Of a group the shape is each matrix's; a case has the rows of all.
  const std::uint32_t lists = options_.group != 0 ? options_.group : options_.experts != 0 ? 2 : 1;
  LW_TRY(check_case(problem));  // with what one matrix has, before it is multiplied
  const auto of_list = checked_mul(problem.rows, std::max(options_.experts, 1U));
  const auto of_all = of_list ? checked_mul(*of_list, lists) : of_list;
  if (!of_all) return make_error(LW_ERROR_ARGUMENT, "the rows of all matrices don't fit 64 bits");
  problem.experts = options_.experts;
  if (lists > 1) problem.group.assign(lists, *of_list);
  problem.rows = *of_all;
  LW_TRY(check_case(problem));
  if (Outcome checked = check_kernels(problem); !checked) {
    kernel_missing_ = true;
    return checked;
  }
  problems_.push_back(std::move(problem));
  return Done{};
}

Outcome BenchCommand::check_kernels(const Case& problem) {
  for (const std::uint64_t tokens : options_.tokens) {
    LW_ASSIGN(found, select({problem.format, problem.rows, problem.cols, tokens, problem.planes, problem.layout},
                            backend_, capabilities_, problem.kernel));
    LW_TRY(check_kernel(found, problem));
  }
  return Done{};
}

// Who it is, and that it is there, before anything is timed; each matrix starts its own.
Outcome BenchCommand::meet_peer() {
  if (options_.peer.empty()) return Done{};
  peer_ = peer_options(options_);
  LW_ASSIGN(peer, Peer::start(*peer_));
  met(peer->name());
  return Done{};
}

Exit BenchCommand::finish() {
  log().summary();
  const std::vector<Projection> projections = project(shapes_, log().shape_times());
  if (says_text() && !shapes_.empty()) print_projections(context_.out, projections);
  if (!options_.json.empty()) {
    Json document = log().json();
    if (!shapes_.empty()) document["model"] = model_json(options_.model, shapes_, projections);
    Exit written = write_json(context_, options_.json, document);
    if (written.fault() != nullptr) return written;
  }
  return log().exit(options_.strict);
}

}  // namespace lanewise::program
