// The page: one HTML file that needs nothing else.
#pragma once

#include <string>

#include "report/data.h"

namespace lanewise::program::report {

/// The same bytes for the same material.
std::string page_html(const Material& material, const std::string& title);

/// The style sheet.
extern const char* const page_style;

}  // namespace lanewise::program::report
