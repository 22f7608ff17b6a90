// The JSON files of a folder.
#pragma once

#include <string>

#include "base/status.h"
#include "report/data.h"

namespace lanewise::program::report {

/// Every *.json of the folder itself, in the order of their names; what isn't understood is in `not_shown` with the
/// reason. Errors: LW_ERROR_NOT_FOUND, LW_ERROR_IO where the folder can't be read; stop_asked ends it early.
Result<Material> read_folder(const std::string& path);

}  // namespace lanewise::program::report
