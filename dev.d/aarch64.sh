# shellcheck shell=bash
# ./dev aarch64: the library for 64-bit Arm, cross-compiled, and its bits under emulation: the scalar kernel against the
# golden vectors, which are any architecture's, the NEON kernels against the scalar one, and LANEWISE_ISA on processors
# with i8mm, without it, and without dotprod.
: "${root:?sourced by ./dev}"

# aarch64_tests PROCESSOR ISAS REGEX: the tests that REGEX names, on a processor (qemu's name) that offers just ISAS. What
# would be skipped for want of an instruction set fails then.
aarch64_tests() {
  printf '\n== %s: %s\n' "$1" "$2"
  QEMU_CPU=$1 LANEWISE_EXPECT_ISAS=$2 ctest --preset aarch64 -j "$LANEWISE_JOBS" -R "$3" --no-tests=error
}

aarch64() {
  [[ $# == 0 ]] || die "aarch64: takes no argument"
  build aarch64 test_base test_golden test_kernels test_isa
  aarch64_tests max "scalar neon i8mm" '^(FloatEnvironment|Golden|Overrides|Select|Isa)\.|^AllFormats/Products\.' &&
    aarch64_tests neoverse-n1 "scalar neon" '^(Overrides|Isa)\.' &&
    aarch64_tests cortex-a72 "scalar" '^Isa\.'
}
