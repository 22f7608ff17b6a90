// A CUDA device of one block at a time, in C++: every thread a fiber that runs until it meets a barrier or an exchange
// within its warp. Gives kernels the names of backends/cuda/machine.cuh. For bits, not for speed.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "base/half.h"

#define LW_DEVICE [[maybe_unused]] static inline
#define LW_DEVICE_MEMBER [[maybe_unused]] static inline
#define LW_DEVICE_INSIDE inline
#define LW_DEVICE_CONST [[nodiscard]] inline
#define LW_KERNEL_TEXT [[maybe_unused]] static
#define LW_LAUNCH_BOUNDS(threads, blocks)
#define LW_GRID_CONSTANT
#define LW_SHARED_MEMORY(name) [[maybe_unused]] std::uint8_t* const name = lanewise::cuda::emulator::shared_memory()
#define LW_UNROLL
#define LW_NO_UNROLL

struct uint2 {
  std::uint32_t x, y;
};
struct uint4 {
  std::uint32_t x, y, z, w;
};

namespace lanewise::cuda {
namespace emulator {

inline constexpr std::uint32_t lanes = 32;

// What the lanes of a warp hand each other: two rounds in turn, since a lane may enter the next exchange while others
// still read the last.
struct Warp {
  std::uint32_t arrived = 0;
  std::uint64_t round = 0;
  std::uint32_t slots[2][lanes][12];
};

struct Block {
  std::uint32_t threads = 0;
  std::uint32_t index_x = 0, index_y = 0, blocks = 0;
  std::uint32_t arrived = 0;
  std::uint64_t round = 0;
  std::vector<Warp> warps;
  std::uint32_t group_arrived[16] = {};
  std::uint64_t group_round[16] = {};
  std::vector<std::uint8_t> shared;
  std::uint8_t* shared_base = nullptr;
  std::uint32_t current = 0;
  // A fiber is entered by its context, once, and then goes to and fro by jumps: these need no system call.
  jmp_buf scheduler;
  std::vector<ucontext_t> contexts;
  std::unique_ptr<jmp_buf[]> fibers;
  std::vector<std::uint8_t> started;
  std::vector<std::uint8_t> done;
  const std::function<void()>* kernel = nullptr;
};

inline thread_local Block* block = nullptr;

inline std::uint8_t* shared_memory() { return block->shared_base; }
inline void yield() {
  Block& b = *block;
  if (_setjmp(b.fibers[b.current]) == 0) _longjmp(b.scheduler, 1);
}
inline void fiber() {
  Block& b = *block;
  (*b.kernel)();
  b.done[b.current] = 1;
  _longjmp(b.scheduler, 1);
}

// Each fiber up to where it waits next.
inline void run_round(Block& b) {
  for (b.current = 0; b.current < b.threads; ++b.current) {
    if (b.done[b.current] != 0) continue;
    if (_setjmp(b.scheduler) != 0) continue;
    if (b.started[b.current] != 0) _longjmp(b.fibers[b.current], 1);
    b.started[b.current] = 1;
    setcontext(&b.contexts[b.current]);
  }
}

// Starts the fibers of a block and runs them in turn until all have ended.
inline void run_block(Block& b, const std::vector<std::unique_ptr<char[]>>& stacks, std::size_t stack_bytes) {
  for (std::uint32_t i = 0; i < b.threads; ++i) {
    getcontext(&b.contexts[i]);
    b.contexts[i].uc_stack.ss_sp = stacks[i].get();
    b.contexts[i].uc_stack.ss_size = stack_bytes;
    b.contexts[i].uc_link = nullptr;
    makecontext(&b.contexts[i], fiber, 0);
  }
  while (std::ranges::find(b.done, 0) != b.done.end()) run_round(b);
}

/// Runs `kernel` for every block of a grid, one after the other, `threads` (a multiple of 32) a block.
inline void launch(std::uint32_t grid_x, std::uint32_t grid_y, std::uint32_t threads, std::size_t shared_bytes,
                   const std::function<void()>& kernel) {
  constexpr std::size_t stack_bytes = std::size_t{256} << 10;
  static thread_local std::vector<std::unique_ptr<char[]>> stacks;  // kept: making them takes longer than a small grid
  while (stacks.size() < threads) stacks.push_back(std::make_unique_for_overwrite<char[]>(stack_bytes));
  for (std::uint32_t y = 0; y < grid_y; ++y) {
    for (std::uint32_t x = 0; x < grid_x; ++x) {
      Block b;
      b.threads = threads;
      b.index_x = x;
      b.index_y = y;
      b.blocks = grid_x;
      b.warps.resize((threads + lanes - 1) / lanes);
      b.shared.assign(shared_bytes + 1024, 0xA5);  // what nothing wrote is no zero
      b.shared_base = b.shared.data() + (1024 - reinterpret_cast<std::uintptr_t>(b.shared.data()) % 1024) % 1024;
      b.contexts.resize(threads);
      b.fibers = std::make_unique<jmp_buf[]>(threads);
      b.started.assign(threads, 0);
      b.done.assign(threads, 0);
      b.kernel = &kernel;
      block = &b;
      run_block(b, stacks, stack_bytes);
      block = nullptr;
    }
  }
}

// Hands `words` to the warp and waits for all 32; the slots of the round.
template <std::size_t N>
inline std::uint32_t (*exchange(const std::uint32_t (&words)[N]))[12] {
  static_assert(N <= 12);
  Block& b = *block;
  Warp& warp = b.warps[b.current / lanes];
  const std::uint64_t round = warp.round;
  std::memcpy(warp.slots[round % 2][b.current % lanes], words, sizeof words);
  if (++warp.arrived == lanes) {
    warp.arrived = 0;
    ++warp.round;
  }
  while (warp.round == round) yield();
  return warp.slots[round % 2];
}

}  // namespace emulator

LW_DEVICE std::uint32_t thread_index() { return emulator::block->current; }
LW_DEVICE std::uint32_t block_index() { return emulator::block->index_x; }
LW_DEVICE std::uint32_t block_threads() { return emulator::block->threads; }
LW_DEVICE std::uint32_t grid_blocks() { return emulator::block->blocks; }

LW_DEVICE void sync_block() {
  emulator::Block& b = *emulator::block;
  const std::uint64_t round = b.round;
  if (++b.arrived == b.threads) {
    b.arrived = 0;
    ++b.round;
  }
  while (b.round == round) emulator::yield();
}
LW_DEVICE void sync_group(std::uint32_t index) {
  emulator::Block& b = *emulator::block;
  const std::uint64_t round = b.group_round[index];
  if (++b.group_arrived[index] == 256) {
    b.group_arrived[index] = 0;
    ++b.group_round[index];
  }
  while (b.group_round[index] == round) emulator::yield();
}
LW_DEVICE void sync_warp() {
  const std::uint32_t nothing[1] = {0};
  emulator::exchange(nothing);
}
LW_DEVICE std::uint32_t shuffle(std::uint32_t x, std::uint32_t lane) {
  const std::uint32_t mine[1] = {x};
  return emulator::exchange(mine)[lane % 32][0];
}
LW_DEVICE std::uint32_t shuffle_xor(std::uint32_t x, std::uint32_t mask) {
  const std::uint32_t lane = thread_index() % 32;
  return shuffle(x, lane ^ mask);
}
LW_DEVICE std::int32_t shuffle_xor(std::int32_t x, std::uint32_t mask) {
  return static_cast<std::int32_t>(shuffle_xor(static_cast<std::uint32_t>(x), mask));
}
LW_DEVICE float shuffle_xor(float x, std::uint32_t mask) {
  return std::bit_cast<float>(shuffle_xor(std::bit_cast<std::uint32_t>(x), mask));
}
LW_DEVICE std::uint32_t warp_max(std::uint32_t x) {
  const std::uint32_t mine[1] = {x};
  const auto all = emulator::exchange(mine);
  std::uint32_t most = 0;
  for (std::uint32_t i = 0; i < 32; ++i) most = std::max(most, all[i][0]);
  return most;
}

LW_DEVICE std::int32_t signed_byte(std::uint32_t word, std::uint32_t i) {
  return static_cast<std::int8_t>(static_cast<std::uint8_t>(word >> (8 * i)));
}
LW_DEVICE std::int32_t dot4(std::uint32_t a, std::uint32_t b, std::int32_t sum) {
  for (std::uint32_t i = 0; i < 4; ++i) sum += signed_byte(a, i) * signed_byte(b, i);
  return sum;
}
LW_DEVICE std::uint32_t dot4_unsigned(std::uint32_t a, std::uint32_t b, std::uint32_t sum) {
  for (int i = 0; i < 4; ++i) sum += (a >> (8 * i) & 255) * (b >> (8 * i) & 255);
  return sum;
}
LW_DEVICE std::uint32_t permute_signs(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  std::uint32_t out = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint32_t n = selector >> (4 * i) & 15;
    auto byte = static_cast<std::uint32_t>(both >> (8 * (n & 7)) & 255);
    if ((n & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
    out |= byte << (8 * i);
  }
  return out;
}
LW_DEVICE std::uint32_t permute(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
  if ((selector & 0x8888u) != 0) std::abort();  // what the device makes of it isn't promised
  return permute_signs(a, b, selector);
}
LW_DEVICE std::uint32_t pinned(std::uint32_t x) { return x; }
LW_DEVICE std::uint32_t upper_half(std::uint32_t x) {
  if ((x & 0x7C000000u) == 0x7C000000u || (x & 0x7C00u) == 0x7C00u) throw std::logic_error("upper_half of a NaN");
  return (x >> 16) | (x & 0xFFFF0000u);
}
LW_DEVICE std::uint32_t funnel_right(std::uint32_t low, std::uint32_t high, std::uint32_t shift) {
  return static_cast<std::uint32_t>((std::uint64_t{high} << 32 | low) >> (shift & 31));
}
LW_DEVICE std::uint32_t count_bits(std::uint32_t x) { return static_cast<std::uint32_t>(std::popcount(x)); }
LW_DEVICE float half_value(std::uint32_t bits) {
  const auto exponent = static_cast<int>(bits >> 10 & 31);
  const auto mantissa = static_cast<int>(bits & 0x3FF);
  float magnitude = std::ldexp(static_cast<float>(mantissa + (exponent != 0 ? 1024 : 0)), std::max(exponent, 1) - 25);
  if (exponent == 31) magnitude = mantissa != 0 ? std::bit_cast<float>(0x7FFFE000u) : std::bit_cast<float>(0x7F800000u);
  return (bits & 0x8000u) != 0 ? -magnitude : magnitude;
}
LW_DEVICE std::uint16_t half_of(float x) { return float_to_half(x); }
LW_DEVICE float multiply(float a, float b) { return a * b; }
LW_DEVICE float add(float a, float b) { return a + b; }
LW_DEVICE float add_exact_product(float a, float b, float sum) { return sum + a * b; }
LW_DEVICE float to_float(std::int32_t x) { return static_cast<float>(x); }
LW_DEVICE std::int32_t to_int(float x) { return static_cast<std::int32_t>(std::nearbyintf(x)); }
LW_DEVICE float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }
LW_DEVICE std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

template <class T>
T load_as(const void* p) {
  if (reinterpret_cast<std::uintptr_t>(p) % sizeof(T) != 0) std::abort();  // the device refuses it too
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
LW_DEVICE uint4 load4(const void* p) { return load_as<uint4>(p); }
LW_DEVICE uint2 load2(const void* p) { return load_as<uint2>(p); }
LW_DEVICE std::uint32_t load1(const void* p) { return load_as<std::uint32_t>(p); }

LW_DEVICE void copy_async(void* to, const void* from, std::uint32_t bytes) {
  if ((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % 16 != 0 || bytes > 16) {
    std::abort();
  }
  std::memset(to, 0xA5, 16);
  if (bytes != 0) std::memcpy(to, from, bytes);
}
LW_DEVICE void copy_async(void* to, const void* from) { copy_async(to, from, 16); }
LW_DEVICE void copy_commit() {}
template <int pending>
LW_DEVICE void copy_wait() {}

template <class A>
inline void mma(std::int32_t (&c)[4], const std::uint32_t (&words)[6], A a_byte) {
  const auto all = emulator::exchange(words);
  const std::uint32_t lane = thread_index() % 32;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint32_t row = lane / 4 + 8 * (i / 2);
    const std::uint32_t column = 2 * (lane % 4) + i % 2;
    for (std::uint32_t k = 0; k < 32; ++k) {
      const std::uint32_t t = k % 16 / 4;
      const std::uint32_t a = all[row % 8 * 4 + t][row / 8 + 2 * (k / 16)];
      const std::uint32_t b = all[column * 4 + t][4 + k / 16];
      c[i] += a_byte(a, k % 4) * signed_byte(b, k % 4);
    }
  }
}
LW_DEVICE void mma_s8(std::int32_t (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2, std::uint32_t a3,
                      std::uint32_t b0, std::uint32_t b1) {
  mma(c, {a0, a1, a2, a3, b0, b1}, signed_byte);
}
LW_DEVICE void mma_u8(std::int32_t (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2, std::uint32_t a3,
                      std::uint32_t b0, std::uint32_t b1) {
  mma(c, {a0, a1, a2, a3, b0, b1},
      [](std::uint32_t word, std::uint32_t i) { return static_cast<std::int32_t>(word >> (8 * i) & 255); });
}
LW_DEVICE void mma_u8_first(std::int32_t (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2,
                            std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
  c[0] = c[1] = c[2] = c[3] = 0;
  mma_u8(c, a0, a1, a2, a3, b0, b1);
}
// Of 16 x 16 and 16 x 8: the other half of either is zero.
LW_DEVICE void mma16_s8(std::int32_t (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t b) {
  mma_s8(c, a0, a1, 0, 0, b, 0);
}
LW_DEVICE void mma16_s8_first(std::int32_t (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t b) {
  c[0] = c[1] = c[2] = c[3] = 0;
  mma_s8(c, a0, a1, 0, 0, b, 0);
}
LW_DEVICE void mma16_u8_first(std::int32_t (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t b) {
  c[0] = c[1] = c[2] = c[3] = 0;
  mma_u8(c, a0, a1, 0, 0, b, 0);
}
LW_DEVICE void mma_s8_first(std::int32_t (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2,
                            std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
  c[0] = c[1] = c[2] = c[3] = 0;
  mma_s8(c, a0, a1, a2, a3, b0, b1);
}

LW_DEVICE void wait_for_previous() {}
LW_DEVICE void let_next_start() {}

struct alignas(8) Barrier {
  std::uint16_t count, pending;
  std::int32_t bytes_and_phase;  // bytes awaited * 2 + phase
};
LW_DEVICE void barrier_init(Barrier* b, std::uint32_t arrivals) {
  b->count = b->pending = static_cast<std::uint16_t>(arrivals);
  b->bytes_and_phase = 0;
}
LW_DEVICE void barrier_publish() {}
LW_DEVICE void barrier_settle(Barrier* b) {
  if (b->pending != 0 || b->bytes_and_phase / 2 != 0) return;
  b->pending = b->count;
  b->bytes_and_phase ^= 1;
}
LW_DEVICE void barrier_arrive(Barrier* b) {
  if (b->pending == 0) std::abort();
  --b->pending;
  barrier_settle(b);
}
LW_DEVICE void barrier_expect(Barrier* b, std::uint32_t bytes) {
  b->bytes_and_phase += 2 * static_cast<std::int32_t>(bytes);
  barrier_arrive(b);
}
LW_DEVICE void barrier_wait(Barrier* b, std::uint32_t parity) {
  while (static_cast<std::uint32_t>(b->bytes_and_phase & 1) == parity) emulator::yield();
}
LW_DEVICE void copy_bulk(void* to, const void* from, std::uint32_t bytes, Barrier* b) {
  if ((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | bytes) % 16 != 0) std::abort();
  std::memcpy(to, from, bytes);
  b->bytes_and_phase -= 2 * static_cast<std::int32_t>(bytes);
  barrier_settle(b);
}
LW_DEVICE void copy_bulk_kept(void* to, const void* from, std::uint32_t bytes, Barrier* b) {
  copy_bulk(to, from, bytes, b);
}

}  // namespace lanewise::cuda
