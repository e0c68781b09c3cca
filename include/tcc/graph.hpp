// Builds graphs in C++, without a file. docs/embedding.md describes its use.
//
//   tcc::GraphBuilder builder("head");
//   const tcc::Dim batch = builder.dim("B", 8);
//   const tcc::GraphValue x = builder.input("x", "f32", {batch, 64});
//   const tcc::GraphValue w = builder.constant("w", weights);  // a HostTensor, f32[10, 64]
//   builder.output("probabilities", softmax(linear(x, w) * 0.5, -1));
//   const tcc::Graph graph = builder.build();  // for tcc::compile, as one from a file
//
// Types and shapes are inferred at each call: a mistake throws Error(bad_input) there, and its
// message begins with the file and line of the call.
#pragma once

#include "tcc/tcc.hpp"

#if __cplusplus >= 202002L  // tcc/tcc.hpp says what is missing
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#pragma GCC visibility push(default)
namespace tcc {

// A dim of a shape, or an integer in a list: a number, or an expression of the graph's symbols as
// in graph files, "2*B + 1".
struct Dim {
  std::string text;

  template <std::integral T>
  Dim(T number) : text(std::to_string(number)) {}  // NOLINT: implicit, as all of these
  Dim(std::string expression) : text(std::move(expression)) {}
  Dim(const char* expression) : text(expression) {}
};
using Dims = std::vector<Dim>;

// The value of an op's attribute. Element types are texts: {"dtype", "bf16"}.
class Attribute {
 public:
  using Variant = std::variant<bool, std::int64_t, double, std::string, Dims, std::vector<double>>;

  template <class T>
  requires std::is_arithmetic_v<T> Attribute(T number) {  // NOLINT: implicit, as all of these
    if constexpr (std::is_same_v<T, bool>)
      value_ = number;
    else if constexpr (std::is_integral_v<T>)
      value_ = static_cast<std::int64_t>(number);
    else
      value_ = static_cast<double>(number);
  }
  Attribute(std::string text) : value_(std::move(text)) {}
  Attribute(const char* text) : value_(std::string(text)) {}
  Attribute(Dims integers) : value_(std::move(integers)) {}
  Attribute(std::initializer_list<Dim> integers) : value_(Dims(integers)) {}
  Attribute(std::vector<double> numbers) : value_(std::move(numbers)) {}

  const Variant& value() const { return value_; }

 private:
  Variant value_;
};
using Attributes = std::map<std::string, Attribute>;

// A value of a graph that is being built: an input, a constant or the result of an op. Copies are
// the same value. It keeps the builder's graph alive.
class GraphValue {
 public:
  GraphValue() = default;  // no value

  explicit operator bool() const { return impl_ != nullptr; }
  // These throw Error(bad_input) where this is no value.
  std::string name() const;
  std::string dtype() const;
  std::vector<std::string> shape() const;  // "784", "B", "2*B"
  // Names the value, for reports and files. Throws Error(bad_input) for a name that is taken or
  // that graph files cannot have.
  const GraphValue& named(std::string_view name, const std::source_location& where =
                                                     std::source_location::current()) const;

 private:
  friend class GraphBuilder;
  struct Impl;
  explicit GraphValue(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const;
  std::shared_ptr<const Impl> impl_;
};

// An operand of an op: a value, a number, or std::nullopt where an optional operand is left out. A
// number becomes a scalar of the type that the first tensor among the operands has; f32 where a
// fraction meets integers.
class Operand {
 public:
  Operand(GraphValue value,  // NOLINT: implicit, as all of these
          const std::source_location& where = std::source_location::current())
      : value_(std::move(value)), where_(where) {}
  template <class T>
  requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
      Operand(T number, const std::source_location& where = std::source_location::current())
      : where_(where) {
    if constexpr (std::is_integral_v<T>)
      value_ = static_cast<std::int64_t>(number);
    else
      value_ = static_cast<double>(number);
  }
  Operand(std::nullopt_t, const std::source_location& where = std::source_location::current())
      : where_(where) {}

