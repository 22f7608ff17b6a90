# lanewise_simd_targets(out): the instruction sets of src/backends/cpu/targets.def that this build compiles kernels for,
# none without LANEWISE_SIMD. Of each, `out`_NAME_floats is that field of its row and `out`_NAME_flags what its units are
# compiled with.
function(lanewise_simd_targets out)
  lanewise_read_table(rows ${PROJECT_SOURCE_DIR}/src/backends/cpu/targets.def LW_TARGET_ROW 4)
  set(names "")
  foreach(row IN LISTS rows)
    string(REPLACE "|" ";" fields "${row}")
    list(GET fields 0 name)
    list(GET fields 1 architecture)
    list(GET fields 2 floats)
    list(GET fields 3 flags)
    if(NOT LANEWISE_SIMD OR NOT architecture STREQUAL CMAKE_SYSTEM_PROCESSOR)
      continue()
    endif()
    separate_arguments(flags)
    # Indices of unrolled loops are ints there. And g++ 12 takes the undefined operands of its own intrinsics for a
    # mistake.
    list(APPEND flags -Wno-sign-conversion $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> -Wno-uninitialized)
    list(APPEND names ${name})
    set(${out}_${name}_floats ${floats} PARENT_SCOPE)
    set(${out}_${name}_flags "${flags}" PARENT_SCOPE)
  endforeach()
  set(${out} ${names} PARENT_SCOPE)
endfunction()
