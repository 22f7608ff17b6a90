#include "json.h"

namespace lanewise::program {

void declare_json(CLI::App& app, std::string* path) {
  app.add_option("--json", *path, "Write JSON to FILE; '-' writes it to stdout in place of the text")
      ->type_name("FILE");
}

Outcome check_json(const std::string& path) { return path.empty() ? Outcome(Done{}) : check_output(path); }

Exit write_json(Context& context, const std::string& path, const Json& document) {
  // A name of a GGUF file may be any bytes: what isn't UTF-8 becomes U+FFFD.
  const std::string text = document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (path == "-") {
    context.out.text(text);
  } else {
    LW_TRY(write_file(path, text));
  }
  return exit_ok;
}

}  // namespace lanewise::program
