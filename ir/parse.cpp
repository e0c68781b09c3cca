#include <charconv>
#include <unordered_map>

#include "ir/exact_double.h"
#include "ir/op.h"
#include "ir/suggest.h"
#include "ir/text.h"
#include "ir/text_cursor.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

constexpr size_t kMaxText = size_t{1} << 28;
constexpr size_t kMaxValues = size_t{1} << 20;
constexpr size_t kMaxRank = 64;
constexpr size_t kMaxList = size_t{1} << 16;

// `%name: type`, before the '='.
struct Declaration {
  std::string name;
  std::optional<Type> type;
  int line;
};

class Parser {
 public:
  Parser(std::string_view text, const ParseOptions& options)
      : cursor_(text, options.file),
        options_(options),
        file_(std::make_shared<const std::string>(options.file)) {}

  Graph parse() {
    cursor_.expect_word("graph");
    cursor_.expect('@');
    graph_.name = cursor_.name("the graph's name");
    parse_dims();
    cursor_.expect('{');
    while (cursor_.at('%')) parse_statement();
    parse_return();
    cursor_.expect('}');
    if (!cursor_.at_end()) cursor_.fail("there is text after the graph");
    graph_.make_names_unique();  // they are: only sets the ids of names to come
    return std::move(graph_);
  }

 private:
  void parse_dims() {
    if (!cursor_.take('(')) return;
    do {
      const std::string symbol = cursor_.word("a dim's name");
      cursor_.expect('=');
      const int64_t value = cursor_.integer();
      if (value < 0) cursor_.fail("dim ", symbol, " is negative");
      if (!graph_.dims.emplace(symbol, value).second)
        cursor_.fail("dim ", symbol, " is defined twice");
    } while (cursor_.take(','));
    cursor_.expect(')');
  }

  SymInt parse_symbolic() {
    const SymInt value = cursor_.dim();
    value.visit_atoms([&](const AtomPtr& atom) {
      if (atom->kind == Atom::Kind::symbol && !graph_.dims.contains(atom->name))
        cursor_.fail("unknown dim '", atom->name, "'");
    });
    return value;
  }

  std::vector<SymInt> parse_symbolic_list(size_t limit) {
    std::vector<SymInt> values;
    cursor_.expect('[');
    if (cursor_.take(']')) return values;
    do {
      if (values.size() == limit) cursor_.fail("a list of more than ", limit, " elements");
      values.push_back(parse_symbolic());
    } while (cursor_.take(','));
    cursor_.expect(']');
    return values;
  }

  std::vector<double> parse_number_list() {
    std::vector<double> values;
    cursor_.expect('[');
    if (cursor_.take(']')) return values;
    do {
      if (values.size() == kMaxList) cursor_.fail("a list of more than ", kMaxList, " elements");
      values.push_back(cursor_.number());
    } while (cursor_.take(','));
    cursor_.expect(']');
    return values;
  }

  DType parse_element_type() {
    const std::string text = cursor_.word("an element type");
    const auto dtype = parse_dtype(text);
    if (!dtype) cursor_.fail("unknown element type '", text, "'");
    return *dtype;
  }

  Type parse_type() {
    Type type{parse_element_type(), parse_symbolic_list(kMaxRank)};
    for (const SymInt& dim : type.shape)
      if (dim.is_const() && dim.value() < 0) cursor_.fail(to_string(type), " has a negative dim");
    return type;
  }

  Declaration parse_declaration() {
    cursor_.expect('%');
    Declaration declared{cursor_.name("a value's name"), std::nullopt, cursor_.line()};
    if (cursor_.take(':')) declared.type = parse_type();
    return declared;
  }

  void parse_statement() {
    std::vector<Declaration> declared;
    do { declared.push_back(parse_declaration()); } while (cursor_.take(','));
    cursor_.expect('=');
    if (values_.size() + declared.size() > kMaxValues)
      cursor_.fail("more than ", kMaxValues, " values");

    const int line = cursor_.line();
    const std::string what = cursor_.word("an op");
    if (!cursor_.at('(')) return parse_leaf(what, declared);
    Node* node = parse_node(what, line);
    if (node->outputs.size() != declared.size())
      cursor_.fail(what, " has ", node->outputs.size(), " results, not ", declared.size());
    for (size_t k = 0; k < declared.size(); ++k) define(declared[k], node->outputs[k]);
  }

