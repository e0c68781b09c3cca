#include "frontend/onnx/importer.h"

#include <algorithm>

#include "frontend/onnx/rules.h"
#include "frontend/tensor_file.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

constexpr int64_t kMaxNodes = 500000;  // once functions are expanded and loops unrolled
constexpr int kMaxDepth = 32;          // of functions and subgraphs in one another
constexpr size_t kMaxName = 4096;

std::string domain_of(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::string place_of(const pb::NodeProto& node, int64_t number) {
  const std::string name = node.name().empty() ? "" : " " + quoted_name(node.name());
  std::string type = quoted_name(node.op_type());
  return str("node ", number, name, " (", type.substr(1, type.size() - 2), ")");
}

// What a graph input of no tensor type is, for messages.
std::string kind_of(const pb::TypeProto& type) {
  switch (type.value_case()) {
    case pb::TypeProto::kSequenceType: return "a sequence";
    case pb::TypeProto::kMapType: return "a map";
    case pb::TypeProto::kOptionalType: return "an optional";
    case pb::TypeProto::kSparseTensorType: return "a sparse tensor";
    default: return "of no type";
  }
}

OpsetImports opsets_of(const google::protobuf::RepeatedPtrField<pb::OperatorSetIdProto>& list) {
  OpsetImports imports;
  for (const auto& entry : list)
    imports[domain_of(entry.domain())] =
        static_cast<int>(std::clamp<int64_t>(entry.version(), 0, 1 << 20));
  return imports;
}

}  // namespace

const Operand* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope; scope = scope->outer)
    if (auto found = scope->names.find(name); found != scope->names.end()) return &found->second;
  return nullptr;
}

Importer::Importer(const pb::ModelProto& model, const std::filesystem::path& path,
                   const GraphFileOptions& options)
    : model_(model), file_(path.string()), options_(options), tensors_(file_, path.parent_path()) {}

void Importer::fail(const std::string& reason) const { fail_input(file_, ": ", reason); }

void Importer::spend(int64_t nodes) {
  nodes_ += nodes;
  if (nodes_ > kMaxNodes)
    fail(str("more than ", kMaxNodes, " nodes once functions are expanded and loops unrolled"));
}

ir::Graph Importer::run() {
  if (!model_.has_graph()) fail("is no ONNX model: it has no graph");
  const pb::GraphProto& graph = model_.graph();
  if (!graph.name().empty() && graph.name().size() <= kMaxName) graph_.name = graph.name();
  if (model_.training_info_size() > 0) fail("training models are not supported");
  read_opsets();
  read_functions();
  Scope scope;
  scope.opsets = &opsets_;
  read_initializers(graph, scope);
  read_inputs(scope);
  import_nodes(graph.node(), scope, "");
  read_outputs(scope);
  graph_.remove_dead();
  graph_.make_names_unique();
  return std::move(graph_);
}

void Importer::read_opsets() {
  opsets_ = opsets_of(model_.opset_import());
  if (opsets_.empty()) opsets_[""] = 1;  // before ONNX 1.0
  if (auto onnx = opsets_.find(""); onnx != opsets_.end() && onnx->second > kNewestOpset)
    fail(str("is of opset ", onnx->second, "; this tcc reads opsets 1 to ", kNewestOpset));
}

void Importer::read_functions() {
  for (const pb::FunctionProto& function : model_.functions()) {
    functions_[{domain_of(function.domain()), function.name()}] = &function;
    OpsetImports& imports = function_opsets_[&function] = opsets_of(function.opset_import());
    if (imports.empty()) imports = opsets_;
  }
}

void Importer::read_initializers(const pb::GraphProto& graph, Scope& scope) {
  if (graph.sparse_initializer_size() > 0) fail("sparse initialisers are not supported");
  for (const pb::TensorProto& tensor : graph.initializer()) {
    spend(1);
    const std::string where = str(file_, ": initialiser ", quoted_name(tensor.name()));
    const ir::Type type = tensors_.type(tensor, where);
    Value* value = graph_.add_constant(tensor.name(), type, tensors_.constant(tensor, where));
    value->location = {std::make_shared<const std::string>(where), 0};
    define(scope, tensor.name(), value, value->location);
  }
}

