#include <algorithm>
#include <map>
#include <set>

#include "api/impl.h"
#include "frontend/tensor_file.h"
#include "frontend/yaml/document.h"
#include "frontend/yaml/values.h"
#include "frontend/yaml/weight_data.h"
#include "ir/builder.h"
#include "support/error.h"

#include "tcc/graph.hpp"

namespace tcc {

struct GraphBuilder::Impl : std::enable_shared_from_this<GraphBuilder::Impl> {
  ir::Graph graph;
  std::map<std::string, ir::Value*, std::less<>> names;  // of all values
  std::set<const ir::Value*> named;                      // by the caller
  std::map<std::string, std::shared_ptr<const std::string>, std::less<>> files;

  // The C interface gives no place.
  static bool is_known(const Where& where) { return *where.file_name() != '\0'; }
  ir::Location location(const Where& where) {
    if (!is_known(where)) return {};
    auto& file = files[where.file_name()];
    if (!file) file = std::make_shared<const std::string>(where.file_name());
    return {file, static_cast<int>(where.line())};
  }
  // An error of the caller's line.
  template <class... Parts>
  [[noreturn]] static void fail(const Where& where, const Parts&... parts) {
    if (!is_known(where)) fail_input(parts...);
    fail_input(where.file_name(), ":", where.line(), ": ", parts...);
  }
  // Runs `body`; an error that does not say where it arose gets the caller's line.
  template <class Body>
  static auto at(const Where& where, Body body) {
    try {
      return body();
    } catch (const Error& error) {
      const std::string message = error.what();
      if (error.kind() != ErrorKind::bad_input || message.starts_with(where.file_name())) throw;
      fail(where, message);
    }
  }

  static DType dtype(std::string_view text, const Where& where) {
    const auto dtype = parse_dtype(text);
    if (!dtype) fail(where, "'", text, "' is no dtype");
    return *dtype;
  }

  ir::Shape shape(const Dims& dims, const Where& where) const {
    if (dims.size() > kMaxFileRank)
      fail(where, "a rank of ", dims.size(), " is more than ", kMaxFileRank);
    return integers(dims, where);
  }

  std::vector<ir::SymInt> integers(const Dims& dims, const Where& where) const {
    std::vector<ir::SymInt> values;
    for (const Dim& dim : dims) {
      values.push_back(at(where, [&] { return ir::parse_symint(dim.text); }));
      values.back().visit_atoms([&](const ir::AtomPtr& atom) {
        if (atom->kind == ir::Atom::Kind::symbol && !graph.dims.count(atom->name))
          fail(where, "'", atom->name, "' is not declared: GraphBuilder::dim() does so");
      });
    }
    return values;
  }

  ir::Attrs attrs(const Attributes& given, const Where& where) const {
    ir::Attrs attrs;
    for (const auto& [key, attribute] : given)
      std::visit(
          [&, &name = key](const auto& value) {
            if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Dims>)
              attrs[name] = integers(value, where);
            else
              attrs[name] = value;
          },
          attribute.value());
    return attrs;
  }

  ir::Type type(std::string_view dtype_name, const Dims& dims, const Where& where) const {
    return {dtype(dtype_name, where), shape(dims, where)};
  }

  static TensorPtr tensor(std::string_view name, const HostTensor& data) {
    auto tensor = std::make_shared<const Tensor>(to_tensor(data, str("'", name, "'")));
    if (tensor->shape().size() > kMaxFileRank)
      fail_input("a rank of ", tensor->shape().size(), " is more than ", kMaxFileRank);
    return tensor;
  }
  static ir::Type type_of(const Tensor& tensor) {
    return {tensor.dtype(), ir::Shape(tensor.shape().begin(), tensor.shape().end())};
  }

  // A name for the value that the caller did not name.
  void invent_name(ir::Value* value) {
    const std::string wanted = value->name;
    for (int n = 2; !names.emplace(value->name, value).second; ++n)
      value->name = str(wanted, ".", n);
  }

  void check_name(std::string_view name, const Where& where) const {
    if (!yaml::is_value_name(name))
      fail(where, "'", name.substr(0, 40),
           "' cannot name a value: use a letter, then letters, digits, _ . - /");
    const auto found = names.find(name);
    if (found != names.end() && named.count(found->second))
      fail(where, "'", name, "' is defined twice");
  }

