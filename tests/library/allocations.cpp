#include "library/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

#if defined(__has_feature)
#define LANEWISE_HAS_FEATURE(feature) __has_feature(feature)
#else
#define LANEWISE_HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || LANEWISE_HAS_FEATURE(thread_sanitizer)
#define LANEWISE_TEST_TSAN 1
#endif
#if defined(LANEWISE_TEST_TSAN) || defined(__SANITIZE_ADDRESS__) || LANEWISE_HAS_FEATURE(address_sanitizer)
#define LANEWISE_TEST_SANITIZED 1
#endif

namespace {

std::atomic<std::uint64_t> allocations = 0;
// Allocations of this thread until one fails; below 0: none does.
thread_local std::int64_t until_failure = -1;
thread_local std::uint64_t failures = 0;

[[maybe_unused]] bool fails_now() {
  if (until_failure < 0 || until_failure-- > 0) return false;
  until_failure = -1;
  ++failures;
  return true;
}

}  // namespace

#ifdef LANEWISE_TEST_SANITIZED
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void*, std::size_t),
                                                         void (*free_hook)(const volatile void*));
// An allocation that can't be is to fail, as without a sanitizer, not to end the program.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
namespace {
void count_allocation(const volatile void*, std::size_t) { allocations.fetch_add(1, std::memory_order_relaxed); }
void ignore_free(const volatile void*) {}
const bool hooked = __sanitizer_install_malloc_and_free_hooks(count_allocation, ignore_free) != 0;
}  // namespace
#else
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, size);
}
}
namespace {
constexpr bool hooked = true;
}
#endif

#ifndef LANEWISE_TEST_TSAN  // clang links its own
// operator new, so that it can fail.
void* operator new(std::size_t size) {
  void* memory = fails_now() ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return fails_now() ? nullptr : std::malloc(size == 0 ? 1 : size);
}
void* operator new[](std::size_t size, const std::nothrow_t& tag) noexcept { return operator new(size, tag); }
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  const auto align = static_cast<std::size_t>(alignment);
  return fails_now() ? nullptr : std::aligned_alloc(align, (size + align - 1) / align * align);
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t& tag) noexcept {
  return operator new(size, alignment, tag);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  void* memory = operator new(size, alignment, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new[](std::size_t size, std::align_val_t alignment) { return operator new(size, alignment); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif

namespace lanewise::test {

bool counts_allocations() { return hooked; }
bool can_fail_allocations() {
#ifdef LANEWISE_TEST_TSAN
  return false;
#else
  return true;
#endif
}
std::uint64_t allocation_count() { return allocations.load(); }

void fail_allocation(std::int64_t n) {
  failures = 0;
  until_failure = n;
}
bool stop_failing() {
  until_failure = -1;
  return failures != 0;
}

}  // namespace lanewise::test
