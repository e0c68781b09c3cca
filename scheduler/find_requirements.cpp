// The facts of a kernel that its text relies on.
#include <algorithm>
#include <bit>
#include <unordered_set>

#include "ir/bit_cast.h"
#include "scheduler/aligned_clamps.h"
#include "scheduler/legalize.h"
#include "scheduler/library_functions.h"

namespace tcc::sched {
namespace {

using ir::ExprNode;
using ir::Fn;

bool is_wide(DType dtype) { return is_integer(dtype) && size_bytes(dtype) == 8; }

class Finder {
 public:
  explicit Finder(Kernel& kernel) : kernel_(kernel), found_(kernel.requirements) {}

  void run() {
    found_ = {};
    found_.int64 = kernel_.wide_index;
    for (const Argument& argument : kernel_.arguments) {
      found_.alignments.push_back(
          std::max(size_bytes(argument.dtype), static_cast<int>(argument.needed)));
      found_.int64 |= is_wide(argument.dtype);
      if (const std::string_view storage = storage_extension(argument.dtype); !storage.empty())
        found_.extensions.emplace(storage);
    }
    if (kernel_.uses_lanes) found_.extensions.emplace("lanes");
    for (const Array& array : kernel_.shared) found_.int64 |= is_wide(array.variable.dtype);
    block(kernel_.body);
    for (const Hook& hook : kernel_.hooks) {
      found_.int64 |= hook.returns && is_wide(hook.result);
      for (const Hook::Parameter& p : hook.parameters)
        found_.int64 |= !p.is_index() && is_wide(p.array.dtype);
      block(hook.body);
    }
  }

 private:
  void block(const Block& block) {
    for (const Stmt& stmt : block) {
      if (stmt.kind == Stmt::Kind::load_vector || stmt.kind == Stmt::Kind::store_vector)
        access(stmt);
      else
        index(stmt.index);
      if (stmt.kind == Stmt::Kind::store) store(stmt);
      if (stmt.kind == Stmt::Kind::loop) index(ir::extent_of(stmt.axis));
      found_.int64 |= is_wide(stmt.variable.dtype) && stmt.variable.id != 0;
      if (stmt.value) value(stmt.value);
      this->block(stmt.body);
      this->block(stmt.otherwise);
    }
  }

  void function(const std::string& name) {
    if (!name.empty()) found_.functions.insert(name);
  }

  // Integers in a buffer of floats are their bits.
  void store(const Stmt& stmt) {
    const DType stored = kernel_.arguments[static_cast<size_t>(stmt.buffer)].dtype;
    if (is_float(stmt.value->dtype)) function(store_function(stored, stmt.value->dtype));
  }

  // Arrays of integers hold the bits of narrow floats.
  void access(const Stmt& stmt) {
    const auto slot = static_cast<size_t>(stmt.buffer);
    const DType stored = kernel_.arguments[slot].dtype;
    const bool is_load = stmt.kind == Stmt::Kind::load_vector;
    const bool moves_bits = is_low_precision(stored) && !is_float(stmt.variable.dtype);
    const int elements = vector_elements(kernel_, stmt);
    if (!moves_bits && elements == 1)
      function(is_load ? load_function(stored) : store_function(stored, compute_dtype(stored)));
    if (!moves_bits && elements > 1)
      function(is_load ? unpack_function(stored) : pack_function(stored));
    if (is_half_word(kernel_, stmt)) {
      index(floordiv(stmt.index, 2));
      found_.alignments[slot] = std::max(found_.alignments[slot], 2);
    }
    for (int64_t start = 0; start < stmt.count; start += elements)
      index(elements == 1 ? stmt.index + start : floordiv(stmt.index + start, elements));
    if (elements == 1) return;
    const int bytes = elements * size_bytes(stored);
    found_.vector_words.insert(bytes / 4);
    found_.alignments[slot] = std::max(found_.alignments[slot], bytes);
  }

  void index(const SymInt& index) {
    index.visit_atoms([&](const ir::AtomPtr& atom) {
      function(index_function(*atom, kernel_.wide_index ? "i64" : "i32"));
      if (atom->value) value(atom->value);
    });
  }

  // An index, or a number that may be written as one: 64 bits wide for itself alone.
  static bool is_plain(const Expr& e) {
    return e->kind == ExprNode::Kind::index || e->kind == ExprNode::Kind::constant;
  }