// ---- inputs

SymInt Importer::symbol(const std::string& name) {
  std::string clean;
  for (const char c : name.substr(0, 200)) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool digit = c >= '0' && c <= '9';
    if (clean.empty() && digit) clean = "d";
    clean += letter || digit ? c : '_';
  }
  if (clean.empty()) clean = "_";
  const auto bound = options_.dims.find(clean);
  graph_.dims[clean] = bound == options_.dims.end() ? 1 : bound->second;
  return bound == options_.dims.end() ? SymInt::symbol(clean) : SymInt(bound->second);
}

SymInt Importer::dim(const pb::ValueInfoProto& input, int k, const pb::TensorShapeProto& shape,
                     const std::optional<TensorInfo>& given) {
  const auto& proto = shape.dim(k);
  if (proto.has_dim_value()) {
    if (proto.dim_value() < 0)
      fail(str("input ", quoted_name(input.name()), " has dim ", proto.dim_value()));
    return proto.dim_value();
  }
  const bool named = proto.has_dim_param() && !proto.dim_param().empty();
  const std::string name = named ? proto.dim_param() : str(input.name(), "_dim", k);
  if (auto found = bound_.find(name); found != bound_.end()) return found->second;
  // Inputs at hand say what the dims are, unless they were asked to be something else.
  if (given && given->shape.size() == static_cast<size_t>(shape.dim_size()) &&
      !options_.dims.count(name)) {
    const int64_t extent = given->shape[static_cast<size_t>(k)];
    symbol(name);
    return bound_[name] = extent;
  }
  // Exporters write expressions of symbols, too: "2*s0".
  try {
    SymInt expression = ir::parse_symint(name);
    std::map<std::string, SymInt> symbols;
    expression.visit_atoms([&](const ir::AtomPtr& atom) {
      if (atom->kind == ir::Atom::Kind::symbol) symbols.emplace(atom->name, 0);
    });
    for (auto& [atom, value] : symbols) {
      value = symbol(atom);
      expression = expression.substitute(SymInt::symbol(atom), value);
    }
    return bound_[name] = expression;
  } catch (const Error&) { return bound_[name] = symbol(name); }
}

ir::Type Importer::input_type(const pb::ValueInfoProto& input) {
  const std::string where = str(file_, ": input ", quoted_name(input.name()));
  if (!input.type().has_tensor_type())
    fail_input(where, " is ", kind_of(input.type()), "; only tensors are supported");
  const auto& tensor = input.type().tensor_type();
  ir::Type type{dtype_of(tensor.elem_type(), where), {}};
  std::optional<TensorInfo> given;
  if (options_.inputs) given = options_.inputs->info(input.name());
  if (!tensor.has_shape()) {
    if (!given) fail_input(where, ": its shape is not given, nor is its data (--input)");
    type.shape.assign(given->shape.begin(), given->shape.end());
    return type;
  }
  if (static_cast<size_t>(tensor.shape().dim_size()) > kMaxFileRank)
    fail_input(where, " has ", tensor.shape().dim_size(), " dims; at most ", kMaxFileRank,
               " are supported");
  for (int k = 0; k < tensor.shape().dim_size(); ++k)
    type.shape.push_back(dim(input, k, tensor.shape(), given));
  return type;
}

void Importer::read_inputs(Scope& scope) {
  for (const pb::ValueInfoProto& input : model_.graph().input()) {
    if (scope.names.contains(input.name())) continue;  // a default, which is taken as a constant
    spend(1);
    const ir::Location location{
        std::make_shared<const std::string>(str(file_, ": input ", quoted_name(input.name()))), 0};
    Value* value = graph_.add_input(input.name(), input_type(input));
    value->location = location;
    define(scope, input.name(), value, location);
  }
}

