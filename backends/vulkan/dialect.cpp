// GLSL 450 compute for Vulkan 1.2: buffers are device addresses (GL_EXT_buffer_reference) in the
// push constants.
#include "backends/vulkan/dialect.h"

namespace tcc::backends {

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
    d.extension_line = "#extension {name} : require\n";
    d.storage = {{DType::f64, "f64"},  {DType::f32, "f32"},   {DType::f16, "u16"},
                 {DType::bf16, "u16"}, {DType::f8e4m3, "u8"}, {DType::f8e5m2, "u8"},
                 {DType::i8, "i8"},    {DType::i16, "i16"},   {DType::i32, "i32"},
                 {DType::i64, "i64"},  {DType::u8, "u8"},     {DType::u16, "u16"},
                 {DType::u32, "u32"},  {DType::u64, "u64"},   {DType::boolean, "u8"}};
    d.buffer_type =
        "layout(buffer_reference, std430, buffer_reference_align = {bytes}) "
        "{access}buffer {type} {\n"
        "  {storage} v[];\n"
        "};\n";
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
