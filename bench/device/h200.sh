#!/usr/bin/env bash
# Verification and benchmark on a machine with an NVIDIA GPU and nothing else, in ten minutes.
#
#   bench/device/h200.sh prepare [--build DIR] [--zoo FILE] [--peer FILE] [--vulkan yes]
#       here: builds the program (the preset release, or what DIR was configured for) and gathers it, the shared
#       libraries that a bare machine lacks, a zoo file (tools/zoo; .cache/zoo.gguf where it is there) and a peer
#       (bench/peers/ggml/build.sh --cuda makes one), stripped and compressed, in build/device;
#       with --vulkan yes the Vulkan loader too and what NVIDIA's driver loads beside it, from Debian's packages
#   build/device/h200.sh run [--to DIR] [--device cuda:N|vulkan:N] [--seconds N] [--formats F,...] [--tune N]
#                            [--only tune] [-- OPTIONS OF BENCH]
#       there: needs bash and build/device alone. Devices; verify over every format, layout, plane count and window, the
#       sweeps of tilings, overlapped launches, groups and experts, offsets past 4 GiB; the zoo's digest on the processor
#       and on the GPU, compared line by line; the benchmark's table, beside the peer where there is one, and those of
#       three matrices and of eight experts in one launch; compute-sanitizer's memcheck, racecheck and initcheck on small
#       problems, where the tool is found (CUDA's alone). Into DIR ($OUT, else build/device/results): results.json, committed as
#       bench/results/h200.json, table.txt and log.txt.
#       With --tune N, at the end, lanewise tune for N seconds, twice, and the lab: tune.json and tune.again.json, which
#       tools/compare_tunings.py compares, tuning.json, which may be committed in src/tune/db, lab.*.json. --only tune
#       does nothing else.
#
# Ends with 0 when all was run and no bit differs, with 1 when one does or a sanitizer complains, with 2 when something
# couldn't be run to its end (--seconds, 570, are for all of it).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
most_bytes=62000000
windows=1,2,3,4,5,8,9
shapes=(4096x14336 4096x4096 2560x640 4096x128256 14336x4096)

fail() {
  echo "h200.sh: $1" >&2
  exit 2
}

# --- here ---

# Puts what `$1` loads, the C library and what comes with a device apart, into `$2`/lib. What the machine there is likely
# to have itself, in a newer version, goes into lib/own, for where it hasn't.
gather_libraries() {
  local name path
  while read -r name path; do
    case $name in
      libcuda.so.* | libcublas.so.* | libcublasLt.so.*) ;;
      linux-vdso.so.* | *ld-linux* | libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | librt.so.*) ;;
      libstdc++.so.* | libgcc_s.so.*) install -D -m 755 "$path" "$2/lib/own/$name" ;;
      *) install -D -m 755 "$path" "$2/lib/$name" ;;
    esac
  done < <(ldd "$1" | awk '$2 == "=>" && !($1 ~ /^libcuda\.so/) { if ($3 == "not") exit 1; print $1, $3 }')
}

# The peer `$1` and its libraries, as `$2`/peer.tar.xz.
gather_peer() {
  local of
  of=$(mktemp -d)
  strip -o "$of/peer" "$1"
  gather_libraries "$1" "$of"
  find "$of" -name '*.so*' -exec strip --strip-unneeded {} +
  tar -C "$of" -cJf "$2/peer.tar.xz" .
  rm -rf "$of"
}

