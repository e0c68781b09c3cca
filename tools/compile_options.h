// Every tool takes the same options for how a graph is compiled. Two compilations have the same
// kernels, and share tuning records, only where these options are the same.
#pragma once

#include <CLI/CLI.hpp>

#include "api/options.h"
#include "frontend/graph_file.h"
#include "tools/tensors.h"

namespace tcc::tools {

// --dtype, --matmul-precision, --strict-rounding and --no-fuse. api/options.h reads their values.
void add_compile_options(CLI::App& app, CompileOptions& options);
// --dim, which parse_dims() reads, and --specialize.
void add_dim_options(CLI::App& app, std::vector<std::string>& dims, CompileOptions& options);
// Sets dims, open_dims, equal_dims and specialize of `inner`.
void set_dims(const std::vector<std::string>& dims, const CompileOptions& options,
              backends::CompileOptions& inner);
// How a graph is read for these options: dims that stay open or are expressions stay symbols.
GraphFileOptions graph_file_options(const backends::CompileOptions& inner, const InputFiles& files,
                                    const InputOptions& inputs);
// backends::settle_dims(); a line on stderr says which dims the graph itself takes for others.
ir::DimExpressions settle_dims(const std::string& program, ir::Graph& graph,
                               backends::CompileOptions& inner);
// set_kernel_options() with errors that name options of the command line.
void set_compile_options(const CompileOptions& options, backends::CompileOptions& inner);

}  // namespace tcc::tools
