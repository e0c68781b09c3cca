// The vocabulary that templates of matrix kernels and their device sources share. Templates include
// this file, and the compiler of a kernel gets it before the kernel: plain C++17 without a header.
#pragma once

namespace tcc::kernels {

// Sizes and indices. The host compares configs of products of any size. A kernel counts the rows
// and columns of one product in 32 bits: the prelude of its language defines TCC_INT.
#ifdef TCC_INT
using Int = TCC_INT;
#else
using Int = long long;
#endif

constexpr Int ceil_div(Int a, Int b) { return (a + b - 1) / b; }
constexpr Int round_up(Int a, Int b) { return ceil_div(a, b) * b; }
constexpr Int least(Int a, Int b) { return a < b ? a : b; }
constexpr Int most(Int a, Int b) { return a < b ? b : a; }

// The elements that a kernel multiplies. tf32 is f32 in memory, of which a matrix unit takes the
// upper 19 bits.
enum class Element { bf16, f16, tf32, f32, i8, u8, e4m3, e5m2 };

constexpr bool is_integer(Element e) { return e == Element::i8 || e == Element::u8; }
constexpr bool is_f8(Element e) { return e == Element::e4m3 || e == Element::e5m2; }
constexpr Int bytes_of(Element e) {
  return is_integer(e) || is_f8(e) ? 1 : e == Element::tf32 || e == Element::f32 ? 4 : 2;
}

// The type of sums. Sums of integers wrap.
enum class Sum { f32, i32, u32 };

// How an operand comes from memory.
enum class Load {
  tiles,     // asynchronous copies of aligned vectors or boxes
  computed,  // threads call the load hook, which may do arithmetic
  rows,      // threads read aligned words of lines of any alignment and shift them
  im2col,    // asynchronous copies of an image's pixels, moved to a tap of a filter (Image)
};
// Whether the copy engine brings the operand without threads.
constexpr bool is_copied(Load load) { return load == Load::tiles || load == Load::im2col; }

// One side of a product, as its kernel reads it.
struct Operand {
  Load load = Load::tiles;
  Element element = Element::bf16;
  bool major_k = true;         // neighbours in memory are neighbours along k
  Int vector = 1;              // elements of one copy (tiles) or of one call of the load hook
  bool vector_along_k = true;  // whether the load hook gets neighbours along k
  Int buffer = 0;              // unless computed: the kernel's argument that holds the operand
  Int rank = 2;                // dimensions of the tensor map

  template <class Visitor>
  constexpr void each_field(Visitor&& visit) const {
    visit("load", load);
    visit("element", element);
    visit("major_k", major_k);
    visit("vector", vector);
    visit("vector_along_k", vector_along_k);
    visit("buffer", buffer);
    visit("rank", rank);
  }
};

// One spatial dim of an image: pixel p of the result under tap t reads element p * step +
// t * dilation - padding.
struct ImageDim {
  Int outputs = 1, step = 1, padding = 0;
  Int taps = 1, dilation = 1;
  Int along = 1;  // the tap's number in k is / along % taps the tap of this dim

  template <class Visitor>
  constexpr void each_field(Visitor&& visit) const {
    visit("outputs", outputs);
    visit("step", step);
    visit("padding", padding);
    visit("taps", taps);
    visit("dilation", dilation);
    visit("along", along);
  }
};

// The image that an operand of kind im2col reads. Its rows are pixels, ordered by image and place;
// k counts taps, and the channels of each. A piece of k is neighbouring channels under one tap; the
// last piece of a tap may have fewer of them.
struct Image {
  Int spatial = 0;   // dims, 1 to 3; 0: the product reads no image
  ImageDim x, y, z;  // innermost first
  Int channels = 0;  // under each tap
  Int piece = 128;   // bytes of a piece: 128, 64 or 32

  template <class Visitor>
  constexpr void each_field(Visitor&& visit) const {
    visit("spatial", spatial);
    visit("x", x);
    visit("y", y);
    visit("z", z);
    visit("channels", channels);
    visit("piece", piece);
  }
};

// A matrix of the result's shape that the epilogue reads, as a residual, where the copy engine
// brings it.
struct Residual {
  Element element = Element::bf16;  // bf16, f16 or f32
  Int rank = 0;                     // dimensions of the tensor map; 0: there is none

  template <class Visitor>
  constexpr void each_field(Visitor&& visit) const {
    visit("element", element);
    visit("rank", rank);
  }
};

// Which sizes of a product come at run time. Kernels get the text of those alone.
struct OpenSizes {
  bool m = false, n = false, k = false, batches = false;

  template <class Visitor>
  constexpr void each_field(Visitor&& visit) const {
    if (m) visit("m", m);
    if (n) visit("n", n);
    if (k) visit("k", k);
    if (batches) visit("batches", batches);
  }
};

// A product and its epilogue, on the kernel's sides: with `swapped` the kernel's rows are the
// result's columns.
//
// The host has the usual value of an open size, which estimates take. A kernel's parameters have 0,
// and the kernel gets the size as a number of its own (GemmWriter::product).
struct Product {
  Int m = 1, n = 1, k = 1, batches = 1;
  OpenSizes open;
  Operand a, b;
  Sum sum = Sum::f32;
  bool swapped = false;
  Int segment = 1;  // neighbours of the result's rows that the epilogue gets at once: 8, 4, 2 or 1

  template <class Visitor>
  constexpr void each_field(Visitor&& visit) const {
    visit("m", open.m ? Int(0) : m);
    visit("n", open.n ? Int(0) : n);
    visit("k", open.k ? Int(0) : k);
    visit("batches", open.batches ? Int(0) : batches);
    visit("open", open);
    visit("a", a);
    visit("b", b);
    visit("sum", sum);
    visit("swapped", swapped);
    visit("segment", segment);
  }
};
// Whether the number of tiles comes at run time.
constexpr bool has_open_tiles(const Product& p) { return p.open.m || p.open.n || p.open.batches; }

}  // namespace tcc::kernels