  void define(const Declaration& declared, Value* value) {
    if (declared.type && *declared.type != value->type)
      cursor_.fail("%", declared.name, " is ", to_string(value->type), ", not ",
                   to_string(*declared.type));
    value->name = declared.name;
    value->location = {file_, declared.line};
    if (!values_.emplace(declared.name, value).second)
      cursor_.fail("%", declared.name, " is defined twice");
  }

  // input, state, weight or const.
  void parse_leaf(const std::string& what, const std::vector<Declaration>& declared) {
    const Declaration& first = declared.front();
    if (declared.size() != 1) cursor_.fail("one value at a time can be ", what);
    if (what != "input" && what != "state" && what != "weight" && what != "const" &&
        what != "mutable")
      cursor_.fail("expected input, state, weight, const or an op with its operands, not ",
                   quote(what));
    if (!first.type) cursor_.fail("%", first.name, " needs a type");
    if (what == "input") return parse_input(first);
    if (what == "state") return parse_state(first);
    if (what == "mutable") cursor_.expect_word("weight");
    Value* value = graph_.add_constant(
        first.name, *first.type,
        what == "const" ? parse_literal(*first.type) : weight(first.name, *first.type));
    value->is_mutable = what == "mutable";
    define(first, value);
  }

  void parse_input(const Declaration& declared) {
    Value* value = graph_.add_input(declared.name, *declared.type);
    define(declared, value);
    if (!cursor_.take_word("range")) return;
    cursor_.expect('[');
    const int64_t lo = cursor_.integer();
    cursor_.expect(',');
    const int64_t hi = cursor_.integer();
    cursor_.expect(')');
    if (lo >= hi) cursor_.fail("the range [", lo, ", ", hi, ") is empty");
    value->random_range = {lo, hi};
  }

  void parse_state(const Declaration& declared) {
    ConstantPtr initial;
    if (cursor_.take_word("const"))
      initial = parse_literal(*declared.type);
    else if (cursor_.take_word("weight"))
      initial = weight(declared.name, *declared.type);
    define(declared, graph_.add_state(declared.name, *declared.type, std::move(initial)));
  }

  std::vector<int64_t> constant_shape(const Type& type) {
    for (const SymInt& dim : type.shape)
      if (!dim.is_const()) cursor_.fail("a constant's shape cannot depend on dims");
    std::vector<int64_t> shape = const_shape(type.shape);
    if (!tensor_bytes(type.dtype, shape)) cursor_.fail(to_string(type), " is too large");
    return shape;
  }

  ConstantPtr weight(const std::string& name, const Type& type) {
    if (options_.weight) return options_.weight(name, type);
    return make_lazy_constant([dtype = type.dtype, shape = constant_shape(type)] {
      return std::make_shared<const Tensor>(dtype, shape);
    });
  }

  ConstantPtr parse_literal(const Type& type) {
    const std::vector<int64_t> shape = constant_shape(type);
    if (!cursor_.at('[')) {
      Tensor element(type.dtype, {});
      parse_element(element, 0);
      ConstantPtr scalar = make_constant(std::make_shared<const Tensor>(std::move(element)));
      if (shape.empty()) return scalar;
      if (!scalar->splat()) cursor_.fail("too large a number for every element; spell them out");
      return make_splat(type.dtype, shape, *scalar->splat());
    }
    const int64_t count = *checked_product(shape);
    if (count > static_cast<int64_t>(kMaxList))
      cursor_.fail("a literal of more than ", kMaxList, " elements");
    Tensor tensor(type.dtype, shape);
    cursor_.expect('[');
    for (int64_t i = 0; i < count; ++i) {
      if (i > 0) cursor_.expect(',');
      parse_element(tensor, i);
    }
    if (!cursor_.take(']'))
      cursor_.fail("expected ']' after the ", count, " elements of the constant");
    return make_constant(std::make_shared<const Tensor>(std::move(tensor)));
  }

  void parse_element(Tensor& tensor, int64_t i) {
    const DType dtype = tensor.dtype();
    const std::string_view token = cursor_.number_token();
    bool known = true;
    if (dtype == DType::boolean) {
      known = token == "true" || token == "false";
      tensor.set_int(i, token == "true");
    } else if (dtype == DType::f64) {
      double value = 0;
      known = read(token, value);
      tensor.set(i, value);
    } else if (is_float(dtype)) {
      float value = 0;  // read as such: rounding to f64 on the way could round twice
      known = read(token, value);
      tensor.set(i, value);
    } else if (dtype == DType::u64) {
      uint64_t value = 0;
      known = read(token, value);
      tensor.set_int(i, static_cast<int64_t>(value));
    } else {
      int64_t value = 0;
      known = read(token, value) && wrap_to(dtype, value) == value;
      tensor.set_int(i, value);
    }
    if (!known) cursor_.fail(quote(token.substr(0, 40)), " is not a value of ", tcc::name(dtype));
  }

