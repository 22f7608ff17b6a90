/* y = W * x with the first weight matrix of a GGUF file, x all ones. */
#include <lanewise/lanewise.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  lw_error error = LW_ERROR_INIT;
  lw_model* model = NULL;
  lw_device* device = NULL;
  lw_matrix* w = NULL;
  lw_activation* activation = NULL;
  float* memory = NULL;
  lw_tensor_info tensor = LW_TENSOR_INFO_INIT;
  uint64_t index = 0;
  int code = EXIT_FAILURE;

  if (argc != 2) {
    fputs("usage: gemv MODEL.gguf\n", stderr);
    return 2;
  }
  if (lw_model_open(argv[1], &model, &error) != LW_OK) goto failed;
  if (lw_device_open(NULL, &device, &error) != LW_OK) goto failed;
  do {
    if (lw_model_tensor(model, index++, &tensor, &error) != LW_OK) goto failed;
  } while (!tensor.is_weight || tensor.dim_count != 2);

  const uint64_t cols = tensor.dims[0];
  const uint64_t rows = tensor.dims[1];
  memory = malloc((cols + rows) * sizeof *memory);
  if (memory == NULL) {
    fputs("no memory for x and y\n", stderr);
    goto done;
  }
  float* x = memory;
  lw_output y = {memory + cols, LW_DTYPE_F32, 0};
  for (uint64_t k = 0; k < cols; ++k) x[k] = 1.0F;

  if (lw_matrix_from_tensor(device, model, tensor.name, &w, &error) != LW_OK) goto failed;
  if (lw_activation_create(device, LW_X16, 1, cols, &activation, &error) != LW_OK) goto failed;
  if (lw_activation_set(activation, LW_DTYPE_F32, x, 1, 0, &error) != LW_OK) goto failed;
  if (lw_gemv(device, w, activation, y, &error) != LW_OK) goto failed;
  printf("%s (%s): y[0] = %.9g\n", tensor.name, tensor.type_name, (double)memory[cols]);
  code = EXIT_SUCCESS;
  goto done;

failed:
  fprintf(stderr, "%s: %s\n", lw_status_name(error.code), error.message);
done:
  free(memory);
  lw_activation_free(activation);
  lw_matrix_free(w);
  lw_device_close(device);
  lw_model_close(model);
  return code;
}
