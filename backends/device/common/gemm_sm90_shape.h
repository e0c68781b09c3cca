// The arithmetic of gemm_sm90: what a config needs and how it divides a product. The template and
// the device source share this file (see matrix.h).
#pragma once

#include "backends/device/common/matrix.h"

namespace tcc::kernels {

// Parameters of the kernel. Tiles of block_m x block_n are multiplied by `groups` warpgroups. A
// cluster has cluster_m x cluster_n neighbouring tiles and loads their common rows and columns
// once, or its split_k workgroups share the k of one tile.
struct GemmSm90 {
  Product product;
  Image image;  // of the operand that is loaded by im2col
  Int block_m = 128, block_n = 128;
  Int groups = 2;
  bool pingpong = false;  // each of two groups has tiles of its own
  Int cluster_m = 1, cluster_n = 1, split_k = 1;
  Int band = 1;           // rows of clusters that are walked together
  Int stages = 2;         // tiles of k in shared memory
  Int clusters = 1;       // clusters of the launch
  bool promoted = false;  // f32 registers add up the unit's sums of f8, one k tile at a time
  Residual residual, residual_2;          // that the epilogue reads from shared memory
  Int strips = 0;                         // parts of them in shared memory, of each group
  bool fixed_a = false, fixed_b = false;  // no kernel writes the operand
  Int fold = 0;  // of f32: k tiles whose sums are added up before they join the total; 0: all