bool Importer::specialise(const Value* value) {
  if (!options_.inputs) return false;
  bool changed = false;
  for (const Value* input : ir::KnownValues::inputs_of(value)) {
    const auto info = options_.inputs->info(input->name);
    if (!info) continue;
    const auto at = std::ranges::find(graph_.inputs, input);
    TCC_CHECK(at != graph_.inputs.end(), input->name, " is no graph input");
    Value& constant = **at;
    const ir::Type given{info->dtype, {info->shape.begin(), info->shape.end()}};
    if (!(given == constant.type))
      fail(str("input ", quoted_name(input->name), " is ", ir::to_string(constant.type),
               ", but the data given is ", ir::to_string(given)));
    constant.kind = Value::Kind::constant;
    constant.data = ir::make_constant(options_.inputs->load(input->name));
    graph_.inputs.erase(at);
    changed = true;
  }
  known_.forget_unknown();
  return changed;
}

std::string Importer::why_unknown(const Value* value) const {
  std::string names;
  for (const Value* input : ir::KnownValues::inputs_of(value))
    names += (names.empty() ? "" : ", ") + quoted_name(input->name);
  if (!names.empty())
    return str("it depends on the data of input ", names, " (--input NAME=FILE.npy gives it)");
  return "it depends on dims that are not bound, in a way that is not followed (--dim NAME=NUMBER "
         "binds one)";
}

// ---- nodes

void Importer::define(Scope& scope, const std::string& name, const Operand& operand,
                      const ir::Location& location) {
  const std::string where = ir::to_string(location);
  if (name.empty()) fail_input(where, ": a value without a name");
  if (name.size() > kMaxName) fail_input(where, ": a name of ", name.size(), " characters");
  if (!scope.names.emplace(name, operand).second)
    fail_input(where, ": ", quoted_name(name), " is defined twice");
}

template <class Nodes>
void Importer::import_nodes(const Nodes& nodes, Scope& scope, const std::string& prefix) {
  for (int k = 0; k < nodes.size(); ++k) {
    const pb::NodeProto& node = nodes[k];
    spend(1 + node.input_size() + node.output_size());
    const std::string place = prefix + place_of(node, k);
    const ir::Location location{std::make_shared<const std::string>(file_ + ": " + place), 0};
    for (const std::string& input : node.input()) {
      if (input.empty() || scope.find(input)) continue;
      for (int later = k; later < nodes.size(); ++later)
        for (const std::string& output : nodes[later].output())
          if (output == input)
            fail_input(ir::to_string(location), ": ", quoted_name(input), " is used before node ",
                       later, " computes it; nodes must be in order and cannot form a cycle");
      fail_input(ir::to_string(location), ": unknown value ", quoted_name(input));
    }
    const Results results = import_node(node, scope, location);
    for (int out = 0; out < node.output_size(); ++out) {
      const std::string& name = node.output(out);
      if (name.empty()) continue;
      const auto at = static_cast<size_t>(out);
      if (at >= results.size() || !results[at])
        fail_input(ir::to_string(location), ": output ", out, " is not supported");
      Value* value = results[at].value;
      if (value && value->kind == Value::Kind::result && value->location.file == location.file)
        value->name = name;
      define(scope, name, results[at], location);
    }
  }
}

Results Importer::import_node(const pb::NodeProto& node, const Scope& scope,
                              const ir::Location& location) {
  const std::string domain = domain_of(node.domain());
  const auto version = scope.opsets->find(domain);
  const int opset = version == scope.opsets->end() ? 1 : version->second;
  OpNode op(*this, scope, node, opset, location);
  const auto function = functions_.find({domain, node.op_type()});
  if (function != functions_.end())
    return call(*function->second, op, node, scope, ir::to_string(location));
  const Rule* rule = find_rule(domain, node.op_type());
  if (!rule) {
    const std::string type = quoted_name(node.op_type());
    op.fail(str("operator ", type, domain.empty() ? "" : str(" of domain ", quoted_name(domain)),
                " is not supported", suggest_operator(node.op_type())));
  }
  Results results = rule->import(op);
  op.check_all_understood();
  return results;
}

