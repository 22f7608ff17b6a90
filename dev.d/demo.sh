# shellcheck shell=bash
# ./dev demo: from a GGUF file to a proved y = W·x, tensor by tensor; the exit is non-zero on the first wrong bit.
: "${model:?sourced by ./dev}"

demo() {
  build release
  die "demo: the program has no verify yet"
}
