/* tcc's C ABI: the same as tcc/tcc.hpp, for C and for other languages. docs/embedding.md,
 * examples/embed.c.
 *
 * Functions that can fail return a tcc_status; tcc_last_error() says why, in one line, for the
 * calling thread. Output parameters are written only on success. Strings and arrays that a handle
 * gives live as long as the handle. Graphs and compiled graphs are immutable and may be used from
 * several threads; a context belongs to one thread at a time. Destroying NULL does nothing, and
 * handles may be destroyed in any order.
 *
 * Structs begin with their size, set by the caller, so that a program and a library of different
 * versions fit together.
 */
#ifndef TCC_C_API_H
#define TCC_C_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define TCC_NOEXCEPT noexcept
#else
#define TCC_NOEXCEPT
#endif
#if defined(__GNUC__)
#define TCC_API __attribute__((visibility("default")))
#else
#define TCC_API
#endif

/* The numbers are the tools' exit codes. */
typedef enum tcc_status {
  TCC_OK = 0,
  TCC_CHECK_FAILED = 1,  /* a result differs from the reference */
  TCC_BAD_INPUT = 2,     /* usage, or a file that the user gave */
  TCC_NO_DEVICE = 3,     /* no such device */
  TCC_DEVICE_FAILED = 4, /* the device or its toolchain failed: memory, lost, compiler error */
  TCC_INTERNAL = 70      /* a bug in tcc */
} tcc_status;

/* A graph as it was written, whose dims may be symbols; a graph on a device: kernels and weights;
 * and what running needs besides: a stream, the memory of intermediate values. */
typedef struct tcc_graph tcc_graph;
typedef struct tcc_compiled tcc_compiled;
typedef struct tcc_context tcc_context;

TCC_API const char* tcc_version(void) TCC_NOEXCEPT; /* "0.1.0" */
/* Of the last call on this thread that failed, "" when none did; valid until the next failure. */
TCC_API const char* tcc_last_error(void) TCC_NOEXCEPT;

/* An input or an output. Tensors are dense and row-major. */
typedef struct tcc_tensor_info {
  size_t size; /* sizeof(tcc_tensor_info) */
  const char* name;
  const char* dtype;      /* "f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i8" to "i64", "u8" to
                           * "u64",      "bool" */
  const char* shape_text; /* "[B, 784]" of a graph, "[32, 784]" of a compiled one */
  size_t rank;
  const int64_t* shape; /* compiled graphs only, else NULL */
  int64_t bytes;        /* compiled graphs only, else 0 */
  int64_t alignment;    /* of pointers that tcc_context_run uses without a copy, in bytes; compiled
                         * graphs only, else 0 */
} tcc_tensor_info;
#define TCC_TENSOR_INFO_INIT \
  { sizeof(tcc_tensor_info), NULL, NULL, NULL, 0, NULL, 0, 0 }

/* ---- Graphs */

/* A .yaml file; weight files must lie in its folder and are read when it is compiled. */
TCC_API tcc_status tcc_graph_load(const char* path, tcc_graph** graph) TCC_NOEXCEPT;
/* The same from memory; `folder` is where weight files are looked for, NULL for the working
 * directory. */
TCC_API tcc_status tcc_graph_from_yaml(const char* text, const char* folder,
                                       tcc_graph** graph) TCC_NOEXCEPT;
TCC_API void tcc_graph_destroy(tcc_graph* graph) TCC_NOEXCEPT;

TCC_API size_t tcc_graph_num_inputs(const tcc_graph* graph) TCC_NOEXCEPT;
TCC_API size_t tcc_graph_num_outputs(const tcc_graph* graph) TCC_NOEXCEPT;
TCC_API tcc_status tcc_graph_input(const tcc_graph* graph, size_t index,
                                   tcc_tensor_info* info) TCC_NOEXCEPT;
TCC_API tcc_status tcc_graph_output(const tcc_graph* graph, size_t index,
                                    tcc_tensor_info* info) TCC_NOEXCEPT;

/* ---- Compiling */

