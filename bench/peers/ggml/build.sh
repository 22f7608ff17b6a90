#!/usr/bin/env bash
# build.sh [--cuda] [SDIST]: builds the peer of ggml's CPU backend, build/peers/ggml/lanewise-peer-ggml; with --cuda that
# of its CUDA backend too, for compute capability 9.0 ($CUDA_ARCHITECTURES), in build/peers/ggml-cuda, which takes 20
# minutes on two cores. ggml is the one inside the source package of llama-cpp-python, from PyPI, or SDIST where it is
# here already; it stays in .cache/peers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
: "${LANEWISE_JOBS:=$(nproc)}"

build=build/peers/ggml
options=()
if [[ ${1:-} == --cuda ]]; then
  shift
  build=build/peers/ggml-cuda
  # Not for this processor: it is taken to another machine.
  options=(-DLANEWISE_PEER_CUDA=ON "-DCMAKE_CUDA_ARCHITECTURES=${CUDA_ARCHITECTURES:-90-real}" -DGGML_NATIVE=OFF -DGGML_OPENMP=OFF)
fi
version=0.3.36 # ggml 0.25.3
sum=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
place=.cache/peers/llama_cpp_python-$version
sdist=${1:-$place.tar.gz}
ggml=$place/vendor/llama.cpp/ggml

if [[ ! -e $ggml/CMakeLists.txt ]]; then
  mkdir -p .cache/peers
  if [[ ! -e $sdist ]]; then
    echo "getting the source package of llama-cpp-python $version (77 MB)" >&2
    # pip asks a source package for its metadata, and so gets what builds that first.
    python=python3
    [[ ! -x .venv/bin/python ]] || python=.venv/bin/python
    "$python" -m pip download --disable-pip-version-check --no-deps --no-binary llama-cpp-python \
      --dest .cache/peers "llama-cpp-python==$version" >&2
  fi
  echo "$sum  $sdist" | sha256sum --check --quiet
  tar -xzf "$sdist" -C .cache/peers "llama_cpp_python-$version/vendor/llama.cpp/ggml" \
    "llama_cpp_python-$version/vendor/llama.cpp/LICENSE"
fi

cmake -S bench/peers/ggml -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DLANEWISE_PEER_GGML=$PWD/$ggml" "${options[@]}" >&2
cmake --build "$build" -j "$LANEWISE_JOBS" >&2
echo "$build/lanewise-peer-ggml"
