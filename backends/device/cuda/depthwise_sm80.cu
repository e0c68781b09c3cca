// Depthwise convolutions of stride 1 on mma.sync, sm_80 and later. Images and results have their channels as neighbours.
//
// A row of a channel's filter is a band: out[y, x0 + j] is the sum over k of pixel[y + r, x0 + k] * filter[r, k - j]. For
// eight results j and 16 columns k of a row of pixels that is half of the matrix of an mma.sync; its other half is the
// row of the filter above it, which makes the results one row below. Its third dim are strips: blocks of eight columns.
// Each pair of rows of pixels is one ldmatrix, and a warp multiplies it with all of the filter: it walks down the tile
// with the sums of the rows whose windows it is in.
//
// A workgroup brings the pixels of its channels to shared memory, turned, so that neighbours along x are neighbours
// there. Each warp has channels of its own, whose sums take the place of their pixels. Then all threads give
// sums of eight neighbouring channels to epilogue(buffers, image, y, x, group, acc), which guards the channels.
//
// Zeros beside the band times an infinity or NaN are NaN. A sum that is not finite is computed again, of its window alone.
//
// The constant `params` is a DepthwiseSm80 (depthwise_sm80_shape.h).
#include "../common/depthwise_sm80_shape.h"
#include "mma.cuh"

#ifndef TCC_ENTRY  // compiled after the prelude alone, with hooks that do the least
#define INDEX i32
#define WORKGROUP 128
#define GRID 64
constexpr DepthwiseSm80 example() {
  DepthwiseSm80 p;
  p.images = 8;
  p.channels = 128;
  p.y.in = p.y.out = p.x.in = p.x.out = 8;
  p.y.taps = p.x.taps = 7;
  p.y.before = p.x.before = 3;
  p.image.outer = 8 * 8 * 128;
  p.image.y = 8 * 128;
  p.image.x = 128;
  p.filter.buffer = 1;
  p.filter.y = 7 * 128;
  p.filter.x = 128;
  return p;
}
constexpr DepthwiseSm80 params = example();
#define TCC_ENTRY \
  extern "C" __global__ void __launch_bounds__(WORKGROUP) depthwise(const u16* b0, const u16* b1, f32* b2)
#define TCC_BEGIN
#define TCC_BLOCK blockIdx.x
#define TCC_THREAD threadIdx.x
#define TCC_BUFFERS b0, b1, b2,
TCC_FN void epilogue(const u16*, const u16*, f32* b2, i32 image, i32 y, i32 x, i32 group, const f32 (&acc)[8]) {
  for (i32 i = 0; i < 8; ++i) b2[((image * 8 + y) * 8 + x) * 128 + group * 8 + i] = acc[i];
}
#endif

namespace shape = depthwise_sm80;
constexpr Element ELEMENT = params.element;
constexpr i32 THREADS = WORKGROUP, CHANNELS = params.channels, GROUP = shape::kGroup, GROUPS = shape::groups(params);
constexpr i32 TAPS_Y = params.y.taps, TAPS_X = params.x.taps, LIVE = shape::live(params), STEPS = shape::steps(params);
constexpr i32 ROWS = params.rows, COLUMNS = params.columns, PARTS = params.parts;
constexpr i32 BLOCKS = shape::blocks(params), TOGETHER = shape::together(params), TURNS = shape::turns(params);
constexpr i32 CHANNEL_BYTES = shape::channel_bytes(params), TILE_BYTES = shape::tile_bytes(params);
constexpr i32 GROUP_BYTES = shape::group_bytes(params), LINES_AT = shape::lines_at(params);
constexpr i32 FILTER_AT = shape::filter_at(params), JOBS = shape::jobs(params);
constexpr i32 LINE_BYTES = shape::line_bytes(params), SUMS_LINE = shape::sums_line(params);
constexpr i32 TILES_Y = shape::tiles_y(params), TILES_X = shape::tiles_x(params), TILES = shape::tiles(params);
constexpr i32 CHUNKS = shape::chunks(params), PAIRS = shape::tap_pairs(params);
static_assert(WORKGROUP == shape::threads(params), "the launch is that of the params");
static_assert(GRID == shape::workgroups(params), "the launch is that of the params");
static_assert(TAPS_X <= shape::kMostTaps, "results and their windows are 16 columns");
static_assert(ROWS % 2 == 0 && COLUMNS % 8 == 0, "products are of two rows and eight columns");

