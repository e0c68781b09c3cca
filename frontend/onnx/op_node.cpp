#include "frontend/onnx/op_node.h"

#include <algorithm>

#include "frontend/onnx/importer.h"
#include "frontend/tensor_file.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

using Attribute = pb::AttributeProto;

// Counts the fields that hold an attribute's value and are in use.
int fields_in_use(const Attribute& a) {
  return a.has_i() + a.has_f() + a.has_s() + a.has_t() + a.has_g() + a.has_sparse_tensor() +
         (a.ints_size() > 0) + (a.floats_size() > 0) + (a.strings_size() > 0) +
         (a.tensors_size() > 0) + (a.graphs_size() > 0) + (a.sparse_tensors_size() > 0);
}

}  // namespace

OpNode::OpNode(Importer& importer, const Scope& scope, const pb::NodeProto& node, int version,
               ir::Location location)
    : b(importer.graph()), opset(version), importer_(importer), scope_(scope), node_(node) {
  b.set_location(std::move(location));
}

std::string_view OpNode::dim_option() const { return importer_.dim_option(); }

void OpNode::fail(const std::string& reason) const {
  fail_input(ir::to_string(b.location()), ": ", reason);
}

// ---- operands

bool OpNode::has_input(size_t k) const {
  return k < num_inputs() && !node_.input(static_cast<int>(k)).empty();
}

Operand OpNode::operand(size_t k) {
  known_inputs_.insert(k);
  if (!has_input(k)) return {};
  const std::string& name = node_.input(static_cast<int>(k));
  const Operand* found = scope_.find(name);
  if (!found) fail(str("unknown value ", quoted_name(name)));
  return *found;
}

Value* OpNode::maybe(size_t k) {
  const Operand found = operand(k);
  if (found.list) fail(str("input ", k, " is a sequence, not a tensor"));
  return found.value;
}

Value* OpNode::in(size_t k) {
  Value* value = maybe(k);
  if (!value) fail(str("input ", k, " is missing"));
  return value;
}

std::vector<Value*> OpNode::all_inputs() {
  std::vector<Value*> values;
  for (size_t k = 0; k < num_inputs(); ++k) values.push_back(in(k));
  require(!values.empty(), "has no inputs");
  return values;
}

List OpNode::list(size_t k) {
  const Operand found = operand(k);
  if (!found.list) fail(str("input ", k, " is not a sequence"));
  return found.list;
}

bool OpNode::wants(size_t k) const {
  return k < num_outputs() && !node_.output(static_cast<int>(k)).empty();
}

// ---- known values

std::optional<std::vector<SymInt>> OpNode::known_dims(Value* value) {
  for (;;) {
    if (auto known = importer_.known().integers(value)) return known;
    if (!importer_.specialise(value)) return std::nullopt;
  }
}

std::vector<SymInt> OpNode::dims_of(Value* value, const std::string& what) {
  if (is_float(value->dtype())) fail(str(what, " must be integers, not ", name(value->dtype())));
  if (auto known = known_dims(value)) return *known;
  fail(str(what, " must be known when the graph is compiled; ", importer_.need(value)));
}

std::optional<std::vector<SymInt>> OpNode::dims_if_known(size_t k) { return known_dims(in(k)); }

bool OpNode::depends_on_data(size_t k) {
  return !ir::KnownValues::inputs_of(in(k)).empty() || importer_.depends_on_counts(in(k));
}

std::string OpNode::without_file(std::string_view message) const {
  return std::string(importer_.without_file(message));
}

std::string OpNode::need(size_t k) { return importer_.need(in(k)); }

std::vector<SymInt> OpNode::dims(size_t k) { return dims_of(in(k), str("input ", k)); }

SymInt OpNode::dim_of(size_t k) {
  const std::vector<SymInt> values = dims(k);
  if (values.size() != 1) fail(str("input ", k, " must be one number, not ", values.size()));
  return values[0];
}

std::optional<SymInt> OpNode::whole_if_known(size_t k) { return known_whole(in(k)); }

std::optional<SymInt> OpNode::known_whole(const Value* value) {
  const auto values = importer_.known().whole_numbers(value);
  return values && values->size() == 1 ? std::optional((*values)[0]) : std::nullopt;
}