  // check_name() comes first. A result whose invented name this is gets another one.
  void name(ir::Value* value, std::string_view name) {
    if (const auto found = names.find(name); found != names.end()) {
      ir::Value* other = found->second;
      names.erase(found);
      if (other != value) {
        names.emplace(name, value);
        invent_name(other);
      }
    }
    if (const auto old = names.find(value->name); old != names.end() && old->second == value)
      names.erase(old);
    value->name = name;
    names.insert_or_assign(value->name, value);
    named.insert(value);
  }

  // The value that `make` adds to the graph, under the caller's name.
  template <class Make>
  GraphValue add(std::string_view wanted, const Where& where, Make make);
};

struct GraphValue::Impl {
  std::shared_ptr<GraphBuilder::Impl> builder;
  ir::Value* value;
};

template <class Make>
GraphValue GraphBuilder::Impl::add(std::string_view wanted, const Where& where, Make make) {
  check_name(wanted, where);
  ir::Value* value = at(where, make);
  value->location = location(where);
  name(value, wanted);
  return GraphValue(
      std::make_shared<GraphValue::Impl>(GraphValue::Impl{shared_from_this(), value}));
}

const GraphValue::Impl& GraphValue::impl() const {
  if (!impl_) fail_input("a GraphValue that is no value of a graph");
  return *impl_;
}

std::string GraphValue::name() const { return impl().value->name; }
std::string GraphValue::dtype() const { return std::string(tcc::name(impl().value->dtype())); }

std::vector<std::string> GraphValue::shape() const {
  std::vector<std::string> dims;
  for (const ir::SymInt& dim : impl().value->shape()) dims.push_back(dim.to_string());
  return dims;
}

const GraphValue& GraphValue::named(std::string_view name,
                                    const std::source_location& where) const {
  GraphBuilder::Impl& builder = *impl().builder;
  if (builder.named.count(impl().value))
    GraphBuilder::Impl::fail(where, "'", impl().value->name, "' has a name already");
  builder.check_name(name, where);
  builder.name(impl().value, name);
  return *this;
}

GraphBuilder::GraphBuilder(std::string_view name) : impl_(std::make_shared<Impl>()) {
  impl_->graph.name = name;
}

Dim GraphBuilder::dim(std::string_view name, std::int64_t default_size, const Where& where) {
  if (!yaml::is_dim_name(name))
    Impl::fail(where, "'", name, "': a dim's name is letters, digits and _");
  if (default_size < 0 || default_size > (int64_t{1} << 40))
    Impl::fail(where, "dim '", name, "' cannot be ", default_size);
  if (!impl_->graph.dims.emplace(name, default_size).second)
    Impl::fail(where, "dim '", name, "' is defined twice");
  return {std::string(name)};
}

GraphValue GraphBuilder::input(std::string_view name, std::string_view dtype, const Dims& shape,
                               const Where& where) {
  return impl_->add(name, where, [&] {
    return impl_->graph.add_input(std::string(name), impl_->type(dtype, shape, where));
  });
}

GraphValue GraphBuilder::constant(std::string_view name, const HostTensor& data,
                                  const Where& where) {
  return impl_->add(name, where, [&] {
    const TensorPtr tensor = Impl::tensor(name, data);
    return impl_->graph.add_constant(std::string(name), Impl::type_of(*tensor),
                                     ir::make_constant(tensor));
  });
}

GraphValue GraphBuilder::constant(std::string_view name, std::string_view dtype, const Dims& shape,
                                  double number, const Where& where) {
  return impl_->add(name, where, [&] {
    const ir::Type type = impl_->type(dtype, shape, where);
    if (!is_float(type.dtype) && !(round_to(type.dtype, number) == number))
      fail_input("'", name, "': ", number, " does not fit into ", dtype);
    const bool is_bound =
        std::ranges::all_of(type.shape, [](const auto& dim) { return dim.is_const(); });
    if (is_bound && !tensor_bytes(type.dtype, ir::const_shape(type.shape)))
      fail_input("'", name, "': ", ir::to_string(type), " is too large or has a negative dim");
    const auto data =
        std::make_shared<yaml::UnboundDrawn>(yaml::Drawn{type.dtype, Init::constant(number), 0});
    return impl_->graph.add_constant(
        std::string(name), type,
        is_bound ? data->bind(ir::const_shape(type.shape)) : ir::ConstantPtr(data));
  });
}

