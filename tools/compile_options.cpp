#include "tools/compile_options.h"

#include "tools/program.h"

namespace tcc::tools {

void add_compile_options(CLI::App& app, CompileOptions& options) {
  app.add_option("--dtype", options.dtype,
                 "casts the graph's floating point (default: as the graph says)");
  app.add_option("--matmul-precision", options.matmul_precision,
                 "of f32 products; high and medium allow tf32")
      ->capture_default_str();
  app.add_flag("--strict-rounding", options.strict_rounding,
               "round after every op, as an eager framework does");
  app.add_flag_callback(
      "--no-fuse", [&options] { options.fuse = false; }, "one kernel per op");
}

void add_dim_options(CLI::App& app, std::vector<std::string>& dims, CompileOptions& options) {
  app.add_option("--dim", dims,
                 "of a symbolic dim, its size (B=8), or the sizes that it may have at run time "
                 "(S=1..2048, multiples of 8: S=8..2048:8, any: S=free), or an expression of other "
                 "dims (T=S+1); several")
      ->allow_extra_args(false);
  app.add_option("--specialize", options.specialize,
                 "sizes of an open dim that get kernels of their own besides (S=128,512); several")
      ->allow_extra_args(false);
}

void set_dims(const std::vector<std::string>& dims, const CompileOptions& options,
              backends::CompileOptions& inner) {
  DimOptions parsed = parse_dims(dims);
  inner.dims = std::move(parsed.numbers);
  inner.open_dims = std::move(parsed.open);
  inner.equal_dims = std::move(parsed.equal);
  set_specialized(options.specialize, inner, OptionStyle::command_line);
}

GraphFileOptions graph_file_options(const backends::CompileOptions& inner, const InputFiles& files,
                                    const InputOptions& inputs) {
  GraphFileOptions how{.dims = inner.dims, .inputs = &files};
  for (const auto& [name, range] : inner.open_dims) how.open_dims.insert(name);
  for (const auto& [name, value] : inner.equal_dims) how.open_dims.insert(name);
  how.states = parse_states(inputs);
  return how;
}

ir::DimExpressions settle_dims(const std::string& program, ir::Graph& graph,
                               backends::CompileOptions& inner) {
  const ir::DimExpressions given = inner.equal_dims;
  ir::DimExpressions equal = backends::settle_dims(graph, inner);
  for (const auto& [name, value] : equal)
    if (!given.contains(name))
      note_once(program, str(name, " = ", value, ", which the graph takes it for"));
  return equal;
}

void set_compile_options(const CompileOptions& options, backends::CompileOptions& inner) {
  CompileOptions without_dims = options;  // set_dims() reads those
  without_dims.specialize.clear();
  set_kernel_options(without_dims, inner, OptionStyle::command_line);
}

}  // namespace tcc::tools
