/* tcc's C ABI offers the functions of tcc/tcc.hpp to C and to other languages. docs/embedding.md
 * describes it, and examples/embed.c shows it. Sizes are in bytes and times in seconds.
 *
 * Functions that can fail return a tcc_status; tcc_last_error() gives the reason in one line, for
 * the calling thread. Output parameters are written only on success. Strings and arrays that a
 * handle gives live as long as the handle. Graphs and compiled graphs are immutable and may be used
 * from several threads; a context belongs to one thread at a time. Destroying NULL does nothing,
 * and handles may be destroyed in any order.
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
#if defined(__GNUC__) && !defined(_WIN32) /* a DLL exports them all */
#define TCC_API __attribute__((visibility("default")))
#else
#define TCC_API
#endif

/* The outcome of a call. The numbers are the tools' exit codes. */
typedef enum tcc_status {
  TCC_OK = 0,
  TCC_CHECK_FAILED = 1,  /* a result differs from the reference */
  TCC_BAD_INPUT = 2,     /* usage, or a file that the user gave */
  TCC_NO_DEVICE = 3,     /* no such device */
  TCC_DEVICE_FAILED = 4, /* the device or its toolchain failed: memory, lost, compiler error */
  TCC_CANCELLED = 5,     /* the caller's `cancelled` ended it */
  TCC_INTERNAL = 70      /* a bug in tcc */
} tcc_status;

/* A graph as it was written: its dims may be symbols. */
typedef struct tcc_graph tcc_graph;
/* A graph that is compiled for and loaded to a device: kernels and weights. */
typedef struct tcc_compiled tcc_compiled;
/* Running needs a context: a stream and the memory of intermediate values. */
typedef struct tcc_context tcc_context;

TCC_API const char* tcc_version(void) TCC_NOEXCEPT; /* "0.1.0" */
/* Returns the error of the last call on this thread that failed, "" when none did. The text is
 * valid until the next failure. */
TCC_API const char* tcc_last_error(void) TCC_NOEXCEPT;

/* ---- The log */

typedef enum tcc_log_level {
  TCC_LOG_DEBUG = 0,   /* texts of many lines: kernels' sources, regions, memory plans */
  TCC_LOG_INFO = 1,    /* a line per kernel, file or compilation */
  TCC_LOG_WARNING = 2, /* something was skipped or could not be used */
  TCC_LOG_ERROR = 3    /* a device or its validation layers report a fault */
} tcc_log_level;

/* Receives a message. `channel` is one of "cache", "compile", "device", "fusion", "memory",
 * "output_code", "partition", "tuning". Both texts live as long as the call. */
typedef void (*tcc_log_fn)(void* user, tcc_log_level level, const char* channel, const char* text);

/* Installs `log`, which replaces the function before. It gets every message of at least the level
 * `least`, a tcc_log_level, and every message of the channels that the environment variable
 * TCC_LOGS names. It is called from any thread, one call at a time, and may not compile or tune.
 * NULL restores the default: warnings, errors and the channels of TCC_LOGS go to standard error.
 * Once this function has returned, the previous one is not called any more. */
TCC_API tcc_status tcc_set_log(tcc_log_fn log, void* user, int least) TCC_NOEXCEPT;

/* ---- Devices */

typedef struct tcc_device_info {
  size_t size;        /* sizeof(tcc_device_info) */
  const char* id;     /* "cuda:0": an argument of tcc_compile */
  const char* kind;   /* "cuda", "vulkan" */
  int64_t index;      /* among the devices of its kind */
  const char* name;   /* as the driver says: "NVIDIA H200" */
  const char* driver; /* name and version */
  const char* target; /* the target of its kernels: "cuda:sm_90a" */
  int64_t memory_bytes;
  int64_t max_buffer_bytes; /* the largest tensor */
  int32_t is_cpu;           /* 1: a software device */
} tcc_device_info;
#define TCC_DEVICE_INFO_INIT \
  { sizeof(tcc_device_info), NULL, NULL, 0, NULL, NULL, NULL, 0, 0, 0 }

/* The devices of this machine, without opening them; "null" is not listed. */
typedef struct tcc_device_list tcc_device_list;
TCC_API tcc_status tcc_device_list_create(tcc_device_list** list) TCC_NOEXCEPT;
TCC_API void tcc_device_list_destroy(tcc_device_list* list) TCC_NOEXCEPT;
TCC_API size_t tcc_device_list_size(const tcc_device_list* list) TCC_NOEXCEPT;
TCC_API tcc_status tcc_device_list_get(const tcc_device_list* list, size_t index,
                                       tcc_device_info* info) TCC_NOEXCEPT;
/* Returns the reason why a kind of device is missing, a line each: "cuda: libcuda.so.1 not found".
 */
TCC_API const char* tcc_device_list_missing(const tcc_device_list* list) TCC_NOEXCEPT;

/* ---- Tensors */

