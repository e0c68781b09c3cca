// The arithmetic of gemm_coopmat: what a config needs and how it divides a product. The template
// includes this file; the device source, which is GLSL, gets the members of both structs.
#pragma once

#include "backends/device/common/coopmat_rows.h"

namespace tcc::kernels {

// Parameters of the kernel. A workgroup computes a tile of block_m x block_n, and each of its
// subgroups_m x subgroups_n subgroups a part of it, by matrices of unit_m x unit_n x unit_k.
struct GemmCoopmat {
  Product product;
  Int taps = 0;  // of the image under windows that an operand is; 0: none is
  Int block_m = 128, block_n = 128, block_k = 32;
  Int subgroups_m = 2, subgroups_n = 2;
  Int subgroup = 32;  // threads
  Int unit_m = 16, unit_n = 16, unit_k = 16;
  Sum unit_sum = Sum::f32;
  Int stages = 2;  // tiles of k in shared memory
  Int paired = 0;  // 1: two tiles of k of one operand come in a turn of the main loop
  Int direct = 0;  // operands that go from memory to registers: 1: B, 2: both
  Int slices = 1;  // groups of subgroups that share the k of a tile
  Int band = 1;    // rows of tiles that are walked together
  // Words that a segment's epilogue gets, loaded ahead: what all rows share, and the others.
  Int held_columns = 0, held = 0;

  template <class Visitor>
  constexpr void each_field(Visitor&& visit) const {
    visit("product", product);
    visit("taps", taps);
    visit("block_m", block_m);
    visit("block_n", block_n);
    visit("block_k", block_k);
    visit("subgroups_m", subgroups_m);
    visit("subgroups_n", subgroups_n);
    visit("subgroup", subgroup);
    visit("unit_m", unit_m);
    visit("unit_n", unit_n);
    visit("unit_k", unit_k);
    visit("unit_sum", unit_sum);
    visit("stages", stages);
    visit("paired", paired);
    visit("direct", direct);
    visit("slices", slices);
    visit("band", band);
    visit("held_columns", held_columns);
    visit("held", held);
  }
};

// A tile of an operand in shared memory: its columns are neighbours in memory.
struct CoopmatTile {
  Int rows = 0, columns = 0;
  Int pitch = 0, words = 0;  // of a row, and of the tile, in words of shared memory

  template <class Visitor>
  constexpr void each_field(Visitor&& visit) const {
    visit("rows", rows);
    visit("columns", columns);
    visit("pitch", pitch);
    visit("words", words);
  }
};

// Sizes that follow from a config.
struct GemmCoopmatSizes {
  Int subgroup_m = 0, subgroup_n = 0;  // a subgroup's part of the tile
  Int slice_threads = 0;
  Int turn_k = 0;                 // elements of k in a turn of the main loop
  Int word_bytes = 0, words = 0;  // shared memory
  CoopmatTile a, b;
  // 1: where B is direct, a pointer passes along the operand's lines, all of which are whole
  // tiles'.
  Int straight_a = 0, straight_b = 0;
  // Sums on their way to the epilogue: lines of a subgroup that are there at once, their elements,
  // and in words the pitch of lines and the place of all of them.
  Int lines = 0, line = 0, line_pitch = 0, slab = 0;
  Int steps = 0;  // of a thread, a segment each, that pass such lines to the epilogue

