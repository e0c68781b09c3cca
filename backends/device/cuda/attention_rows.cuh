// Kernels of attention on matrix units share their sizes, the order of tiles, and the end of rows whose results lie in
// accumulators as mma and wgmma leave them. The constant `params` is the kernel's.

// Sizes that come at run time, which are 0 in the params, are numbers that the kernel gets.
#if defined(SIZE_BATCHES) || defined(SIZE_QUERIES)
#define OPEN_GRID
#endif
#ifndef SIZE_BATCHES
#define SIZE_BATCHES i32(params.batches)
#endif
#ifndef SIZE_QUERIES
#define SIZE_QUERIES i32(params.queries)
#endif
#ifndef SIZE_KEYS
#define SIZE_KEYS i32(params.keys)
#endif

#define MINUS_INFINITY tcc_bits_f32(0xff800000u)
#define SCALE tcc_bits_f32(u32(params.scale_bits))

// The n-th tile of queries, of `tiles` of each of `batches`: its batch and its number. Of `HEADS` batches that are walked
// together, keys and values stay in L2. Where tiles differ in length (ORDERS), the last ones come first.
struct QueryTilePlace {
  i32 batch, tile;
};
template <i32 HEADS, bool ORDERS, class Batches, class Tiles>
TCC_FN QueryTilePlace query_tile(i32 n, Batches batches, Tiles tiles) {
  const i32 section = HEADS * tiles, number = Batches::is(HEADS) ? 0 : quotient(n, section);
  const i32 first = number * HEADS, in_section = n - number * section, left = batches - first;
  const i32 heads = Batches::fills(HEADS) || left > HEADS ? HEADS : left;
  const i32 at = heads == HEADS ? in_section / HEADS : quotient(in_section, heads);
  return {first + in_section - at * heads, ORDERS ? tiles - 1 - at : at};
}

// Tiles of keys [first, end) that some query of a tile of queries sees, of which all queries see all keys of [inside,
// inside_end).
struct Range {
  i32 first, end, inside, inside_end;
};
// The tiles of keys of these bounds in keys.
TCC_FN Range tiles_of_keys(i32 block_k, i32 first, i32 end, i32 inside, i32 inside_end) {
  return {first / block_k, (end + block_k - 1) / block_k, (inside + block_k - 1) / block_k, inside_end / block_k};
}

// The keys that some of ROWS rows see, as bounds in keys, where each row has bounds of its own. The lanes of a warp ask
// together: `ask`(row, keys) gives those of a row, and returns whether there is such a row. `keys`: all that there are.
template <i32 ROWS, class Ask> TCC_FN Range keys_of_queries(i32 lane, i32 keys, Ask ask) {
  i32 all[4] = {keys, 0, 0, keys};
#pragma unroll 2
  for (i32 first = 0; first < ROWS; first += 32) {
    i32 of_row[4];
    if (first + lane >= ROWS || !ask(first + lane, of_row)) continue;
    const bool any = of_row[0] < of_row[1];  // a query that sees no key bounds nothing
    if (any && of_row[0] < all[0]) all[0] = of_row[0];
    if (any && of_row[1] > all[1]) all[1] = of_row[1];
    if (of_row[2] > all[2]) all[2] = of_row[2];
    if (of_row[3] < all[3]) all[3] = of_row[3];
  }
#pragma unroll
  for (i32 i = 0; i < 4; ++i)
    if (i % 3 == 0)
      asm volatile("redux.sync.min.s32 %0, %0, 0xffffffff;" : "+r"(all[i]));
    else
      asm volatile("redux.sync.max.s32 %0, %0, 0xffffffff;" : "+r"(all[i]));
  return all[0] < all[1] ? Range{all[0], all[1], all[2], all[3]} : Range{0, 0, 0, 0};
}

// The keys [first, end) that a row sees.
struct RowBounds {
  i32 first, end;
};
// A raw score there, -inf where the row does not see the key.
TCC_FN f32 seen_within(f32 score, i32 key, RowBounds of) {
  return key >= of.first && key < of.end ? score : MINUS_INFINITY;
}

// The tiles of one of PARTS workgroups that share them.
template <i32 PARTS> TCC_FN Range part_of(Range range, i32 part) {
  if (PARTS == 1) return range;
  const i32 share = (range.end - range.first + PARTS - 1) / PARTS, first = range.first + part * share;
  return {first, first + share < range.end ? first + share : range.end, range.inside, range.inside_end};
}