/* An input or an output. Tensors are dense and row-major. */
typedef struct tcc_tensor_info {
  size_t size; /* sizeof(tcc_tensor_info) */
  const char* name;
  const char* dtype;      /* "f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i8" to "i64",
                           * "u8" to "u64", "bool" */
  const char* shape_text; /* "[B, 784]" of a graph, "[32, 784]" of a compiled one */
  size_t rank;
  const int64_t* shape; /* compiled graphs only, else NULL; -1 for what open dims decide */
  int64_t bytes;        /* compiled graphs only, else 0 */
  int64_t alignment; /* tcc_context_run uses pointers that are multiples of this many bytes without
                      * a copy; compiled graphs only, else 0 */
} tcc_tensor_info;
#define TCC_TENSOR_INFO_INIT \
  { sizeof(tcc_tensor_info), NULL, NULL, NULL, 0, NULL, 0, 0 }

/* ---- Graphs */

/* Loads a .yaml or .onnx file. Weight files must lie in its folder; they are read when the graph is
 * compiled. TCC_BAD_INPUT for a file that is missing or wrong. */
TCC_API tcc_status tcc_graph_load(const char* path, tcc_graph** graph) TCC_NOEXCEPT;
/* Reads the text of a .yaml file from memory. Weight files are looked for in `folder`, NULL for the
 * working directory. */
TCC_API tcc_status tcc_graph_from_yaml(const char* text, const char* folder,
                                       tcc_graph** graph) TCC_NOEXCEPT;
/* Zeros are the defaults. */
typedef struct tcc_graph_options {
  size_t size;     /* sizeof(tcc_graph_options) */
  size_t num_dims; /* sizes of symbols; an ONNX graph whose structure depends on them needs them */
  const char* const* dim_names;
  const int64_t* dim_values;
  size_t num_files; /* the bytes of files that the graph names (weights, external data) */
  const char* const* file_names; /* the names in the graph */
  const void* const* file_data;  /* not copied: they must live as long as the graph */
  const size_t* file_sizes;
  const char* folder; /* of the other files that the graph names; NULL: none is opened */
  /* Reads external data of an ONNX model that is not among those files: it copies `length` bytes of
   * `name` from `offset` on to `to` and returns 1, or returns 0 where it has none. It is called on
   * first use, when the graph is compiled, from several threads at a time. */
  int32_t (*read)(void* user, const char* name, uint64_t offset, void* to, size_t length);
  void* user; /* the first argument of `read` */
  /* Inputs that become states, zeros at first, and the outputs of the same types that become their
   * next values; both are no longer among the inputs and outputs. */
  size_t num_states;
  const char* const* state_inputs;
  const char* const* state_outputs;
  /* Dense tensors for inputs of an ONNX model, which are read during the call only. One whose data
   * decides shapes (the target of a Reshape) becomes a constant, and is no longer among the inputs;
   * of the others, the shapes give dims that are not in `dim_names` their sizes. */
  size_t num_inputs;
  const char* const* input_names;
  const char* const* input_dtypes; /* "i64" */
  const int64_t* const* input_shapes;
  const size_t* input_ranks;
  const void* const* input_data;
} tcc_graph_options;
#define TCC_GRAPH_OPTIONS_INIT                                                                \
  {                                                                                           \
    sizeof(tcc_graph_options), 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, \
        NULL, 0, NULL, NULL, NULL, NULL, NULL                                                 \
  }

/* Loads a file as tcc_graph_load does, with sizes of symbols, states and inputs. `options` may
 * be NULL; TCC_BAD_INPUT for those that say where files are. */
TCC_API tcc_status tcc_graph_load_with(const char* path, const tcc_graph_options* options,
                                       tcc_graph** graph) TCC_NOEXCEPT;

/* Read a graph from the bytes of an .onnx or .yaml file, which are not needed afterwards. `options`
 * may be NULL. */
TCC_API tcc_status tcc_graph_from_onnx(const void* model, size_t model_size,
                                       const tcc_graph_options* options,
                                       tcc_graph** graph) TCC_NOEXCEPT;
TCC_API tcc_status tcc_graph_from_yaml_bytes(const void* text, size_t text_size,
                                             const tcc_graph_options* options,
                                             tcc_graph** graph) TCC_NOEXCEPT;
TCC_API void tcc_graph_destroy(tcc_graph* graph) TCC_NOEXCEPT;

TCC_API size_t tcc_graph_num_inputs(const tcc_graph* graph) TCC_NOEXCEPT;
TCC_API size_t tcc_graph_num_outputs(const tcc_graph* graph) TCC_NOEXCEPT;
TCC_API tcc_status tcc_graph_input(const tcc_graph* graph, size_t index,
                                   tcc_tensor_info* info) TCC_NOEXCEPT;
TCC_API tcc_status tcc_graph_output(const tcc_graph* graph, size_t index,
                                    tcc_tensor_info* info) TCC_NOEXCEPT;
TCC_API size_t tcc_graph_num_states(const tcc_graph* graph) TCC_NOEXCEPT;
TCC_API tcc_status tcc_graph_state(const tcc_graph* graph, size_t index,
                                   tcc_tensor_info* info) TCC_NOEXCEPT;

/* Returns the graph as the text of a .yaml file, NULL where YAML cannot express it. It lives as
 * long as `graph`. Weights that have neither one value everywhere nor are drawn are in a file that
 * it names. */
TCC_API const char* tcc_graph_yaml(const tcc_graph* graph) TCC_NOEXCEPT;
/* Writes FOLDER/graph.yaml and its weights, which tcc_graph_load reads as the same graph. */
TCC_API tcc_status tcc_graph_save(const tcc_graph* graph, const char* folder) TCC_NOEXCEPT;

