// How a graph is compiled: the options that every tool takes alike. Kernels are the same ones, and
// tuning records are for them, only where these are the same.
#pragma once

#include <CLI/CLI.hpp>

#include "api/options.h"

namespace tcc::tools {

// --dtype, --matmul-precision, --strict-rounding and --no-fuse. api/options.h reads their values.
void add_compile_options(CLI::App& app, CompileOptions& options);
// set_kernel_options() with errors that name options of the command line.
void set_compile_options(const CompileOptions& options, backends::CompileOptions& inner);

}  // namespace tcc::tools
