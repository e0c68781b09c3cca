#include "api/options.h"

#include <algorithm>
#include <functional>
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

void set_specialized(const std::vector<std::string>& texts, backends::CompileOptions& inner,
                     OptionStyle style) {
  std::vector<ir::Numbers> all = {{}};
  for (const std::string& text : texts) {
    const std::string written = said("specialize", text, style);
    const auto [name, sizes] = ir::parse_sizes(text, written);
    const auto open = inner.open_dims.find(name);
    if (open == inner.open_dims.end()) fail_input(written, ": '", name, "' is no open dim");
    std::vector<ir::Numbers> more;
    for (const int64_t size : sizes) {
      if (const std::string reason = open->second.why_not(size); !reason.empty())
        fail_input(written, ": ", size, " ", reason, " (", name, " = ", open->second.to_string(),
                   ")");
      for (ir::Numbers one : all) {
        if (!one.emplace(name, size).second) fail_input(written, ": '", name, "' is given twice");
        more.push_back(std::move(one));
      }
    }
    all.insert(all.end(), more.begin(), more.end());
    if (std::ssize(all) - 1 > exec::kMostVariants)
      fail_input(written, ": makes ", all.size() - 1, " variants; an executable has at most ",
                 exec::kMostVariants);
  }
  all.erase(all.begin());  // of no size
  std::ranges::stable_sort(all, std::greater<>(), &ir::Numbers::size);
  inner.specialize = std::move(all);
}

void set_kernel_options(const CompileOptions& options, backends::CompileOptions& inner,
                        OptionStyle style) {
  inner.dims = {options.dims.begin(), options.dims.end()};
  for (const std::string& text : options.open_dims) {
    const std::string written = said("open_dims", text, OptionStyle::member);
    const ir::DimOption dim =
        ir::parse_dim(text.find('=') == text.npos ? text + "=free" : text,
                      style == OptionStyle::member ? written : str("--dim ", text));
    if (dim.number) fail_input(written, ": is a number, which `dims` takes");
    if (inner.equal_dims.contains(dim.name) || inner.open_dims.contains(dim.name))
      fail_input(written, ": '", dim.name, "' is given twice");
    if (dim.expression)
      inner.equal_dims.emplace(dim.name, *dim.expression);
    else
      inner.open_dims.emplace(dim.name, dim.range);
  }
  set_specialized(options.specialize, inner, style);
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
