# The CUDA backend: whether it is built, for which devices, and its units. The runtime is linked statically and finds the
# driver when a device is asked for: neither building nor starting needs one.
set(LANEWISE_CUDA AUTO CACHE STRING "Build the CUDA backend: AUTO (where nvcc is found), ON (or fail), OFF")
set_property(CACHE LANEWISE_CUDA PROPERTY STRINGS AUTO ON OFF)

# LANEWISE_CUDA_ON: it is built; otherwise LANEWISE_CUDA_WHY_NOT says why not, in words for `lanewise devices`.
set(LANEWISE_CUDA_ON OFF)
set(LANEWISE_CUDA_WHY_NOT "")
if(NOT LANEWISE_CUDA)
  set(LANEWISE_CUDA_WHY_NOT "this build left CUDA out: LANEWISE_CUDA is OFF")
elseif(CMAKE_CROSSCOMPILING AND LANEWISE_CUDA STREQUAL "AUTO")
  set(LANEWISE_CUDA_WHY_NOT "this build left CUDA out: it was cross-compiled")
else()
  # One architecture keeps a build short; the preset cuda-all makes the binary for all.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90-real CACHE STRING "Devices that CUDA kernels are compiled for")
  endif()
  if(NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(LANEWISE_NVCC NAMES nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
    if(LANEWISE_NVCC)
      set(CMAKE_CUDA_COMPILER ${LANEWISE_NVCC})
    endif()
  endif()
  if(DEFINED CMAKE_CUDA_COMPILER OR DEFINED ENV{CUDACXX})
    set(LANEWISE_CUDA_ON ON)
  elseif(LANEWISE_CUDA STREQUAL "AUTO")
    set(LANEWISE_CUDA_WHY_NOT "this build left CUDA out: no nvcc was found")
  else()
    message(FATAL_ERROR "LANEWISE_CUDA is ${LANEWISE_CUDA}, and no nvcc was found: set CUDACXX or CMAKE_CUDA_COMPILER")
  endif()
endif()

if(LANEWISE_CUDA_ON)
  enable_language(CUDA)
  # CMake 3.25 doesn't know that nvcc has it, from 12.0 on.
  if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  find_package(CUDAToolkit REQUIRED)
  message(STATUS "lanewise: CUDA ${CMAKE_CUDA_COMPILER_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}")
else()
  message(STATUS "lanewise: ${LANEWISE_CUDA_WHY_NOT}")
endif()

# What the kernels are compiled with: the arithmetic's rules first, then warnings, here and in the host's half.
# (186: an unsigned number compared with zero, which is how a bound that a format makes zero looks once it is known.)
set(LANEWISE_CUDA_FLAGS
  -diag-suppress=186
  -fmad=false -ftz=false -prec-div=true -prec-sqrt=true --expt-relaxed-constexpr
  -Werror=all-warnings -Xcompiler=-Wall,-Wextra,-Wshadow,-fvisibility=hidden,-ffp-contract=off)

# lanewise_cuda_units(out family KINDS kinds...): a unit a format of these kinds from `family`_unit.cu.in of the calling
# folder (see lanewise_format_units). generated/backends/cuda/`family`_units.inc lists them as LW_CUDA_UNIT(name, NAME); it is
# empty where CUDA isn't built or no such template exists yet. Adds the sources to `out`.
function(lanewise_cuda_units out family)
  set(template ${CMAKE_CURRENT_SOURCE_DIR}/${family}_unit.cu.in)
  set(listed "// Made by CMake from formats.def.\n")
  set(units ${${out}})
  if(LANEWISE_CUDA_ON AND EXISTS ${template})
    lanewise_format_units(units ${template} FAMILY ${family} EXTENSION cu LIST listed TEXT "LW_CUDA_UNIT(@name@, @NAME@)\n" ${ARGN})
  endif()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/backends/cuda/${family}_units.inc CONTENT "${listed}" @ONLY)
  set(${out} ${units} PARENT_SCOPE)
endfunction()
