# Tests that are scripts. GoogleTest programs: lanewise_test in LanewiseTargets.cmake.

set(LANEWISE_PYTHON "" CACHE FILEPATH
    "Python with the packages of tools/requirements.txt; without it the checks against them are left out, with a line")

# lanewise_script_test(name COMMAND ... [TIMEOUT seconds] [FULL]): FULL: a long one, run by `./dev test --full` only.
function(lanewise_script_test name)
  cmake_parse_arguments(ARG "FULL" "TIMEOUT" "COMMAND" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_test(NAME ${name} COMMAND ${ARG_COMMAND} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  if(ARG_FULL)
    set_tests_properties(${name} PROPERTIES LABELS full)
  endif()
endfunction()

# lanewise_python_test(name COMMAND script.py ... [TIMEOUT seconds] [FULL]): run with LANEWISE_PYTHON. Where there is
# none the test is listed as disabled, so that ctest's closing lines name it.
function(lanewise_python_test name)
  cmake_parse_arguments(ARG "FULL" "TIMEOUT" "COMMAND" ${ARGN})
  set(full "")
  if(ARG_FULL)
    set(full FULL)
  endif()
  if(LANEWISE_PYTHON)
    lanewise_script_test(${name} COMMAND ${LANEWISE_PYTHON} -B ${ARG_COMMAND} TIMEOUT ${ARG_TIMEOUT} ${full})
  else()
    lanewise_script_test(${name} COMMAND python3 -B ${ARG_COMMAND} TIMEOUT ${ARG_TIMEOUT} ${full})
    set_tests_properties(${name} PROPERTIES DISABLED TRUE)
    message(STATUS "not run: test ${name} needs LANEWISE_PYTHON")
  endif()
endfunction()
