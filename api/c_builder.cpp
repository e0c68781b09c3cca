// The C ABI: building graphs.
#include <deque>

#include "api/c_handles.h"
#include "frontend/yaml/document.h"
#include "frontend/yaml/values.h"

#include "tcc/graph.hpp"

using namespace tcc::c;  // NOLINT: what follows is the ABI

struct tcc_builder {
  explicit tcc_builder(const char* name) : builder(name) {}
  tcc::GraphBuilder builder;
  std::vector<tcc::GraphValue> values;
  std::deque<std::vector<Spec>> specs;  // that callers got
};

namespace tcc::c {
namespace {

// The C interface knows no place of the caller's.
constexpr std::source_location kNowhere{};

tcc_value add(tcc_builder& builder, GraphValue value) {
  builder.values.push_back(std::move(value));
  return static_cast<tcc_value>(builder.values.size()) - 1;
}

const GraphValue& value_of(const tcc_builder& builder, tcc_value value) {
  if (value < 0 || value >= std::ssize(builder.values))
    fail_input("value ", value, " of a builder of ", builder.values.size());
  return builder.values[static_cast<size_t>(value)];
}

Dims dims_of_list(const yaml::Item& list) {
  Dims dims;
  for (const yaml::Item& item : list.list()) dims.emplace_back(item.dim().to_string());
  return dims;
}

Dims shape_of(const char* text) { return dims_of_list(yaml::parse_document(text, "shape")); }

// Whether a number as it is written has a fraction or an exponent, or is no finite one.
bool is_fraction(const yaml::Item& item) {
  const std::string text = item.text();
  return text.find_first_of(".eE") != std::string::npos || text.find("nf") != std::string::npos;
}

Attribute attribute_of(const yaml::Item& item) {
  if (item.is_list()) {
    const std::vector<yaml::Item> list = item.list();
    const auto is_real = [](const yaml::Item& one) {
      return yaml::is_number(one) && is_fraction(one);
    };
    if (std::none_of(list.begin(), list.end(), is_real)) return dims_of_list(item);
    std::vector<double> numbers;
    for (const yaml::Item& one : list) numbers.push_back(one.number());
    return numbers;
  }
  const std::string text = item.text();
  if (item.is_quoted()) return text;
  if (text == "true" || text == "false") return text == "true";
  if (!yaml::is_number(item)) return text;
  if (is_fraction(item)) return item.number();
  return item.integer();
}

Attributes attributes_of(const char* text) {
  Attributes attributes;
  if (!text) return attributes;
  for (const auto& [key, item] : yaml::parse_document(text, "attributes").map())
    attributes.emplace(key, attribute_of(item));
  return attributes;
}

}  // namespace
}  // namespace tcc::c

const char* tcc_graph_yaml(const tcc_graph* graph) noexcept {
  const char* text = nullptr;
  guard([&] {
    const tcc_graph& g = given(graph, "graph");
    const std::lock_guard lock(g.yaml_mutex);
    if (g.yaml_text.empty()) g.yaml_text = g.graph.to_yaml();
    text = g.yaml_text.c_str();
  });
  return text;
}

tcc_status tcc_graph_save(const tcc_graph* graph, const char* folder) noexcept {
  return guard([&] { given(graph, "graph").graph.save(&given(folder, "folder")); });
}

tcc_status tcc_builder_create(const char* name, tcc_builder** builder) noexcept {
  return guard([&] {
    given(builder, "builder");
    *builder = new tcc_builder(&given(name, "name"));
  });
}

void tcc_builder_destroy(tcc_builder* builder) noexcept { delete builder; }

tcc_status tcc_builder_dim(tcc_builder* builder, const char* name, int64_t default_size) noexcept {
  return guard(
      [&] { given(builder, "builder").builder.dim(&given(name, "name"), default_size, kNowhere); });
}

tcc_status tcc_builder_input(tcc_builder* builder, const char* name, const char* dtype,
                             const char* shape, tcc_value* value) noexcept {
  return guard([&] {
    given(value, "value");
    *value = add(given(builder, "builder"),
                 builder->builder.input(&given(name, "name"), &given(dtype, "dtype"),
                                        shape_of(&given(shape, "shape")), kNowhere));
  });
}

