# What every target of the project shares: warnings, sanitizers, floating-point rules, and how a test is declared.

add_library(lanewise_warnings INTERFACE)
target_compile_options(lanewise_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wdouble-promotion
  -Wcast-qual -Wformat=2 -Wundef -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 sees an overlap in `"text" + std::string` that can't be (GCC bug 105651, mended in 13).
  target_compile_options(lanewise_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()

# g++ collects its garbage whenever its memory has doubled: a quarter of the time of a unit of kernels (11.3 s, 8.4 s with
# this). A gibibyte, which few units reach, is left alone. In kibibytes.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1048576>)
endif()

# The bits of a result are defined by docs/arithmetic.md: no contraction, no value-changing optimisation, anywhere.
add_library(lanewise_options INTERFACE)
target_compile_options(lanewise_options INTERFACE -ffp-contract=off -fno-fast-math)
target_link_libraries(lanewise_options INTERFACE lanewise_warnings)
if(LANEWISE_SANITIZE)
  target_compile_options(lanewise_options INTERFACE
    -fsanitize=${LANEWISE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(lanewise_options INTERFACE -fsanitize=${LANEWISE_SANITIZE})
endif()

add_library(lanewise_shadows INTERFACE)
target_compile_options(lanewise_shadows INTERFACE -Wno-shadow)

# lanewise_unity(name): with LANEWISE_UNITY the target's sources are compiled twelve at a time, but for those with options
# of their own: headers are read and templates instantiated once for all of them. What a name shadows in another source is
# no mistake.
function(lanewise_unity name)
  if(LANEWISE_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
    target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:lanewise_shadows>)
  endif()
endfunction()

# lanewise_module(name SOURCES ... LIBS ...): one folder of src/ as a static library that tests and tools link. Those that
# the library `lanewise` needs go into it as objects: lanewise_collect.
function(lanewise_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  # In liblanewise.so only the C interface is visible.
  set_target_properties(${name} PROPERTIES
    LANEWISE_MODULE ON C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(${name} PUBLIC ${ARG_LIBS} PRIVATE $<BUILD_INTERFACE:lanewise_options>)
  lanewise_unity(${name})
endfunction()

# lanewise_collect(modules_out externals_out modules...): these modules and all that they link, directly or not, and the
# libraries among these that aren't modules. Every module must have been declared before.
function(lanewise_collect modules_out externals_out)
  set(waiting ${ARGN})
  set(modules "")
  set(externals "")
  while(waiting)
    list(POP_FRONT waiting name)
    if(name IN_LIST modules OR name IN_LIST externals OR name MATCHES "^\\$<")
      continue()
    endif()
    set(is_module OFF)
    if(TARGET ${name})
      get_target_property(is_module ${name} LANEWISE_MODULE)
    endif()
    if(is_module)
      list(APPEND modules ${name})
      get_target_property(links ${name} LINK_LIBRARIES)
      list(APPEND waiting ${links})
    else()
      list(APPEND externals ${name})
    endif()
  endwhile()
  set(${modules_out} ${modules} PARENT_SCOPE)
  set(${externals_out} ${externals} PARENT_SCOPE)
endfunction()

# lanewise_test(name SOURCES ... LIBS ... [TIMEOUT seconds] [COMPUTES]): a GoogleTest program whose cases CTest lists one
# by one. What takes time in most of them is the library: they are compiled at -O1, which takes g++ a third less, but for
# those that compute much in their own sources.
function(lanewise_test name)
  cmake_parse_arguments(ARG "COMPUTES" "TIMEOUT" "SOURCES;LIBS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gtest GTest::gtest_main lanewise_options)
  lanewise_unity(${name})
  if(NOT ARG_COMPUTES)
    # At -O1 g++ 12 takes an empty std::optional's content for something that is read.
    target_compile_options(${name} PRIVATE
      $<$<CONFIG:Release>:-O1> $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized>)
  endif()
  target_compile_definitions(${name} PRIVATE
    LANEWISE_SOURCE_DIR="${PROJECT_SOURCE_DIR}" LANEWISE_BINARY_DIR="${PROJECT_BINARY_DIR}")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES PROPERTIES TIMEOUT ${ARG_TIMEOUT})
endfunction()