  const std::variant<std::monostate, GraphValue, std::int64_t, double>& value() const {
    return value_;
  }
  // The call that it was given to.
  const std::source_location& where() const { return where_; }

 private:
  std::variant<std::monostate, GraphValue, std::int64_t, double> value_;
  std::source_location where_;
};

// One thread at a time. Names of symbols, inputs, constants and results are as in graph files
// (docs/yaml-format.md), and each is given once.
class GraphBuilder {
 public:
  using Where = std::source_location;

  explicit GraphBuilder(std::string_view name = "graph");

  // Declares a symbol for dims, and the size that it has by default.
  Dim dim(std::string_view name, std::int64_t default_size, const Where& where = Where::current());
  GraphValue input(std::string_view name, std::string_view dtype, const Dims& shape,
                   const Where& where = Where::current());
  // A weight with these bytes, which are copied.
  GraphValue constant(std::string_view name, const HostTensor& data,
                      const Where& where = Where::current());
  // A weight whose elements are all `value`.
  GraphValue constant(std::string_view name, std::string_view dtype, const Dims& shape,
                      double value, const Where& where = Where::current());

  // Declares a tensor that lives from run to run, zeros at first, or with these first values. The
  // op "assign" of a state and a value gives it the value for the next run.
  GraphValue state(std::string_view name, std::string_view dtype, const Dims& shape,
                   const Where& where = Where::current());
  GraphValue state(std::string_view name, const HostTensor& first,
                   const Where& where = Where::current());

  // Adds an op of docs/yaml-format.md and gives its first or only result, or all of them.
  GraphValue op(std::string_view op, const std::vector<Operand>& operands,
                const Attributes& attributes = {}, const Where& where = Where::current());
  std::vector<GraphValue> ops(std::string_view op, const std::vector<Operand>& operands,
                              const Attributes& attributes = {},
                              const Where& where = Where::current());

  // Makes the value an output of the graph, after those before it.
  void output(std::string_view name, const GraphValue& value,
              const Where& where = Where::current());
  // Returns the graph as it is now, and may be called again later. Throws Error(bad_input) for a
  // graph without outputs.
  Graph build() const;

  // Adds an op to the graph of the first value among the operands; what the functions below call.
  static GraphValue apply(std::string_view op, const std::vector<Operand>& operands,
                          const Attributes& attributes = {});

 private:
  struct Impl;
  explicit GraphBuilder(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  friend class GraphValue;
  std::shared_ptr<Impl> impl_;
};

inline GraphValue operator+(const Operand& a, const Operand& b) {
  return GraphBuilder::apply("add", {a, b});
}
inline GraphValue operator-(const Operand& a, const Operand& b) {
  return GraphBuilder::apply("sub", {a, b});
}
inline GraphValue operator*(const Operand& a, const Operand& b) {
  return GraphBuilder::apply("mul", {a, b});
}
inline GraphValue operator/(const Operand& a, const Operand& b) {
  return GraphBuilder::apply("div", {a, b});
}
inline GraphValue operator-(const Operand& x) { return GraphBuilder::apply("neg", {x}); }
inline GraphValue matmul(const Operand& a, const Operand& b) {
  return GraphBuilder::apply("matmul", {a, b});
}
inline GraphValue linear(const Operand& x, const Operand& weight) {
  return GraphBuilder::apply("linear", {x, weight});
}
inline GraphValue linear(const Operand& x, const Operand& weight, const Operand& bias) {
  return GraphBuilder::apply("linear", {x, weight, bias});
}
inline GraphValue relu(const Operand& x) { return GraphBuilder::apply("relu", {x}); }
inline GraphValue softmax(const Operand& x, int dim) {
  return GraphBuilder::apply("softmax", {x}, {{"dim", dim}});
}
inline GraphValue reshape(const Operand& x, Dims shape) {
  return GraphBuilder::apply("reshape", {x}, {{"shape", std::move(shape)}});
}
inline GraphValue permute(const Operand& x, Dims dims) {
  return GraphBuilder::apply("permute", {x}, {{"dims", std::move(dims)}});
}

}  // namespace tcc
#pragma GCC visibility pop
#endif