std::vector<int64_t> OpNode::ints(size_t k) {
  std::vector<int64_t> numbers;
  for (const SymInt& value : dims(k)) {
    if (!value.is_const() && importer_.depends_on_counts(in(k)))
      fail(str("input ", k, " must be a number; ", importer_.why_unknown(in(k))));
    if (!value.is_const())
      fail(str("input ", k, " must be a number, but is ", value, "; bind its dims (",
               importer_.dim_option(), ")"));
    numbers.push_back(value.value());
  }
  return numbers;
}

int64_t OpNode::int_of(size_t k) {
  const std::vector<int64_t> values = ints(k);
  if (values.size() != 1) fail(str("input ", k, " must be one number, not ", values.size()));
  return values[0];
}

TensorPtr OpNode::tensor(size_t k) {
  Value* value = in(k);
  for (;;) {
    if (TensorPtr known = importer_.known().tensor(value)) return known;
    if (!importer_.specialise(value)) break;
  }
  fail(str("input ", k, " must be known when the graph is compiled; ", importer_.need(value)));
}

TensorPtr OpNode::tensor_if_known(size_t k) {
  Value* value = maybe(k);
  return value ? importer_.known().tensor(value) : nullptr;
}

double OpNode::number_of(size_t k) {
  const SymInt count = ir::product(in(k)->shape());
  if (!count.is(1)) fail(str("input ", k, " must be one number, not ", count));
  return tensor(k)->get(0);
}

ir::Attr OpNode::scalar_of(size_t k) {
  const double number = number_of(k);
  if (!is_integer(tensor(k)->dtype()) || number >= 0x1p63) return number;
  return tensor(k)->get_int(0);
}

// ---- attributes

const Attribute* OpNode::attribute(std::string_view name) {
  known_attributes_.emplace(name);
  for (const Attribute& attribute : node_.attribute()) {
    if (attribute.name() != name) continue;
    if (!attribute.has_ref_attr_name()) return &attribute;
    // Inside a function: an attribute of the call.
    if (!scope_.attributes) fail_attribute(name, "refers to an attribute outside a function");
    const auto found = scope_.attributes->find(attribute.ref_attr_name());
    return found == scope_.attributes->end() ? nullptr : found->second;
  }
  return nullptr;
}

void OpNode::fail_attribute(std::string_view name, const std::string& reason) const {
  fail(str("attribute '", name, "': ", reason));
}

bool OpNode::has(std::string_view name) { return attribute(name) != nullptr; }

int64_t OpNode::integer(std::string_view name) {
  const Attribute* found = attribute(name);
  if (!found) fail_attribute(name, "is missing");
  if (!found->has_i()) fail_attribute(name, "must be an integer");
  return found->i();
}

int64_t OpNode::integer(std::string_view name, int64_t otherwise) {
  return has(name) ? integer(name) : otherwise;
}

double OpNode::number(std::string_view name, double otherwise) {
  const Attribute* found = attribute(name);
  if (!found) return otherwise;
  if (!found->has_f()) fail_attribute(name, "must be a number");
  return static_cast<double>(found->f());
}

std::string OpNode::text(std::string_view name, const std::string& otherwise) {
  const Attribute* found = attribute(name);
  if (!found) return otherwise;
  if (!found->has_s()) fail_attribute(name, "must be text");
  return found->s();
}

std::vector<int64_t> OpNode::ints_attr(std::string_view name, std::vector<int64_t> otherwise) {
  const Attribute* found = attribute(name);
  if (!found) return otherwise;
  if (fields_in_use(*found) > (found->ints_size() > 0 ? 1 : 0))
    fail_attribute(name, "must be a list of integers");
  return {found->ints().begin(), found->ints().end()};
}

std::vector<double> OpNode::numbers_attr(std::string_view name) {
  const Attribute* found = attribute(name);
  if (!found) return {};
  if (fields_in_use(*found) > (found->floats_size() > 0 ? 1 : 0))
    fail_attribute(name, "must be a list of numbers");
  return {found->floats().begin(), found->floats().end()};
}

