// What a device handle knows of measurements.
#pragma once

#include "library/handles.h"

namespace lanewise::edge {

/// What was shipped for it.
void take_shipped_tuning(lw_device& device);

}  // namespace lanewise::edge
