/* One block of Q4_0 (d = 1, codes 8 - 8 = 0 but for the first, 15 - 8 = 7) times x of ones: 7. */
#include <lanewise/lanewise.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  unsigned char block[18];
  float x[32];
  float y = 0;
  int i;
  lw_error error = LW_ERROR_INIT;
  lw_device* device = NULL;
  lw_matrix* w = NULL;
  lw_activation* activation = NULL;
  lw_output out;
  out.data = &y;
  out.dtype = LW_DTYPE_F32;
  out.stride = 0;
  memset(block, 0x88, sizeof block);
  block[0] = 0x00;
  block[1] = 0x3C;
  block[2] = 0x8F;
  for (i = 0; i < 32; ++i) x[i] = 1.0F;
  if (lw_device_open(NULL, &device, &error) != LW_OK ||
      lw_matrix_from_bytes(device, LW_Q4_0, 1, 32, block, sizeof block, &w, &error) != LW_OK ||
      lw_activation_create(device, LW_X16, 1, 32, &activation, &error) != LW_OK ||
      lw_activation_set(activation, LW_DTYPE_F32, x, 1, 0, &error) != LW_OK ||
      lw_gemv(device, w, activation, out, &error) != LW_OK) {
    fprintf(stderr, "%s: %s\n", lw_status_name(error.code), error.message);
    return 1;
  }
  lw_activation_free(activation);
  lw_matrix_free(w);
  lw_device_close(device);
  printf("lanewise %s, y = %g\n", lw_version(), (double)y);
  return y == 7.0F ? 0 : 1;
}
