#include "api/options.h"

#include <algorithm>
#include <string_view>

#include "ir/passes/convert_precision.h"
#include "support/error.h"

namespace tcc {
namespace {

std::string said(std::string_view member, const std::string& value, OptionStyle style) {
  if (style == OptionStyle::member) return str(member, " '", value, "'");
  std::string option(member);
  std::replace(option.begin(), option.end(), '_', '-');
  return str("--", option, " ", value);
}

}  // namespace

std::optional<DType> parse_dtype_option(const std::string& text, OptionStyle style) {
  if (text.empty()) return std::nullopt;
  const auto dtype = parse_dtype(text);
  if (!dtype || !ir::is_precision(*dtype))
    fail_input(said("dtype", text, style), ": must be f32, f16, bf16 or f64");
  return dtype;
}

void set_kernel_options(const CompileOptions& options, backends::CompileOptions& inner,
                        OptionStyle style) {
  inner.dims = {options.dims.begin(), options.dims.end()};
  for (const std::string& text : options.open_dims) {
    const std::string written = said("open_dims", text, OptionStyle::member);
    const ir::DimOption dim = ir::parse_dim(
        text.find('=') == text.npos ? text + "=free" : text,
        style == OptionStyle::member ? written : str("--dim ", text));
    if (dim.number) fail_input(written, ": is a number, which `dims` takes");
    if (!inner.open_dims.emplace(dim.name, dim.range).second)
      fail_input(written, ": '", dim.name, "' is given twice");
  }
  inner.dtype = parse_dtype_option(options.dtype, style);
  const auto precision = backends::parse_matmul_precision(options.matmul_precision);
  if (!precision)
    fail_input(said("matmul_precision", options.matmul_precision, style),
               ": must be highest, high or medium");
  inner.matmul_precision = *precision;
  inner.strict_rounding = options.strict_rounding;
  inner.fuse = options.fuse;
}

}  // namespace tcc
