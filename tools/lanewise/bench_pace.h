// How fast the threads of a measurement get on beside it. On a processor that is shared below what the system shows (a
// neighbour's thread on the same core) the clock stays and half of the work is done: what computing bounds carries it,
// what memory bounds doesn't, and no load average tells.
#pragma once

#include "bench_crew.h"

namespace lanewise::program {

/// Additions a nanosecond of the slowest thread: independent ones, as many side by side as a core can do at most, for
/// some 60 us on every thread at once.
double look_at_pace(Crew& crew);

}  // namespace lanewise::program