Results Importer::call(const pb::FunctionProto& function, OpNode& op, const pb::NodeProto& node,
                       const Scope& scope, const std::string& place) {
  if (++depth_ > kMaxDepth) op.fail(str("functions are nested deeper than ", kMaxDepth));
  AttributeMap attributes;
  for (const pb::AttributeProto& attribute : node.attribute()) {
    const pb::AttributeProto* given = &attribute;
    if (attribute.has_ref_attr_name()) {
      const auto found = scope.attributes ? scope.attributes->find(attribute.ref_attr_name())
                                          : AttributeMap::const_iterator{};
      if (!scope.attributes || found == scope.attributes->end()) continue;
      given = found->second;
    }
    if (std::ranges::find(function.attribute(), attribute.name()) == function.attribute().end())
      op.fail(str("function has no attribute ", quoted_name(attribute.name())));
    attributes[attribute.name()] = given;
  }
  if (node.input_size() > function.input_size())
    op.fail(str("function takes ", function.input_size(), " inputs, not ", node.input_size()));
  Scope body;
  body.opsets = &function_opsets_.at(&function);
  body.attributes = &attributes;
  for (int k = 0; k < function.input_size(); ++k)
    body.names[function.input(k)] = op.operand(static_cast<size_t>(k));
  import_nodes(function.node(), body, place.substr(file_.size() + 2) + ": ");
  Results results;
  for (const std::string& output : function.output()) {
    const Operand* found = body.find(output);
    if (!found) op.fail(str("function has no value ", quoted_name(output), " to return"));
    results.push_back(*found);
  }
  --depth_;
  return results;
}

Results Importer::import_subgraph(const pb::GraphProto& graph, const Scope& outer,
                                  std::span<const Operand> arguments) {
  if (++depth_ > kMaxDepth) fail(str("subgraphs are nested deeper than ", kMaxDepth));
  Scope scope;
  scope.outer = &outer;
  scope.opsets = outer.opsets;
  scope.attributes = outer.attributes;
  read_initializers(graph, scope);
  if (static_cast<size_t>(graph.input_size()) != arguments.size())
    fail(str("subgraph ", quoted_name(graph.name()), " has ", graph.input_size(), " inputs, not ",
             arguments.size()));
  for (int k = 0; k < graph.input_size(); ++k)
    scope.names[graph.input(k).name()] = arguments[static_cast<size_t>(k)];
  import_nodes(graph.node(), scope, str("subgraph ", quoted_name(graph.name()), ": "));
  Results results;
  for (const pb::ValueInfoProto& output : graph.output()) {
    const Operand* found = scope.find(output.name());
    if (!found)
      fail(str("subgraph ", quoted_name(graph.name()), ": unknown output ",
               quoted_name(output.name())));
    results.push_back(*found);
  }
  --depth_;
  return results;
}

void Importer::read_outputs(const Scope& scope) {
  for (const pb::ValueInfoProto& output : model_.graph().output()) {
    const std::string what = "output " + quoted_name(output.name());
    const Operand* found = scope.find(output.name());
    if (!found) fail(what + " is computed by no node");
    if (!found->value) fail(what + " is a sequence; only tensors are supported");
    if (std::ranges::find(graph_.output_names, output.name()) != graph_.output_names.end())
      fail(what + " is listed twice");
    if (output.type().has_tensor_type() && output.type().tensor_type().elem_type() != 0) {
      const DType declared = dtype_of(output.type().tensor_type().elem_type(), file_ + ": " + what);
      if (declared != found->value->dtype())
        fail(str(what, " is declared as ", name(declared), ", but is ",
                 name(found->value->dtype())));
    } else if (output.has_type() && output.type().value_case() != pb::TypeProto::VALUE_NOT_SET &&
               !output.type().has_tensor_type()) {
      fail(str(what, " is ", kind_of(output.type()), "; only tensors are supported"));
    }
    graph_.outputs.push_back(found->value);
    graph_.output_names.push_back(output.name());
  }
  if (graph_.outputs.empty()) fail("a graph needs at least one output");
}

}  // namespace tcc::onnx
