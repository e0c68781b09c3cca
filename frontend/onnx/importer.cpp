#include "frontend/onnx/importer.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "frontend/onnx/narrow_types.h"
#include "frontend/onnx/newer_fields.h"
#include "frontend/onnx/rules.h"
#include "frontend/onnx/unknown_operators.h"
#include "frontend/state_pairs.h"
#include "frontend/tensor_file.h"
#include "ir/layers.h"
#include "support/error.h"
#include "support/plural.h"

namespace tcc::onnx {
namespace {

constexpr int64_t kMaxNodes = 500000;  // once functions are expanded and loops unrolled
constexpr int kMaxDepth = 32;          // of functions and subgraphs in one another
constexpr size_t kMaxName = 1024;
constexpr size_t kMaxRank = 64;

std::string domain_of(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::string place_of(const pb::NodeProto& node, int64_t number) {
  const std::string name = node.name().empty() ? "" : " " + quoted_name(node.name());
  std::string type = quoted_name(node.op_type());
  return str("node ", number, name, " (", type.substr(1, type.size() - 2), ")");
}

// Returns the name by which the user knows the node.
std::string layer_of(const pb::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output())
    if (!output.empty()) return output;
  return node.op_type();
}

// Names the type of a graph input that is no tensor, for messages.
std::string kind_of(const pb::TypeProto& type) {
  switch (type.value_case()) {
    case pb::TypeProto::kSequenceType: return "a sequence";
    case pb::TypeProto::kMapType: return "a map";
    case pb::TypeProto::kOptionalType: return "an optional";
    case pb::TypeProto::kSparseTensorType: return "a sparse tensor";
    default: return "of no type";
  }
}

// Such names would break messages into lines, now and in every later stage.
bool has_control_characters(std::string_view name) {
  return std::ranges::any_of(
      name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

bool has_letters(std::string_view name) {
  return std::ranges::any_of(name,
                             [](unsigned char c) { return std::isalnum(c) != 0 || c >= 0x80; });
}

// "batch-size" is a name, "n - 1" and "n-1" are differences.
bool is_hyphenated(std::string_view name) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  for (size_t k = 1; k + 1 < name.size(); ++k)
    if (name[k] == '-' && letter(name[k - 1]) && letter(name[k + 1])) return true;
  return false;
}

// Importing a node costs so many nodes at least: a bound on time and memory, whatever it is.
int64_t cost_of(const pb::NodeProto& node) {
  constexpr int64_t kPerNode = 16;  // entries of attributes
  int64_t entries = 0;
  for (const pb::AttributeProto& attribute : node.attribute())
    entries += 1 + attribute.ints_size() + attribute.floats_size() + attribute.strings_size();
  return 1 + node.input_size() + node.output_size() + entries / kPerNode;
}

}  // namespace

const Operand* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope; scope = scope->outer)
    if (auto found = scope->names.find(name); found != scope->names.end()) return &found->second;
  return nullptr;
}

Importer::Importer(const pb::ModelProto& model, const std::filesystem::path& path,
                   const GraphFileOptions& options)
    : model_(model),
      file_(path.string()),
      options_(options),
      tensors_(file_,
               GraphFiles(path.parent_path(), options.files, options.opens_files, options.read)) {}

void Importer::fail(const std::string& reason) const { fail_input(file_, ": ", reason); }

void Importer::spend(int64_t nodes) {
  nodes_ += nodes;
  if (nodes_ > kMaxNodes)
    fail(str("more than ", kMaxNodes, " nodes once functions are expanded and loops unrolled"));
}