// Where a tile lies.
struct Tile {
  i32 number, image, y, x;
  __device__ __forceinline__ explicit Tile(i32 number)
      : number(number),
        image(u32(number) / (TILES_Y * TILES_X)),
        y(u32(number) / TILES_X % TILES_Y * ROWS),
        x(u32(number) % TILES_X * COLUMNS) {}
  // Whether it is one: the last workgroup may have fewer parts.
  __device__ __forceinline__ bool exists() const { return TILES % PARTS == 0 || number < TILES; }
};

// Loads words where a condition holds. Others stay as they are.
template <i32 WORDS> TCC_FN void load_where(u32* to, const u16* from, bool where) {
#define LOAD(vector, registers) "{\n\t.reg .pred q;\n\tsetp.ne.u32 q, %" registers ", 0;\n\t@q ld.global.nc" vector ";\n\t}"
  if constexpr (WORDS == 4)
    asm volatile(LOAD(".v4.u32 {%0, %1, %2, %3}, [%4]", "5")
                 : "+r"(to[0]), "+r"(to[1]), "+r"(to[2]), "+r"(to[3]) : "l"(from), "r"(u32(where)));
  else if constexpr (WORDS == 2)
    asm volatile(LOAD(".v2.u32 {%0, %1}, [%2]", "3") : "+r"(to[0]), "+r"(to[1]) : "l"(from), "r"(u32(where)));
  else
    asm volatile(LOAD(".u32 %0, [%1]", "2") : "+r"(to[0]) : "l"(from), "r"(u32(where)));
#undef LOAD
}
TCC_FN u32 load_element_where(const u16* from, bool where) {
  u16 element = 0;
  asm volatile("{\n\t.reg .pred q;\n\tsetp.ne.u32 q, %2, 0;\n\t@q ld.global.nc.u16 %0, [%1];\n\t}"
               : "+h"(element) : "l"(from), "r"(u32(where)));
  return element;
}

// Eight neighbouring channels of a pixel, as many as there are; zeros beyond the image, and where they are not asked for.
struct Pixel {
  u32 words[4];
};
TCC_FN Pixel load_pixel(const u16* image, i32 number, i32 y, i32 x, i32 channel, bool where) {
  Pixel pixel{};
  where = where && u32(y) < u32(params.y.in) && u32(x) < u32(params.x.in);
  const u16* const at = image + (params.image.offset + i64(number) * params.image.outer) +
                        (i64(y) * params.image.y + i64(x) * params.image.x + channel);
  constexpr i32 VECTOR = params.vector;
#pragma unroll
  for (i32 i = 0; i < GROUP; i += VECTOR) {
    const bool inside = where && (CHANNELS % GROUP == 0 || channel + i < CHANNELS);
    if constexpr (VECTOR == 1) {
      pixel.words[i / 2] |= load_element_where(at + i, inside) << (i % 2 * 16);
    } else {
      load_where<VECTOR / 2>(pixel.words + i / 2, at + i, inside);
    }
  }
  return pixel;
}
TCC_FN i64 filter_at(i32 channel, i32 r, i32 s) {
  return params.filter.offset + i64(channel) * params.filter.channel + i64(r) * params.filter.y + i64(s) * params.filter.x;
}
TCC_FN f32 as_f32(u32 bits) { return ELEMENT == Element::bf16 ? tcc_bits_f32(bits << 16) : TCC_F16_TO_F32(bits); }

TCC_FN void store_f32(u32 shared, f32 value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(shared), "f"(value) : "memory");
}

// ptxas keeps the words of two such loads apart, also where they are the same: matrices that share words would be moved
// together before each product.
TCC_FN u32 load_apart(u32 shared) {
  u32 word;
  asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(word) : "r"(shared) : "memory");
  return word;
}

// The threads share out lines of ITEMS: each has one item of some lines, or several of all.
template <i32 ITEMS> struct Share {
  static constexpr i32 LINES = shape::lines_at_once(params, ITEMS), PIECES = shape::pieces(params, ITEMS);
  i32 item, line;
  bool exists;
  __device__ __forceinline__ Share(u32 thread, u32 piece)
      : item(PIECES > 1 ? piece * THREADS + thread : thread % ITEMS),
        line(PIECES > 1 ? 0 : thread / ITEMS),
        exists(PIECES > 1 ? item < ITEMS : line < LINES) {}
};

