// Counts the allocations of this program and makes one fail.
//
// They are counted where all of them pass: in malloc itself, which allocations.cpp replaces, or, under a sanitizer
// (whose malloc it is then), through the sanitizer's own hooks. Those of operator new can be made to fail.
#pragma once

#include <cstdint>

namespace lanewise::test {

/// False where the hooks could not be set.
bool counts_allocations();
/// False under the thread sanitizer, whose operator new can't be replaced.
bool can_fail_allocations();
/// Of all threads since the start.
std::uint64_t allocation_count();

/// The allocation of this thread that `n` others come before fails, once.
void fail_allocation(std::int64_t n);
/// True where it came to that.
bool stop_failing();

}  // namespace lanewise::test
