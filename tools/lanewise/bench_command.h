// A run of `lanewise bench` but for what its device does: what to time, in which layouts, by which kernels, beside
// which peer, and what is said at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench_log.h"
#include "bench_options.h"
#include "bench_plan.h"
#include "command.h"
#include "harness/case.h"
#include "kernels/kernel.h"

namespace lanewise::program {

class BenchCommand {
 public:
  virtual ~BenchCommand() = default;
  BenchCommand(const BenchCommand&) = delete;
  BenchCommand& operator=(const BenchCommand&) = delete;

  Exit run();

 protected:
  /// `backend` and `capabilities`: as select() takes them.
  BenchCommand(Context& context, const BenchOptions& options, std::string backend, std::uint32_t capabilities)
      : context_(context),
        options_(options),
        progress_(context.quiet),
        backend_(std::move(backend)),
        capabilities_(capabilities) {}

  virtual BenchLog& log() = 0;
  /// The layout of a format's bits where none is asked for.
  virtual Layout usual_layout(const FormatInfo& info) = 0;
  /// That the kernel chosen for a matrix can run, where select() can't know.
  virtual Outcome check_kernel(const Plan& kernel, const Case& problem) = 0;
  virtual void met(const PeerName& peer) = 0;
  /// How much memory is walked, once the matrices and the peer are known. An error is all that is said then.
  virtual Outcome choose_memory() = 0;
  /// Times a matrix in each of its windows and gives the times to the log. stop_asked ends it early.
  virtual Outcome time(const Case& problem) = 0;

  [[nodiscard]] bool says_text() const { return !context_.quiet && options_.json != "-"; }
  [[nodiscard]] const KernelDesc* kernel_for(Format format, Layout layout) const;

  Context& context_;
  const BenchOptions& options_;
  Progress progress_;
  std::vector<Case> problems_;  ///< one a matrix, all but the tokens
  std::vector<std::string> notes_;
  std::optional<PeerOptions> peer_;

 private:
  Outcome plan();
  Outcome add(const BenchPlan::Matrix& matrix);
  Layout layout_of(const FormatInfo& info);
  Outcome check_kernels(const Case& problem);
  Outcome meet_peer();
  Exit finish();

  std::string backend_;
  std::uint32_t capabilities_;
  Case base_;
  std::optional<Layout> asked_;
  std::vector<ModelShape> shapes_;
  bool kernel_missing_ = false;  // what plan()'s error is about
};

}  // namespace lanewise::program