/* ---- Building graphs (docs/embedding.md) */

/* A graph that is being built, by one thread at a time. Types and shapes are inferred at each call:
 * TCC_BAD_INPUT for a mistake. Names and shapes are as in graph files; a name is given once. */
typedef struct tcc_builder tcc_builder;
/* A value of a builder's graph, by its number. */
typedef int64_t tcc_value;
#define TCC_NO_VALUE ((tcc_value)-1) /* an optional operand that is left out */

TCC_API tcc_status tcc_builder_create(const char* name, tcc_builder** builder) TCC_NOEXCEPT;
TCC_API void tcc_builder_destroy(tcc_builder* builder) TCC_NOEXCEPT;
/* Declares a symbol for dims, and the size that it has by default. */
TCC_API tcc_status tcc_builder_dim(tcc_builder* builder, const char* name,
                                   int64_t default_size) TCC_NOEXCEPT;
/* `shape` is a text: "[B, 784]". */
TCC_API tcc_status tcc_builder_input(tcc_builder* builder, const char* name, const char* dtype,
                                     const char* shape, tcc_value* value) TCC_NOEXCEPT;
/* A weight with these bytes, which are copied. */
TCC_API tcc_status tcc_builder_constant(tcc_builder* builder, const char* name, const char* dtype,
                                        const int64_t* shape, size_t rank, const void* data,
                                        size_t bytes, tcc_value* value) TCC_NOEXCEPT;
/* A weight whose elements are all `number`. */
TCC_API tcc_status tcc_builder_full(tcc_builder* builder, const char* name, const char* dtype,
                                    const char* shape, double number,
                                    tcc_value* value) TCC_NOEXCEPT;
/* Declares a tensor that lives from run to run and is zeros at first; the op "assign" of it and a
 * value gives it the value for the next run. */
TCC_API tcc_status tcc_builder_state(tcc_builder* builder, const char* name, const char* dtype,
                                     const char* shape, tcc_value* value) TCC_NOEXCEPT;
/* Adds an op. `attributes` is a map of graph files, "{dim: 1, keepdim: true}", or NULL. `results`
 * gets the first `num_results` results, at least one and as many as the op has at most. */
TCC_API tcc_status tcc_builder_op(tcc_builder* builder, const char* op, const tcc_value* operands,
                                  size_t num_operands, const char* attributes, tcc_value* results,
                                  size_t num_results) TCC_NOEXCEPT;
/* Names a value, for reports and files. */
TCC_API tcc_status tcc_builder_name(tcc_builder* builder, tcc_value value,
                                    const char* name) TCC_NOEXCEPT;
/* Gives the value's type; the strings live as long as the builder. `shape` and `bytes` are as in
 * graphs that are not compiled. */
TCC_API tcc_status tcc_builder_value(tcc_builder* builder, tcc_value value,
                                     tcc_tensor_info* info) TCC_NOEXCEPT;
/* Makes the value an output of the graph, after those before it. */
TCC_API tcc_status tcc_builder_output(tcc_builder* builder, const char* name,
                                      tcc_value value) TCC_NOEXCEPT;
/* Gives the graph as it is now; the builder may go on. */
TCC_API tcc_status tcc_builder_build(const tcc_builder* builder, tcc_graph** graph) TCC_NOEXCEPT;

/* ---- Compiling */

/* Gets the progress of compiling. The stages are, in this order, "graph" (passes over the graph),
 * "kernels" (they are compiled or found in the cache) and "load" (kernels and weights are loaded to
 * the device). It is called from any thread, one call at a time. */
typedef void (*tcc_progress_fn)(void* user, const char* stage, size_t done, size_t total);
/* Returns another number than 0 to end the compilation. It is called from any thread, also while
 * another call of it runs. */
typedef int32_t (*tcc_cancelled_fn)(void* user);

/* Zeros are the defaults. */
typedef struct tcc_compile_options {
  size_t size;     /* sizeof(tcc_compile_options) */
  size_t num_dims; /* sizes of symbols; the graph's defaults fill the rest */
  const char* const* dim_names;
  const int64_t* dim_values;
  const char* dtype; /* "f32", "f16", "bf16": casts the graph's floating point; NULL leaves it */
  const char* matmul_precision; /* f32 and f8 products: NULL or "highest", "high", "medium" */
  size_t num_tuning;            /* files and folders of tuning records, besides $TCC_TUNING_PATH */
  const char* const* tuning;
  const char* cache_dir;   /* of compiled kernels; NULL: $TCC_CACHE_DIR, else ~/.cache/tcc */
  int32_t no_cache;        /* 1: compile every kernel, even if it is on disk */
  int32_t strict_rounding; /* 1: round after every op, as an eager framework does */
  tcc_progress_fn progress;
  tcc_cancelled_fn cancelled; /* called between passes, kernels and weights: TCC_CANCELLED */
  void* user;                 /* the first argument of both */
  int32_t no_fuse;            /* 1: one kernel per op */
  size_t num_open_dims; /* dims whose sizes come at run time: "S", "S=1..2048", "S=8..2048:8"; or
                           that are expressions of others: "T=S+1" */
  const char* const* open_dims;
  size_t num_specialize; /* sizes of open dims that get kernels of their own: "S=128,512" */
  const char* const* specialize;
} tcc_compile_options;
#define TCC_COMPILE_OPTIONS_INIT                                                                   \
  {                                                                                                \
    sizeof(tcc_compile_options), 0, NULL, NULL, NULL, NULL, 0, NULL, NULL, 0, 0, NULL, NULL, NULL, \
        0, 0, NULL, 0, NULL                                                                        \
  }