  Attr parse_number() {
    const std::string_view token = cursor_.number_token();
    int64_t whole = 0;
    if (read(token, whole) && !is_exact_double(whole)) return whole;
    double value = 0;
    if (!read(token, value)) cursor_.fail("expected a number, not ", quote(token.substr(0, 40)));
    return value;
  }

  template <class T>
  static bool read(std::string_view token, T& value) {
    const auto [end, error] = std::from_chars(token.begin(), token.end(), value);
    return error == std::errc{} && end == token.end();
  }

  Node* parse_node(const std::string& op_name, int line) {
    const OpDef* op = find_op(op_name);
    if (!op) {
      const std::string near = suggest_op(op_name);
      cursor_.fail("unknown op '", op_name, "'",
                   near.empty() ? "" : "; did you mean '" + near + "'?");
    }
    std::vector<Value*> operands = parse_operands();
    Attrs attrs = parse_attrs(*op);
    return graph_.add_node(*op, std::move(operands), std::move(attrs), {file_, line});
  }

  std::vector<Value*> parse_operands() {
    std::vector<Value*> operands;
    cursor_.expect('(');
    if (cursor_.take(')')) return operands;
    do {
      if (operands.size() == kMaxList) cursor_.fail("more than ", kMaxList, " operands");
      operands.push_back(cursor_.take_word("_") ? nullptr : parse_use());
    } while (cursor_.take(','));
    cursor_.expect(')');
    return operands;
  }

  Value* parse_use() {
    cursor_.expect('%');
    const std::string name = cursor_.name("a value's name");
    const auto found = values_.find(name);
    if (found == values_.end()) cursor_.fail("%", name, " is not defined above");
    return found->second;
  }

  Attrs parse_attrs(const OpDef& op) {
    Attrs attrs;
    if (!cursor_.take('{')) return attrs;
    do {
      const std::string key = cursor_.word("an attribute");
      cursor_.expect('=');
      if (!attrs.emplace(key, parse_attr(find_attr(op, key))).second)
        cursor_.fail("attribute '", key, "' is given twice");
    } while (cursor_.take(','));
    cursor_.expect('}');
    return attrs;
  }

  const AttrDef& find_attr(const OpDef& op, const std::string& key) {
    std::vector<std::string> known;
    for (const AttrDef& def : op.attrs) {
      if (def.name == key) return def;
      known.push_back(def.name);
    }
    cursor_.fail(op.name, ": unknown attribute '", key, "'", did_you_mean(key, known));
  }

  Attr parse_attr(const AttrDef& def) {
    switch (def.type) {
      case AttrType::boolean:
        if (cursor_.take_word("true")) return true;
        if (!cursor_.take_word("false"))
          cursor_.fail("attribute '", def.name, "' must be true or false");
        return false;
      case AttrType::integer: return cursor_.integer();
      case AttrType::number: return parse_number();
      case AttrType::text: return cursor_.text_literal();
      case AttrType::dtype: return parse_element_type();
      case AttrType::ints:
        if (!cursor_.at('[')) return std::vector<SymInt>{parse_symbolic()};
        return parse_symbolic_list(kMaxList);
      case AttrType::numbers: return parse_number_list();
    }
    TCC_CHECK(false, "attribute type ", static_cast<int>(def.type));
    return false;
  }

  void parse_return() {
    cursor_.expect_word("return");
    if (cursor_.at('}')) return;
    do {
      Value* value = parse_use();
      graph_.outputs.push_back(value);
      graph_.output_names.push_back(cursor_.take_word("as") ? cursor_.text_literal() : value->name);
      if (graph_.outputs.size() > kMaxList) cursor_.fail("more than ", kMaxList, " outputs");
    } while (cursor_.take(','));
  }

  TextCursor cursor_;
  const ParseOptions& options_;
  std::shared_ptr<const std::string> file_;
  Graph graph_;
  std::unordered_map<std::string, Value*> values_;
};

}  // namespace

Graph parse_graph(std::string_view text, const ParseOptions& options) {
  if (text.size() > kMaxText) fail_input(options.file, ": longer than ", kMaxText, " bytes");
  return Parser(text, options).parse();
}

}  // namespace tcc::ir
