# Writes generated/tune/generated.cpp: the hashes of the backends' sources, and the files of src/tune/db.
#   cmake -D INPUTS=inputs.cmake -D OUT=generated.cpp -P MakeTuning.cmake
include(${INPUTS})

# Files by their names inside the tree and their contents, in a fixed order, and the compiler.
function(hash_of out)
  set(files ${ARGN})
  list(SORT files)
  set(text "${BUILD}\n")
  foreach(file IN LISTS files)
    file(SHA256 ${file} hash)
    file(RELATIVE_PATH name ${SOURCE_DIR} ${file})
    string(APPEND text "${name} ${hash}\n")
  endforeach()
  string(SHA256 hash "${text}")
  string(SUBSTRING ${hash} 0 16 short)
  set(${out} ${short} PARENT_SCOPE)
endfunction()

set(cases "")
foreach(backend cpu cuda vulkan)
  hash_of(hash ${${backend}} ${shared})
  string(APPEND cases "  if (backend == \"${backend}\") return \"${hash}\";\n")
endforeach()

set(arrays "")
set(rows "")
set(count 0)
list(SORT shipped)
foreach(file IN LISTS shipped)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  get_filename_component(name ${file} NAME)
  string(APPEND arrays "constexpr char file_${count}[] = {${bytes}'\\0'};\n")
  string(APPEND rows "    Shipped{\"${name}\", {file_${count}, sizeof file_${count} - 1}},\n")
  math(EXPR count "${count} + 1")
endforeach()

file(CONFIGURE OUTPUT ${OUT} CONTENT [=[
// Made by cmake/MakeTuning.cmake.
#include <array>

#include "tune/fingerprint.h"
#include "tune/store.h"

namespace lanewise::tune {
namespace {
@arrays@
constexpr std::array<Shipped, @count@> files = {
@rows@};
}  // namespace

std::string_view kernels_hash([[maybe_unused]] std::string_view backend) {
@cases@  return "";
}
std::span<const Shipped> shipped_stores() { return files; }

}  // namespace lanewise::tune
]=] @ONLY)
