// What the CUDA kernels are written with: the machine's instructions under names of our own. nvcc compiles the text
// here; the tests compile the same kernels as C++ over tests/cuda/emulator.h, which gives these names 32 fibers a warp,
// so that a kernel's bits are checked where there is no device.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define LW_DEVICE static __device__ __forceinline__
#define LW_DEVICE_MEMBER static __device__ __forceinline__
#define LW_DEVICE_INSIDE __device__ __forceinline__
#define LW_DEVICE_CONST [[nodiscard]] __device__ __forceinline__
#define LW_KERNEL_TEXT static __global__
#define LW_LAUNCH_BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)
#define LW_SHARED_MEMORY(name) extern __shared__ __align__(1024) std::uint8_t name[]
#define LW_GRID_CONSTANT __grid_constant__
#define LW_UNROLL _Pragma("unroll")
#define LW_NO_UNROLL _Pragma("unroll 1")

namespace lanewise::cuda {

LW_DEVICE std::uint32_t thread_index() { return threadIdx.x; }
LW_DEVICE std::uint32_t block_index() { return blockIdx.x; }
LW_DEVICE std::uint32_t block_threads() { return blockDim.x; }
LW_DEVICE std::uint32_t grid_blocks() { return gridDim.x; }

LW_DEVICE void sync_block() { __syncthreads(); }
LW_DEVICE void sync_warp() { __syncwarp(); }
// Threads 256 * index .. 256 * index + 255 of the block; index 0 .. 14.
LW_DEVICE void sync_group(std::uint32_t index) { asm volatile("bar.sync %0, 256;" ::"r"(index + 1) : "memory"); }
LW_DEVICE std::uint32_t shuffle(std::uint32_t x, std::uint32_t lane) {
  return __shfl_sync(~0u, x, static_cast<int>(lane));
}
LW_DEVICE std::uint32_t shuffle_xor(std::uint32_t x, std::uint32_t mask) {
  return __shfl_xor_sync(~0u, x, static_cast<int>(mask));
}
LW_DEVICE std::int32_t shuffle_xor(std::int32_t x, std::uint32_t mask) {
  return __shfl_xor_sync(~0u, x, static_cast<int>(mask));
}
LW_DEVICE float shuffle_xor(float x, std::uint32_t mask) { return __shfl_xor_sync(~0u, x, static_cast<int>(mask)); }
// The largest of a warp's 32.
LW_DEVICE std::uint32_t warp_max(std::uint32_t x) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(~0u, x);
#else
  for (std::uint32_t m = 16; m != 0; m /= 2) x = max(x, shuffle_xor(x, m));
  return x;
#endif
}

// Sum of four products of signed bytes, plus `sum`.
LW_DEVICE std::int32_t dot4(std::uint32_t a, std::uint32_t b, std::int32_t sum) {
  return __dp4a(static_cast<std::int32_t>(a), static_cast<std::int32_t>(b), sum);
}
// The same of unsigned bytes.
LW_DEVICE std::uint32_t dot4_unsigned(std::uint32_t a, std::uint32_t b, std::uint32_t sum) { return __dp4a(a, b, sum); }
// Four bytes of a (0..3) and b (4..7), one for each nibble of `selector` (0..7).
LW_DEVICE std::uint32_t permute(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
  return __byte_perm(a, b, selector);
}
// The same, where a nibble of 8..15 gives the top bit of byte n - 8 in all eight bits.
LW_DEVICE std::uint32_t permute_signs(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
  std::uint32_t out;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(out) : "r"(a), "r"(b), "r"(selector));
  return out;
}
// x, worked out (or asked for) here and not where it is used.
LW_DEVICE std::uint32_t pinned(std::uint32_t x) {
  asm volatile("" : "+r"(x));
  return x;
}
// The upper half of x, in both halves; neither half of x is an infinity or a NaN of an IEEE half (its exponent isn't
// 31). The addition of -0 runs where shifts don't, which are half as fast and what kernels have too many of.
LW_DEVICE std::uint32_t upper_half(std::uint32_t x) {
  std::uint32_t out;
  asm("{.reg .b16 l, h;\n.reg .b32 t;\nmov.b32 {l, h}, %1;\nmov.b32 t, {h, h};\nadd.f16x2 %0, t, %2;}"
      : "=r"(out)
      : "r"(x), "r"(0x80008000u));
  return out;
}
// The low word of both, high over low, shifted right by `shift` of 0..31.
LW_DEVICE std::uint32_t funnel_right(std::uint32_t low, std::uint32_t high, std::uint32_t shift) {
  return __funnelshift_r(low, high, shift);
}
LW_DEVICE std::uint32_t count_bits(std::uint32_t x) { return static_cast<std::uint32_t>(__popc(static_cast<int>(x))); }
// The value of an IEEE half; a NaN is some NaN.
LW_DEVICE float half_value(std::uint32_t bits) {
  return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
}
// Rounded to an IEEE half, to nearest, ties to even, subnormals kept; x is no NaN.
LW_DEVICE std::uint16_t half_of(float x) { return __half_as_ushort(__float2half_rn(x)); }
// fp32 operations that the compiler must neither fuse nor reorder.
LW_DEVICE float multiply(float a, float b) { return __fmul_rn(a, b); }
LW_DEVICE float add(float a, float b) { return __fadd_rn(a, b); }
// sum + a * b, of a product that is exact: fused or not, the same.
LW_DEVICE float add_exact_product(float a, float b, float sum) { return __fmaf_rn(a, b, sum); }
LW_DEVICE float to_float(std::int32_t x) { return __int2float_rn(x); }
LW_DEVICE std::int32_t to_int(float x) { return __float2int_rn(x); }
LW_DEVICE float float_of(std::uint32_t bits) { return __uint_as_float(bits); }
LW_DEVICE std::uint32_t bits_of(float x) { return __float_as_uint(x); }

