# cmake -DPROGRAM=... -DFOLDER=... -P: the digest of a synthetic model of every format on a Vulkan device, line by line that
# of the CPU.
include(${CMAKE_CURRENT_LIST_DIR}/on_device.cmake)
set(model ${FOLDER}/vulkan-digest.gguf)
execute_process(COMMAND ${PROGRAM} synth -o ${model} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
execute_process(COMMAND ${PROGRAM} digest ${model} OUTPUT_VARIABLE here COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PROGRAM} digest ${model} --device vulkan:0 OUTPUT_VARIABLE table ERROR_VARIABLE error
  RESULT_VARIABLE code)
file(REMOVE ${model})
lanewise_check_ran()
string(REGEX MATCHALL "\n" lines "${here}")
list(LENGTH lines count)
if(count LESS 28 OR NOT here STREQUAL table)
  message(FATAL_ERROR "${count} lines on the CPU:\n${here}\non the device:\n${table}")
endif()
