# lanewise tune and lab on a Vulkan device: something is found, and all outputs have the scalar bits.
include(${CMAKE_CURRENT_LIST_DIR}/on_device.cmake)
set(store ${FOLDER}/tuning.json)
file(REMOVE ${store})
execute_process(COMMAND ${PROGRAM} tune --device vulkan:0 --format q4_K,f16 --shape 512x96 --tokens 1,3 --bytes 1000000
  --timing 0.0001 --store ${store} OUTPUT_VARIABLE table ERROR_VARIABLE error RESULT_VARIABLE code)
lanewise_check_ran()
# An entry is found, or left for interference, which a software device on a shared processor may have.
foreach(line "q4_K +512x96 +1 |left: q4_K 512x96 tokens 1: too much" "q4_K +512x96 +3 |left: q4_K 512x96 tokens 3: too much"
        "f16 +512x96 +1 |left: f16 512x96 tokens 1: too much" "f16 +512x96 +3 |left: f16 512x96 tokens 3: too much")
  if(NOT table MATCHES "${line}")
    message(FATAL_ERROR "nothing of '${line}':\n${table}")
  endif()
endforeach()
execute_process(COMMAND ${PROGRAM} lab cat q4_K 512 2 96 32 17 --device vulkan:0 --bytes 1000000 --timing 0.0001
  --rounds 5 --runs 1 OUTPUT_VARIABLE table ERROR_VARIABLE error RESULT_VARIABLE code)
if(NOT code EQUAL 0 AND NOT error MATCHES "too much interference")
  message(FATAL_ERROR "exit code ${code}: ${error}\n${table}")
endif()
if(NOT table MATCHES "580 outputs compared")
  message(FATAL_ERROR "not all outputs were compared:\n${table}")
endif()