# The Vulkan loader, and the libraries of X and GL that NVIDIA's Vulkan driver is linked with, into `$1`/lib/vulkan.
gather_vulkan() {
  local packages=(libvulkan1 libegl1 libglvnd0 libopengl0 libgl1 libglx0 libgles2 libx11-6 libxext6 libxcb1 libxcb-glx0
    libxau6 libxdmcp6 libbsd0 libmd0) folder each
  folder=$(mktemp -d)
  (cd "$folder" && apt-get -qq download "${packages[@]}") >&2 || fail "no packages of the Vulkan loader: apt-get download"
  for each in "$folder"/*.deb; do dpkg -x "$each" "$folder/root"; done
  mkdir -p "$1/lib/vulkan"
  find "$folder/root" -name '*.so*' \( -type f -o -type l \) -exec cp -a -t "$1/lib/vulkan" {} +
  rm -rf "$folder"
  [[ -e $1/lib/vulkan/libvulkan.so.1 ]] || fail "the packages hold no libvulkan.so.1"
}

prepare() {
  local root build="" zoo="" peer="" vulkan=no
  root=$(cd "$here/../.." && pwd)
  while (($#)); do
    case $1 in
      --build) build=${2:?} ;;
      --zoo) zoo=${2:?} ;;
      --peer) peer=${2:?} ;;
      --vulkan) vulkan=${2:?} ;;
      *) fail "unknown option '$1'" ;;
    esac
    shift 2
  done
  [[ -z $zoo || -r $zoo ]] || fail "there is no zoo '$zoo'"
  [[ -z $peer || -x $peer ]] || fail "there is no peer '$peer'"
  [[ -n $zoo || ! -r $root/.cache/zoo.gguf ]] || zoo=$root/.cache/zoo.gguf
  if [[ -z $build ]]; then
    build=$root/build/release
    (cd "$root" && cmake --preset release >&2)
  fi
  cmake --build "$build" --target lanewise_program -j "${LANEWISE_JOBS:-$(nproc)}" >&2
  local listed
  listed=$("$build/lanewise" devices)
  [[ $listed != *"left CUDA out"* ]] || fail "the build in '$build' has no CUDA"
  [[ $vulkan != yes || $listed != *"left Vulkan out"* ]] || fail "the build in '$build' has no Vulkan"

  local to=$root/build/device
  rm -rf "$to"
  mkdir -p "$to"
  strip -o "$to/lanewise" "$build/lanewise"
  gather_libraries "$build/lanewise" "$to"
  [[ $vulkan != yes ]] || gather_vulkan "$to"
  cp "$here/h200.sh" "$to/"
  [[ -z $zoo ]] || cp "$zoo" "$to/zoo.gguf"
  [[ -z $peer ]] || gather_peer "$peer" "$to"
  # "q4_K HALF": each format and its kind.
  sed -n 's/^LW_FORMAT(\([A-Za-z0-9_]*\),.*, \([A-Z]*\), [01], [01])$/\1 \2/p' "$root/src/formats/formats.def" >"$to/formats"
  [[ -s $to/formats ]] || fail "no formats found in src/formats/formats.def"
  {
    git -C "$root" rev-parse HEAD
    git -C "$root" status --porcelain --untracked-files=no
  } >"$to/commit"
  local bytes
  bytes=$(du -sb "$to" | cut -f1)
  ((bytes <= most_bytes)) || fail "build/device is $bytes bytes, more than $most_bytes"
  [[ -n $zoo ]] || echo "no zoo: digests will not be compared (tools/zoo makes one, --zoo names it)" >&2
  echo "build/device is ready: $bytes bytes; there, run build/device/h200.sh run" >&2
}

# --- there ---

say() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }
# Seconds that a step of at most $1 may take, $2 being kept for what comes after it; at least 5.
seconds_for() {
  local left=$((budget - SECONDS - $2))
  ((left < $1)) || left=$1
  ((left > 5)) || left=5
  echo "$left"
}
differs() {
  echo "WRONG: $1"
  wrong=1
}
unfinished() {
  echo "NOT RUN TO ITS END: $1"
  incomplete+=("$1")
}
# Judges exit code $1 of step $2: 1 is the program's for a wrong bit.
judge() {
  case $1 in
    0) ;;
    1) differs "$2" ;;
    124 | 137) unfinished "$2: stopped after its time" ;;
    *) unfinished "$2: exit code $1" ;;
  esac
}

# Of the program's JSON, whose objects are indented by two: the value of the top key $1 in file $2, as it stands.
json_value() {
  awk -v key="  \"$1\": " 'index($0, key) == 1 && !on { print substr($0, length(key) + 1); on = 1
                             if ($0 !~ /[[{]$/) exit; next }
                           on { print } on && /^  []}]/ { exit }' "$2" | sed '$ s/,$//'
}
# The items of the top array $1 of the files after it, as one array.
json_array() {
  local key=$1
  shift
  echo "["
  awk -v key="  \"$key\": [" '$0 == key { on = 1; if (any) print ","; any = 1; next }
                              on && /^  \]/ { on = 0 } on { print }' "$@"
  echo "]"
}
quoted() {
  local text=${1//\\/\\\\}
  text=${text//\"/\\\"}
  printf '"%s"' "${text//[[:cntrl:]]/}"
}

verify_all() {
  say "every format, layout, plane count, windows $windows; tilings, overlapped launches, groups, experts, offsets"
  local code=0 options=(--tokens "$windows" --device "$device" --keep-going --json "$work/verify.json")
  [[ $formats == all ]] || options+=(--format "$formats")
  timeout -k 5 "$(seconds_for 240 200)" "$program" verify "${options[@]}" || code=$?
  judge "$code" "verify --device $device"
  verification=null
  [[ ! -s $work/verify.json ]] || verification="{
\"tokens\": \"$windows\",
\"complete\": $(json_value complete "$work/verify.json"),
\"seconds\": $(json_value seconds "$work/verify.json"),
\"total\": $(json_value total "$work/verify.json"),
\"formats\": $(json_value formats "$work/verify.json")
}"
}

compare_digests() {
  say "digests of the zoo"
  digest=null
  if [[ ! -r $here/zoo.gguf ]]; then
    unfinished "digest: build/device has no zoo"
    return
  fi
  local code=0 differing lines there
  timeout -k 5 "$(seconds_for 60 240)" "$program" digest "$here/zoo.gguf" >"$work/digest.cpu" || code=$?
  judge "$code" "digest on the processor"
  code=0
  timeout -k 5 "$(seconds_for 60 240)" "$program" digest "$here/zoo.gguf" --device "$device" >"$work/digest.gpu" || code=$?
  judge "$code" "digest on $device"
  # One that was stopped has its first lines: these are compared.
  there=$(wc -l <"$work/digest.gpu")
  lines=$(wc -l <"$work/digest.cpu")
  ((there == lines)) || echo "cut short: $lines lines on the processor, $there on $device; those that both have are compared"
  ((there >= lines)) || lines=$there
  head -n "$lines" "$work/digest.cpu" >"$work/digest.cpu.head"
  head -n "$lines" "$work/digest.gpu" >"$work/digest.gpu.head"
  differing=$(diff "$work/digest.cpu.head" "$work/digest.gpu.head" | grep -c '^[<>]' || true)
  cat "$work/digest.gpu"
  echo "$lines lines, $differing differ from the processor's"
  ((differing == 0)) || differs "digest"
  ((lines > 2)) || unfinished "digest: no lines"
  digest="{\"lines\": $lines, \"differing\": $differing, \"all\": $(quoted "$(tail -1 "$work/digest.gpu")")}"
}

# What a peer loads that isn't beside it, where there may be such a thing.
find_library() {
  find /usr/local /usr/lib /usr/lib64 /opt -name "$1" -print -quit 2>/dev/null
}

# Unpacks the peer: `peer_options` are bench's then.
unpack_peer() {
  local name path missing
  peer_options=()
  [[ -r $here/peer.tar.xz ]] || return 0
  say "the peer"
  mkdir "$work/peer"
  if ! tar -C "$work/peer" -xJf "$here/peer.tar.xz"; then
    unfinished "the peer can't be unpacked"
    return 0
  fi
  LD_LIBRARY_PATH+=":$work/peer/lib:$work/peer/lib/own"
  for name in $(ldd "$work/peer/peer" | awk '/not found/ { print $1 }'); do
    path=$(find_library "$name")
    [[ -z $path ]] || LD_LIBRARY_PATH+=":${path%/*}"
  done
  missing=$(ldd "$work/peer/peer" | awk '/not found/ { print $1 }')
  if [[ -n $missing ]]; then
    unfinished "the peer: this machine has no ${missing//$'\n'/, no }"
  else
    peer_options=(--peer "$work/peer/peer" --peer-word cuda)
  fi
}

# bench of shape $1 under the name $2, with the options after them.
bench_one() {
  local shape=$1 name=$2 code=0
  local file=$work/bench.$name.json
  shift 2
  say "bench $name"
  timeout -k 5 "$(seconds_for 300 100)" "$program" bench --device "$device" --format "$formats" --shape "$shape" \
    --json "$file" "$@" "${bench_options[@]}" >"$work/bench.txt" || code=$?
  tee -a "$to/table.txt" <"$work/bench.txt"
  judge "$code" "bench $name"
  [[ ! -s $file ]] || bench_files+=("$file")
}

# A shape at a time: what was measured stays if time runs out.
bench_all() {
  local shape
  unpack_peer
  for shape in "${shapes[@]}"; do bench_one "$shape" "$shape" --tokens 1,2,4,8 "${peer_options[@]}"; done
  bench_one 2560x640 2560x640.experts --tokens 1,8 --experts 8
  bench_one 4096x4096 4096x4096.group --tokens 1,8 --group 3
}

# A command of the program's: its text into the table, $1 its name, $2 seconds that it may take.
step() {
  local name=$1 seconds=$2 code=0
  shift 2
  say "$name"
  timeout -k 5 "$(seconds_for "$seconds" 5)" "$program" "$@" --device "$device" >"$work/step.txt" || code=$?
  tee -a "$to/table.txt" <"$work/step.txt"
  judge "$code" "$name"
}

# Twice, so that it can be seen whether they agree; then single questions about q, k and v, gate and up, and splits.
tune() {
  ((tune_seconds > 0)) || return 0
  local of=()
  [[ $formats == all ]] || of=(--format "$formats")
  step "tune" $((tune_seconds + 30)) tune --budget "$tune_seconds" --store "$to/tuning.json" --json "$to/tune.json" "${of[@]}"
  step "tune, again" $((tune_seconds + 30)) tune --budget "$tune_seconds" --keep-nothing --json "$to/tune.again.json" "${of[@]}"
  step "every tile of one shape" 60 tune --budget 50 --keep-nothing --candidates 1000 --format q4_K --shape 4096x4096 \
    --tokens 1 --json "$to/tune.all.json"
  step "k and v, together" 20 lab cat q4_K 4096 1 1024 1024 --json "$to/lab.cat.kv.json"
  step "gate and up, together" 20 lab cat q4_K 4096 1 14336 14336 --json "$to/lab.cat.gate_up.json"
  if [[ $device == cuda* ]]; then
    step "tiles beside q" 20 lab tiles q4_K 4096 1024 1 default mma:tile=1/2/2/1 mma:tile=1/2/4/2 mma:tile=2/1/4/4 \
      --beside q4_K,4096 --json "$to/lab.beside.json"
    step "parts of K" 20 lab split f16 4096 4096 1 --json "$to/lab.split.json"
  fi
}

# Three processes beside each other: they share the GPU, and nothing is timed any more.
sanitize() {
  [[ $device == cuda* ]] || return 0
  say "compute-sanitizer"
  local tool format kind layout problems=() waiting=() code errors found="" where
  for where in compute-sanitizer /usr/local/cuda*/bin/compute-sanitizer; do
    found=$(command -v "$where" || true)
    [[ -z $found ]] || break
  done
  sanitizers=null
  if [[ -z $found ]]; then
    unfinished "compute-sanitizer: it isn't on this machine"
    return
  fi
  while read -r format kind; do
    [[ $formats == all || ,$formats, == *",$format,"* ]] || continue
    for layout in raw frag; do
      [[ $kind:$layout != FLOAT:frag ]] || continue  # weights that are no codes are read raw
      problems+=("gemv:$format:512x33:tokens=1:layout=$layout" "gemv:$format:768x17:tokens=8:layout=$layout"
        "gemv:$format:512x48:tokens=2:layout=$layout:group=32/16:experts=4:overlapped=yes")
    done
  done <"$here/formats"
  for tool in memcheck racecheck initcheck; do
    timeout -k 5 "$(seconds_for 150 10)" "$found" --tool "$tool" --error-exitcode 99 \
      "$program" verify --device "$device" --keep-going "${problems[@]}" >"$work/$tool.txt" 2>&1 &
    waiting+=("$!")
  done
  sanitizers="{\"problems\": ${#problems[@]}"
  for tool in memcheck racecheck initcheck; do
    code=0
    wait "${waiting[0]}" || code=$?
    waiting=("${waiting[@]:1}")
    grep -E '^=========' "$work/$tool.txt" | head -40 || true
    tail -3 "$work/$tool.txt"
    errors=$(sed -n 's/^========= \(ERROR SUMMARY: \|RACECHECK SUMMARY: \)\([0-9]*\).*/\2/p' "$work/$tool.txt" | tail -1)
    echo "$tool: exit code $code, ${errors:-no count of} errors"
    if ((code == 99)); then differs "compute-sanitizer's $tool"; else judge "$code" "compute-sanitizer's $tool"; fi
    sanitizers+=", \"$tool\": {\"errors\": ${errors:-null}, \"exit_code\": $code}"
  done
  sanitizers+="}"
}

