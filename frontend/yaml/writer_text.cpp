#include "frontend/yaml/writer_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "frontend/tensor_file.h"
#include "frontend/yaml/document.h"
#include "support/error.h"

namespace tcc::yaml {
namespace {

template <class Number>
std::string shortest(Number value) {
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, result.ptr};
}

// Commas end an entry of a list, and what begins with '-' might be an entry of one.
std::string dim_text(const ir::SymInt& dim) {
  const std::string text = dim.to_string();
  if (text.size() > kMaxText) fail_input("a dim's expression is too long: ", text.substr(0, 80));
  if (dim.is_const()) return text;
  const bool plain = text[0] != '-' && text.find(',') == std::string::npos;
  return plain ? name_text(text) : ir::quote(text);
}

template <class Value, class Text>
std::string list_text(std::span<const Value> values, const Text& text) {
  std::string result;
  for (const Value& value : values) result += (result.empty() ? "" : ", ") + text(value);
  return "[" + result + "]";
}

struct AttrText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return number_text(value); }
  std::string operator()(DType value) const { return std::string(name(value)); }
  std::string operator()(const std::vector<ir::SymInt>& values) const { return dims_text(values); }
  std::string operator()(const std::string& value) const {
    if (value.size() > kMaxText || std::ranges::any_of(value, is_control))
      fail_input(ir::quote(value.substr(0, 80)), " is too long, or has a control character");
    return ir::quote(value);
  }
  std::string operator()(const std::vector<double>& values) const {
    return list_text(std::span(values), [](double value) { return number_text(value); });
  }
};

}  // namespace

std::string name_text(const std::string& name) {
  return name == "null" || name == "Null" || name == "NULL" ? ir::quote(name) : name;
}

std::string number_text(double value, DType dtype) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  return dtype == DType::f64 ? shortest(value) : shortest(static_cast<float>(value));
}

std::string dims_text(std::span<const ir::SymInt> dims) { return list_text(dims, dim_text); }

std::string shape_text(const ir::Value& value) {
  if (value.shape().size() > kMaxFileRank)
    fail_input("'", value.name, "' has a rank of ", value.rank(), ": more than ", kMaxFileRank);
  return dims_text(value.shape());
}

std::string attr_text(const ir::Attr& attr) { return std::visit(AttrText{}, attr); }

}  // namespace tcc::yaml
