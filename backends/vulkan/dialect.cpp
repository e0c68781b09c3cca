// GLSL 450 compute for Vulkan 1.2: buffers are device addresses (GL_EXT_buffer_reference) in the
// push constants.
#include "backends/vulkan/dialect.h"

namespace tcc::backends {

namespace {

constexpr const char* kReserved =
    // Keywords, and words that are kept for later versions
    "active asm atomic_uint attribute bool break buffer case cast centroid class coherent common "
    "const continue default demote discard dmat2 dmat3 dmat4 do double dvec2 dvec3 dvec4 else enum "
    "extern external false filter fixed flat float for fvec2 fvec3 fvec4 goto half highp hvec2 "
    "hvec3 hvec4 if image1D image2D image3D in inline inout input int interface invariant "
    "invocations isampler2D ivec2 ivec3 ivec4 layout long lowp main mat2 mat3 mat4 mediump "
    "namespace noinline noperspective out output partition patch precise precision public readonly "
    "resource restrict return sample sampler sampler1D sampler2D sampler3D shared short sizeof "
    "smooth static struct subroutine superp switch template texture this true typedef uint uniform "
    "union unsigned usampler2D using uvec2 uvec3 uvec4 varying vec2 vec3 vec4 void volatile while "
    "writeonly "
    // Functions and types that printed text and the prelude use
    "abs acos acosh asin asinh atan atanh barrier bvec2 ceil clamp cos cosh exp exp2 findMSB "
    "floatBitsToUint floor fma fract inversesqrt isinf isnan log log2 max min mix mod "
    "packDouble2x32 packInt2x32 packUint2x32 pow round roundEven sign sin sinh sqrt "
    "subgroupShuffleXor tan tanh trunc uintBitsToFloat umulExtended unpackDouble2x32 "
    "unpackUint2x32 Arguments Table Words1 Words2 Words4";

}  // namespace

const Dialect& glsl_dialect() {
  static const Dialect dialect = [] {
    Dialect d;
    d.name = "glsl";
    d.source_ending = ".comp";
    d.emit_ending = ".comp";
    d.prelude = "common/prelude_glsl.inc";
    d.header =
        "#version 450\n"
        "#extension GL_EXT_buffer_reference : require\n"
        "#extension GL_EXT_control_flow_attributes : require\n"
        "{extensions}";
    d.reserved = kReserved;
    d.native_exp2 = "#define TCC_HAS_NATIVE_EXP2\n";
    d.native_f16 = "#define TCC_HAS_NATIVE_F16\n";
    d.wide_header = "#define TCC_USE_I64\n";
    d.extensions = {
        {"lanes",
         "#extension GL_KHR_shader_subgroup_basic : require\n"
         "#extension GL_KHR_shader_subgroup_shuffle : require\n"},
        {"table", "#extension GL_EXT_buffer_reference_uvec2 : require\n"},
        {"storage16",
         "#extension GL_EXT_shader_16bit_storage : require\n"
         "#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require\n"},
        {"storage8",
         "#extension GL_EXT_shader_8bit_storage : require\n"
         "#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require\n"},
    };
    // Not GL_EXT_integer_dot_product, which many compilers lack: the device source has SPIR-V's
    // instructions.
    d.extensions["byte_products"] = "#extension GL_EXT_spirv_intrinsics : require\n";
    d.extension_line = "#extension {name} : require\n";
    d.storage = {{DType::f64, "f64"},  {DType::f32, "f32"},   {DType::f16, "u16"},
                 {DType::bf16, "u16"}, {DType::f8e4m3, "u8"}, {DType::f8e5m2, "u8"},
                 {DType::i8, "i8"},    {DType::i16, "i16"},   {DType::i32, "i32"},
                 {DType::i64, "i64"},  {DType::u8, "u8"},     {DType::u16, "u16"},
                 {DType::u32, "u32"},  {DType::u64, "u64"},   {DType::boolean, "u8"}};
    d.buffer_type =
        "layout(buffer_reference, std430, buffer_reference_align = {bytes}) "
        "{restrict}{access}buffer {type} {\n"
        "  {storage} v[];\n"
        "};\n";
    d.read_only = "readonly ";
    d.write_only = "writeonly ";
    d.restrict = "restrict ";
    d.buffer_parameter = "  {type} {name};\n";
    d.size_parameter = "  i64 {name};\n";
    d.number_parameter = "  i32 {name};\n  i32 {name}_above;\n";
    d.parameter_separator = "";
    d.element = "{buffer}.v[{index}]";
    d.vector_type =
        "layout(buffer_reference, std430, buffer_reference_align = {bytes}) buffer Words{words} {\n"
        "  {word} v[];\n"
        "};\n";
    d.word = "uvec{words}";
    d.vector_load = "Words{words}({buffer}).v[{index}]";
    d.vector_store = "Words{words}({buffer}).v[{index}] = {value}";
    d.far_element = "{type}(u64({buffer}) + u64({index}) * {bytes}ul).v[0]";
    d.vector_make = "uvec{words}({values})";
    d.vector_word = "{vector}.{component}";
    d.entry_prefix = "layout(local_size_x = {workgroup}) in;\n";
    d.entry = "void main()";
    d.argument_block = "layout(push_constant) uniform Arguments {\n{parameters}};\n";
    d.table_block =
        "layout(buffer_reference, std430, buffer_reference_align = 8) restrict readonly buffer "
        "Table {\n  uvec2 v[];\n};\n"
        "layout(push_constant) uniform Arguments {\n  Table table;\n};\n";
    d.table_entry = "#define {name} {type}(table.v[{number}])\n";
    d.table_size = "#define {name} i64(packUint2x32(table.v[{number}]))\n";
    d.table_number = "#define {name} i32(table.v[{number}].x)\n";
    d.block_index = "gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x";
    d.thread_index = "gl_LocalInvocationIndex";
    // Full subgroups: this numbers the threads so that neighbours are lanes of one subgroup.
    d.lane_thread_index = "gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID";
    d.hook = "{result} {name}({parameters})";
    d.hook_buffers = "";
    // llvmpipe takes a constant for larger than no i64 that was an i32.
    d.index_mask = "{index} & 0x7fffffffffffffffl";
    d.array_in = "in {type} {name}[{count}]";
    d.array_inout = "inout {type} {name}[{count}]";
    d.shared = "shared {type} {name}[{count}];";
    d.barrier = "barrier();";
    d.shuffle_xor = "subgroupShuffleXor({value}, {mask})";
    d.hidden_zero = "tcc_hidden_zero_{type}({value})";
    d.unroll = "[[unroll]]";
    d.source_parameters = "{enumerators}{fields}";
    d.source_parameter = "#define params_{flat_name} {flat_value}\n";
    d.source_enumerator = "#define {flat_name} {number}\n";
    d.int64_literal = "{value}l";
    return d;
  }();
  return dialect;
}

}  // namespace tcc::backends
