// JSON for machines: keys in the order they are set, strings made valid UTF-8 whatever the file holds.
#pragma once

#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "command.h"

namespace lanewise::program {

using Json = nlohmann::ordered_json;

/// Declares --json FILE ("-" is stdout, and takes the place of the text there).
void declare_json(CLI::App& app, std::string* path);
/// check_output() of what --json names, if it was given: before the work, and after the inputs were opened.
Outcome check_json(const std::string& path);
/// Writes the document and gives exit_ok, or the error.
Exit write_json(Context& context, const std::string& path, const Json& document);

}  // namespace lanewise::program