  void value(const Expr& e) {
    if (!seen_.insert(e).second) return;
    found_.int64 |= is_wide(e->dtype);
    functions(*e);
    operands(e);
  }

  void functions(const ExprNode& e) {
    using Kind = ExprNode::Kind;
    switch (e.kind) {
      case Kind::constant: function(constant_function(e)); break;
      case Kind::index:
        if (!kernel_.wide_index) cast(DType::i32, DType::i64);
        break;
      case Kind::load: function(load_function(e.stored)); break;
      case Kind::cast: {
        const Expr& from = e.args[0];
        if (ir::keeps_bits(e)) {
          function(bits_function(from->dtype));
          function(from_bits_function(e.dtype));
        } else {
          const bool narrow = from->kind == Kind::index && !kernel_.wide_index;
          cast(narrow ? DType::i32 : from->dtype, e.dtype);
        }
        break;
      }
      case Kind::call:
        function(function_of_call(e));
        if (has_hidden_zero(e)) function(hidden_zero_function(e.dtype));
        break;
      case Kind::reduce: reduction(e); break;
      case Kind::var:
      case Kind::element:
      case Kind::shuffle: break;
    }
  }

  void cast(DType from, DType to) {
    for (const std::string& name : cast_functions(from, to)) function(name);
  }

  // The loops that it is printed as, with their accumulators.
  void reduction(const ExprNode& e) {
    const Expr& body = e.args[0];
    std::vector<Variable> accumulators = {ir::new_variable("acc", body->dtype)};
    std::vector<Expr> parts = {body};
    if (ir::is_arg(e.reduce)) {
      accumulators.push_back(ir::new_variable("pos", DType::i64));
      SymInt position = 0;
      for (const SymInt& axis : e.axes) position = position * ir::extent_of(axis) + axis;
      parts.push_back(ir::index_value(position));
    }
    value(identity_value(e.reduce, body->dtype));
    for (const SymInt& axis : e.axes) index(ir::extent_of(axis));
    block(combine(e.reduce, accumulators, parts));
  }

  void operands(const Expr& e) {
    index(e->index);
    const bool compares = e->kind == ExprNode::Kind::call && ir::info(e->fn).to_bool;
    const bool draws =
        e->kind == ExprNode::Kind::call && (e->fn == Fn::rand_uniform || e->fn == Fn::rand_normal);
    const bool all_plain = std::all_of(e->args.begin(), e->args.end(), is_plain);
    for (const Expr& arg : e->args) {
      const bool converts = e->kind == ExprNode::Kind::cast && arg->kind == ExprNode::Kind::index &&
                            !ir::keeps_bits(*e);
      if (converts || (compares && all_plain && arg->dtype == DType::i64) ||
          (draws && is_plain(arg)))
        operands(arg);
      else
        value(arg);
    }
  }

  Kernel& kernel_;
  Requirements& found_;
  std::unordered_set<Expr> seen_;
};

}  // namespace

std::string_view storage_extension(DType dtype) {
  return size_bytes(dtype) == 2 ? "storage16" : size_bytes(dtype) == 1 ? "storage8" : "";
}

int vector_elements(const Kernel& kernel, const Stmt& stmt) {
  const Argument& argument = kernel.arguments[static_cast<size_t>(stmt.buffer)];
  const int bytes = size_bytes(argument.dtype);
  if (bytes > 4) return 1;
  int64_t elements = std::min<int64_t>(
      static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(stmt.count))), 16 / bytes);
  elements = std::min(elements, argument.alignment / bytes);
  while (elements > 1 && (!begins_vector(stmt.index, elements) || stmt.count % elements != 0))
    elements /= 2;
  return elements * bytes >= 4 ? static_cast<int>(elements) : 1;
}

bool is_half_word(const Kernel& kernel, const Stmt& stmt) {
  const Argument& argument = kernel.arguments[static_cast<size_t>(stmt.buffer)];
  return stmt.kind == Stmt::Kind::load_vector && stmt.count == 2 &&
         size_bytes(argument.dtype) == 1 && argument.alignment >= 2 && begins_vector(stmt.index, 2);
}

void find_requirements(Kernel& kernel, const Target&) { Finder(kernel).run(); }

}  // namespace tcc::sched
