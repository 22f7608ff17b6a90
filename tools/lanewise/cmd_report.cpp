// report: one HTML page from what verify, bench, tune and compare measured.

#include <memory>

#include "command.h"
#include "model.h"
#include "options.h"
#include "report/folder.h"
#include "report/page.h"

namespace lanewise::program {
namespace {

struct ReportOptions {
  std::string folder;
  std::string output;
  std::string title = "Lanewise report";
};

Exit report_on(Context& context, const ReportOptions& options) {
  const std::string output = options.output.empty() ? options.folder + "/report.html" : options.output;
  auto read = report::read_folder(options.folder);
  if (!read) {
    return read.error().code == LW_ERROR_NOT_FOUND ? Exit(bad_input(std::move(read).error()))
                                                   : Exit(std::move(read).error());
  }
  if (stop_asked) return interrupted();
  const report::Material& material = *read;
  const bool says = !context.quiet && output != "-";
  for (const auto& [file, why] : material.not_shown) {
    std::fprintf(stderr, "lanewise: '%s' is not shown: %s\n", printable(file).c_str(), printable(why).c_str());
  }
  if (material.empty()) {
    return bad_input(make_error(LW_ERROR_NOT_FOUND, fmt::format("'{}' holds no JSON of verify, bench, tune or compare",
                                                                printable(options.folder))));
  }
  LW_TRY(check_output(output));
  const std::string page = report::page_html(material, options.title);
  if (output == "-") {
    context.out.text(page);
    return exit_ok;
  }
  LW_TRY(write_file(output, page));
  if (says) {
    context.out.print("{}: {} from {} file{}\n", printable(output), human_bytes(page.size()), material.files.size(),
                      material.files.size() == 1 ? "" : "s");
  }
  return exit_ok;
}

Job setup_report(Arguments& arguments) {
  auto options = std::make_shared<ReportOptions>();
  arguments.option("DIR", &options->folder, "A folder with JSON files of verify, bench, tune and compare")
      .required()
      .type_name("DIR");
  arguments.option("-o,--output", &options->output, "The page to write (default: DIR/report.html); '-' is stdout")
      .type_name("FILE");
  arguments.option("--title", &options->title, "The page's title").type_name("TEXT");
  return [options](Context& context) { return report_on(context, *options); };
}

}  // namespace

const Command report_command{
    "report", "Make one HTML page of what was measured",
    "  lanewise report results                    writes results/report.html, of what these wrote:\n"
    "    lanewise bench --json results/bench.json\n"
    "    lanewise verify --json results/verify.json\n"
    "  lanewise report bench/results -o h200.html\n"
    "The page is one file that loads nothing and runs nothing. Files in DIR that are no JSON "
    "of these commands are named\n"
    "on stderr and on the page.",
    setup_report};

}  // namespace lanewise::program
