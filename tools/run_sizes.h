// The sizes of runs: dims by name, from options, from the shapes of given inputs and from the
// file that states are loaded from.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/size_range.h"
#include "tools/tensors.h"

namespace tcc::tools {

// A size, and what says so, for messages: "--at", "x.npy".
struct RunSize {
  int64_t size = 0;
  std::string from;
};
using RunSizes = std::map<std::string, RunSize, std::less<>>;  // by dim

// A dim that shapes may name: `symbol` stands there for its size over `multiple`.
struct RunDim {
  std::string name, symbol;
  int64_t multiple = 1;
  ir::SizeRange range = {};
};
struct RunInput {
  std::string name;
  std::vector<ir::SymInt> shape;
};

// Throws Error(bad_input) for --at of a dim that is an expression of others.
[[noreturn]] void refuse_equal_dim(const std::string& name, int64_t size, const ir::SymInt& value);

// Adds the sizes that the shapes of given inputs decide, with those of `sizes`. Throws
// Error(bad_input) where two inputs, or an input and what is in `sizes`, differ, and for a shape
// that no size of its dims' ranges has. Shapes that do not fit otherwise are left to load_inputs().
void add_sizes_of_inputs(std::span<const RunInput> inputs, std::span<const RunDim> dims,
                         const InputFiles& files, RunSizes& sizes);

// How long a state is when the first run begins that grows along `axis`, by the size of `dim` in
// `range`: as the file of --load-states has it ("": none is given), else as the least size. Throws
// Error(bad_input) for a length in the file that the range does not have. What does not fit there
// otherwise is left to the loading of states.
RunSize first_length(const std::string& state, size_t axis, const std::string& dim,
                     const ir::SizeRange& range, const std::string& states_file);

// Reads the texts of --at, "B=1,8": the sizes of each run, all combinations of those of several
// dims, the last dim's fastest. Without texts it is one run of no sizes.
std::vector<ir::Numbers> parse_at(const std::vector<std::string>& texts);
// "B = 1, S = 128".
std::string sizes_text(const ir::Numbers& sizes);
// Throws Error(bad_input) for files that have the results of one run, where there are several.
void check_one_run(size_t runs, const std::string& outputs, const std::string& saved_states);

}  // namespace tcc::tools
