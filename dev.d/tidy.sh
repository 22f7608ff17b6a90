# shellcheck shell=bash
# ./dev tidy [BASE]: clang-tidy on what differs from the commit BASE, or on everything, one file a processor at a time. A
# header is checked through one source that includes it. LANEWISE_TIDY_SECONDS bounds the time: what was not reached is
# said. LANEWISE_TIDY_FOLDER=src takes the sources of that folder only, and says what it leaves out.
: "${root:?sourced by ./dev}"

# tidy_one FILE: quiet where there is nothing to say.
tidy_one() {
  local seconds=0 output status
  if ((TIDY_DEADLINE)); then
    seconds=$((TIDY_DEADLINE - $(date +%s)))
    ((seconds > 0)) || { echo "$1" >>"$TIDY_LEFT"; return 0; }
  fi
  output=$(timeout "$seconds" clang-tidy-14 --quiet -p build/tidy "$1" 2>&1)
  status=$?
  case $status in
    0) ;;
    124) echo "$1" >>"$TIDY_LEFT"; return 0 ;; # cut short by the deadline
    *) printf '%s\n' "$output" | grep -vE '^[0-9]+ (warnings?|errors?)( and [0-9]+ errors?)? (generated|treated as errors?)' ;;
  esac
  return $((status != 0))
}

tidy_names() { # tidy_names BASE
  if [[ -n $1 ]]; then
    git diff --name-only --diff-filter=d "$1"
    git ls-files -o --exclude-standard
  else
    git ls-files -co --exclude-standard
  fi
}

tidy() {
  local base=${1:-} seconds=${LANEWISE_TIDY_SECONDS:-0} folder=${LANEWISE_TIDY_FOLDER:-} names files failed=0 left
  local databases=(build/dev/compile_commands.json)
  TIDY_DEADLINE=$((seconds ? $(date +%s) + seconds : 0))
  need clang-tidy-14 git python3
  [[ -z $base ]] || git rev-parse --quiet --verify "$base^{commit}" >/dev/null || die "tidy: no commit '$base'"
  names=$(tidy_names "$base" | grep -E '\.(c|cpp|h|hpp)$') || { say "tidy: nothing to check${base:+ since $base}"; return 0; }
  if [[ -n $folder ]]; then
    left=$(grep -vc "^$folder/" <<<"$names") || true
    say "tidy: $folder/ only: $left changed files of other folders are not checked"
    names=$(grep "^$folder/" <<<"$names") || { say "tidy: nothing to check in $folder/"; return 0; }
  fi
  configure dev
  # The one other preset that compiles sources of its own.
  if grep -q '^fuzz/' <<<"$names"; then configure fuzz; databases+=(build/fuzz/compile_commands.json); fi
  mkdir -p build/tidy
  files=$(python3 -B dev.d/tidy_sources.py "$root" build/tidy/compile_commands.json "${databases[@]}" <<<"$names")
  if [[ -n $folder ]]; then
    left=$(grep -v "^$folder/" <<<"$files") || true
    [[ -z $left ]] || say "tidy: not checked, nor the headers seen through them alone:" "${left//$'\n'/ }"
    files=$(grep "^$folder/" <<<"$files") || true
  fi
  mapfile -t files <<<"$files"
  [[ -n ${files[0]} ]] || { say "tidy: nothing to check${base:+ since $base}"; return 0; }
  TIDY_LEFT=$(mktemp)
  export TIDY_LEFT TIDY_DEADLINE
  export -f tidy_one
  # shellcheck disable=SC2016  # the file's name is that shell's $1
  printf '%s\0' "${files[@]}" | xargs -0 -P "$LANEWISE_JOBS" -I{} bash -c 'tidy_one "$1"' _ {} || failed=1
  left=$(wc -l <"$TIDY_LEFT")
  ((left == 0)) || say "tidy: out of time after $seconds s, not checked: $(sort "$TIDY_LEFT" | tr '\n' ' ')"
  rm -f "$TIDY_LEFT"
  say "tidy: $((${#files[@]} - left)) of ${#files[@]} sources checked${base:+ (what differs from $base)}: $( ((failed)) && echo 'findings above' || echo 'no findings')"
  return $failed
}
