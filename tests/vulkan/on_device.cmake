# lanewise_check_ran(): after a run of the program on vulkan:0 that left code, error and table: where there is no such
# device the script ends as skipped, unless LANEWISE_REQUIRE_VULKAN is 1; any other failure is one of the test's.
macro(lanewise_check_ran)
  if(NOT code EQUAL 0)
    if(error MATCHES "there is no device 'vulkan:0'" AND NOT "$ENV{LANEWISE_REQUIRE_VULKAN}" STREQUAL "1")
      message("skipped: ${error}")
      return()
    endif()
    message(FATAL_ERROR "exit code ${code}: ${error}\n${table}")
  endif()
endmacro()
