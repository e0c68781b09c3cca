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
// worked on at the same time share rows and columns in L2.
template <i32 BAND, class N>
TCC_FN TilePlace tile_place(N n, i32 tiles_m, i32 tiles_n) {
  const i32 in_batch = i32(n % (tiles_m * tiles_n));
  const i32 band_start = in_batch / (BAND * tiles_n) * BAND;
  const i32 band_rows = tiles_m - band_start < BAND ? tiles_m - band_start : BAND;
  const i32 in_band = in_batch % (BAND * tiles_n);
  const i32 column = in_band / band_rows;  // one division: the compiler may place two apart
  return {i32(n / (tiles_m * tiles_n)), band_start + (in_band - column * band_rows), column};
}