  template <class Visitor>
  constexpr void each_field(Visitor&& visit) const {
    visit("product", product);
    visit("image", image);
    visit("block_m", block_m);
    visit("block_n", block_n);
    visit("groups", groups);
    visit("pingpong", pingpong);
    visit("cluster_m", cluster_m);
    visit("cluster_n", cluster_n);
    visit("split_k", split_k);
    visit("band", band);
    visit("stages", stages);
    visit("clusters", clusters);
    visit("promoted", promoted);
    visit("residual", residual);
    visit("residual_2", residual_2);
    visit("strips", strips);
    visit("fixed_a", fixed_a);
    visit("fixed_b", fixed_b);
    visit("fold", fold);
  }
};

namespace sm90 {

constexpr Int kLineBytes = 128;     // a tile has so many bytes of k: a row of the swizzle
constexpr Int kGroupThreads = 128;  // a warpgroup
constexpr Int kMostStages = 12;
// Stages beside strips of residuals: so many bytes, or so many of few k tiles.
constexpr Int kEnoughBytes = 144 * 1024, kEnoughStages = 4;
constexpr Int kBarrierBytes = 8;
constexpr Int kTileAlignment = 1024;  // the swizzle repeats after so many bytes
constexpr Int kEight = 8;             // its rows, and those of the parts of a fragment
// One warpgroup's accumulators of 64 rows and 8 columns: 16 bytes of each lane of a warp.
constexpr Int kFragmentBytes = 512;

constexpr bool by_threads(const GemmSm90& g) {
  return !is_copied(g.product.a.load) || !is_copied(g.product.b.load);
}
// Whether copies of A, or of B, begin while the launch before runs: those of an operand that no
// kernel writes, beside one that must be waited for. Rows are read as soon as they are set up, and
// wait for that launch.
constexpr bool begins_early(const GemmSm90& g) {
  const Operand &fixed = g.fixed_a ? g.product.a : g.product.b,
                &other = g.fixed_a ? g.product.b : g.product.a;
  return g.fixed_a != g.fixed_b && is_copied(fixed.load) && other.load != Load::rows;
}
constexpr Int threads(const GemmSm90& g) { return kGroupThreads * (1 + g.groups); }
constexpr Int cluster(const GemmSm90& g) { return g.cluster_m * g.cluster_n * g.split_k; }

// Whether FMA units multiply f32 as it is.
constexpr bool is_f32(const GemmSm90& g) { return g.product.a.element == Element::f32; }

// ---- tiles

constexpr Int block_k(const GemmSm90& g) { return kLineBytes / bytes_of(g.product.a.element); }

// An image has channels of a piece, and pieces under each tap, of all of k, and of a tile.
constexpr bool has_image(const GemmSm90& g) { return g.image.spatial > 0; }
constexpr Int taps(const Image& i) { return i.x.taps * i.y.taps * i.z.taps; }
constexpr Int piece_k(const GemmSm90& g) { return g.image.piece / bytes_of(g.product.a.element); }
constexpr Int tap_pieces(const GemmSm90& g) { return ceil_div(g.image.channels, piece_k(g)); }
constexpr Int all_pieces(const GemmSm90& g) { return taps(g.image) * tap_pieces(g); }
constexpr Int tile_pieces(const GemmSm90& g) { return kLineBytes / g.image.piece; }
// Taps end inside of pieces. The other operand comes by pieces, too, then, with zeros at their
// ends.
constexpr bool is_ragged(const GemmSm90& g) {
  return has_image(g) && g.image.channels % piece_k(g) != 0;
}
constexpr bool in_pieces(const GemmSm90& g, const Operand& x) {
  return x.load == Load::im2col || (is_ragged(g) && x.load == Load::tiles);
}

constexpr Int k_tiles(const GemmSm90& g) {
  return has_image(g) ? ceil_div(all_pieces(g), tile_pieces(g)) : ceil_div(g.product.k, block_k(g));
}
// Pieces of the last k tile, and steps of 32 bytes, each a product of the matrix unit.
constexpr Int last_pieces(const GemmSm90& g) {
  return all_pieces(g) - (k_tiles(g) - 1) * tile_pieces(g);
}
constexpr Int kStepBytes = 32, kSteps = kLineBytes / kStepBytes;
constexpr Int last_steps(const GemmSm90& g) {
  return has_image(g) ? last_pieces(g) * g.image.piece / kStepBytes : kSteps;
}
// Bytes of a row of an operand's tile that follow each other in shared memory. Where they are fewer
// than a line's, all rows' next bytes follow those of all rows.
constexpr Int row_bytes(const GemmSm90& g, const Operand& x) {
  return in_pieces(g, x) && x.major_k ? g.image.piece : kLineBytes;
}
// The high half of the descriptor of a tile: the kind of swizzle, and the distance of eight rows.
constexpr unsigned descriptor_high(Int row_bytes) {
  return unsigned(row_bytes == 128 ? 1 : row_bytes == 64 ? 2 : 3) << 30 | unsigned(row_bytes / 2);
}
// Rows, columns and number of clusters' worth of tiles.
constexpr Int tiles_m(const GemmSm90& g) { return ceil_div(g.product.m, g.block_m * g.cluster_m); }
constexpr Int tiles_n(const GemmSm90& g) { return ceil_div(g.product.n, g.block_n * g.cluster_n); }
constexpr Int tiles(const GemmSm90& g) { return g.product.batches * tiles_m(g) * tiles_n(g); }

constexpr Int a_bytes(const GemmSm90& g) { return g.block_m * kLineBytes; }
// Rows of a tile whose elements of one k are a line, where neighbours are along the rows.
constexpr Int line_rows(const Operand& x) { return kLineBytes / bytes_of(x.element); }
constexpr Int b_bytes(const GemmSm90& g) {
  return (g.product.b.major_k ? g.block_n : round_up(g.block_n, line_rows(g.product.b))) *
         kLineBytes;
}
constexpr Int stage_bytes(const GemmSm90& g) { return a_bytes(g) + b_bytes(g); }

// Rows of a tile that TMA loads, of which each of `share` workgroups loads a slice. Rows far
// outside of the only tile are not loaded: TMA takes longer to fill them with zeros than to load
// elements, and what shared memory has there reaches no result. A clipped box of a tensor map has
// as many (exec::box_side).
constexpr Int rows_loaded(const Operand& x, Int size, Int block, Int share) {
  return !x.major_k     ? round_up(least(size, block), line_rows(x))
         : size < block ? round_up(ceil_div(size, share), kEight) * share
                        : block;
}
// Whether the rows that TMA loads follow from a size that comes at run time: so do the boxes of the
// tensor map then, unless workgroups load slices.
constexpr bool clips_rows(const GemmSm90& g, const Operand& x, bool open, Int share) {
  return open && share == 1 && x.load == Load::tiles && !in_pieces(g, x);
}
constexpr bool clips_a(const GemmSm90& g) {
  return clips_rows(g, g.product.a, g.product.open.m, g.cluster_n);
}
constexpr bool clips_b(const GemmSm90& g) {
  return clips_rows(g, g.product.b, g.product.open.n, g.cluster_m);
}
// Rows of a tile of A (or B) where the operand has m (or n) rows. A size that comes at run time
// counts as one that fills a tile, unless boxes are clipped to it.
constexpr Int rows_a(const GemmSm90& g, Int m) {
  return rows_loaded(g.product.a, g.product.open.m && !clips_a(g) ? g.block_m : m, g.block_m,
                     g.cluster_n);
}
constexpr Int rows_b(const GemmSm90& g, Int n) {
  return rows_loaded(g.product.b, g.product.open.n && !clips_b(g) ? g.block_n : n, g.block_n,
                     g.cluster_m);
}
// The most of them: the boxes of the tensor map.
constexpr Int rows_a(const GemmSm90& g) {
  return rows_a(g, g.product.open.m ? g.block_m : g.product.m);
}
constexpr Int rows_b(const GemmSm90& g) {
  return rows_b(g, g.product.open.n ? g.block_n : g.product.n);
}

// Where a tile begins whose rows would be [at, at + block). The last one is moved back until its
// rows lie within the operand, but for a few, so that TMA fills none with zeros: it has rows of the
// tile before it, which are not stored. The distance keeps segments and vectors aligned.
constexpr Int first_row(const GemmSm90& g, Int at, Int size, Int block) {
  return least(at, size > block ? round_up(size - block, by_threads(g) ? 2 * kEight : kEight) : 0);
}

// ---- accumulators

// Products of 64 rows of one group.
constexpr Int slabs(const GemmSm90& g) { return g.block_m / 64 / (g.pingpong ? 1 : g.groups); }
// Registers of a thread for the sums of a tile, and with those that are promoted, of 64 rows at a
// time.
constexpr Int accumulators(const GemmSm90& g) { return slabs(g) * g.block_n / 2; }
// f32 that lies along k is turned in shared memory by warps of the group that loads, before FMA
// units multiply it, where a thread has products enough that the wait for it is hidden. Small tiles
// lose by it (docs/decisions/043-f32-by-bulk-copies.md). One eight of columns stays as it is.
constexpr Int kTurningWarps = 3, kTurnedSums = 96;
constexpr bool turns(const GemmSm90& g) {
  return is_f32(g) && accumulators(g) >= kTurnedSums &&
         (g.product.a.major_k || (g.product.b.major_k && g.block_n % 16 == 0));
}
// Totals of folded sums are in registers as long as these hold both; else in shared memory.
constexpr bool totals_are_shared(const GemmSm90& g) { return g.fold > 0 && accumulators(g) > 64; }
constexpr Int sums(const GemmSm90& g) { return accumulators(g) + (g.promoted ? g.block_n / 2 : 0); }
// A lane of each of the four schedulers has 512 registers, which the groups share. Threads that
// load keep their loads in registers.
constexpr Int consumer_registers(const GemmSm90& g) {
  if (g.groups == 1) return 248;
  if (g.groups == 2) return turns(g) ? 232 : !by_threads(g) ? 240 : sums(g) <= 128 ? 176 : 200;
  return !by_threads(g) ? 160 : sums(g) <= 64 ? 136 : 144;
}
constexpr Int producer_registers(const GemmSm90& g) {
  if (g.groups == 2) return by_threads(g) || turns(g) ? 504 - 2 * consumer_registers(g) : 24;
  return 512 - 3 * consumer_registers(g);
}
// Registers of a loading thread for loads in flight, and those of them for each computed operand.
constexpr Int in_flight(const GemmSm90& g) {
  return (g.groups == 1 ? 136 : producer_registers(g)) - 48;
}
constexpr Int computed_in_flight(const GemmSm90& g) {
  const bool both = g.product.a.load == Load::computed && g.product.b.load == Load::computed;
  return least(in_flight(g), 64) / (both ? 2 : 1);
}

// ---- sums that workgroups exchange, and the epilogue

// Eights of columns of a tile, and those that one of the workgroups which share k adds up and
// stores: rank 0 has the first of them.
constexpr Int eights(const GemmSm90& g) { return g.block_n / 8; }
// Lanes of FMA units that read lines of columns have four neighbouring ones, which lie in four
// eights.
constexpr Int owned(const GemmSm90& g) {
  const Int each = ceil_div(eights(g), g.split_k);
  return is_f32(g) && !g.product.b.major_k ? round_up(each, 4) : each;
}
// Eights that a warp stages at once for the epilogue.
constexpr Int segments(const GemmSm90& g) {
  Int n = 8;
  while (eights(g) % n != 0 || owned(g) % n != 0) n /= 2;
  return n;
}
// 16 rows of them for each warp, or its totals.
constexpr Int staging_bytes(const GemmSm90& g) {
  return totals_are_shared(g) ? 32 * accumulators(g) * 4 : 16 * segments(g) * 8 * 4;
}
// A lane has so many elements of the result at once, so that one segment's latencies pass under the
// other's arithmetic.
constexpr Int elements_at_once(const GemmSm90& g) {
  return accumulators(g) + 96 <= consumer_registers(g) ? 16 : 8;
}
// How often a lane reads what its next elements need, of a tile.
constexpr Int epilogue_reads(const GemmSm90& g) {
  return ceil_div(slabs(g) * owned(g) * 16 * 8, 32 * elements_at_once(g));
}
// A strip is what a group stages at once, of the residuals. TMA needs rows of 16 bytes, and so do
// lanes that read segments.
constexpr Int kStripRows = 64;
constexpr Int strip_bytes(const GemmSm90& g, const Residual& x) {
  return x.rank == 0 ? 0 : kStripRows * segments(g) * 8 * bytes_of(x.element);
}
constexpr Int strip_bytes(const GemmSm90& g) {
  return strip_bytes(g, g.residual) + strip_bytes(g, g.residual_2);
}
constexpr Int strips_of_tile(const GemmSm90& g) { return slabs(g) * owned(g) / segments(g); }
// Whether a cluster may get a second tile.
constexpr bool has_rounds(const GemmSm90& g) {
  return has_open_tiles(g.product) || tiles(g) > g.clusters;
}
// A warp's inbox holds the other ranks' sums of a tile. There are two where there are more tiles.
constexpr Int inboxes(const GemmSm90& g) { return g.split_k == 1 ? 0 : has_rounds(g) ? 2 : 1; }
constexpr Int inbox_bytes(const GemmSm90& g) {
  return (g.split_k - 1) * slabs(g) * owned(g) * kFragmentBytes;
}

// ---- shared memory

constexpr Int warps(const GemmSm90& g) { return g.groups * 4; }  // the multiplying ones
// Shared memory without the stages.
constexpr Int fixed_bytes(const GemmSm90& g) {
  return kTileAlignment + g.groups * g.strips * (strip_bytes(g) + 2 * kBarrierBytes) +
         warps(g) * (staging_bytes(g) + inboxes(g) * (inbox_bytes(g) + kBarrierBytes));
}
// Barriers of a stage: it is full, turned, and empty.
constexpr Int stage_barriers(const GemmSm90& g) { return turns(g) ? 3 : 2; }
// The most stages that fit; there is room for the barriers of kMostStages.
constexpr Int stages_within(const GemmSm90& g, Int shared_bytes) {
  return least(kMostStages,
               (shared_bytes - fixed_bytes(g) - kMostStages * stage_barriers(g) * kBarrierBytes) /
                   stage_bytes(g));
}
constexpr Int enough_stages(const GemmSm90& g) {
  return least(ceil_div(kEnoughBytes, stage_bytes(g)), most(k_tiles(g), kEnoughStages));
}
// The most strips of a tile that leave the stages enough shared memory; none where there are no
// residuals, or where all threads of the group that loads are busy with operands.
constexpr Int strips_within(GemmSm90 g, Int shared_bytes) {
  g.strips = 0;
  if (strip_bytes(g) == 0 || by_threads(g)) return 0;
  const Int enough = least(stages_within(g, shared_bytes), enough_stages(g));
  for (g.strips = strips_of_tile(g); g.strips > 0; --g.strips)
    if (stages_within(g, shared_bytes) >= enough) return g.strips;
  return 0;
}
constexpr Int shared_bytes(const GemmSm90& g) {
  return fixed_bytes(g) + g.stages * (stage_bytes(g) + stage_barriers(g) * kBarrierBytes);
}

// ---- what is legal

constexpr bool legal_groups(const GemmSm90& g) {
  if (g.groups < 1 || g.groups > 3 || g.block_m % 64 != 0) return false;
  if (g.pingpong) return g.groups == 2 && g.split_k == 1 && g.block_m <= 128;
  return g.block_m % (64 * g.groups) == 0 && slabs(g) <= 2;
}
// The rule admits what ptxas 13.0 compiles without spills. One group has 248 registers and two
// groups have 240, of which wgmma takes up to 192 accumulators, where TMA loads both operands.
// Where threads load, 160 accumulators leave tf32 too few registers, and at 192 the products are
// serialised. Three groups have 128 when the kernel starts: 112 accumulators do not compile. Some
// configs beyond the rule would compile (192 of one group, 96 of three groups); the models were not
// fitted with them.
constexpr bool fits_registers(const GemmSm90& g) {
  if (is_f32(g)) return accumulators(g) <= (g.groups == 1 ? 64 : g.groups == 2 ? 128 : 48);
  if (g.groups == 3) return !by_threads(g) && accumulators(g) <= 80 && sums(g) <= 128;
  return sums(g) <= (g.groups == 1 || by_threads(g) ? 128 : 192);
}
// Whether workgroups of a cluster may load slices of the operand's tiles for each other.
constexpr bool is_shared(const GemmSm90& g, const Operand& x) {
  return is_copied(x.load) && (x.major_k || !in_pieces(g, x));
}
// f32 on FMA units: lanes read rows along k, or four neighbours of one k. Four neighbouring columns
// are in four eights, which are stored together, and belong to one of the workgroups that share k.
constexpr bool legal_fma(const GemmSm90& g) {
  return !has_image(g) && (g.product.b.major_k || segments(g) % 4 == 0);
}
// Clusters share tiles that TMA copies, or k that is long enough for all of them.
constexpr bool legal_cluster(const GemmSm90& g) {
  const bool shares_tiles = g.cluster_m * g.cluster_n > 1;
  if (shares_tiles && (g.split_k > 1 || cluster(g) > 4)) return false;
  if (g.cluster_n > 1 && (!is_shared(g, g.product.a) || g.block_m / g.cluster_n % 8 != 0))
    return false;
  if (g.cluster_m > 1 && (!is_shared(g, g.product.b) || g.block_n / g.cluster_m % 8 != 0))
    return false;
  return g.split_k <= 8 && g.split_k <= (g.product.open.k ? 1 : k_tiles(g));
}
// A workgroup that owns no columns waits for nobody and would send the sums of its next tile.
constexpr bool all_own_columns(const GemmSm90& g) {
  return owned(g) * (g.split_k - 1) < eights(g) || !has_rounds(g);
}
constexpr bool legal_strips(const GemmSm90& g) {
  return g.strips == 0 || (strip_bytes(g) > 0 && !by_threads(g));
}
// An operand beside an image whose taps end inside of pieces must come by pieces.
constexpr bool legal_pieces(const GemmSm90& g) {
  return !is_ragged(g) || (in_pieces(g, g.product.a) && in_pieces(g, g.product.b));
}
// Threads load rows along k, and wgmma transposes 16-bit elements alone.
constexpr bool legal_operand(const Operand& x) {
  return x.major_k ||
         (x.load != Load::rows && (bytes_of(x.element) == 2 || x.element == Element::f32));
}

}  // namespace sm90
}  // namespace tcc::kernels
