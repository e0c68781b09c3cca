// Gravity between N bodies: nbody.cu in GLSL. A loop is unrolled by hand, as GLSL has no partial unrolling: the inner
// loop of UNROLL steps is, the outer one is not.
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = THREADS) in;
layout(buffer_reference, std430, buffer_reference_align = 16) restrict readonly buffer Bodies { vec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) restrict writeonly buffer Floats { float at[]; };
layout(push_constant) uniform Arguments { Bodies bodies; Floats acceleration; };

#if USE_SHARED
shared vec4 tile[THREADS];
#endif

vec4 body_at(uint i) { return i < N ? bodies.at[i] : vec4(0.0); }  // beyond N: no mass

vec3 attraction(vec4 other, vec4 self) {
  const vec3 d = other.xyz - self.xyz;
  const float inverse = inversesqrt(dot(d, d) + float(SOFTENING * SOFTENING));
  return (other.w * inverse * inverse * inverse) * d;
}

void main() {
  const uint first = gl_WorkGroupID.x * THREADS * BODIES + gl_LocalInvocationID.x;
  vec4 self[BODIES];
  vec3 sum[BODIES];
  [[unroll]] for (int i = 0; i < BODIES; ++i) {
    self[i] = body_at(first + i * THREADS);
    sum[i] = vec3(0.0);
  }

#if USE_SHARED
  for (uint start = 0; start < N; start += THREADS) {
    tile[gl_LocalInvocationID.x] = body_at(start + gl_LocalInvocationID.x);
    barrier();
    for (uint k0 = 0; k0 < THREADS; k0 += UNROLL)
      [[unroll]] for (int k = 0; k < UNROLL; ++k) {
        const vec4 other = tile[k0 + k];
        [[unroll]] for (int i = 0; i < BODIES; ++i) sum[i] += attraction(other, self[i]);
      }
    barrier();
  }
#else
  for (uint j0 = 0; j0 < N; j0 += UNROLL)
    [[unroll]] for (int j = 0; j < UNROLL; ++j) {
      const vec4 other = body_at(j0 + j);
      [[unroll]] for (int i = 0; i < BODIES; ++i) sum[i] += attraction(other, self[i]);
    }
#endif

  [[unroll]] for (int i = 0; i < BODIES; ++i) {
    const uint body = first + i * THREADS;
    if (body >= N) continue;
    acceleration.at[3 * body] = sum[i].x;
    acceleration.at[3 * body + 1] = sum[i].y;
    acceleration.at[3 * body + 2] = sum[i].z;
  }
}