// Brings the pixels under the windows of the tiles: a thread turns two neighbouring pixels of eight channels at a time.
TCC_FN void stage_pixels(unsigned char* memory, const u16* image, i32 first_tile, i32 first_channel, i32 thread) {
  constexpr i32 LINE = LINE_BYTES / 4, LINES = 2 * STEPS, ALL = PARTS * LINES;
  using Own = Share<LINE * GROUPS>;
  constexpr i32 AT_ONCE = shape::lines_in_flight(params, ALL, LINE * GROUPS);
#pragma unroll
  for (i32 piece = 0; piece < Own::PIECES; ++piece) {
    const Own own(thread, piece);
    const i32 group = own.item % GROUPS, column = own.item / GROUPS * 2, channel = first_channel + group * GROUP;
    unsigned char* const to = memory + group * GROUP_BYTES + LINES_AT + column * 2;
    if (!own.exists) continue;
#pragma unroll 1
    for (i32 first = own.line; first < ALL; first += Own::LINES * AT_ONCE) {
      Pixel pixels[AT_ONCE][2];
#pragma unroll
      for (i32 i = 0; i < AT_ONCE; ++i) {
        const i32 number = first + i * Own::LINES, part = PARTS == 1 ? 0 : u32(number) / LINES, line = number - part * LINES;
        const Tile tile(first_tile + part);
        const bool is_needed = channel < CHANNELS && tile.exists() && number < ALL && line < ROWS + TAPS_Y - 1;
#pragma unroll
        for (i32 v = 0; v < 2; ++v)
          pixels[i][v] = load_pixel(image, tile.image, tile.y - i32(params.y.before) + line,
                                    tile.x - i32(params.x.before) + column + v, channel,
                                    is_needed && column + v < COLUMNS + TAPS_X - 1);
      }
#pragma unroll
      for (i32 i = 0; i < AT_ONCE; ++i) {
        const i32 number = first + i * Own::LINES, part = PARTS == 1 ? 0 : u32(number) / LINES, line = number - part * LINES;
        if (number >= ALL) break;
#pragma unroll
        for (i32 c = 0; c < GROUP; ++c)
          *(u32*)(to + part * TILE_BYTES + line * LINE_BYTES + c * CHANNEL_BYTES) =
              __byte_perm(pixels[i][0].words[c / 2], pixels[i][1].words[c / 2], c % 2 == 0 ? 0x5410 : 0x7632);
      }
    }
  }
}

// A row of a channel's filter.
struct FilterRow {
  static constexpr i32 BLOCK = params.block_channels, ALL = BLOCK * TAPS_Y;
  static constexpr bool CHANNELS_FIRST = params.filter.channel == 1;  // neighbouring lanes load neighbours
  i32 own, r;
  u32 taps[TAPS_X];

  __device__ __forceinline__ FilterRow(const u16* filter, i32 first_channel, u32 number)
      : own(CHANNELS_FIRST ? number % BLOCK : number / TAPS_Y), r(CHANNELS_FIRST ? number / BLOCK : number % TAPS_Y) {
#pragma unroll
    for (i32 s = 0; s < TAPS_X; ++s)
      taps[s] = load_element_where(filter + filter_at(first_channel + own, r, s),
                                   number < ALL && first_channel + own < CHANNELS);
  }
  __device__ __forceinline__ void store(u32* pairs) const {
    if (own >= BLOCK || r >= TAPS_Y) return;
#pragma unroll
    for (i32 pair = 0; pair < PAIRS; ++pair)
      pairs[(own * TAPS_Y + r) * PAIRS + pair] = (pair >= 1 && pair <= TAPS_X ? taps[pair - 1] : 0) |
                                                 (pair < TAPS_X ? taps[pair] << 16 : 0);
  }
};