ir::Graph Importer::run() {
  if (!model_.has_graph()) fail("is no ONNX model: it has no graph");
  const pb::GraphProto& graph = model_.graph();
  const std::string& own = graph.name();
  if (!own.empty() && own.size() <= kMaxName && !has_control_characters(own)) graph_.name = own;
  if (model_.training_info_size() > 0) fail("training models are not supported");
  read_opsets();
  read_functions();
  Scope scope;
  scope.opsets = &opsets_;
  read_initializers(graph, scope);
  read_inputs(scope);
  import_nodes(graph.node(), scope, "");
  read_outputs(scope);
  incomplete_ = false;
  read_states(scope);
  graph_.remove_dead();
  drop_unused_counts();
  graph_.make_names_unique();
  return std::move(graph_);
}

OpsetImports Importer::opsets_of(
    const google::protobuf::RepeatedPtrField<pb::OperatorSetIdProto>& list,
    const std::string& what) {
  OpsetImports imports;
  for (const auto& entry : list) {
    const std::string domain = domain_of(entry.domain());
    if (entry.version() < 1)
      fail(str(what, " imports version ", entry.version(), " of the operators of domain ",
               quoted_name(entry.domain())));
    if (domain.empty() && entry.version() > kNewestOpset) warn_of_newer(what, entry.version());
    imports[domain] = static_cast<int>(std::min<int64_t>(entry.version(), 1 << 20));
  }
  return imports;
}

// An attribute or input that its newest known version lacks is refused, like everything that a rule
// does not know; what changed without a trace in the node cannot be seen.
void Importer::warn_of_newer(const std::string& what, int64_t opset) {
  if (std::exchange(warned_, true) || !options_.warn) return;
  options_.warn(str(file_, ": ", what, " is of opset ", opset,
                    "; its operators are read as those of opset ", kNewestOpset,
                    ", the newest that this tcc knows"));
}

void Importer::read_opsets() {
  opsets_ = opsets_of(model_.opset_import(), "the model");
  if (opsets_.empty()) opsets_[""] = 1;  // before ONNX 1.0
}

void Importer::read_functions() {
  for (const pb::FunctionProto& function : model_.functions()) {
    const std::string what = "function " + quoted_name(function.name());
    const auto key = std::pair(domain_of(function.domain()), function.name());
    if (is_overload(function)) fail(what + ": overloads are not supported");
    if (!functions_.emplace(key, &function).second) fail(what + " is defined twice");
    OpsetImports& imports = function_opsets_[&function] = opsets_of(function.opset_import(), what);
    if (imports.empty()) imports = opsets_;
    function_defaults_[&function] = default_attributes(function);
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
    define(scope, tensor.name(), with_element_type(value, tensor.data_type()), value->location);
  }
}

// ---- inputs

std::string Importer::new_dim_name(const std::string& name) {
  std::string clean;
  for (const char c : name.substr(0, 200)) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool digit = c >= '0' && c <= '9';
    if (clean.empty() && digit) clean = "d";
    clean += letter || digit ? c : '_';
  }
  if (clean.empty()) clean = "_";
  if (!graph_.dims.contains(clean)) return clean;
  int& number = dim_numbers_.try_emplace(clean, 2).first->second;
  while (graph_.dims.contains(str(clean, "_", number))) ++number;
  return str(clean, "_", number);
}

SymInt Importer::symbol(const std::string& key, const std::string& name) {
  if (const auto found = symbols_.find(key); found != symbols_.end()) return found->second;
  const std::string clean = new_dim_name(name);
  const auto bound = options_.dims.find(clean);
  graph_.dims[clean] = bound == options_.dims.end() ? 1 : bound->second;
  return symbols_[key] =
             bound == options_.dims.end() ? SymInt::symbol(clean) : SymInt(bound->second);
}

// Reads an expression of symbols, or one name that need not be an identifier.
SymInt Importer::named_dim(const std::string& name) {
  if (is_hyphenated(name)) return symbol(name, name);
  SymInt expression;
  try {
    expression = ir::parse_symint(name);
  } catch (const Error&) { return symbol(name, name); }
  // All symbols at once: the name of one may be the replacement of another.
  return expression.substitute([&](const ir::AtomPtr& atom) -> std::optional<SymInt> {
    if (atom->kind != ir::Atom::Kind::symbol) return std::nullopt;
    return symbol(atom->name, atom->name);
  });
}

