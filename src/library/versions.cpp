#include "lanewise/lanewise.h"

uint32_t lw_abi_version(void) { return LW_ABI_VERSION; }

uint32_t lw_arithmetic_version(void) { return LW_ARITHMETIC_VERSION; }

const char* lw_version(void) { return LANEWISE_VERSION; }

const char* lw_status_name(lw_status status) {
  switch (status) {
#define LW_NAME(status) \
  case status:          \
    return #status;
    LW_NAME(LW_OK)
    LW_NAME(LW_ERROR_ARGUMENT)
    LW_NAME(LW_ERROR_MEMORY)
    LW_NAME(LW_ERROR_IO)
    LW_NAME(LW_ERROR_NOT_FOUND)
    LW_NAME(LW_ERROR_UNSUPPORTED)
    LW_NAME(LW_ERROR_NOT_A_WEIGHT)
    LW_NAME(LW_ERROR_DEVICE)
    LW_NAME(LW_ERROR_INTERNAL)
    LW_NAME(LW_ERROR_FILE_MAGIC)
    LW_NAME(LW_ERROR_FILE_VERSION)
    LW_NAME(LW_ERROR_FILE_TRUNCATED)
    LW_NAME(LW_ERROR_FILE_METADATA)
    LW_NAME(LW_ERROR_FILE_TENSOR)
    LW_NAME(LW_ERROR_FILE_TYPE)
    LW_NAME(LW_ERROR_FILE_SPLIT)
#undef LW_NAME
  }
  return "unknown status";
}
