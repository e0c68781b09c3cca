// The tiles of a result, and the order in which workgroups take them.

// Sizes of the product: those that come at run time are numbers which the kernel gets.
#ifndef SIZE_M
#define SIZE_M i32(params.product.m)
#endif
#ifndef SIZE_N
#define SIZE_N i32(params.product.n)
#endif
#ifndef SIZE_K
#define SIZE_K i32(params.product.k)
#endif

// Tiles of so many rows or columns that a size needs.
TCC_FN i32 tiles_along(i32 size, i32 block) { return (size + block - 1) / block; }

// A tile's place: its product of the batch, and its row and column in tiles.
struct TilePlace {
  i32 batch, row, column;
};
// The n-th tile of batches of tiles_m x tiles_n. Tiles are walked in bands of BAND rows, so that those which are
// worked on at the same time share rows and columns in L2. Divisions by open sizes are most of the work: those whose
// quotient is known are left out.
template <i32 BAND, bool ONE_BATCH, class N>
TCC_FN TilePlace tile_place(N n, i32 tiles_m, i32 tiles_n) {
  const i32 batch = ONE_BATCH ? 0 : i32(n / (tiles_m * tiles_n));
  const i32 in_batch = ONE_BATCH ? i32(n) : i32(n % (tiles_m * tiles_n));
  const i32 band = quotient(in_batch, BAND * tiles_n), band_start = band * BAND;
  const i32 in_band = in_batch - band * (BAND * tiles_n);
  const i32 left = tiles_m - band_start, band_rows = left < BAND ? left : BAND;
  // One division: the compiler may place two apart.
  const i32 column = band_rows == BAND ? in_band / BAND : quotient(in_band, band_rows);
  return {batch, band_start + (in_band - column * band_rows), column};
}
