// The options that decide which kernels a graph becomes. tcc::CompileOptions declares them once,
// for the C++ and C interfaces, the tuner and the tools.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/pipeline.h"

#include "tcc/tcc.hpp"

namespace tcc {

// Errors name an option in one of these ways: `dtype 'i32'` or `--dtype i32`.
enum class OptionStyle { member, command_line };

// Sets dims, dtype, matmul_precision, strict_rounding and fuse of `inner`. Throws Error(bad_input)
// for a value that does not exist.
void set_kernel_options(const CompileOptions& options, backends::CompileOptions& inner,
                        OptionStyle style = OptionStyle::member);

// Sets inner.specialize from texts as "S=128,512": a variant for each combination of the sizes, and
// of fewer of the dims. Throws Error(bad_input) for a dim that inner.open_dims lacks, a size that
// its range lacks, and more variants than an executable may have.
void set_specialized(const std::vector<std::string>& texts, backends::CompileOptions& inner,
                     OptionStyle style = OptionStyle::member);

// Returns nothing for "". Throws Error(bad_input) unless the text is a float type.
std::optional<DType> parse_dtype_option(const std::string& text,
                                        OptionStyle style = OptionStyle::member);

}  // namespace tcc
