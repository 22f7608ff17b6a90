# cmake -DPROGRAM=... -P: times formats one after another on a Vulkan device whose driver gives less memory at once than the
# copies of a matrix take.
include(${CMAKE_CURRENT_LIST_DIR}/on_device.cmake)
execute_process(COMMAND ${PROGRAM} bench --device vulkan:0 --format q8_0,q4_0,q4_K --shape 512x160 --tokens 1 --bytes 3000000
  --rounds 1 OUTPUT_VARIABLE table ERROR_VARIABLE error RESULT_VARIABLE code)
lanewise_check_ran()
foreach(format q8_0 q4_0 q4_K)
  if(NOT table MATCHES "${format}")
    message(FATAL_ERROR "no figure of ${format}:\n${table}")
  endif()
endforeach()