write_results() {
  local first=${bench_files[0]:-} file one separator="" ceiling=null
  for file in "${bench_files[@]}"; do json_value ceiling_gbps "$file"; done | sort -g | tail -1 >"$work/ceiling"
  [[ ! -s $work/ceiling ]] || ceiling=$(<"$work/ceiling")
  {
    echo "{"
    echo "\"commit\": $(quoted "$(head -1 "$here/commit")"),"
    echo "\"modified\": $([[ $(wc -l <"$here/commit") -gt 1 ]] && echo true || echo false),"
    echo "\"date\": \"$began\","
    echo "\"seconds\": $SECONDS,"
    if [[ -n $first ]]; then
      for one in library_version arithmetic_version machine; do echo "\"$one\": $(json_value "$one" "$first"),"; done
      one=$(json_value peer "$first")
      [[ -z $one ]] || echo "\"peer\": $one,"
    fi
    echo "\"bits_differ\": $([[ $wrong == 1 ]] && echo true || echo false),"
    echo "\"not_run_to_its_end\": ["
    for one in "${incomplete[@]}"; do
      echo "$separator$(quoted "$one")"
      separator=,
    done
    echo "],"
    echo "\"verification\": $verification,"
    echo "\"digest\": $digest,"
    echo "\"sanitizers\": $sanitizers,"
    echo "\"ceiling_gbps\": $ceiling,"
    for one in notes warnings cases; do
      echo "\"$one\": $(if [[ -n $first ]]; then json_array "$one" "${bench_files[@]}"; else echo "[]"; fi)$([[ $one == cases ]] || echo ,)"
    done
    echo "}"
  } >"$work/results.json"
  # Indented, and checked, where something is there that can.
  if command -v python3 >/dev/null && python3 -m json.tool --indent 1 "$work/results.json" "$to/results.json"; then return; fi
  cp "$work/results.json" "$to/results.json"
}

