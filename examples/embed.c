/* Runs a graph of one f32 input and one f32 output on ones: embed_c [GRAPH [DEVICE]] */
#include <stdio.h>
#include <stdlib.h>
#include <tcc/c_api.h>

static void print_log(void* user, tcc_log_level level, const char* channel, const char* text) {
  (void)user;
  fprintf(stderr, "embed_c: %d %s: %s\n", (int)level, channel, text);
}

static int cancelled(void* user) { return *(const volatile int*)user; }

static int failed(tcc_status status) {
  if (status != TCC_OK) fprintf(stderr, "embed_c: %s\n", tcc_last_error());
  return status != TCC_OK;
}

int main(int argc, char** argv) {
  tcc_graph* graph = NULL;
  tcc_compiled* compiled = NULL;
  tcc_context* context = NULL;
  tcc_compile_options options = TCC_COMPILE_OPTIONS_INIT;
  tcc_tensor_info x = TCC_TENSOR_INFO_INIT, y = TCC_TENSOR_INFO_INIT;
  float *in = NULL, *out = NULL;
  int result = EXIT_FAILURE;
  volatile int stop = 0; /* another thread or a signal handler would set it */

  tcc_set_log(print_log, NULL, TCC_LOG_WARNING);
  options.cancelled = cancelled;
  options.user = (void*)&stop;
  if (failed(tcc_graph_load(argc > 1 ? argv[1] : "examples/demo.yaml", &graph))) goto end;
  if (failed(tcc_compile(graph, argc > 2 ? argv[2] : "auto", &options, &compiled))) goto end;
  if (failed(tcc_compiled_input(compiled, 0, &x)) || failed(tcc_compiled_output(compiled, 0, &y)))
    goto end;
  printf("%s %s%s -> %s %s%s on %s: %s\n", x.name, x.dtype, x.shape_text, y.name, y.dtype,
         y.shape_text, tcc_device(compiled), tcc_kernel_report(compiled));

  in = malloc((size_t)x.bytes);
  out = malloc((size_t)y.bytes);
  if (!in || !out) goto end;
  for (int64_t i = 0; i < x.bytes / (int64_t)sizeof(float); ++i) in[i] = 1;

  if (failed(tcc_context_create(compiled, &context))) goto end;
  {
    const char* input_names[] = {x.name};
    const char* output_names[] = {y.name};
    const void* inputs[] = {in};
    void* outputs[] = {out};
    if (failed(tcc_context_run_host_named(context, input_names, inputs, 1, output_names, outputs,
                                          1)))
      goto end;
  }
  printf("first element: %g\n", out[0]);
  result = EXIT_SUCCESS;

end:
  free(in);
  free(out);
  tcc_context_destroy(context);
  tcc_compiled_destroy(compiled);
  tcc_graph_destroy(graph);
  return result;
}