// Loads of what this launch doesn't write. `volatile`: nothing else keeps the compiler from moving them above
// wait_for_previous().
LW_DEVICE uint4 load4(const void* p) {
  uint4 v;
  asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p)
               : "memory");
  return v;
}
LW_DEVICE uint2 load2(const void* p) {
  uint2 v;
  asm volatile("ld.global.v2.u32 {%0,%1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(p) : "memory");
  return v;
}
LW_DEVICE std::uint32_t load1(const void* p) {
  std::uint32_t v;
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}

// Sixteen bytes, aligned, from global to shared memory, of which the first `bytes` (0..16) are read and the rest is
// open: under way until copy_wait() says that all but the latest `pending` commits are there, for the thread that
// copied.
LW_DEVICE void copy_async(void* to, const void* from, std::uint32_t bytes) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
      "l"(from), "r"(bytes)
      : "memory");
#else
  if (bytes == 16) {
    *static_cast<uint4*>(to) = *static_cast<const uint4*>(from);
  } else {
    for (std::uint32_t i = 0; i < bytes; ++i) {
      static_cast<std::uint8_t*>(to)[i] = static_cast<const std::uint8_t*>(from)[i];
    }
  }
#endif
}
LW_DEVICE void copy_async(void* to, const void* from) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
      "l"(from)
      : "memory");
#else
  *static_cast<uint4*>(to) = *static_cast<const uint4*>(from);
#endif
}
LW_DEVICE void copy_commit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int pending>
LW_DEVICE void copy_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

// C += A * B, 16 x 8 in 32-bit integers, of 16 x 32 and 32 x 8 bytes; sm_80 on. Lane 4g + t holds of A: rows g and g +
// 8 at k 4t..4t+3 in a0, a1, the same rows at k 16+4t.. in a2, a3; of B: column g at k 4t.. in b0, 16+4t.. in b1; of C:
// row g, columns 2t and 2t+1 in c0, c1, row g + 8 in c2, c3. (PTX ISA, "Matrix Fragments for mma.m16n8k32".)
LW_DEVICE void mma_s8(std::int32_t (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2, std::uint32_t a3,
                      std::uint32_t b0, std::uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#endif
}
// C = A * B.
LW_DEVICE void mma_s8_first(std::int32_t (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2,
                            std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%10,%10,%10};"
      : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "r"(0));
#endif
}

// The same of an A of unsigned bytes.
LW_DEVICE void mma_u8(std::int32_t (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2, std::uint32_t a3,
                      std::uint32_t b0, std::uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#endif
}
LW_DEVICE void mma_u8_first(std::int32_t (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2,
                            std::uint32_t a3, std::uint32_t b0, std::uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%10,%10,%10};"
      : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "r"(0));
#endif
}

// C = A * B of 16 x 16 and 16 x 8 bytes: of A, rows g and g + 8 at k 4t..4t+3; of B, column g at k 4t..
LW_DEVICE void mma16_s8_first(std::int32_t (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t b) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5},{%6},{%7,%7,%7,%7};"
      : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
      : "r"(a0), "r"(a1), "r"(b), "r"(0));
#endif
}
LW_DEVICE void mma16_s8(std::int32_t (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t b) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a0), "r"(a1), "r"(b));
#endif
}
LW_DEVICE void mma16_u8_first(std::int32_t (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t b) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%0,%1,%2,%3},{%4,%5},{%6},{%7,%7,%7,%7};"
      : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
      : "r"(a0), "r"(a1), "r"(b), "r"(0));
#endif
}

// Programmatic dependent launch: what comes before wait_for_previous() may run while the launch before still does.
LW_DEVICE void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
LW_DEVICE void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// A barrier in shared memory that bulk copies complete on; sm_90 on.
struct alignas(8) Barrier {
  std::uint64_t state;
};
// (No architecture: what the host's half of the compilation sees.)
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
LW_DEVICE std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}
LW_DEVICE void barrier_init(Barrier* b, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(arrivals) : "memory");
}
// By the thread that initialised barriers, before bulk copies use them.
LW_DEVICE void barrier_publish() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
LW_DEVICE void barrier_expect(Barrier* b, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(b)), "r"(bytes)
               : "memory");
}
LW_DEVICE void barrier_wait(Barrier* b, std::uint32_t parity) {
  asm volatile(
      "{\n.reg .pred p;\nL%=:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra D%=;\nbra L%=;\nD%=:\n}" ::
          "r"(shared_address(b)),
      "r"(parity)
      : "memory");
}
// `bytes` (a multiple of 16, both addresses aligned to 16) from global to shared memory; the barrier counts them. Read
// once, so evicted first from the L2 cache.
LW_DEVICE void copy_bulk(void* to, const void* from, std::uint32_t bytes, Barrier* b) {
  std::uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::
          "r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(b)), "l"(policy)
      : "memory");
}
// The same of what other blocks read as well.
LW_DEVICE void copy_bulk_kept(void* to, const void* from, std::uint32_t bytes, Barrier* b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(b))
               : "memory");
}
#endif

}  // namespace lanewise::cuda

#else
#include "cuda/emulator.h"  // tests/cuda
#endif
