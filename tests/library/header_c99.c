/* lanewise.h in strict C99; every macro used once. */
#include <lanewise/lanewise.h>

#if __STDC_VERSION__ != 199901L
#error "this file checks the header in C99"
#endif

uint32_t header_c99(void) {
  lw_error error = LW_ERROR_INIT;
  lw_format_info format = LW_FORMAT_INFO_INIT;
  lw_tensor_info tensor = LW_TENSOR_INFO_INIT;
  lw_device_options options = LW_DEVICE_OPTIONS_INIT;
  lw_device_info device = LW_DEVICE_INFO_INIT;
  lw_matrix_info matrix = LW_MATRIX_INFO_INIT;
  lw_activation_info activation = LW_ACTIVATION_INFO_INIT;
  return error.struct_size + format.struct_size + tensor.struct_size + options.struct_size + device.struct_size +
         matrix.struct_size + activation.struct_size;
}

uint32_t header_c99_enums(void) {
  return (uint32_t)(sizeof(lw_status) + sizeof(lw_format) + sizeof(lw_dtype) + sizeof(lw_planes));
}
