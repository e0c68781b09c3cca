// acceleration[i] = sum over j of mass[j] (p[j] - p[i]) / (|p[j] - p[i]|^2 + SOFTENING^2)^(3/2).
#version 450
#extension GL_EXT_buffer_reference : require

layout(local_size_x = THREADS) in;
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Bodies { vec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Floats { float at[]; };
layout(push_constant) uniform Arguments { Bodies bodies; Floats acceleration; };

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i >= N) return;
  const vec4 self = bodies.at[i];
  vec3 sum = vec3(0.0);
  for (uint j = 0; j < N; ++j) {
    const vec4 other = bodies.at[j];
    const vec3 d = other.xyz - self.xyz;
    const float distance = sqrt(dot(d, d) + float(SOFTENING * SOFTENING));
    sum += other.w / (distance * distance * distance) * d;
  }
  acceleration.at[3 * i] = sum.x;
  acceleration.at[3 * i + 1] = sum.y;
  acceleration.at[3 * i + 2] = sum.z;
}