std::vector<std::string> OpNode::texts_attr(std::string_view name) {
  const Attribute* found = attribute(name);
  if (!found) return {};
  if (fields_in_use(*found) > (found->strings_size() > 0 ? 1 : 0))
    fail_attribute(name, "must be a list of texts");
  return {found->strings().begin(), found->strings().end()};
}

std::optional<int32_t> OpNode::element_type_attr(std::string_view name) {
  if (!has(name)) return std::nullopt;
  const int64_t code = integer(name);
  if (code < 0 || code > 1000) fail_attribute(name, str(code, " is no element type"));
  holder_of(static_cast<int32_t>(code), ir::to_string(b.location()));
  return static_cast<int32_t>(code);
}

std::optional<DType> OpNode::dtype_attr(std::string_view name) {
  const auto code = element_type_attr(name);
  return code ? std::optional(dtype_of(*code, ir::to_string(b.location()))) : std::nullopt;
}

const pb::TensorProto* OpNode::tensor_attr(std::string_view name) {
  const Attribute* found = attribute(name);
  if (!found) return nullptr;
  if (!found->has_t()) fail_attribute(name, "must be a tensor");
  return &found->t();
}

const pb::GraphProto& OpNode::graph(std::string_view name) {
  const Attribute* found = attribute(name);
  if (!found || !found->has_g()) fail_attribute(name, "must be a graph");
  return found->g();
}

// ---- helpers

int64_t OpNode::axis(int64_t dim, int rank) const {
  if (dim < -rank || dim >= rank)
    fail(str("axis ", dim, " is out of range for a tensor of rank ", rank));
  return dim < 0 ? dim + rank : dim;
}

std::vector<int64_t> OpNode::axes(std::vector<int64_t> dims, int rank) const {
  for (int64_t& dim : dims) dim = axis(dim, rank);
  return dims;
}

Value* OpNode::constant(TensorPtr tensor) {
  ir::Type type{tensor->dtype(), {tensor->shape().begin(), tensor->shape().end()}};
  Value* value = b.graph().add_constant("", std::move(type), ir::make_constant(std::move(tensor)));
  value->location = b.location();
  return value;
}

Value* OpNode::constant_ints(const std::vector<int64_t>& values) {
  Tensor tensor(DType::i64, {static_cast<int64_t>(values.size())});
  std::ranges::copy(values, tensor.as<int64_t>().begin());
  return constant(std::make_shared<const Tensor>(std::move(tensor)));
}

Value* OpNode::constant(const pb::TensorProto& tensor) {
  const std::string where = ir::to_string(b.location());
  const ir::Type type = importer_.tensors().type(tensor, where);
  Value* value = b.graph().add_constant("", type, importer_.tensors().constant(tensor, where));
  value->location = b.location();
  return value;
}

std::vector<Value*> OpNode::count(std::string_view op, const std::vector<Value*>& inputs,
                                  ir::Attrs attrs) {
  std::string result = type();
  for (int k = node_.output_size(); k-- > 0;)
    if (!node_.output(k).empty()) result = node_.output(k);
  return importer_.count(b, *ir::find_op(op), inputs, std::move(attrs), result);
}

Value* OpNode::dims_value(const std::vector<SymInt>& dims) {
  if (std::ranges::all_of(dims, &SymInt::is_const)) return constant_ints(ir::const_shape(dims));
  std::vector<Value*> sizes;
  for (const SymInt& dim : dims)
    sizes.push_back(b.op("size_value", {}, {{"size", std::vector<SymInt>{dim}}}));
  return b.op("stack", sizes, {{"dim", 0}});
}

Results OpNode::import_subgraph(const pb::GraphProto& graph, std::span<const Operand> arguments) {
  return importer_.import_subgraph(graph, scope_, arguments);
}

void OpNode::check_all_understood() const {
  std::set<std::string_view> listed;
  for (const Attribute& attribute : node_.attribute()) {
    if (!known_attributes_.contains(attribute.name()))
      fail(str("attribute ", quoted_name(attribute.name()), " is not supported"));
    if (!listed.insert(attribute.name()).second)
      fail(str("attribute ", quoted_name(attribute.name()), " is listed twice"));
  }
  for (size_t k = 0; k < num_inputs(); ++k)
    if (has_input(k) && !known_inputs_.contains(k)) fail(str("input ", k, " is not supported"));
}

}  // namespace tcc::onnx