// The sums of the strips of TOGETHER tiles of a channel. `pairs` are its taps.
TCC_FN void convolve(u32 channel_at, u32 pairs, i32 first_part, i32 lane) {
  // Word k of row j of a band has taps k - j and k - j + 1.
  const i32 j = lane / 4, in_group = lane % 4;
  const auto pair_of = [](i32 tap) { return tap >= -1 && tap < TAPS_X ? tap + 1 : TAPS_X + 1; };
  const i32 low = pair_of(in_group * 2 - j), high = pair_of(in_group * 2 + 8 - j);
  // Matrices of the filter: row r makes the upper row of results, r - 1 the one below.
  constexpr i32 NOTHING = TAPS_X + 1;
  u32 bands[2 * LIVE][4];
#pragma unroll
  for (i32 r = 0; r < 2 * LIVE; ++r)
#pragma unroll
    for (i32 i = 0; i < 4; ++i) {
      const i32 row = r - i % 2;
      const bool is_row = row >= 0 && row < TAPS_Y;
      bands[r][i] = load_apart(pairs + ((is_row ? row : 0) * PAIRS + (!is_row ? NOTHING : i < 2 ? low : high)) * 4);
    }
  // Strips whose sums a lane holds are neighbours.
  const auto strip_at = [&](i32 n, i32 block_bytes) {
    const i32 strip = n / 2 + n % 2 * 4, part = first_part + strip / BLOCKS;
    if (strip >= TOGETHER * BLOCKS || part >= PARTS) return -1;
    return part * TILE_BYTES + strip % BLOCKS * block_bytes;
  };
  const i32 strip = strip_at(lane % 8, 16);
  const u32 lines = channel_at + LINES_AT + (strip < 0 ? 0 : strip) + lane / 8 % 2 * 16 +
                    lane / 16 * LINE_BYTES;
  const i32 even = strip_at(in_group * 2, 32), odd = strip_at(in_group * 2 + 1, 32);
  const u32 even_at = channel_at + j * 4 + (even < 0 ? 0 : even), odd_at = channel_at + j * 4 + (odd < 0 ? 0 : odd);
  f32 acc[LIVE][4];
  u32 pairs_of_rows[2][2][2];  // of this step and the next one
  const auto load_rows = [&](i32 step) {
    u32(&rows)[2][2] = pairs_of_rows[step % 2];
    load_matrices<false>(lines + step * 2 * LINE_BYTES, rows[0][0], rows[0][1], rows[1][0], rows[1][1]);
  };
  load_rows(0);
#pragma unroll
  for (i32 step = 0; step < STEPS; ++step) {
    if (step + 1 < STEPS) load_rows(step + 1);
    const u32(&pixels)[2][2] = pairs_of_rows[step % 2];
#pragma unroll
    for (i32 row = 0; row < 2; ++row)
#pragma unroll
      for (i32 back = 0; back < LIVE; ++back) {
        const i32 pair = step - back;  // of rows of results
        if (pair < 0 || pair >= ROWS / 2) continue;
        f32(&sums)[4] = acc[pair % LIVE];
        if (row == 0 && back == 0) sums[0] = sums[1] = sums[2] = sums[3] = 0.0f;
        const i32 r = 2 * back + row;  // the row of the filter that makes the upper row of results
        if (r > TAPS_Y) continue;
        mma<ELEMENT, ELEMENT>(sums, bands[r], pixels[row]);
      }
    const i32 done = step - LIVE + 1;
    if (done < 0) continue;
    __syncwarp();
    const f32(&sums)[4] = acc[done % LIVE];
#pragma unroll
    for (i32 row = 0; row < 2; ++row) {
      const i32 line = (done * 2 + row) * SUMS_LINE;
      if (even >= 0) store_f32(even_at + line, sums[row * 2]);
      if (odd >= 0) store_f32(odd_at + line, sums[row * 2 + 1]);
    }
  }
}

// The sums of eight channels of a result, of its window alone.
TCC_FN void sum_exactly(f32 (&acc)[8], const u16* image, const u16* filter, i32 number, i32 y, i32 x, i32 channel) {
#pragma unroll
  for (i32 c = 0; c < GROUP; ++c) acc[c] = 0.0f;
#pragma unroll 1
  for (i32 r = 0; r < TAPS_Y; ++r)
#pragma unroll 1
    for (i32 s = 0; s < TAPS_X; ++s) {
      const Pixel pixel = load_pixel(image, number, y - i32(params.y.before) + r, x - i32(params.x.before) + s, channel, true);
#pragma unroll
      for (i32 c = 0; c < GROUP; ++c) {
        if (CHANNELS % GROUP != 0 && channel + c >= CHANNELS) break;
        const f32 tap = as_f32(filter[filter_at(channel + c, r, s)]);
        acc[c] = tcc_fma_f32(as_f32(pixel.words[c / 2] >> (c % 2 * 16) & 0xffffu), tap, acc[c]);
      }
    }
}

