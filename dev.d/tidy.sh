# shellcheck shell=bash
# ./dev tidy [BASE]: clang-tidy on what differs from the commit BASE, or on everything. A header is checked through one
# source that includes it. LANEWISE_TIDY_SECONDS bounds the time: what was not reached is said.
: "${root:?sourced by ./dev}"

# tidy_one FILE: quiet where there is nothing to say.
tidy_one() {
  if ((TIDY_DEADLINE && $(date +%s) > TIDY_DEADLINE)); then
    echo "$1" >>"$TIDY_LEFT"
  else
    clang-tidy-14 --quiet -p build/dev "$1" 2>/dev/null
  fi
}

tidy_names() { # tidy_names BASE
  if [[ -n $1 ]]; then
    git diff --name-only --diff-filter=d "$1" -- '*.cpp' '*.h' '*.hpp'
    git ls-files -o --exclude-standard -- '*.cpp' '*.h' '*.hpp'
  else
    git ls-files -co --exclude-standard -- '*.cpp'
  fi
}

tidy() {
  local base=${1:-} seconds=${LANEWISE_TIDY_SECONDS:-0} files=() failed=0 left
  need clang-tidy-14 git python3
  [[ -z $base ]] || git rev-parse --quiet --verify "$base^{commit}" >/dev/null || die "tidy: no commit '$base'"
  configure dev
  # The library first; only what the preset compiles can be checked.
  mapfile -t files < <(tidy_names "$base" | python3 -B dev.d/tidy_sources.py "$root" | while read -r file; do
    grep -qF "\"file\": \"$root/$file\"" build/dev/compile_commands.json && echo "$file"
  done | awk '{ print ($0 ~ /^src/ ? 0 : $0 ~ /^(tools|fuzz|examples)/ ? 1 : 2), $0 }' | sort -s -k1,1n | cut -d' ' -f2)
  ((${#files[@]})) || { say "tidy: nothing to check${base:+ since $base}"; return 0; }
  TIDY_LEFT=$(mktemp) TIDY_DEADLINE=$((seconds ? $(date +%s) + seconds : 0))
  export TIDY_LEFT TIDY_DEADLINE
  export -f tidy_one
  printf '%s\n' "${files[@]}" | xargs -P "$LANEWISE_JOBS" -I{} bash -c 'tidy_one {}' || failed=1
  left=$(wc -l <"$TIDY_LEFT")
  ((left == 0)) || say "tidy: out of time after $seconds s, not reached: $(tr '\n' ' ' <"$TIDY_LEFT")"
  rm -f "$TIDY_LEFT"
  say "tidy: $((${#files[@]} - left)) of ${#files[@]} sources checked${base:+ (what differs from $base)}: $( ((failed)) && echo 'findings above' || echo clean)"
  return $failed
}
