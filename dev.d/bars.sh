# shellcheck shell=bash
# The figures of docs/cpu.md, in its order: sourced by ./dev.

bars() {
  local bench=(build/release/lanewise bench --rounds "${LANEWISE_ROUNDS:-5}")
  local wide=f16,q8_0,q6_K,q5_K,q5_0,q4_K,q4_0,iq4_nl,mxfp4
  say "every format, the best layout, cold"
  "${bench[@]}" --format all
  say "a small matrix, threads that spin"
  "${bench[@]}" --format "$wide" --shape 2560x640
  say "a small matrix, threads that sleep between calls"
  "${bench[@]}" --format "$wide" --shape 2560x640 --sleep
  say "straight off GGUF's rows"
  "${bench[@]}" --format all --layout raw
  if build/release/lanewise devices | grep -q avx2; then
    say "AVX2 without VNNI"
    LANEWISE_ISA=avx2 "${bench[@]}" --format all --tokens 1
  fi
}