TCC_ENTRY {
  TCC_BEGIN
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  const i32 thread = i32(TCC_THREAD), warp = thread / 32, lane = thread % 32, block = i32(TCC_BLOCK);
  const u16* const image = (const u16*)buffer_at<params.image.buffer>(TCC_BUFFERS nullptr);
  const u16* const filter = (const u16*)buffer_at<params.filter.buffer>(TCC_BUFFERS nullptr);
  if (block >= GRID) return;
  const i32 first_channel = block % CHUNKS * i32(params.block_channels), first_tile = block / CHUNKS * PARTS;
  // Both wait for memory at the same time.
  u32* const pairs = (u32*)(shared_bytes + FILTER_AT);
  const FilterRow row(filter, first_channel, thread);
  stage_pixels(shared_bytes, image, first_tile, first_channel, thread);
  row.store(pairs);
  for (i32 number = thread + THREADS; number < FilterRow::ALL; number += THREADS)
    FilterRow(filter, first_channel, number).store(pairs);
  __syncthreads();

#pragma unroll 1
  for (i32 job = warp; job < JOBS; job += i32(params.warps)) {
    const i32 channel = job / TURNS, turn = job % TURNS;
    if (first_channel + channel < CHANNELS)
      convolve(tcc_cuda_shared(shared_bytes) + channel / GROUP * GROUP_BYTES + channel % GROUP * CHANNEL_BYTES,
               tcc_cuda_shared(shared_bytes) + FILTER_AT + channel * TAPS_Y * PAIRS * 4, turn * TOGETHER, lane);
  }
  __syncthreads();

  // Neighbouring lanes have neighbouring groups of channels. Loads of several results are under way at once.
  constexpr i32 WIDTH = least(COLUMNS, params.x.out), ALL = PARTS * ROWS, AT_ONCE = 2;
  using Own = Share<WIDTH * GROUPS>;
#pragma unroll
  for (i32 piece = 0; piece < Own::PIECES; ++piece) {
    const Own own(thread, piece);
    const i32 group = own.item % GROUPS, column = own.item / GROUPS, channel = first_channel + group * GROUP;
    if (!own.exists || channel >= CHANNELS) continue;
#pragma unroll 1
    for (i32 first = own.line; first < ALL; first += Own::LINES * AT_ONCE) {
      struct {
        i32 image, y, x;
        bool exists;
        f32 acc[8], finite;  // not 0 where a sum is not finite
      } results[AT_ONCE];
#pragma unroll
      for (i32 i = 0; i < AT_ONCE; ++i) {
        auto& result = results[i];
        const i32 number = first + i * Own::LINES;
        const bool is_line = ALL % (Own::LINES * AT_ONCE) == 0 || number < ALL;
        const i32 line = is_line ? number : first, part = PARTS == 1 ? 0 : u32(line) / ROWS, row = line - part * ROWS;
        const Tile tile(first_tile + part);
        result.image = tile.image;
        result.y = tile.y + row;
        result.x = tile.x + column;
        result.exists = is_line && tile.exists() && (params.y.out % ROWS == 0 || result.y < i32(params.y.out)) &&
                        (params.x.out % WIDTH == 0 || result.x < i32(params.x.out));
        result.finite = 0.0f;
        const unsigned char* const at =
            shared_bytes + group * GROUP_BYTES + part * TILE_BYTES + row * SUMS_LINE + column * 4;
#pragma unroll
        for (i32 c = 0; c < GROUP; ++c) {
          result.acc[c] = *(const f32*)(at + c * CHANNEL_BYTES);
          if (CHANNELS % GROUP == 0 || channel + c < CHANNELS) result.finite = tcc_fma_f32(result.acc[c], 0.0f, result.finite);
        }
      }
#pragma unroll
      for (i32 i = 0; i < AT_ONCE; ++i) {
        auto& result = results[i];
        if (!(result.finite == 0.0f) && result.exists)
          sum_exactly(result.acc, image, filter, result.image, result.y, result.x, channel);
      }
#pragma unroll
      for (i32 i = 0; i < AT_ONCE; ++i) {
        const auto& result = results[i];
        if (result.exists) epilogue(TCC_BUFFERS result.image, result.y, result.x, channel / GROUP, result.acc);
      }
    }
  }
}
