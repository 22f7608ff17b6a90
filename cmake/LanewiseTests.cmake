# Tests that are scripts. GoogleTest programs: lanewise_test in LanewiseTargets.cmake.

set(LANEWISE_PYTHON "" CACHE FILEPATH "Python with the packages of tools/requirements.txt (default: that of ./dev setup)")
set(lanewise_python ${LANEWISE_PYTHON})
if(NOT lanewise_python AND EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  set(lanewise_python ${PROJECT_SOURCE_DIR}/.venv/bin/python)
endif()

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
# none it is skipped with a line, and ctest's closing lines name it.
function(lanewise_python_test name)
  cmake_parse_arguments(ARG "FULL" "TIMEOUT" "COMMAND" ${ARGN})
  if(lanewise_python)
    set(command ${lanewise_python} -B ${ARG_COMMAND})
  else()
    set(command ${CMAKE_COMMAND} -E echo "skipped: no Python environment (set LANEWISE_PYTHON, or make .venv with ./dev setup)")
  endif()
  set(full "")
  if(ARG_FULL)
    set(full FULL)
  endif()
  lanewise_script_test(${name} COMMAND ${command} TIMEOUT ${ARG_TIMEOUT} ${full})
  if(NOT lanewise_python)
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped: ")
  endif()
endfunction()
