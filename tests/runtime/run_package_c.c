/* The same as run_package.cpp by the C ABI: run_package_c FILE DEVICE [KEY]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tcc/c_api.h"

enum { most = 64 };

static int fail(tcc_status status) {
  fprintf(stderr, "run_package_c: %s\n", tcc_last_error());
  return (int)status;
}

static void* made(const tcc_tensor_info* info) {
  size_t i;
  char* bytes = calloc((size_t)info->bytes + 1, 1);
  const size_t count = (size_t)info->bytes / 4;
  for (i = 0; strcmp(info->dtype, "f32") == 0 && i < count; ++i)
    ((float*)(void*)bytes)[i] = 0.25f * (float)(i % 5);
  for (i = 0; strcmp(info->dtype, "i32") == 0 && i < count; ++i)
    ((int32_t*)(void*)bytes)[i] = (int32_t)(i % 5);
  for (i = 0; strcmp(info->dtype, "i64") == 0 && i < count / 2; ++i)
    ((int64_t*)(void*)bytes)[i] = (int64_t)(i % 5);
  return bytes;
}

int main(int count, char** arguments) {
  tcc_package* package = NULL;
  tcc_compiled* compiled = NULL;
  tcc_context* context = NULL;
  tcc_tensor_info info = TCC_TENSOR_INFO_INIT;
  const void* inputs[most];
  void* outputs[most];
  size_t num_inputs, num_outputs, i, k;
  tcc_status status;
  if (count != 3 && count != 4) return 2;
  status = count == 4 ? tcc_package_load_signed(arguments[1], arguments[3], &package)
                      : tcc_package_load(arguments[1], &package);
  if (status) return fail(status);
  if ((status = tcc_package_open(package, arguments[2], &compiled))) return fail(status);
  tcc_package_destroy(package); /* what it opened goes on */
  if ((status = tcc_context_create(compiled, &context))) return fail(status);
  num_inputs = tcc_compiled_num_inputs(compiled);
  num_outputs = tcc_compiled_num_outputs(compiled);
  if (num_inputs > most || num_outputs > most) return 2;
  for (i = 0; i < num_inputs; ++i) {
    if ((status = tcc_compiled_input(compiled, i, &info))) return fail(status);
    inputs[i] = made(&info);
  }
  for (i = 0; i < num_outputs; ++i) {
    if ((status = tcc_compiled_output(compiled, i, &info))) return fail(status);
    outputs[i] = calloc((size_t)info.bytes + 1, 1);
  }
  status = tcc_context_run_host(context, inputs, num_inputs, outputs, num_outputs);
  if (status) return fail(status);
  for (i = 0; i < num_outputs; ++i) {
    if ((status = tcc_compiled_output(compiled, i, &info))) return fail(status);
    printf("%s", info.dtype);
    for (k = 0; strcmp(info.dtype, "f32") == 0 && k < 8 && k < (size_t)info.bytes / 4; ++k)
      printf(" %.6g", ((const float*)outputs[i])[k]);
    printf("\n");
    free(outputs[i]);
  }
  for (i = 0; i < num_inputs; ++i) free((void*)inputs[i]);
  tcc_context_destroy(context);
  tcc_compiled_destroy(compiled);
  return 0;
}