SymInt Importer::dim(const pb::ValueInfoProto& input, int k, const pb::TensorShapeProto& shape,
                     const std::optional<TensorInfo>& given) {
  const auto& proto = shape.dim(k);
  const auto checked = [&](const SymInt& extent) {
    if (extent.is_const() && extent.value() < 0)
      fail(str("input ", quoted_name(input.name()), " has dim ", extent));
    return extent;
  };
  // Paddle's exporter writes -1 for a dim without a number.
  if (proto.has_dim_value() && proto.dim_value() != -1) return checked(proto.dim_value());
  // Paddle's exporter calls every dim that it does not know "?".
  const bool named = proto.has_dim_param() && has_letters(proto.dim_param());
  // The name of a dim without one holds what no other name does.
  const std::string name = named ? proto.dim_param() : str(input.name(), "_dim", k);
  const std::string key = named ? name : name + '\0';
  if (auto found = bound_.find(key); found != bound_.end()) return found->second;
  SymInt extent;
  try {
    extent = checked(named ? named_dim(name) : symbol(key, name));
  } catch (const Error& error) {
    fail(str("input ", quoted_name(input.name()), ": dim ", quoted_name(name), ": ", error.what()));
  }
  // Inputs at hand say what the dims are, unless they were asked to be something else.
  if (!extent.is_const() && !stays_open(extent) && given &&
      given->shape.size() == static_cast<size_t>(shape.dim_size()))
    extent = given->shape[static_cast<size_t>(k)];
  if (const auto found = symbols_.find(key); found != symbols_.end()) found->second = extent;
  return bound_[key] = extent;
}

bool Importer::stays_open(const SymInt& extent) const {
  bool found = false;
  extent.visit_atoms([&](const ir::AtomPtr& atom) {
    found |= atom->kind == ir::Atom::Kind::symbol && options_.open_dims.contains(atom->name);
  });
  return found;
}

