// The order in which workgroups take the tiles of a result.

// A tile's place: its product of the batch, and its row and column in tiles.
struct TilePlace {
  i32 batch, row, column;
};
// The n-th tile of batches of TILES_M x TILES_N. Tiles are walked in bands of BAND rows, so that those which are
// worked on at the same time share rows and columns in L2.
template <i32 TILES_M, i32 TILES_N, i32 BAND, class N>
TCC_FN TilePlace tile_place(N n) {
  const i32 in_batch = i32(n % (TILES_M * TILES_N));
  const i32 band_start = in_batch / (BAND * TILES_N) * BAND;
  const i32 band_rows = TILES_M - band_start < BAND ? TILES_M - band_start : BAND;
  const i32 in_band = in_batch % (BAND * TILES_N);
  const i32 column = in_band / band_rows;  // one division: the compiler may place two apart
  return {i32(n / (TILES_M * TILES_N)), band_start + (in_band - column * band_rows), column};
}
