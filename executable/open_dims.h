// The sizes of an executable's open dims: by name, and from the shapes of inputs.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "executable/executable.h"

namespace tcc::exec {

using Dims = std::map<std::string, int64_t, std::less<>>;  // sizes by the names of dims
using ShapeView = std::span<const int64_t>;

// Throws Error(bad_input) where the range of the dim lacks the size.
void check_size(const OpenDim& dim, int64_t size);

// The dims with the sizes of open ones for those of `equal_dims` that tell one ("T = S + 1"); those
// that tell none stay. Throws Error(bad_input) for a dim that is unknown, for a size that such a
// dim has at no size of the open one, and for two sizes of one dim.
Dims sizes_of_open(const Executable& executable, const Dims& dims);

// Reads sizes in the order of executable.dims, from those of open dims and of `equal_dims`, which
// must agree. Throws Error(bad_input) for a dim that is unknown, for one that is missing, unless
// the size before it, in `sizes`, is not -1, and for a size that its range lacks.
void read_dims(const Executable& executable, const Dims& dims, std::span<int64_t> sizes);

// The values of symbols: `sizes` are in the order of executable.dims.
Sizes sizes_of(const Executable& executable, std::span<const int64_t> sizes);

// Finds the sizes of dims in shapes. It allocates nothing but for errors.
class ShapeReader {
 public:
  // `executable` must outlive this.
  explicit ShapeReader(const Executable& executable);
  ShapeReader(const ShapeReader&) = delete;
  ShapeReader& operator=(const ShapeReader&) = delete;

  // Sets those of `sizes`, in the order of executable.dims, that the inputs' shapes decide; others
  // stay, as the lengths of states that grow. Throws Error(bad_input), which names the input, its
  // dim, the size and what does not fit: a number of the graph, the range of a dim, or another
  // input. `sizes` is as before then.
  void read(std::span<const ShapeView> shapes, std::span<int64_t> sizes);

 private:
  // The size of a dim of an input.
  struct Place {
    size_t input, axis;
    const SymInt* extent;
    // The extent is factor * symbol + constant of this dim of the executable; -1 where it is
    // something else. The first such place decides the dim, and all others are checked.
    int dim = -1;
    int64_t factor = 0, constant = 0;
  };
  void check(const Place& place, int64_t size) const;
  std::string named(const Place& place) const;

  const Executable& executable_;
  std::vector<Place> places_;
  std::vector<const Place*> deciding_;          // by dim of the executable; null: no input tells it
  std::map<size_t, const StateInfo*> growing_;  // dims that are lengths, with a state each
  std::vector<int64_t> found_;
  Sizes values_;
  std::vector<int64_t*> symbols_;  // in values_, by dim of the executable
};

}  // namespace tcc::exec