ir::Type Importer::input_type(const pb::ValueInfoProto& input) {
  const std::string where = str(file_, ": input ", quoted_name(input.name()));
  if (!input.type().has_tensor_type())
    fail_input(where, " is ", kind_of(input.type()), "; only tensors are supported");
  const auto& tensor = input.type().tensor_type();
  ir::Type type{holder_of(tensor.elem_type(), where), {}};
  std::optional<TensorInfo> given;
  if (options_.inputs) given = options_.inputs->info(input.name());
  if (!tensor.has_shape()) {
    if (!given) {
      missing_inputs_.push_back(input.name());
      fail_input(where, ": its shape is not given, nor is its data (", input_option(), ")");
    }
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
  std::set<std::string_view> seen;
  for (const pb::ValueInfoProto& input : model_.graph().input()) {
    spend(1);
    if (!seen.insert(input.name()).second)
      fail(str("input ", quoted_name(input.name()), " is listed twice"));
    if (const auto found = scope.names.find(input.name()); found != scope.names.end()) {
      check_element_type(input, found->second, "input");  // a default, taken as a constant
      continue;
    }
    const ir::Location location{
        std::make_shared<const std::string>(str(file_, ": input ", quoted_name(input.name()))), 0};
    Value* value = graph_.add_input(input.name(), input_type(input));
    value->location = location;
    const auto code = input.type().tensor_type().elem_type();
    if (const NarrowType* narrow = narrow_type(code); narrow && narrow->is_integer())
      value->random_range = {narrow->low, narrow->high + 1};
    define(scope, input.name(), with_element_type(value, code), location);
  }
}

bool Importer::specialise(const Value* value) {
  if (!options_.inputs) return false;
  bool changed = false;
  for (const Value* input : ir::KnownValues::inputs_of(value)) {
    if (!options_.inputs->info(input->name)) continue;
    const auto at = std::ranges::find(graph_.inputs, input);
    TCC_CHECK(at != graph_.inputs.end(), input->name, " is no graph input");
    Value& constant = **at;
    const TensorPtr data = options_.inputs->load_for(constant);
    const ir::Type given{data->dtype(), {data->shape().begin(), data->shape().end()}};
    if (!(given == constant.type))
      fail(str("input ", quoted_name(input->name), " is ", ir::to_string(constant.type),
               ", but the data given is ", ir::to_string(given)));
    constant.kind = Value::Kind::constant;
    constant.data = ir::make_constant(data);
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
    return str("it depends on the data of input ", names, " (", input_option(),
               options_.is_tool ? " NAME=FILE.npy" : "", " gives it)");
  for (const std::string& name : counts_of(value))
    names += str(names.empty() ? "" : ", ", quoted_name(counted_.at(name)));
  if (!names.empty())
    return str("it depends on the number of results of ", names, ", which each run counts");
  for (const std::string& name : free_dims()) names += (names.empty() ? "" : ", ") + name;
  return str("it depends on dims that are not bound, in a way that is not followed (", dim_option(),
             options_.is_tool ? " binds " : " bind ", names.empty() ? "them" : names, ")");
}

std::string Importer::need(const Value* value) {
  for (const Value* input : ir::KnownValues::inputs_of(value))
    missing_inputs_.push_back(input->name);
  return why_unknown(value);
}

std::vector<std::string> Importer::free_dims() const {
  std::vector<std::string> names;
  for (const Value* input : graph_.inputs)
    for (const SymInt& extent : input->shape())
      extent.visit_atoms([&](const ir::AtomPtr& atom) {
        if (atom->kind == ir::Atom::Kind::symbol &&
            std::ranges::find(names, atom->name) == names.end())
          names.push_back(atom->name);
      });
  return names;
}

// ---- nodes

void Importer::define(Scope& scope, const std::string& name, const Operand& operand,
                      const ir::Location& location) {
  const std::string where = ir::to_string(location);
  if (name.empty()) fail_input(where, ": a value without a name");
  if (name.size() > kMaxName) fail_input(where, ": a name of ", name.size(), " characters");
  if (has_control_characters(name))
    fail_input(where, ": ", quoted_name(name), " is a name with control characters");
  if (!scope.names.emplace(name, operand).second)
    fail_input(where, ": ", quoted_name(name), " is defined twice");
}

const std::vector<int>& Importer::order_of(const Nodes& nodes, const Scope& scope,
                                           const std::string& prefix) {
  const auto [entry, is_new] = orders_.try_emplace(&nodes);
  std::vector<int>& order = entry->second;
  if (!is_new) return order;
  const auto is_defined = [&](const std::string& name) { return scope.names.contains(name); };
  order = node_order(nodes, is_defined);
  if (static_cast<int>(order.size()) < nodes.size()) {
    const int at = node_in_cycle(nodes, order, is_defined);
    fail(str(prefix, place_of(nodes[at], at), " needs its own result: nodes form a cycle"));
  }
  return order;
}

void Importer::import_nodes(const Nodes& nodes, Scope& scope, const std::string& prefix,
                            const std::string& layer_prefix) {
  for (const int k : order_of(nodes, scope, prefix)) {
    const pb::NodeProto& node = nodes[k];
    spend(cost_of(node));
    const std::string place = prefix + place_of(node, k);
    last_place_ = place;
    const ir::Location location{std::make_shared<const std::string>(file_ + ": " + place), 0,
                                ir::layer_named(layer_prefix + layer_of(node))};
    for (const std::string& input : node.input())
      if (!input.empty() && !scope.find(input))
        fail_input(ir::to_string(location), ": unknown value ", quoted_name(input));
    const Results results = import_node(node, scope, location);
    for (int out = 0; out < node.output_size(); ++out) {
      const std::string& name = node.output(out);
      if (name.empty()) continue;
      const auto at = static_cast<size_t>(out);
      if (at >= results.size() || !results[at])
        fail_input(ir::to_string(location), ": output ", out, " is not supported");
      Value* value = results[at].value;
      if (value && static_cast<size_t>(value->rank()) > kMaxRank)
        fail_input(ir::to_string(location), ": a result of ", value->rank(), " dims; at most ",
                   kMaxRank, " are supported");
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
  if (is_overload(node)) op.fail("overloads of functions are not supported");
  const auto function = functions_.find({domain, node.op_type()});
  if (function != functions_.end())
    return call(*function->second, op, node, scope, ir::to_string(location));
  if (domain.empty() && version == scope.opsets->end())
    op.fail("no version of the operators of ONNX is imported");
  const Rule* rule = find_rule(domain, node.op_type());
  if (!rule) fail_unknown(op, domain);
  try {
    const int32_t narrow = narrow_operands(op, scope, node);
    Results results = rule->import(op);
    op.check_all_understood();
    if (narrow)
      for (Operand& result : results) result.narrow = narrow;
    return results;
  } catch (const Error& error) {
    // An error of arithmetic on dims (a size that overflows) has no place yet.
    if (error.kind() != ErrorKind::bad_input ||
        std::string_view(error.what()).starts_with(file_ + ": "))
      throw;
    op.fail(error.what());
  }
}

void Importer::fail_unknown(OpNode& op, const std::string& domain) const {
  const auto function = [&](const std::string& of, const std::string& name) {
    const auto found = functions_.find({of, name});
    return found == functions_.end() ? nullptr : found->second;
  };
  const auto unknown = unknown_operators(model_.graph(), function);
  if (unknown.size() > 1) fail(to_string(unknown));
  op.fail(str("operator ", quoted_name(op.type()),
              domain.empty() ? "" : str(" of domain ", quoted_name(domain)), " is not supported",
              suggest_operator(op.type())));
}

int32_t Importer::narrow_operands(const OpNode& op, const Scope& scope,
                                  const pb::NodeProto& node) const {
  int32_t moved = 0;
  for (const std::string& name : node.input()) {
    const Operand* operand = name.empty() ? nullptr : scope.find(name);
    if (!operand || !operand->narrow || converts_narrow_elements(op.type())) continue;
    if (!moves_narrow_elements(op.type()))
      op.fail(str(quoted_name(name), " has elements of ", narrow_type(operand->narrow)->name,
                  ", which only operators take that move or convert them"));
    if (name == node.input(0)) moved = operand->narrow;
  }
  return moved;
}

Results Importer::call(const pb::FunctionProto& function, OpNode& op, const pb::NodeProto& node,
                       const Scope& scope, const std::string& place) {
  if (++depth_ > kMaxDepth) op.fail(str("functions are nested deeper than ", kMaxDepth));
  spend(function.input_size() + function.output_size());
  const auto& defaults = function_defaults_.at(&function);
  AttributeMap attributes;
  std::set<std::string_view> listed;
  for (const pb::AttributeProto& attribute : node.attribute()) {
    if (!listed.insert(attribute.name()).second)
      op.fail(str("attribute ", quoted_name(attribute.name()), " is listed twice"));
    const pb::AttributeProto* given = &attribute;
    if (attribute.has_ref_attr_name()) {
      const auto found = scope.attributes ? scope.attributes->find(attribute.ref_attr_name())
                                          : AttributeMap::const_iterator{};
      if (!scope.attributes || found == scope.attributes->end()) continue;
      given = found->second;
    }
    if (!defaults.contains(attribute.name()) &&
        std::ranges::find(function.attribute(), attribute.name()) == function.attribute().end())
      op.fail(str("function has no attribute ", quoted_name(attribute.name())));
    attributes[attribute.name()] = given;
  }
  for (const auto& [name, attribute] : defaults) attributes.try_emplace(name, &attribute);
  if (node.input_size() > function.input_size())
    op.fail(str("function takes ", counted(function.input_size(), "input"), ", not ",
                node.input_size()));
  Scope body;
  body.opsets = &function_opsets_.at(&function);
  body.attributes = &attributes;
  for (int k = 0; k < function.input_size(); ++k)
    define(body, function.input(k), op.operand(static_cast<size_t>(k)), op.b.location());
  import_nodes(function.node(), body, place.substr(file_.size() + 2) + ": ",
               op.b.location().layers->front() + "/");
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
  spend(1 + graph.input_size() + graph.output_size());
  Scope scope;
  scope.outer = &outer;
  scope.opsets = outer.opsets;
  scope.attributes = outer.attributes;
  read_initializers(graph, scope);
  if (static_cast<size_t>(graph.input_size()) != arguments.size())
    fail(str("subgraph ", quoted_name(graph.name()), " has ", counted(graph.input_size(), "input"),
             ", not ", arguments.size()));
  const std::string place = str("subgraph ", quoted_name(graph.name()), ": ");
  const ir::Location location{
      std::make_shared<const std::string>(str(file_, ": ", place, "inputs")), 0};
  for (int k = 0; k < graph.input_size(); ++k)
    define(scope, graph.input(k).name(), arguments[static_cast<size_t>(k)], location);
  import_nodes(graph.node(), scope, place);
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

void Importer::check_element_type(const pb::ValueInfoProto& info, const Operand& operand,
                                  std::string_view kind) const {
  const std::string what = str(kind, " ", quoted_name(info.name()));
  if (!info.has_type() || info.type().value_case() == pb::TypeProto::VALUE_NOT_SET) return;
  if (!info.type().has_tensor_type())
    fail(str(what, " is ", kind_of(info.type()), "; only tensors are supported"));
  const auto code = info.type().tensor_type().elem_type();
  if (code == pb::TensorProto::UNDEFINED) return;
  const auto text = [](const NarrowType* narrow, DType dtype) {
    return narrow ? narrow->name : name(dtype);
  };
  const NarrowType *declared = narrow_type(code), *actual = narrow_type(operand.narrow);
  const DType dtype = holder_of(code, file_ + ": " + what);
  if (declared != actual || dtype != operand.value->dtype())
    fail(str(what, " is declared as ", text(declared, dtype), ", but is ",
             text(actual, operand.value->dtype())));
}

void Importer::read_outputs(const Scope& scope) {
  std::set<std::string_view> seen;
  for (const pb::ValueInfoProto& output : model_.graph().output()) {
    const std::string what = "output " + quoted_name(output.name());
    const Operand* found = scope.find(output.name());
    if (!found) fail(what + " is computed by no node");
    if (!found->value)
      fail(what + " is a sequence or an empty optional; only tensors are supported");
    if (!seen.insert(output.name()).second) fail(what + " is listed twice");
    check_element_type(output, *found, "output");
    graph_.outputs.push_back(found->value);
    graph_.output_names.push_back(output.name());
  }
  if (graph_.outputs.empty()) fail("a graph needs at least one output");
}

void Importer::read_states(const Scope& scope) {
  for (const auto& [from, to] : options_.states) {
    const Operand *input = scope.find(from), *output = scope.find(to);
    if (input && output && input->narrow != output->narrow)
      fail(str("state ", quoted_name(from), ", next value ", quoted_name(to),
               ": their elements are of two types"));
  }
  for (const auto& [from, to] : options_.states)
    if (options_.inputs && options_.inputs->info(from))
      fail_input(file_, ": input ", quoted_name(from),
                 " is given, and becomes a state, which begins with zeros: ",
                 options_.is_tool ? "--load-states gives its first value"
                                  : "Context::set_state() gives its first value");
  make_states(graph_, options_.states, file_);
}

}  // namespace tcc::onnx