/* Compiles a graph for a device and loads it. `device` is "cuda:N", "vulkan:N", "null" (it runs
 * nothing; it serves tests) or "auto". `options` may be NULL. The status is TCC_DEVICE_FAILED where
 * the device has too little memory, for one buffer or for all. */
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

/* The states that each context keeps from run to run. */
TCC_API size_t tcc_compiled_num_states(const tcc_compiled* compiled) TCC_NOEXCEPT;
TCC_API tcc_status tcc_compiled_state(const tcc_compiled* compiled, size_t index,
                                      tcc_tensor_info* info) TCC_NOEXCEPT;

/* Give the index of an input or output by its name; TCC_BAD_INPUT for an unknown name. */
TCC_API tcc_status tcc_compiled_input_index(const tcc_compiled* compiled, const char* name,
                                            size_t* index) TCC_NOEXCEPT;
TCC_API tcc_status tcc_compiled_output_index(const tcc_compiled* compiled, const char* name,
                                             size_t* index) TCC_NOEXCEPT;

TCC_API const char* tcc_device(const tcc_compiled* compiled) TCC_NOEXCEPT; /* "cuda:0" */
/* These return the kernel launches per run, the device memory of each context's intermediate
 * values, and the device memory of the weights. */
TCC_API int64_t tcc_launches(const tcc_compiled* compiled) TCC_NOEXCEPT;
TCC_API int64_t tcc_arena_bytes(const tcc_compiled* compiled) TCC_NOEXCEPT;
TCC_API int64_t tcc_constant_bytes(const tcc_compiled* compiled) TCC_NOEXCEPT;
/* Returns a JSON array with an object for each distinct kernel: region, template, config, tier,
 * launches, flops and bytes of a launch, least_seconds (a lower bound of its time), the hashes of
 * the computation (region_key) and of the source (source_key), layers, variant, sizes. The last one
 * is an array of the choices by which the sizes of open dims have the kernel, empty if all sizes
 * do: numbers of a table and of a choice of it, of which one is taken at all sizes, its text, and
 * ranges, each an array of bounds: of a size ("B*S"), least and most. It is taken where all bounds
 * of one range hold; the last choice of a table has none. */
TCC_API const char* tcc_kernel_report(const tcc_compiled* compiled) TCC_NOEXCEPT;
/* Returns the source of the kernel at `index` of the report, CUDA C++ or GLSL; NULL beyond the
 * report's end. It lives as long as `compiled`. */
TCC_API const char* tcc_kernel_source(const tcc_compiled* compiled, size_t index) TCC_NOEXCEPT;

/* ---- Packages (docs/packages.md) */

/* A model package: its kernels for several kinds of devices, and its weights. It is immutable and
 * may be used from several threads. libtcc-runtime has these functions and those on compiled
 * graphs, contexts, device memory, devices and the log; those on graphs, compiling and tuning are
 * in libtcc-core alone. */
typedef struct tcc_package tcc_package;
/* Opens a package. TCC_BAD_INPUT for a file that is missing, no package, damaged, or of a version
 * that this tcc does not read. */
TCC_API tcc_status tcc_package_load(const char* path, tcc_package** package) TCC_NOEXCEPT;
/* The same of bytes in memory, which are not copied: they must live as long as the package and what
 * it opened. Weights in files beside the package are looked for in `folder`; NULL: it has none. */
TCC_API tcc_status tcc_package_from_bytes(const void* bytes, size_t size, const char* folder,
                                          tcc_package** package) TCC_NOEXCEPT;
/* The same of packages that are signed by minisign: no byte is interpreted before the signature is
 * verified with the author's public key, "RW..." or the text of minisign's .pub file. The signature
 * is in the file PATH.minisig, or the text of such a file. Files of weights beside the package need
 * signatures by the same key. TCC_BAD_INPUT also for a signature that is missing or wrong, for a
 * key that is NULL, and without libsodium, which is loaded when it is needed. */
TCC_API tcc_status tcc_package_load_signed(const char* path, const char* public_key,
                                           tcc_package** package) TCC_NOEXCEPT;
TCC_API tcc_status tcc_package_from_signed_bytes(const void* bytes, size_t size, const char* folder,
                                                 const char* public_key, const char* signature,
                                                 tcc_package** package) TCC_NOEXCEPT;
TCC_API void tcc_package_destroy(tcc_package* package) TCC_NOEXCEPT;
TCC_API const char* tcc_package_name(const tcc_package* package) TCC_NOEXCEPT;
/* Returns what the author signed beside the bytes; "" where no signature was verified. */
TCC_API const char* tcc_package_trusted_comment(const tcc_package* package) TCC_NOEXCEPT;
/* Returns the text at the file's beginning. */
TCC_API const char* tcc_package_manifest(const tcc_package* package) TCC_NOEXCEPT;
TCC_API size_t tcc_package_num_targets(const tcc_package* package) TCC_NOEXCEPT;
/* Returns the target of a part, "cuda:sm_90a"; NULL beyond their end. */
TCC_API const char* tcc_package_target(const tcc_package* package, size_t index) TCC_NOEXCEPT;
/* Loads the part that serves the device best to it. `device` is as in tcc_compile.
 * TCC_DEVICE_FAILED where no part runs there: tcc_last_error() says what the package has and what
 * the device lacks for it. */
TCC_API tcc_status tcc_package_open(const tcc_package* package, const char* device,
                                    tcc_compiled** compiled) TCC_NOEXCEPT;
/* Holds everything in the package against its checksums; tcc_package_open does so with what it
 * loads. */
TCC_API tcc_status tcc_package_verify(const tcc_package* package) TCC_NOEXCEPT;

/* The contents of a package, beside the graph. */
typedef struct tcc_package_options {
  size_t size;        /* sizeof(tcc_package_options) */
  size_t num_targets; /* of its parts: "cuda:sm_80", "vulkan:nvidia"; PTX for later CUDA is added */
  const char* const* targets;
  /* Of all parts, or NULL. The progress begins anew for each part, and ends with "write". */
  const tcc_compile_options* compile;
  size_t num_weights; /* .safetensors files beside the package: their bytes are not copied */
  const char* const* weights;
  void (*begins)(void* user, const char* target); /* called before a part is compiled; or NULL */
  void* user;                                     /* its first argument */
} tcc_package_options;
#define TCC_PACKAGE_OPTIONS_INIT \
  { sizeof(tcc_package_options), 0, NULL, NULL, 0, NULL, NULL, NULL }

/* Compiles the graph for each target, none of which needs to be there, and writes the package at
 * once, to a file that ends in .tccpkg. libtcc-core has it. */
TCC_API tcc_status tcc_package_write(const tcc_graph* graph, const char* path,
                                     const tcc_package_options* options) TCC_NOEXCEPT;

/* ---- Device memory */

/* A piece of device memory, on CUDA and on Vulkan alike. Slices are the same memory, which is freed
 * with the last handle of it, once the runs that use it have ended. Several threads may use it:
 * what one writes while another uses it is theirs to order. */
typedef struct tcc_buffer tcc_buffer;
/* Allocates memory without contents. `device` is as in tcc_compile. */
TCC_API tcc_status tcc_buffer_create(const char* device, int64_t bytes,
                                     tcc_buffer** buffer) TCC_NOEXCEPT;
TCC_API void tcc_buffer_destroy(tcc_buffer* buffer) TCC_NOEXCEPT;
/* Gives `bytes` bytes of the buffer from `offset` on as a buffer. */
TCC_API tcc_status tcc_buffer_slice(const tcc_buffer* buffer, int64_t offset, int64_t bytes,
                                    tcc_buffer** slice) TCC_NOEXCEPT;
TCC_API int64_t tcc_buffer_bytes(const tcc_buffer* buffer) TCC_NOEXCEPT;
/* Returns CUDA's device pointer or Vulkan's buffer device address; 0 without bytes. */
TCC_API uint64_t tcc_buffer_address(const tcc_buffer* buffer) TCC_NOEXCEPT;
/* Copy all bytes from or to host memory, after the runs before them, and wait. TCC_BAD_INPUT unless
 * `bytes` is the buffer's size. */
TCC_API tcc_status tcc_buffer_write(tcc_buffer* buffer, const void* host,
                                    size_t bytes) TCC_NOEXCEPT;
TCC_API tcc_status tcc_buffer_read(const tcc_buffer* buffer, void* host, size_t bytes) TCC_NOEXCEPT;

/* Takes memory of the caller's at an address of the device: a CUDA device pointer, or, on "null", a
 * pointer. `release`, if not NULL, is called once, from any thread, when the last handle is gone
 * and the runs on tcc's streams that use the memory have ended; not where the call fails. */
TCC_API tcc_status tcc_buffer_wrap(const char* device, uint64_t address, int64_t bytes,
                                   void (*release)(void* user), void* user,
                                   tcc_buffer** buffer) TCC_NOEXCEPT;

/* Allocates memory that two devices of one GPU see, a Vulkan device and a CUDA device, as a buffer
 * of each. Runs on either wait, on the host, for those on the other. TCC_BAD_INPUT for devices that
 * are not of one GPU or whose drivers cannot share memory. */
TCC_API tcc_status tcc_buffer_create_shared(const char* vulkan, const char* cuda, int64_t bytes,
                                            tcc_buffer** on_vulkan,
                                            tcc_buffer** on_cuda) TCC_NOEXCEPT;

/* ---- Tensors in device memory */

/* A dense, row-major tensor: a type over a part of a buffer. */
typedef struct tcc_tensor tcc_tensor;
struct DLManagedTensorVersioned; /* of dlpack.h, version 1 */
/* Allocates memory without contents. */
TCC_API tcc_status tcc_tensor_create(const char* device, const char* dtype, const int64_t* shape,
                                     size_t rank, tcc_tensor** tensor) TCC_NOEXCEPT;
/* Lies in `memory` from `offset` on, a multiple of the element's size. TCC_BAD_INPUT where it does
 * not fit. */
TCC_API tcc_status tcc_tensor_create_in(const tcc_buffer* memory, int64_t offset, const char* dtype,
                                        const int64_t* shape, size_t rank,
                                        tcc_tensor** tensor) TCC_NOEXCEPT;
TCC_API void tcc_tensor_destroy(tcc_tensor* tensor) TCC_NOEXCEPT;
/* Gives dtype, shape and bytes; the name is "". */
TCC_API tcc_status tcc_tensor_describe(const tcc_tensor* tensor,
                                       tcc_tensor_info* info) TCC_NOEXCEPT;
TCC_API const char* tcc_tensor_device(const tcc_tensor* tensor) TCC_NOEXCEPT; /* "cuda:0" */
/* Gives the tensor's bytes as a buffer, and their place in the allocation that they are part of. */
TCC_API tcc_status tcc_tensor_memory(const tcc_tensor* tensor, tcc_buffer** memory) TCC_NOEXCEPT;
TCC_API int64_t tcc_tensor_offset(const tcc_tensor* tensor) TCC_NOEXCEPT;
/* As tcc_buffer_write and tcc_buffer_read. */
TCC_API tcc_status tcc_tensor_write(tcc_tensor* tensor, const void* host,
                                    size_t bytes) TCC_NOEXCEPT;
TCC_API tcc_status tcc_tensor_read(const tcc_tensor* tensor, void* host, size_t bytes) TCC_NOEXCEPT;
/* Take a tensor of another framework, memory of CUDA or (as device "null") of the host, and give it
 * one. What is taken belongs to the library from then on, unless the call fails; it must be dense
 * and row-major. What is given lives until its deleter is called. */
TCC_API tcc_status tcc_tensor_from_dlpack(struct DLManagedTensorVersioned* dlpack,
                                          tcc_tensor** tensor) TCC_NOEXCEPT;
TCC_API tcc_status tcc_tensor_to_dlpack(const tcc_tensor* tensor,
                                        struct DLManagedTensorVersioned** dlpack) TCC_NOEXCEPT;

/* ---- Running */

/* Makes a context with a stream of its own. */
TCC_API tcc_status tcc_context_create(const tcc_compiled* compiled,
                                      tcc_context** context) TCC_NOEXCEPT;
/* Makes a context on the caller's stream, which must outlive it: a CUstream or cudaStream_t of the
 * device's primary context, NULL for the default stream. TCC_BAD_INPUT on devices other than
 * CUDA's.
 */
TCC_API tcc_status tcc_context_create_on_stream(const tcc_compiled* compiled, void* stream,
                                                tcc_context** context) TCC_NOEXCEPT;
TCC_API void tcc_context_destroy(tcc_context* context) TCC_NOEXCEPT;

/* Zeros are the defaults. */
typedef struct tcc_context_options {
  size_t size; /* sizeof(tcc_context_options) */
  /* 1: `stream` is the caller's, as in tcc_context_create_on_stream; 0: one of its own. */
  int32_t has_stream;
  void* stream;
  /* Gives the memory of intermediate values and of states: at least `bytes` bytes of the graph's
   * device, at a multiple of 256, from the caller's pool (tcc_buffer_wrap). The library destroys
   * the handle. It returns NULL where memory is out. Called while the context is made, and where
   * open dims need more than before: it lives as long as the context. */
  tcc_buffer* (*allocate)(void* user, int64_t bytes);
  void* user; /* the first argument of `allocate` */
} tcc_context_options;
#define TCC_CONTEXT_OPTIONS_INIT \
  { sizeof(tcc_context_options), 0, NULL, NULL, NULL }
TCC_API tcc_status tcc_context_create_with(const tcc_compiled* compiled,
                                           const tcc_context_options* options,
                                           tcc_context** context) TCC_NOEXCEPT;
/* Calls `use` with the context's stream (a CUstream, whose context is current meanwhile), so that
 * the caller enqueues on it: events, waits for events, kernels, copies. TCC_BAD_INPUT on Vulkan. */
TCC_API tcc_status tcc_context_with_stream(tcc_context* context,
                                           void (*use)(void* user, void* stream),
                                           void* user) TCC_NOEXCEPT;

/* Makes a context on the stream of `other`, which may go before it: what the two run is in the
 * order of the calls. */
TCC_API tcc_status tcc_context_create_beside(const tcc_compiled* compiled, const tcc_context* other,
                                             tcc_context** context) TCC_NOEXCEPT;

/* Set the sizes of the open dims for the runs that follow, by the shapes of the inputs in the
 * graph's order, or by name (also that of a dim which is equal to open ones, which must agree with
 * them); dims that are not named keep their sizes. A context keeps what it made
 * for the last 16 sizes: for these, nothing is allocated or compiled. TCC_BAD_INPUT, with the
 * input, its dim, the size and what it breaks, where nothing fits; the sizes are as before then. */
TCC_API tcc_status tcc_context_set_shapes(tcc_context* context, const int64_t* const* shapes,
                                          const size_t* ranks, size_t num_inputs) TCC_NOEXCEPT;
TCC_API tcc_status tcc_context_set_dims(tcc_context* context, const char* const* names,
                                        const int64_t* sizes, size_t num_dims) TCC_NOEXCEPT;
/* Makes the device memory that runs at these sizes need: runs at sizes that need no more allocate
 * none. */
