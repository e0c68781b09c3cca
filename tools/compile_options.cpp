#include "tools/compile_options.h"

#include "support/error.h"
#include "tools/program.h"

namespace tcc::tools {

void add_compile_options(CLI::App& app, CompileArguments& arguments) {
  app.add_option("--dtype", arguments.dtype,
                 "casts the graph's floating point (default: as the graph says)");
  app.add_option("--matmul-precision", arguments.matmul_precision,
                 "of f32 products; high and medium allow tf32")
      ->capture_default_str();
  app.add_flag("--strict-rounding", arguments.strict_rounding,
               "round after every op, as an eager framework does");
  app.add_flag("--no-fuse", arguments.no_fuse, "one kernel per op");
}

void set_compile_options(const CompileArguments& arguments, backends::CompileOptions& options) {
  if (!arguments.dtype.empty()) options.dtype = parse_dtype_option(arguments.dtype);
  const auto precision = backends::parse_matmul_precision(arguments.matmul_precision);
  if (!precision)
    fail_input("--matmul-precision ", arguments.matmul_precision,
               ": must be highest, high or medium");
  options.matmul_precision = *precision;
  options.strict_rounding = arguments.strict_rounding;
  options.fuse = !arguments.no_fuse;
}

}  // namespace tcc::tools