# The loader that was carried along, where this machine has none, and the driver's manifest, where it isn't where loaders
# look.
find_vulkan() {
  local icd
  export LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$here/lib/vulkan"
  for icd in /etc/vulkan/icd.d/nvidia_icd.json /usr/share/vulkan/icd.d/nvidia_icd.json \
    /usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json; do
    [[ -z ${VK_DRIVER_FILES:-} && -r $icd ]] || continue
    # Both names: loaders before 1.3.207 know the second alone.
    export VK_DRIVER_FILES=$icd VK_ICD_FILENAMES=$icd
  done
}

run() {
  to=${OUT:-$here/results} device=cuda:0 budget=570 formats=all tune_seconds=0 only="" bench_options=()
  while (($#)); do
    case $1 in
      --to) to=${2:?} ;;
      --device) device=${2:?} ;;
      --seconds) budget=${2:?} ;;
      --formats) formats=${2:?} ;;
      --tune) tune_seconds=${2:?} ;;
      --only) only=${2:?} ;;
      --)
        shift
        bench_options=("$@")
        break
        ;;
      *) fail "unknown option '$1'" ;;
    esac
    shift 2
  done
  [[ -z $only || $only == tune ]] || fail "--only takes tune"
  [[ $only != tune ]] || ((tune_seconds > 0)) || tune_seconds=60
  program=$here/lanewise
  [[ -x $program ]] || fail "there is no program in '$here': 'bench/device/h200.sh prepare' makes build/device"
  export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  # ldd names what is missing, and what is too old for the program.
  [[ $(ldd "$program" 2>&1) != *"not found"* ]] || LD_LIBRARY_PATH="$here/lib/own:$LD_LIBRARY_PATH"
  [[ $device != vulkan* ]] || find_vulkan
  mkdir -p "$to"
  : >"$to/table.txt"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  began=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  wrong=0 incomplete=() bench_files=() verification=null digest=null sanitizers=null
  local log
  exec 3> >(tee "$to/log.txt")
  log=$!
  everything >&3 2>&1 3>&-
  exec 3>&-
  wait "$log" || true
  ((wrong == 0)) || exit 1
  ((${#incomplete[@]} == 0)) || exit 2
}

everything() {
  say "devices"
  "$program" --version
  local listed
  listed=$("$program" devices || true)
  echo "$listed"
  if [[ $'\n'$listed != *$'\n'"$device "* ]]; then
    unfinished "no device '$device' here"
  elif [[ $only == tune ]]; then
    tune
  else
    verify_all
    compare_digests
    bench_all
    sanitize
    tune
  fi
  [[ -n $only ]] || write_results
  say "done: $([[ $wrong == 1 ]] && echo "SOMETHING IS WRONG" || echo "no bit was seen to differ"), ${#incomplete[@]} steps not run to their end"
  ((${#incomplete[@]} == 0)) || printf '  %s\n' "${incomplete[@]}"
}

case ${1:-} in
  prepare) shift && prepare "$@" ;;
  run) shift && run "$@" ;;
  *)
    sed -n '2,/^set -/ { /^set -/d; s/^# \{0,1\}//p }' "${BASH_SOURCE[0]}"
    exit 2
    ;;
esac