/* Zeros are the defaults. */
typedef struct tcc_compile_options {
  size_t size;     /* sizeof(tcc_compile_options) */
  size_t num_dims; /* values of symbols; the graph's defaults fill the rest */
  const char* const* dim_names;
  const int64_t* dim_values;
  const char* dtype; /* "f32", "f16", "bf16": casts the graph's floating point; NULL leaves it */
  const char* matmul_precision; /* of f32 and f8 products: NULL or "highest", "high", "medium" */
  size_t num_tuning;            /* files and folders of tuning records, besides $TCC_TUNING_PATH */
  const char* const* tuning;
  const char* cache_dir;   /* of compiled kernels; NULL: $TCC_CACHE_DIR, else ~/.cache/tcc */
  int32_t no_cache;        /* 1: compile every kernel, even if it is on disk */
  int32_t strict_rounding; /* 1: round after every op, as an eager framework does */
} tcc_compile_options;
#define TCC_COMPILE_OPTIONS_INIT \
  { sizeof(tcc_compile_options), 0, NULL, NULL, NULL, NULL, 0, NULL, NULL, 0, 0 }

/* `device`: "cuda:N", "vulkan:N", "null" (runs nothing: for tests) or "auto". `options` may be
 * NULL. */
TCC_API tcc_status tcc_compile(const tcc_graph* graph, const char* device,
                               const tcc_compile_options* options,
                               tcc_compiled** compiled) TCC_NOEXCEPT;
TCC_API void tcc_compiled_destroy(tcc_compiled* compiled) TCC_NOEXCEPT;

TCC_API size_t tcc_compiled_num_inputs(const tcc_compiled* compiled) TCC_NOEXCEPT;
TCC_API size_t tcc_compiled_num_outputs(const tcc_compiled* compiled) TCC_NOEXCEPT;
TCC_API tcc_status tcc_compiled_input(const tcc_compiled* compiled, size_t index,
                                      tcc_tensor_info* info) TCC_NOEXCEPT;
TCC_API tcc_status tcc_compiled_output(const tcc_compiled* compiled, size_t index,
                                       tcc_tensor_info* info) TCC_NOEXCEPT;

TCC_API const char* tcc_device(const tcc_compiled* compiled) TCC_NOEXCEPT; /* "cuda:0" */
/* Kernel launches per run; device memory of each context's intermediate values; of the weights. */
TCC_API int64_t tcc_launches(const tcc_compiled* compiled) TCC_NOEXCEPT;
TCC_API int64_t tcc_arena_bytes(const tcc_compiled* compiled) TCC_NOEXCEPT;
TCC_API int64_t tcc_constant_bytes(const tcc_compiled* compiled) TCC_NOEXCEPT;
/* A JSON array with an object for each distinct kernel: region, template, config, tier, launches,
 * flops, bytes. */
TCC_API const char* tcc_kernel_report(const tcc_compiled* compiled) TCC_NOEXCEPT;

/* ---- Running */

/* With a stream of its own. */
TCC_API tcc_status tcc_context_create(const tcc_compiled* compiled,
                                      tcc_context** context) TCC_NOEXCEPT;
/* On the caller's stream: a CUstream or cudaStream_t of the device's primary context, NULL for the
 * default stream. It must outlive the context. Other devices than CUDA's have none: TCC_BAD_INPUT.
 */
TCC_API tcc_status tcc_context_create_on_stream(const tcc_compiled* compiled, void* stream,
                                                tcc_context** context) TCC_NOEXCEPT;
TCC_API void tcc_context_destroy(tcc_context* context) TCC_NOEXCEPT;

/* On the caller's device buffers (CUDA device pointers), in the graph's order, aligned to their
 * elements; outputs overlap nothing else. Asynchronous on the stream: allocates and waits for
 * nothing, so that it can be captured in a CUDA graph. A value whose pointer is no multiple of
 * tcc_tensor_info's alignment is copied from or to aligned memory of the context's own, on the
 * device; the first run with such a pointer reserves it. */
TCC_API tcc_status tcc_context_run(tcc_context* context, const void* const* inputs,
                                   size_t num_inputs, void* const* outputs,
                                   size_t num_outputs) TCC_NOEXCEPT;
/* Reserves that memory ahead, for pointers that are aligned alike. Needed only where the first run
 * with them is captured: that fails with TCC_BAD_INPUT, since nothing may be allocated then. */
TCC_API tcc_status tcc_context_reserve(tcc_context* context, const void* const* inputs,
                                       size_t num_inputs, void* const* outputs,
                                       size_t num_outputs) TCC_NOEXCEPT;
/* On host memory, each buffer as large as tcc_tensor_info's bytes; waits for the result. */
TCC_API tcc_status tcc_context_run_host(tcc_context* context, const void* const* inputs,
                                        size_t num_inputs, void* const* outputs,
                                        size_t num_outputs) TCC_NOEXCEPT;
TCC_API tcc_status tcc_context_synchronize(tcc_context* context)
    TCC_NOEXCEPT; /* waits for the stream */

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif
