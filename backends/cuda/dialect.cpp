// CUDA C++ for NVRTC: no header is included, so a kernel compiles in a fraction of a second.
#include "backends/cuda/dialect.h"

namespace tcc::backends {

const Dialect& cuda_dialect() {
  static const Dialect dialect = [] {
    Dialect d;
    d.name = "cuda";
    d.source_ending = ".cu";
    d.emit_ending = ".cu";
    d.prelude = "common/prelude_cuda.inc";
    d.header = "";
    d.extensions = {{"byte_products", ""}};  // dp4a is an instruction of PTX
    d.reserved =
        std::string(cpp_keywords()) +
        " blockDim blockIdx gridDim threadIdx warpSize NULL uint uint2 uint3 uint4 "
        "make_uint2 make_uint3 make_uint4 TensorMap tcc params tcc_parameters abs acos acosh "
        "asin asinh atan atanh ceil cos cosh exp exp2 floor fma fract isinf isnan log log2 "
        "max min pow round sin sinh sqrt tan tanh trunc";
    d.storage = {{DType::f64, "f64"},  {DType::f32, "f32"},   {DType::f16, "u16"},
                 {DType::bf16, "u16"}, {DType::f8e4m3, "u8"}, {DType::f8e5m2, "u8"},
                 {DType::i8, "i8"},    {DType::i16, "i16"},   {DType::i32, "i32"},
                 {DType::i64, "i64"},  {DType::u8, "u8"},     {DType::u16, "u16"},
                 {DType::u32, "u32"},  {DType::u64, "u64"},   {DType::boolean, "u8"}};
    d.buffer_type = "";
    d.buffer_parameter = "{access}{storage}* {restrict}{name}";
    d.read_only = "const ";
    d.restrict = "__restrict__ ";
    d.size_parameter = "const i64 {name}";
    d.number_parameter = "const i32 {name}";
    d.parameter_separator = ", ";
    d.element = "{buffer}[{index}]";
    d.vector_type = "";
    d.word = "uint{words}";
    d.vector_load = "((const {word}*){buffer})[{index}]";
    d.half_word_load = "((const u16*){buffer})[{index}]";
    d.early_vector_load = "tcc_cuda_load{words}((const {word}*){buffer} + ({index}))";
    d.vector_store = "(({word}*){buffer})[{index}] = {value}";
    d.vector_store_where =
        "tcc_cuda_store{words}(({word}*){buffer} + ({index}), {value}, {condition})";
    d.vector_make = "make_uint{words}({values})";
    d.vector_word = "{vector}.{component}";
    d.release = "tcc_cuda_release();";
    d.wait = "tcc_cuda_wait();";
    d.entry =
        "extern \"C\" __global__ void __launch_bounds__({workgroup}{resident}) "
        "{cluster}{name}({parameters})";
    d.resident = ", {count}";
    d.cluster = "__cluster_dims__({count}) ";
    d.map_parameter = "const __grid_constant__ TensorMap {name}";
    d.block_index = "blockIdx.x + blockIdx.y * gridDim.x";
    d.thread_index = "threadIdx.x";
    d.lane_thread_index = "threadIdx.x";
    d.hook = "static __device__ __forceinline__ {result} {name}({parameters})";
    d.hook_buffers = "yes";
    d.array_in = "const {type} (&{name})[{count}]";
    d.array_inout = "{type} (&{name})[{count}]";
    d.shared = "__shared__ {type} {name}[{count}];";
    d.barrier = "__syncthreads();";
    d.reload = "asm volatile(\"\" ::: \"memory\");";
    d.cluster_arrive = "tcc_cuda_cluster_arrive();";
    d.cluster_wait = "tcc_cuda_cluster_wait();";
    d.expect_bytes = "tcc_cuda_expect({exchanges} + {exchange}, {bytes});";
    d.send_cluster = "tcc_cuda_send({array}, {value}, {ranks}, {exchanges} + {exchange});";
    d.await_bytes = "tcc_cuda_await({exchanges} + {exchange});";
    d.shuffle_xor = "__shfl_xor_sync(0xffffffffu, {value}, {mask})";
    d.unroll = "#pragma unroll";
    d.source_parameters =
        "#include \"backends/device/{header}\"\n"
        "constexpr tcc::kernels::{type} tcc_parameters() {\n  using namespace tcc::kernels;\n"
        "  {type} p;\n{fields}  return p;\n}\n"
        "constexpr tcc::kernels::{type} params = tcc_parameters();\n";
    d.source_parameter = "  p.{name} = {value};\n";
    d.int64_literal = "{value}ll";
    d.wrapping = "{type}({unsigned}({a}) {op} {unsigned}({b}))";
    return d;
  }();
  return dialect;
}

}  // namespace tcc::backends
