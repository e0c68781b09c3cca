// Operands whose rows begin at any multiple of an element: 128 threads read aligned words and store them where wgmma
// reads them, K-major.
#include "sm90_operand.cuh"

// Overwrites `value` if `wanted`.
TCC_FN void load_word(u32& value, u64 address, bool wanted) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %2, 0;\n@p ld.global.nc.u32 %0, [%1];\n}"
               : "+r"(value) : "l"(address), "r"(i32(wanted)));
}

// Fills a K-major tile of ROWS rows that begin at any multiple of an element, from aligned words of 4 bytes that hold
// the rows' elements of BYTES, as many as K says (a Size); zeros follow them. A lane has a word of a row. Rows that begin in the middle of a
// word are stored by halves, and take half a word more (tails); words of bytes are shifted into place between lanes. Four
// warps have 8 rows each of 32 (a unit). The places of rows n and n + PLACES in their words are the same.
template <i32 BYTES, i32 ROWS, class K> struct RowsOperand : Sm90Operand<Load::rows> {
  static constexpr i32 BLOCK_K = 128 / BYTES, units = (ROWS + 31) / 32, PLACES = BYTES == 1 ? 4 : 2;
  u64 words[PLACES];  // this lane's of the warp's first rows, at k = 0
  u64 tail;           // the last word of this lane's row of a tail
  u32 shift[PLACES];  // bytes of those rows' words that precede them
  u32 tail_shift;
  i32 rows;  // left from the warp's first on
  i32 stride, lane, warp;
  u32 tails[(units + 3) / 4] = {};
  u32 next_tails[(units + 3) / 4] = {};  // tails of bytes are shifted in as the tile's units are stored
  K size_k;

  __device__ __forceinline__ explicit RowsOperand(K size_k) : size_k(size_k) {}

  // `first`: where the tile begins; `left` rows of the operand, `row_bytes` apart, are left from there on.
  __device__ __forceinline__ void start(const u8* first, i32 row_bytes, i32 left, i32 thread) {
    stride = row_bytes;
    lane = thread % 32;
    warp = thread / 32;
    rows = (left < ROWS ? left : ROWS) - warp * 8;
    const u64 at = (u64)first + i64(warp * 8) * stride;
#pragma unroll
    for (i32 p = 0; p < PLACES; ++p) {
      shift[p] = u32(at + i64(p) * stride) & 3;
      words[p] = at + i64(p) * stride - shift[p] + lane * 4;
    }
    tail_shift = lane % 2 ? shift[1] : shift[0];
    if (PLACES == 4 && lane % 4 >= 2) tail_shift = lane % 2 ? shift[PLACES - 1] : shift[PLACES - 2];
    tail = at + i64(lane / 8 * 32 + lane % 8) * stride - tail_shift + 128;
  }

  __device__ __forceinline__ void load(i32 unit, i32 k, u32 (&w)[8]) const {
    const i32 valid = (size_k - k) * BYTES;
#pragma unroll
    for (i32 i = 0; i < 8; ++i)
      load_word(w[i], words[i % PLACES] + i64(unit * 32 + i / PLACES * PLACES) * stride + i64(k) * BYTES,
                unit * 32 + i < rows && lane * 4 - i32(shift[i % PLACES]) < valid);
  }

  __device__ __forceinline__ void store(i32 unit, i32 k, const u32 (&w)[8], u32 tile) const {
    if (ROWS % 32 != 0 && unit * 32 + warp * 8 >= ROWS) return;
    const i32 valid = (size_k - k) * BYTES;
    const u32 to = tile + unit * 4096 + warp * 1024 + lane * 4;  // row i is at to ^ i * 144: 128 bytes on, and swizzled
    if constexpr (BYTES == 1) {
      const i32 left = valid - lane * 4;
      const u32 mask = left >= 4 ? ~0u : left <= 0 ? 0u : (1u << left * 8) - 1;
#pragma unroll
      for (i32 i = 0; i < 8; ++i) {
        const u32 next = __shfl_down_sync(~0u, w[i], 1), last = __shfl_sync(~0u, tails[unit / 4], unit % 4 * 8 + i);
        store_shared(to ^ i * 144, __funnelshift_r(w[i], lane == 31 ? last : next, shift[i % PLACES] * 8) & mask);
      }
    } else {
#pragma unroll
      for (i32 p = 0; p < 2; ++p) {
        const i32 byte = lane * 4 - i32(shift[p]);
        const u32 mask = (byte < valid ? 0xffff : 0) | (byte + 2 < valid ? 0xffff0000 : 0);
        if (BYTES == 4 || shift[p] == 0) {
#pragma unroll
          for (i32 i = p; i < 8; i += 2) store_shared(to ^ i * 144, w[i] & mask);
        } else {
#pragma unroll
          for (i32 i = p; i < 8; i += 2) {
            const u32 word = w[i] & mask;
            if (lane != 0) store_shared((to - 2) ^ i * 144, u16(word));
            store_shared(to ^ i * 144, u16(word >> 16));
          }
        }
      }
    }
  }

  // The last elements of rows whose words precede them, of 32 rows of a warp at once.
  __device__ __forceinline__ void load_tails(i32 k) {
#pragma unroll
    for (i32 g = 0; g < (units + 3) / 4; ++g)
      load_word(
          BYTES == 1 ? next_tails[g] : tails[g],
          tail + i64(g * 128) * stride + i64(k) * BYTES,
          tail_shift != 0 && g * 128 + lane / 8 * 32 + lane % 8 < rows &&
              (size_k - k) * BYTES > 128 - i32(tail_shift));
  }
  __device__ __forceinline__ void store_tails(i32 k, u32 tile) {
#pragma unroll
    for (i32 g = 0; g < (units + 3) / 4; ++g) {
      if constexpr (BYTES == 1) {
        tails[g] = next_tails[g];
      } else {
        const i32 row = (g * 4 + lane / 8) * 32 + warp * 8 + lane % 8;
        if (tail_shift != 0 && row < ROWS)
          store_shared(tile + row * 128 + (126 ^ lane % 8 << 4), u16(size_k - k >= BLOCK_K ? tails[g] : 0));
      }
    }
  }
};
