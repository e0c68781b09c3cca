// Chunks of 16 bytes of lines that start at any element: aligned words are loaded, then shifted into place. For the
// sources that read matrices with odd leading dimensions. T is u8, u16 or f32.

// The aligned words that hold a chunk, and by how many bytes it is off.
struct Unaligned {
  uint4 words[2];
  u32 bytes_off;
};

// Loads the chunk from `column` on of a line of `size` elements; words without any of them become zeros, and so does
// all of it unless `inside`.
template <typename T>
TCC_FN Unaligned fetch_unaligned(const T* line, i32 column, i32 size, bool inside) {
  const u64 first = u64(line + column), end = u64(line + size), aligned = first & ~u64(15);
  Unaligned r;
  r.bytes_off = u32(first) & 15u;
  r.words[0] = r.words[1] = make_uint4(0, 0, 0, 0);
  if (inside && column < size) r.words[0] = __ldg((const uint4*)aligned);
  if (inside && r.bytes_off != 0 && aligned + 16 < end) r.words[1] = __ldg((const uint4*)aligned + 1);
  return r;
}

// The chunk's words; `left` elements of the line remain, and what follows them counts as zeros whatever it is.
template <typename T>
TCC_FN void shift_unaligned(const Unaligned& r, i32 left, u32 (&out)[4]) {
  constexpr i32 PER_WORD = 4 / sizeof(T);
  u32 w[8] = {r.words[0].x, r.words[0].y, r.words[0].z, r.words[0].w,
              r.words[1].x, r.words[1].y, r.words[1].z, r.words[1].w};
#pragma unroll
  for (i32 i = 0; i < 6; ++i) w[i] = r.bytes_off & 8 ? w[i + 2] : w[i];
#pragma unroll
  for (i32 i = 0; i < 5; ++i) w[i] = r.bytes_off & 4 ? w[i + 1] : w[i];
#pragma unroll
  for (i32 i = 0; i < 4; ++i) {
    const u32 word = PER_WORD > 1 ? __funnelshift_r(w[i], w[i + 1], r.bytes_off % 4 * 8) : w[i];
    const i32 valid = left - i * PER_WORD;
    out[i] = valid <= 0 ? 0u : valid < PER_WORD ? word & ((1u << valid * (32 / PER_WORD)) - 1) : word;
  }
}
