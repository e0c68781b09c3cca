// Which elements of cooperative matrices an invocation holds, by loading matrices of their
// elements' numbers: eight of A for each of 32 invocations, then of B, whose numbers count along k,
// and of sums.
// The runtime has it as matrix_elements_spirv.inc:
//   glslc --target-env=vulkan1.2 -O -mfmt=num -o matrix_elements_spirv.inc matrix_elements.comp
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(local_size_x = 32) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint v[]; };
layout(push_constant) uniform Arguments { Words numbers; };
shared float16_t tile[256];
shared float sums[256];
void main() {
  uint lane = gl_SubgroupInvocationID;
  for (uint i = lane; i < 256; i += 32) {
    tile[i] = float16_t(i);
    sums[i] = float(i);
  }
  barrier();
  coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a;
  coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> b;
  coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> c;
  coopMatLoad(a, tile, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
  coopMatLoad(b, tile, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);
  coopMatLoad(c, sums, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
  for (int e = 0; e < a.length() && e < 8; ++e) numbers.v[lane * 8 + e] = uint(a[e]);
  for (int e = 0; e < b.length() && e < 8; ++e) numbers.v[256 + lane * 8 + e] = uint(b[e]);
  for (int e = 0; e < c.length() && e < 8; ++e) numbers.v[512 + lane * 8 + e] = uint(c[e]);
}
