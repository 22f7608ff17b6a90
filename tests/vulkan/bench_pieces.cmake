# cmake -DPROGRAM=... -P: times formats one after another on a Vulkan device whose driver gives less memory at once than the
# copies of a matrix take.
execute_process(COMMAND ${PROGRAM} bench --device vulkan:0 --format q8_0,q4_0,q4_K --shape 512x160 --tokens 1 --bytes 3000000
  --rounds 1 OUTPUT_VARIABLE table ERROR_VARIABLE error RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  if(error MATCHES "there is no device 'vulkan:0'" AND NOT "$ENV{LANEWISE_REQUIRE_VULKAN}" STREQUAL "1")
    message("skipped: ${error}")
    return()
  endif()
  message(FATAL_ERROR "exit code ${code}: ${error}\n${table}")
endif()
foreach(format q8_0 q4_0 q4_K)
  if(NOT table MATCHES "${format}")
    message(FATAL_ERROR "no figure of ${format}:\n${table}")
  endif()
endforeach()