  template <class Visitor>
  constexpr void each_field(Visitor&& visit) const {
    visit("subgroup_m", subgroup_m);
    visit("subgroup_n", subgroup_n);
    visit("slice_threads", slice_threads);
    visit("turn_k", turn_k);
    visit("word_bytes", word_bytes);
    visit("words", words);
    visit("a", a);
    visit("b", b);
    visit("straight_a", straight_a);
    visit("straight_b", straight_b);
    visit("lines", lines);
    visit("line", line);
    visit("line_pitch", line_pitch);
    visit("slab", slab);
    visit("steps", steps);
  }
};

namespace coopmat {

constexpr Int subgroups(const GemmCoopmat& g) { return g.subgroups_m * g.subgroups_n; }
constexpr Int slice_threads(const GemmCoopmat& g) { return g.subgroup * subgroups(g); }
constexpr Int threads(const GemmCoopmat& g) { return g.slices * slice_threads(g); }

// ---- tiles

constexpr Int element_bytes(const GemmCoopmat& g) { return bytes_of(g.product.a.element); }
constexpr Int k_tiles(const GemmCoopmat& g) { return ceil_div(g.product.k, g.block_k); }
// Elements of k in a turn of the main loop.
constexpr Int turn_k(const GemmCoopmat& g) { return (g.block_k << g.paired) * g.slices; }
constexpr Int tiles_m(const GemmCoopmat& g) { return ceil_div(g.product.m, g.block_m); }
constexpr Int tiles_n(const GemmCoopmat& g) { return ceil_div(g.product.n, g.block_n); }
constexpr Int tiles(const GemmCoopmat& g) { return g.product.batches * tiles_m(g) * tiles_n(g); }
constexpr Int subgroup_m(const GemmCoopmat& g) { return g.block_m / g.subgroups_m; }
constexpr Int subgroup_n(const GemmCoopmat& g) { return g.block_n / g.subgroups_n; }
// A line of a subgroup's results: neighbours for the epilogue.
constexpr Int result_line(const GemmCoopmat& g) {
  return g.product.swapped ? subgroup_m(g) : subgroup_n(g);
}

// ---- shared memory: the stages, or in their place the sums that pass to the epilogue

// The bytes of a unit's line in shared memory, which the array's words divide.
constexpr Int line_bytes(const GemmCoopmat& g, const Operand& x, Int side) {
  return (x.major_k ? g.unit_k : side) * element_bytes(g);
}
constexpr bool has_lines_of(const GemmCoopmat& g, Int bytes) {
  return line_bytes(g, g.product.a, g.unit_m) % bytes == 0 &&
         line_bytes(g, g.product.b, g.unit_n) % bytes == 0;
}
constexpr Int word_bytes(const GemmCoopmat& g) { return has_lines_of(g, 16) ? 16 : 8; }
constexpr Int kDirectK = 32;  // elements of k that subgroups load of a direct operand at once
constexpr CoopmatTile tile(const GemmCoopmat& g, const Operand& x, Int block) {
  CoopmatTile tile;
  tile.rows = x.major_k ? block : g.block_k;
  tile.columns = x.major_k ? g.block_k : block;
  if (g.direct) {
    // Beside a direct operand, a matrix's rows and 64 bytes of k have 64 words, in the order in
    // which threads hold them, and where a tile has more along k, others of another bank.
    tile.pitch = g.block_k == kDirectK ? 64 : 68;
    tile.words = ceil_div(tile.rows, g.unit_m) * ceil_div(tile.columns, kDirectK) * tile.pitch;
    return tile;
  }
  tile.pitch = chunks_of_elements(tile.columns, element_bytes(g)) * (kChunkBytes / word_bytes(g));
  tile.words = tile.rows * tile.pitch;
  return tile;
}
constexpr bool is_straight(const GemmCoopmat& g, const Operand& x, Int size, Int block) {
  return g.direct > 0 && x.load == Load::tiles && size > 0 && size % block == 0 &&
         g.product.k > 0 && g.product.k % turn_k(g) == 0;
}
// Threads that bring A's chunks in pairs have the same rows and chunks of each of their pieces.
constexpr bool has_even_pairs(const GemmCoopmat& g) {
  const Int row = g.block_k * element_bytes(g) / kChunkBytes;
  return slice_threads(g) % (8 * row) == 0 && g.block_m / 2 * row % slice_threads(g) == 0;
}
constexpr GemmCoopmatSizes sizes(const GemmCoopmat& g) {
  GemmCoopmatSizes s;
  s.subgroup_m = subgroup_m(g);
  s.subgroup_n = subgroup_n(g);
  s.slice_threads = slice_threads(g);
  s.turn_k = turn_k(g);
  s.word_bytes = word_bytes(g);
  s.a = tile(g, g.product.a, g.block_m);
  s.b = tile(g, g.product.b, g.block_n);
  s.straight_a =
      is_straight(g, g.product.a, g.product.m, g.block_m) && (g.direct == 2 || has_even_pairs(g));
  s.straight_b = is_straight(g, g.product.b, g.product.n, g.block_n);
  // A subgroup stages the lines of one row of its units, or where swapped of one column.
  s.lines = g.product.swapped ? g.unit_n : g.unit_m;
  s.line = result_line(g);
  // Four threads store the pairs of a row where fragments lie as mma.sync's: rows are two chunks
  // apart modulo the banks. Where swapped, a pair is of two lines, and one chunk does.
  s.line_pitch =
      (chunks_of_sums(s.line) + (g.product.swapped ? 0 : 1)) * (kChunkBytes / s.word_bytes);
  s.slab = s.lines * s.line_pitch;
  s.steps = ceil_div(s.lines * s.line / g.product.segment, g.subgroup * g.slices);
  // Paired tiles are two of A and one of B.
  const Int tiles = g.direct == 2   ? 0
                    : g.direct == 1 ? g.stages * s.a.words
                    : g.paired      ? 2 * s.a.words + s.b.words
                                    : g.stages * (s.a.words + s.b.words);
  s.words = g.slices * most(tiles, subgroups(g) * s.slab);
  return s;
}
constexpr Int shared_bytes(const GemmCoopmat& g) { return sizes(g).words * word_bytes(g); }

// ---- registers

// 32-bit registers of a thread: accumulators, fragments of a k step, the tiles on their way, and
// addresses.
constexpr Int registers(const GemmCoopmat& g) {
  // Compilers load what comes next before they multiply what is there. Measured with NVIDIA's.
  if (g.direct) {
    const Int sums = subgroup_m(g) * subgroup_n(g) / g.subgroup;
    const auto coming = [&](Int lines) {
      return lines * g.block_k * element_bytes(g) / 4 / g.subgroup;
    };
    if (g.direct == 2) {
      const Int both = coming(subgroup_m(g) + subgroup_n(g));
      return sums + both + 24;
    }
    return sums + coming(subgroup_n(g)) + subgroup_m(g) * kDirectK / 2 / g.subgroup +
           g.block_m * g.block_k / 2 / slice_threads(g) + 8;
  }
  // Paired, of the operand that comes, and half of the other's, which is held.
  const Int coming = (g.paired ? 2 * most(g.block_m, g.block_n) + least(g.block_m, g.block_n)
                               : g.block_m + g.block_n) *
                     g.block_k * element_bytes(g) / 4;
  return subgroup_m(g) * subgroup_n(g) / g.subgroup +
         (subgroup_m(g) + g.unit_n) * g.unit_k * element_bytes(g) / 4 / g.subgroup +
         coming / slice_threads(g) + 58;
}

// Those for matrices whose lines in shared memory are not along k, where units do not turn them on
// their way: each element is a load of its own, and those of a tile come at once.
constexpr Int turned_registers(const GemmCoopmat& g) {
  return (g.product.a.major_k ? 0 : subgroup_m(g) / g.unit_m * g.block_k) +
         (g.product.b.major_k ? 0 : subgroup_n(g) / g.unit_n * g.block_k);
}

// ---- what is legal

constexpr bool legal_subgroups(const GemmCoopmat& g) {
  return g.block_m % (g.unit_m * g.subgroups_m) == 0 && g.block_n % (g.unit_n * g.subgroups_n) == 0;
}
// A tile's rows are whole chunks, and whole vectors of the load hooks.
constexpr bool legal_rows(const GemmCoopmat& g, const Operand& x, Int block) {
  const Int piece = most(16 / element_bytes(g), x.load == Load::computed ? x.vector : 1);
  return (x.major_k ? g.block_k : block) % piece == 0;
}
constexpr bool legal_tiles(const GemmCoopmat& g) {
  return g.block_k % g.unit_k == 0 && has_lines_of(g, 8) && legal_rows(g, g.product.a, g.block_m) &&
         legal_rows(g, g.product.b, g.block_n);
}
// Eight threads bring the whole line of 128 bytes that a row has in two tiles, and four of them
// rows that are neighbours but for one bank.
constexpr bool legal_pair(const GemmCoopmat& g) {
  const auto legal = [&](const Operand& x, Int block) {
    return x.load != Load::computed && x.major_k && block % (threads(g) / 4) == 0;
  };
  return !g.paired ||
         (g.stages == 1 && g.slices == 1 && g.block_k * element_bytes(g) == 64 &&
          threads(g) % 32 == 0 && legal(g.product.a, g.block_m) && legal(g.product.b, g.block_n));
}
// Subgroups load whole chunks of a direct operand, four along k of each of a matrix's rows, which
// are two matrices of 16 bits. Threads bring the other's chunks in pairs, of rows eight apart.
constexpr bool legal_direct(const GemmCoopmat& g) {
  const auto legal = [&](const Operand& x) {
    return x.load != Load::computed && x.major_k && x.vector * element_bytes(g) == kChunkBytes;
  };
  const bool legal_a = g.direct == 2 ? legal(g.product.a) : g.product.a.major_k;
  return g.direct == 0 ||
         (!g.paired && (g.direct == 1 || g.stages == 1) && g.subgroup == 32 && g.unit_m == 16 &&
          g.unit_n == 16 && g.unit_k == 16 && element_bytes(g) == 2 && g.block_k % kDirectK == 0 &&
          legal_a && legal(g.product.b));
}
// The products of a subgroup in a turn of the main loop, and the elements that a thread brings for
// them: all of them are unrolled.
constexpr Int turn_products(const GemmCoopmat& g) {
  return subgroup_m(g) / g.unit_m * (subgroup_n(g) / g.unit_n) * (g.block_k / g.unit_k) *
         (g.stages + g.paired);
}
constexpr Int turn_elements(const GemmCoopmat& g) {
  return (g.block_m + g.block_n) * g.block_k * (g.stages + g.paired) / slice_threads(g);
}
constexpr bool legal_length(const GemmCoopmat& g) { return turn_products(g) <= 128; }
constexpr bool legal_slices(const GemmCoopmat& g) { return g.slices <= k_tiles(g); }
// A thread's segments are of the same columns.
constexpr bool shares_columns(const GemmCoopmat& g) {
  return g.subgroup * g.slices % (result_line(g) / g.product.segment) == 0;
}
// The lines of results that a subgroup stages are whole segments of the epilogue.
constexpr bool legal_lines(const GemmCoopmat& g) {
  return result_line(g) % g.product.segment == 0 && result_line(g) % 4 == 0;
}

}  // namespace coopmat
}  // namespace tcc::kernels
