// How a graph is compiled: the options that every tool takes alike. Kernels are the same ones, and
// tuning records are for them, only where these are the same.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "backends/pipeline.h"

namespace tcc::tools {

struct CompileArguments {
  std::string dtype, matmul_precision = "highest";
  bool strict_rounding = false, no_fuse = false;
};
// --dtype, --matmul-precision, --strict-rounding and --no-fuse.
void add_compile_options(CLI::App& app, CompileArguments& arguments);
// Sets what they say in `options`. Throws Error(bad_input).
void set_compile_options(const CompileArguments& arguments, backends::CompileOptions& options);

}  // namespace tcc::tools