GraphValue GraphBuilder::state(std::string_view name, std::string_view dtype, const Dims& shape,
                               const Where& where) {
  return impl_->add(name, where, [&] {
    return impl_->graph.add_state(std::string(name), impl_->type(dtype, shape, where));
  });
}

GraphValue GraphBuilder::state(std::string_view name, const HostTensor& first, const Where& where) {
  return impl_->add(name, where, [&] {
    const TensorPtr tensor = Impl::tensor(name, first);
    return impl_->graph.add_state(std::string(name), Impl::type_of(*tensor),
                                  ir::make_constant(tensor));
  });
}

std::vector<GraphValue> GraphBuilder::ops(std::string_view op, const std::vector<Operand>& operands,
                                          const Attributes& attributes, const Where& where) {
  std::vector<ir::Value*> inputs(operands.size(), nullptr);
  const ir::Value* like = nullptr;
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto* value = std::get_if<GraphValue>(&operands[i].value());
    if (!value) continue;
    if (!*value) Impl::fail(where, op, ": operand ", i, " is no value of a graph");
    if (value->impl().builder != impl_)
      Impl::fail(where, op, ": operand ", i, ", '", value->name(),
                 "', is a value of another graph");
    inputs[i] = value->impl().value;
    if (!like && inputs[i]->dtype() != DType::boolean) like = inputs[i];
  }
  const ir::Attrs attrs = impl_->attrs(attributes, where);
  ir::Builder builder(impl_->graph);
  builder.set_location(impl_->location(where));
  const auto add_number = [&](size_t i, std::variant<int64_t, double> number) {
    inputs[i] = Impl::at(where, [&] { return yaml::scalar(builder, number, like); });
    impl_->invent_name(inputs[i]);
  };
  for (size_t i = 0; i < operands.size(); ++i) {
    if (const auto* integer = std::get_if<int64_t>(&operands[i].value())) add_number(i, *integer);
    if (const auto* number = std::get_if<double>(&operands[i].value())) add_number(i, *number);
  }
  std::vector<GraphValue> results;
  for (ir::Value* value : Impl::at(where, [&] { return builder.ops(op, inputs, attrs); })) {
    impl_->invent_name(value);
    results.push_back(
        GraphValue(std::make_shared<GraphValue::Impl>(GraphValue::Impl{impl_, value})));
  }
  return results;
}

GraphValue GraphBuilder::op(std::string_view op, const std::vector<Operand>& operands,
                            const Attributes& attributes, const Where& where) {
  return ops(op, operands, attributes, where).front();
}

GraphValue GraphBuilder::apply(std::string_view op, const std::vector<Operand>& operands,
                               const Attributes& attributes) {
  for (const Operand& operand : operands)
    if (const auto* value = std::get_if<GraphValue>(&operand.value()); value && *value)
      return GraphBuilder(value->impl().builder).op(op, operands, attributes, operand.where());
  const Where where = operands.empty() ? Where::current() : operands.front().where();
  Impl::fail(where, op, ": no operand is a value of a graph");
}

void GraphBuilder::output(std::string_view name, const GraphValue& value, const Where& where) {
  if (!value) Impl::fail(where, "output '", name, "' is no value of a graph");
  if (value.impl().builder != impl_)
    Impl::fail(where, "output '", name, "' is a value of another graph");
  if (!yaml::is_value_name(name))
    Impl::fail(where, "'", name.substr(0, 40),
               "' cannot name an output: use a letter, then letters, digits, _ . - /");
  ir::Graph& graph = impl_->graph;
  if (std::ranges::find(graph.output_names, name) != graph.output_names.end())
    Impl::fail(where, "output '", name, "' is listed twice");
  graph.outputs.push_back(value.impl().value);
  graph.output_names.emplace_back(name);
}

Graph GraphBuilder::build() const {
  if (impl_->graph.outputs.empty())
    fail_input("graph '", impl_->graph.name, "' has no outputs: GraphBuilder::output() adds them");
  return Graph(std::make_shared<const Graph::Impl>(Graph::Impl{impl_->graph.clone()}));
}

}  // namespace tcc
