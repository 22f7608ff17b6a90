// One output of the kernel and of the oracle, stage by stage.
#pragma once

#include <string>

#include "arithmetic/scalar.h"
#include "oracle/oracle.h"

namespace lanewise::trial {

/// The first stage, in the order of the definition, whose bits differ, with the place and both values: "e[2]: 5, oracle
/// 6"; empty where all agree.
std::string first_difference(const FormatInfo& info, const Trace& kernel, const oracle::Trace& oracle);

/// The same for an activation: poisoned, e, 2^e, planes, the sums of 16, and the zeros past K.
std::string first_difference(const Activation& kernel, const oracle::Activation& oracle);

}  // namespace lanewise::trial