TCC_API tcc_status tcc_context_reserve_dims(tcc_context* context, const char* const* names,
                                            const int64_t* sizes, size_t num_dims) TCC_NOEXCEPT;
/* Give an input, an output or a state at the sizes that are set; the shape of a state that grows
 * has its length at hand. The strings and arrays live until the next of these calls. */
TCC_API tcc_status tcc_context_input(tcc_context* context, size_t index,
                                     tcc_tensor_info* info) TCC_NOEXCEPT;
TCC_API tcc_status tcc_context_output(tcc_context* context, size_t index,
                                      tcc_tensor_info* info) TCC_NOEXCEPT;
/* An output with the largest sizes of dims that a run counts: the room that it needs. After the run
 * tcc_context_output has its shape. */
TCC_API tcc_status tcc_context_largest_output(tcc_context* context, size_t index,
                                              tcc_tensor_info* info) TCC_NOEXCEPT;
TCC_API tcc_status tcc_context_state(tcc_context* context, size_t index,
                                     tcc_tensor_info* info) TCC_NOEXCEPT;

/* Runs on the caller's device memory (CUDA device pointers), in the graph's order. They are dense,
 * row-major and aligned to their elements; outputs overlap no other buffer. The call is
 * asynchronous on the stream: it allocates nothing and does not wait, so that it can be captured in
 * a CUDA graph. If a pointer is not a multiple of tcc_tensor_info's alignment, its tensor is copied
 * from or to aligned device memory of the context's own; the first run with such a pointer reserves
 * it. */
TCC_API tcc_status tcc_context_run(tcc_context* context, const void* const* inputs,
                                   size_t num_inputs, void* const* outputs,
                                   size_t num_outputs) TCC_NOEXCEPT;
/* Reserves the memory that tcc_context_run needs for pointers with these alignments. This is needed
 * only if the first run with them is captured: nothing may be allocated then, and the run fails
 * with TCC_BAD_INPUT. */
TCC_API tcc_status tcc_context_reserve(tcc_context* context, const void* const* inputs,
                                       size_t num_inputs, void* const* outputs,
                                       size_t num_outputs) TCC_NOEXCEPT;
/* Runs on host memory and waits for the result. Each buffer has tcc_tensor_info's bytes. */
TCC_API tcc_status tcc_context_run_host(tcc_context* context, const void* const* inputs,
                                        size_t num_inputs, void* const* outputs,
                                        size_t num_outputs) TCC_NOEXCEPT;
/* These do the same by name, in any order, with all inputs and all outputs. */
TCC_API tcc_status tcc_context_run_named(tcc_context* context, const char* const* input_names,
                                         const void* const* inputs, size_t num_inputs,
                                         const char* const* output_names, void* const* outputs,
                                         size_t num_outputs) TCC_NOEXCEPT;
TCC_API tcc_status tcc_context_run_host_named(tcc_context* context, const char* const* input_names,
                                              const void* const* inputs, size_t num_inputs,
                                              const char* const* output_names, void* const* outputs,
                                              size_t num_outputs) TCC_NOEXCEPT;
/* Runs on device buffers of any device, in the graph's order, each of tcc_tensor_info's bytes.
 * Inputs may share memory; an output shares none with any other. The call is asynchronous; it waits
 * only for runs on other streams that write what it reads or use what it writes, and not for those
 * on streams of the caller's. */
TCC_API tcc_status tcc_context_run_buffers(tcc_context* context, tcc_buffer* const* inputs,
                                           size_t num_inputs, tcc_buffer* const* outputs,
                                           size_t num_outputs) TCC_NOEXCEPT;
/* Does the same with tensors, whose dtypes and shapes are checked too. */
TCC_API tcc_status tcc_context_run_tensors(tcc_context* context, tcc_tensor* const* inputs,
                                           size_t num_inputs, tcc_tensor* const* outputs,
                                           size_t num_outputs) TCC_NOEXCEPT;

/* ---- States */

/* Copy a state to or from host memory, after the runs before, and wait. TCC_BAD_INPUT for an
 * unknown name and unless `bytes` is the state's size, which tcc_context_state() tells. */
TCC_API tcc_status tcc_context_read_state(tcc_context* context, const char* name, void* host,
                                          size_t bytes) TCC_NOEXCEPT;
TCC_API tcc_status tcc_context_write_state(tcc_context* context, const char* name, const void* host,
                                           size_t bytes) TCC_NOEXCEPT;
/* Gives every state its first value again. */
TCC_API tcc_status tcc_context_reset_states(tcc_context* context) TCC_NOEXCEPT;
/* Makes device memory the state, with the value that it has: contexts that bind the same memory
 * share the state. The memory lives as long as the last handle or context that uses it.
 * TCC_BAD_INPUT for an unknown name, another size or device, memory that is part of another state,
 * and a place that is no multiple of what kernels assume (64 bytes at most). */
TCC_API tcc_status tcc_context_bind_state(tcc_context* context, const char* name,
                                          const tcc_buffer* memory) TCC_NOEXCEPT;
/* The same for a state that grows: memory for its largest size, of which the first `length` along
 * the dim that grows count. Each context counts for itself: one that shares the memory is told a
 * new length by binding it again. TCC_BAD_INPUT for a state that does not grow and for a length
 * that it cannot have, too. */