tcc_status tcc_builder_constant(tcc_builder* builder, const char* name, const char* dtype,
                                const int64_t* shape, size_t rank, const void* data, size_t bytes,
                                tcc_value* value) noexcept {
  return guard([&] {
    given(value, "value");
    given(builder, "builder");
    const auto dims = span_of(shape, rank, "shape");
    tcc::HostTensor tensor(&given(dtype, "dtype"), {dims.begin(), dims.end()});
    if (tensor.bytes.size() != bytes)
      tcc::fail_input("'", &given(name, "name"), "' has ", tensor.bytes.size(), " bytes, not ",
                      bytes);
    if (bytes > 0)
      std::memcpy(tensor.bytes.data(), &given(static_cast<const char*>(data), "data"), bytes);
    *value = add(*builder, builder->builder.constant(&given(name, "name"), tensor, kNowhere));
  });
}

tcc_status tcc_builder_full(tcc_builder* builder, const char* name, const char* dtype,
                            const char* shape, double number, tcc_value* value) noexcept {
  return guard([&] {
    given(value, "value");
    *value = add(given(builder, "builder"),
                 builder->builder.constant(&given(name, "name"), &given(dtype, "dtype"),
                                           shape_of(&given(shape, "shape")), number, kNowhere));
  });
}

tcc_status tcc_builder_state(tcc_builder* builder, const char* name, const char* dtype,
                             const char* shape, tcc_value* value) noexcept {
  return guard([&] {
    given(value, "value");
    *value = add(given(builder, "builder"),
                 builder->builder.state(&given(name, "name"), &given(dtype, "dtype"),
                                        shape_of(&given(shape, "shape")), kNowhere));
  });
}

tcc_status tcc_builder_op(tcc_builder* builder, const char* op, const tcc_value* operands,
                          size_t num_operands, const char* attributes, tcc_value* results,
                          size_t num_results) noexcept {
  return guard([&] {
    tcc_builder& b = given(builder, "builder");
    const auto to = span_of(results, num_results, "results");
    if (to.empty()) tcc::fail_input(&given(op, "op"), ": asked for no result");
    std::vector<tcc::Operand> values;
    for (const tcc_value value : span_of(operands, num_operands, "operands"))
      values.push_back(value == TCC_NO_VALUE ? tcc::Operand(std::nullopt)
                                             : tcc::Operand(value_of(b, value)));
    const auto made = b.builder.ops(&given(op, "op"), values, attributes_of(attributes), kNowhere);
    if (made.size() < to.size())
      tcc::fail_input(op, ": has ", made.size(), made.size() == 1 ? " result" : " results",
                      ", not ", to.size());
    for (size_t i = 0; i < to.size(); ++i) to[i] = add(b, made[i]);
  });
}

tcc_status tcc_builder_name(tcc_builder* builder, tcc_value value, const char* name) noexcept {
  return guard(
      [&] { value_of(given(builder, "builder"), value).named(&given(name, "name"), kNowhere); });
}

tcc_status tcc_builder_value(tcc_builder* builder, tcc_value value,
                             tcc_tensor_info* info) noexcept {
  return guard([&] {
    const tcc::GraphValue& v = value_of(given(builder, "builder"), value);
    const tcc::ValueSpec spec{v.name(), v.dtype(), v.shape()};
    describe(builder->specs.emplace_back(specs_of(std::vector{spec})), 0, info);
  });
}

tcc_status tcc_builder_output(tcc_builder* builder, const char* name, tcc_value value) noexcept {
  return guard([&] {
    tcc_builder& b = given(builder, "builder");
    b.builder.output(&given(name, "name"), value_of(b, value), kNowhere);
  });
}

tcc_status tcc_builder_build(const tcc_builder* builder, tcc_graph** graph) noexcept {
  return guard([&] {
    given(graph, "graph");
    *graph = new tcc_graph(given(builder, "builder").builder.build());
  });
}