// The tile of keys that is walked behind `tile`, below range.first where there is none: the one before it, or with a list
// (LISTED) the next that some query sees. All lanes of a warp ask for 32 tiles at a time: `sees`(tile) says whether a query
// sees a key of it, and `seen` has the bits of the tiles around `tile`, unless the walk begins.
template <bool LISTED, class Sees>
TCC_FN i32 next_tile(Range range, i32 lane, i32 tile, bool begins, u32& seen, Sees sees) {
  i32 asked = begins ? -1 : tile & ~31;
  --tile;
  if constexpr (LISTED) {
    while (tile >= range.first) {
      const i32 begin = tile & ~31;
      if (begin != asked) {
        const i32 mine = begin + lane;
        const bool asks = mine >= range.first && mine < range.end;
        seen = __ballot_sync(~0u, asks && sees(mine));
        asked = begin;
      }
      const u32 below = seen & (~0u >> (31 - (tile - begin)));
      if (below != 0) return begin + 31 - __clz(i32(below));
      tile = begin - 1;
    }
  }
  return tile;
}

// Long hooks are called in a loop of a few rounds, of which each is about the first eights of the keys. All move there in
// turn, and are back at their places at the end.
template <i32 COUNT> struct Rounds {
  static constexpr i32 count = COUNT;
};
// Moves at(i + BY) to at(i), and the first BY behind them.
template <i32 BY, i32 COUNT, class At> TCC_FN void rotate(At at) {
  decltype(+at(0)) first[BY];
#pragma unroll
  for (i32 i = 0; i < BY; ++i) first[i] = at(i);
#pragma unroll
  for (i32 i = 0; i < COUNT - BY; ++i) at(i) = at(i + BY);
#pragma unroll
  for (i32 i = 0; i < BY; ++i) at(COUNT - BY + i) = first[i];
}

// Weights are changed in proportion. Lane t of a quad has the t-th pair of eight keys from `key` on, `a`, and of the eight
// behind them, `b`. `change`(key, v) makes 4 weights of neighbouring keys: even lanes ask for keys of the first eight,
// odd ones of the second, and they exchange what is the other's.
template <class Change> TCC_FN void change_eights(i32 key, i32 t, f32* a, f32* b, Change change) {
  const bool odd = t & 1;
  f32 v[4] = {1, 1, 1, 1};
  change(key + (odd ? 8 : 0) + t / 2 * 4, v);
#pragma unroll
  for (i32 i = 0; i < 2; ++i) {
    const f32 mine = odd ? v[2 + i] : v[i], other = __shfl_xor_sync(~0u, odd ? v[i] : v[2 + i], 1);
    a[i] *= odd ? other : mine;
    b[i] *= odd ? mine : other;
  }
}

constexpr f32 kLog2 = 0.693147181f;
// The log-sum-exp of a row whose weights are relative to the raw score `most` and have the sum `sum`. A row that sees no
// key, or a score of +inf, has its maximum.
TCC_FN f32 log_sum(f32 most, f32 scale, f32 sum) {
  const bool is_infinite = most > 0 ? most == -MINUS_INFINITY : sum == 0;
  return is_infinite ? most : __fmaf_rn(most * scale, kLog2, __logf(sum));
}
// A result of a row: a row that sees no key has no weights, and one with a NaN or +inf has a sum of NaN.
TCC_FN f32 normalized(f32 x, f32 sum, f32 inverse, bool safe) {
  return sum > 0 ? x * inverse : safe ? 0.f : tcc_bits_f32(0x7fc00000u);
}

// Lane t of a quad gets the t-th pair of each: its v[i] is what lane i had as v[t].
TCC_FN void exchange_pairs(f32 (&v)[4][2], i32 t) {
#pragma unroll
  for (i32 bit = 1; bit < 4; bit *= 2)
#pragma unroll
    for (i32 j = 0; j < 4; ++j) {
      if (j & bit) continue;
#pragma unroll
      for (i32 i = 0; i < 2; ++i) {
        const f32 low = v[j][i], high = v[j | bit][i];
        const f32 received = __shfl_xor_sync(~0u, t & bit ? low : high, bit);
        v[j][i] = t & bit ? received : low;
        v[j | bit][i] = t & bit ? high : received;
      }
    }
}