TCC_API tcc_status tcc_context_bind_growing_state(tcc_context* context, const char* name,
                                                  const tcc_buffer* memory,
                                                  int64_t length) TCC_NOEXCEPT;
/* Write all states to a .safetensors file, each under its name, and read such a file, which has all
 * of them and nothing else. No state changes where the file is damaged or of other names, dtypes
 * or shapes: TCC_BAD_INPUT. */
TCC_API tcc_status tcc_context_save_states(tcc_context* context, const char* path) TCC_NOEXCEPT;
TCC_API tcc_status tcc_context_load_states(tcc_context* context, const char* path) TCC_NOEXCEPT;

/* Waits for the stream. */
TCC_API tcc_status tcc_context_synchronize(tcc_context* context) TCC_NOEXCEPT;
/* Gives the device's seconds for one run: the mean of `replays` (at least 1) runs in a row by the
 * device's timers. It runs on the buffers of tcc_context_run_host with their present contents, and
 * waits. */
TCC_API tcc_status tcc_context_time(tcc_context* context, int32_t replays,
                                    double* seconds) TCC_NOEXCEPT;
/* Gives the device's seconds for one launch of each kernel of tcc_kernel_report, in its order;
 * `size` is their number. It waits. */
TCC_API tcc_status tcc_context_time_kernels(tcc_context* context, double* seconds,
                                            size_t size) TCC_NOEXCEPT;
/* Gives how often a run at the context's sizes launches each kernel of tcc_kernel_report, in its
 * order: 0 for kernels that are for other sizes. `size` is their number. TCC_BAD_INPUT where there
 * are no sizes yet. */
TCC_API tcc_status tcc_context_kernel_launches(tcc_context* context, int64_t* launches,
                                               size_t size) TCC_NOEXCEPT;

/* ---- Tuning (docs/tuning.md) */

/* The results of one distinct kernel of the graph, so far or at the end. Seconds are of one launch.
 */
typedef struct tcc_tuned_kernel {
  size_t size;                 /* sizeof(tcc_tuned_kernel) */
  const char* region;          /* the ops that are fused in it */
  const char* kernel_template; /* the template that it is made from */
  const char* output;          /* type of its first output, "f32[32, 512]" */
  const char* best_config;     /* "block_m=64 ..." */
  double default_seconds;      /* with the analytic default config; 0: not measured */
  double best_seconds;
  int64_t launches;   /* per run of the graph */
  int64_t space_size; /* legal configs */
  int64_t trials;     /* configs measured or refused, with the default */
  int64_t rejected;   /* trials that were wrong, hung, crashed or refused */
  const char* error;  /* why it could not be tuned; "" otherwise */
} tcc_tuned_kernel;
#define TCC_TUNED_KERNEL_INIT \
  { sizeof(tcc_tuned_kernel), NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, NULL }

/* Called after every trial, from any thread, one call at a time; `kernel` lives as long as the
 * call.
 */
typedef void (*tcc_tune_progress_fn)(void* user, const tcc_tuned_kernel* kernel);

/* Zeros are the defaults. */
typedef struct tcc_tune_options {
  size_t size; /* sizeof(tcc_tune_options) */
  /* The options that the graph is compiled with; NULL: the defaults. Records serve compilations
   * with the same options. `tuning` names records in use that must be beaten. `cancelled` is called
   * every few milliseconds; the records that are known when it ends the tuning are saved.
   * `progress` is not called. */
  const tcc_compile_options* compile;
  const char* search;    /* NULL or "auto", "exhaustive", "random", "staged", "evolutionary" */
  size_t trials;         /* measurements of each kernel, beside the default; 0: 64 */
  double budget_seconds; /* for all kernels together; 0: no limit */
  int32_t jobs;          /* threads that compile; 0: one per core */
  int32_t in_process;    /* 1: this process measures; a candidate that hangs hangs it */
  uint64_t seed;
  const char* output; /* folder of the tuning files; NULL: nothing is saved */
  const char* log;    /* the trial log, which is appended to; NULL: none */
  int32_t resume;     /* 1: trials in the log are not measured again */
  tcc_tune_progress_fn progress;
  void* user; /* of progress */
} tcc_tune_options;
#define TCC_TUNE_OPTIONS_INIT \
  { sizeof(tcc_tune_options), NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL, 0, NULL, NULL }

/* Tunes the kernels of a graph. The status is TCC_OK also where the tuning was cancelled, and where
 * single kernels failed. */
typedef struct tcc_tune_report tcc_tune_report;
TCC_API tcc_status tcc_tune(const tcc_graph* graph, const char* device,
                            const tcc_tune_options* options, tcc_tune_report** report) TCC_NOEXCEPT;
TCC_API void tcc_tune_report_destroy(tcc_tune_report* report) TCC_NOEXCEPT;
TCC_API size_t tcc_tune_report_size(const tcc_tune_report* report) TCC_NOEXCEPT; /* kernels */
TCC_API tcc_status tcc_tune_report_get(const tcc_tune_report* report, size_t index,
                                       tcc_tuned_kernel* kernel) TCC_NOEXCEPT;
TCC_API int32_t tcc_tune_report_was_cancelled(const tcc_tune_report* report) TCC_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif
