// The rules of kernel IR: what every pass may rely on, and must keep.
#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "ir/bit_cast.h"
#include "scheduler/axis_use.h"
#include "scheduler/kernel.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using ir::AtomPtr;
using ir::AxisRole;
using ir::ExprNode;

constexpr int64_t kWidestVector = 64;

// The body of a kernel, or of a hook of it.
class Verifier {
 public:
  explicit Verifier(const Kernel& kernel, const Hook* hook = nullptr)
      : kernel_(kernel), hook_(hook), place_(hook ? kernel.name + ", " + hook->name : kernel.name) {
    if (hook) {
      for (const Hook::Parameter& p : hook->parameters)
        p.is_index() ? bind(p.axis, AxisRole::parameter) : declare(p.array, p.elements, p.written);
    } else {
      bind(block_axis(kernel.grid), AxisRole::block);
      bind(thread_axis(kernel.workgroup), AxisRole::thread);
      for (const Array& array : kernel.shared) declare(array.variable, array.elements, true);
    }
  }

  void block(const Block& block) {
    const Scope outside = scope_;
    for (const Stmt& stmt : block) statement(stmt);
    scope_ = outside;
  }

 private:
  struct Declared {
    Variable variable;
    int64_t elements;  // 0: a single value
    bool written;      // may be
  };
  // The axes and kinds of values that a value is computed from.
  struct Sources {
    AxisSet axes;            // with those that named indices are made of
    bool is_opaque = false;  // variables or memory, too
  };
  struct Scope {
    AxisSet axes;
    AxisSet loops;  // those of them that loops go along
    std::unordered_map<AtomPtr, Sources, ir::AtomHash, ir::AtomEqual> named;  // by let_index
    std::map<uint64_t, Declared> variables;
  };

  template <class... Parts>
  void require(bool holds, const Parts&... parts) const {
    if (!holds) throw InternalError(str(place_, ": ", parts...));
  }

  // ---- axes and variables

  void bind(const SymInt& axis, AxisRole role) {
    if (axis.is_const()) return;
    const AtomPtr atom = axis.as_atom();
    require(atom && atom->kind == ir::Atom::Kind::axis, axis, " is bound, but is not an axis");
    require(atom->role == role, "the axis ", axis, " is bound as what it is not");
    index(atom->args[0]);
    require(scope_.axes.insert(atom).second, "the axis ", axis, " is bound twice");
  }

  void declare(const Variable& variable, int64_t elements, bool written) {
    require(variable.id != 0, "a variable without identity is declared");
    const bool is_new =
        scope_.variables.try_emplace(variable.id, Declared{variable, elements, written}).second;
    require(is_new, variable.name, " is declared twice");
  }

  const Declared& known(const Variable& variable) const {
    const auto found = scope_.variables.find(variable.id);
    require(found != scope_.variables.end(), variable.name, " is not declared here");
    const Declared& declared = found->second;
    require(declared.variable.dtype == variable.dtype, variable.name, " is ",
            name(declared.variable.dtype), ", and used as ", name(variable.dtype));
    return declared;
  }

  const Declared& single(const Variable& variable) const {
    const Declared& declared = known(variable);
    require(declared.elements == 0, variable.name, " is an array");
    return declared;
  }

  const Declared& array(const Variable& variable) const {
    const Declared& declared = known(variable);
    require(declared.elements > 0, variable.name, " is not an array");
    return declared;
  }

  // ---- values

  // Axes that a value depends on must be bound; axes that it binds itself must not be.
  void check_axes(const AxisUse::Axes& axes) const {
    for (const AtomPtr& axis : axes.free) {
      const auto found = scope_.axes.find(axis);
      require(found != scope_.axes.end(), "the axis ", axis->name, " is not bound here");
      require((*found)->args[0] == axis->args[0], "the axis ", axis->name, " has extents ",
              (*found)->args[0], " and ", axis->args[0]);
    }
    for (const AtomPtr& axis : axes.bound) {
      require(axis->role == AxisRole::reduction, "a reduction goes along ", axis->name,
              ", which is no axis of reductions");
      require(!scope_.axes.contains(axis) && !axes.free.contains(axis), "the axis ", axis->name,
              " is bound twice");
    }
  }

  void index(const SymInt& index) {
    if (index.is_const()) return;
    check_axes(use_.of(index));
    sizes(index);
    index.visit_atoms([&](const AtomPtr& atom) {
      if (atom->value) nodes(atom->value);
    });
  }

  void sizes(const SymInt& expression) const {
    expression.visit_atoms([&](const AtomPtr& atom) {
      require(atom->kind != ir::Atom::Kind::symbol ||
                  std::find(kernel_.sizes.begin(), kernel_.sizes.end(), atom->name) !=
                      kernel_.sizes.end(),
              "the kernel is not given the size ", atom->name);
    });
  }

  void value(const Expr& e) {
    require(e != nullptr, "a value is missing");
    check_axes(use_.of(e));
    nodes(e);
  }

  void value(const Expr& e, DType dtype, const std::string& what) {
    value(e);
    require(e->dtype == dtype, what, " is ", name(dtype), ", and its value ", name(e->dtype));
  }

  // Expressions are DAGs: each node is looked at once, and once more for what select() guards.
  struct Seen {
    std::unordered_set<const ExprNode*> plain, guarded;
  };

  void nodes(const Expr& e) {
    Seen seen;
    nodes(e, seen, false);
  }

  void nodes(const Expr& e, Seen& seen, bool guarded) {
    if (seen.plain.contains(e.get()) ||
        !(guarded ? seen.guarded : seen.plain).insert(e.get()).second)
      return;
    node(*e, guarded);
    e->index.visit_atoms([&](const AtomPtr& atom) {
      if (atom->value) nodes(atom->value, seen, guarded);
    });
    const bool selects = e->kind == ExprNode::Kind::call && e->fn == ir::Fn::select;
    for (size_t i = 0; i < e->args.size(); ++i)
      nodes(e->args[i], seen, guarded || (selects && i > 0));
  }

  void node(const ExprNode& node, bool guarded) {
    switch (node.kind) {
      case ExprNode::Kind::load: {
        const Argument& from = argument(node.buffer, false);
        require(node.stored == from.dtype || node.stored == bits_of(from.dtype), "b", node.buffer,
                " is ", name(from.dtype), ", and read as ", name(node.stored));
        return within(node.index, from.elements, "b" + std::to_string(node.buffer), guarded);
      }
      case ExprNode::Kind::var: single(node.variable); return;
      case ExprNode::Kind::element:
        return within(node.index, array(node.variable).elements, node.variable.name, guarded);
      case ExprNode::Kind::shuffle: return arrives("a shuffle");
      default: return;
    }
  }

  // ---- conditions

  Sources sources(const AxisSet& free, bool is_opaque) const {
    Sources all{free, is_opaque};
    for (const AtomPtr& axis : free)
      if (const auto named = scope_.named.find(axis); named != scope_.named.end()) {
        all.axes.insert(named->second.axes.begin(), named->second.axes.end());
        all.is_opaque |= named->second.is_opaque;
      }
    return all;
  }

  Sources sources(const SymInt& index) {
    bool is_opaque = false;
    index.visit_atoms([&](const AtomPtr& atom) { is_opaque |= atom->value != nullptr; });
    return sources(use_.of(index).free, is_opaque);
  }

  Sources sources(const Expr& e) {
    bool is_opaque = false;
    ir::visit(e, [&](const Expr& node) {
      is_opaque |= node->kind == ExprNode::Kind::load || node->kind == ExprNode::Kind::var ||
                   node->kind == ExprNode::Kind::element;
    });
    return sources(use_.of(e).free, is_opaque);
  }

  // Whether a condition around what is at hand may keep the index in its range.
  bool is_guarded(const SymInt& index) {
    if (guards_.empty()) return false;
    const Sources own = sources(index);
    return std::ranges::any_of(guards_, [&](const Sources& guard) {
      const bool is_number = guard.axes.empty() && !guard.is_opaque;  // what is below may be dead
      return is_number || (guard.is_opaque && own.is_opaque) ||
             std::ranges::any_of(own.axes,
                                 [&](const AtomPtr& axis) { return guard.axes.contains(axis); });
    });
  }

  static bool uses_thread(const Sources& from) {
    return std::ranges::any_of(from.axes,
                               [](const AtomPtr& axis) { return axis->role == AxisRole::thread; });
  }

  // A statement that all threads of the workgroup must reach stands under no condition, and in no
  // loop, that may differ from thread to thread.
  void arrives(const std::string& what) const {
    require(apart_ == 0, what, " is not reached by all threads");
  }

  // Integers with the bits of what memory holds as `stored`.
  static DType bits_of(DType stored) {
    return is_low_precision(stored) ? ir::bits_type(stored) : stored;
  }

  const Argument& argument(int slot, bool written) const {
    require(slot >= 0 && slot < static_cast<int>(kernel_.arguments.size()), "there is no buffer b",
            slot);
    const Argument& argument = kernel_.arguments[static_cast<size_t>(slot)];
    require(written ? argument.is_written() : argument.is_read(),
            written ? "the input b" : "the output b", slot, written ? " is written" : " is read");
    return argument;
  }

  // No value of `index`, as far as its range tells, lies in [0, count).
  void within(const SymInt& index, const SymInt& elements, const std::string& what,
              bool guarded = false) {
    sizes(elements);
    const ir::Interval range = index.range();
    const int64_t count = elements.range().hi;
    const bool is_outside = range.hi < 0 || range.lo >= count;
    const bool reaches =
        (range.lo < 0 || range.hi >= count) && elements.is_const() && takes_its_extremes(index);
    if ((!is_outside && !reaches) || guarded || is_guarded(index)) return;
    require(!is_outside, what, "[", index, "] is outside of its ", elements, " elements");
    require(!reaches, what, "[", index, "] reaches outside of its ", elements, " elements");
  }

  // A sum of loops' axes, which take all their values, each by itself.
  bool takes_its_extremes(const SymInt& index) const {
    AxisSet seen;
    for (const SymInt::Term& term : index.terms()) {
      if (term.atoms.size() != 1) return false;
      const AtomPtr& atom = term.atoms[0];
      if (atom->kind != ir::Atom::Kind::axis || !atom->args[0].is_const()) return false;
      const bool given = atom->role == AxisRole::local || atom->role == AxisRole::parameter;
      if (given && !scope_.loops.contains(atom)) return false;
      if (!seen.insert(atom).second) return false;
    }
    return true;
  }

  // Memory takes computed values of its dtype, or their bits.
  void stored(DType value, int slot) const {
    const DType dtype = argument(slot, true).dtype;
    require(value == compute_dtype(dtype) || value == bits_of(dtype), "b", slot, " is ",
            name(dtype), ", and ", name(value), " is stored to it");
  }

  // ---- statements

  void vector(const Stmt& stmt, bool store) {
    const Declared& declared = array(stmt.variable);
    const Argument& buffer = argument(stmt.buffer, store);
    const DType dtype = declared.variable.dtype;
    require(dtype == compute_dtype(buffer.dtype) || dtype == bits_of(buffer.dtype), "b",
            stmt.buffer, " is ", name(buffer.dtype), ", and a vector of it ", name(dtype));
    require(stmt.count > 0 && stmt.count <= kWidestVector, "a vector of ", stmt.count, " elements");
    require(stmt.count <= declared.elements, "a vector of ", stmt.count, " elements in ",
            stmt.variable.name, " of ", declared.elements);
    index(stmt.index);
    if (stmt.value) {
      value(stmt.value, DType::boolean, "a condition");
      guards_.push_back(sources(stmt.value));
    }
    within(stmt.index, buffer.elements, "b" + std::to_string(stmt.buffer));
    within(stmt.index + (stmt.count - 1), buffer.elements, "b" + std::to_string(stmt.buffer));
    if (stmt.value) guards_.pop_back();
  }

  void lanes(const Stmt& stmt) {
    require(!hook_, "a hook combines threads");
    arrives("a combination of threads");
    const bool scans = stmt.kind == Stmt::Kind::scan_lanes;
    const bool pairs = scans || ir::is_arg(stmt.reduce);
    require(pairs ? stmt.variables.size() == 2 : !stmt.variables.empty(), stmt.variables.size(),
            " variables are combined");
    for (const Variable& variable : stmt.variables) single(variable);
    const auto power = [](int64_t n) {
      return n > 0 && std::has_single_bit(static_cast<uint64_t>(n));
    };
    require(power(stmt.count), stmt.count, " threads are combined: not a power of two");
    require(stmt.stride > 0 && stmt.count <= kernel_.workgroup / stmt.stride, stmt.count,
            " threads, ", stmt.stride, " apart, are combined: more than there are");
  }

  void cluster(const Stmt& stmt) {
    require(!hook_, "a hook reaches other workgroups");
    arrives("an exchange of the cluster");
    require(stmt.count == kernel_.cluster, stmt.count, " workgroups of a cluster of ",
            kernel_.cluster, " exchange");
  }

  void statement(const Stmt& stmt) {
    switch (stmt.kind) {
      case Stmt::Kind::let_index: {
        index(stmt.index);
        const ir::Interval range = stmt.index.range();
        const int64_t most = ir::extent_of(stmt.axis).range().hi;
        const bool fits = most == 0 || (range.hi >= 0 && range.lo < most) || is_guarded(stmt.index);
        bind(stmt.axis, AxisRole::local);
        if (!stmt.axis.is_const())
          scope_.named.insert_or_assign(stmt.axis.as_atom(), sources(stmt.index));
        require(fits, "the axis ", stmt.axis, " is ", stmt.index, ", outside of its extent");
        return;
      }
      case Stmt::Kind::declare:
        value(stmt.value, stmt.variable.dtype, stmt.variable.name);
        return declare(stmt.variable, 0, true);
      case Stmt::Kind::assign:
        single(stmt.variable);
        return value(stmt.value, stmt.variable.dtype, stmt.variable.name);
      case Stmt::Kind::array:
        require(stmt.count > 0, "the array ", stmt.variable.name, " is empty");
        return declare(stmt.variable, stmt.count, true);
      case Stmt::Kind::set_element: {
        const Declared& declared = array(stmt.variable);
        require(declared.written, "the parameter ", stmt.variable.name, " is written");
        index(stmt.index);
        within(stmt.index, declared.elements, stmt.variable.name);
        return value(stmt.value, stmt.variable.dtype, stmt.variable.name);
      }
      case Stmt::Kind::store:
        value(stmt.value);
        index(stmt.index);
        stored(stmt.value->dtype, stmt.buffer);
        return within(stmt.index, argument(stmt.buffer, true).elements,
                      "b" + std::to_string(stmt.buffer));
      case Stmt::Kind::load_vector: return vector(stmt, false);
      case Stmt::Kind::store_vector: return vector(stmt, true);
      case Stmt::Kind::loop: {
        const Scope outside = scope_;
        bind(stmt.axis, AxisRole::local);
        if (!stmt.axis.is_const()) scope_.loops.insert(stmt.axis.as_atom());
        const bool differs = uses_thread(sources(ir::extent_of(stmt.axis)));
        apart_ += differs;
        block(stmt.body);
        apart_ -= differs;
        scope_ = outside;
        return;
      }
      case Stmt::Kind::branch: {
        value(stmt.value, DType::boolean, "a condition");
        guards_.push_back(sources(stmt.value));
        const bool differs = uses_thread(guards_.back());
        apart_ += differs;
        block(stmt.body);
        block(stmt.otherwise);
        apart_ -= differs;
        guards_.pop_back();
        return;
      }
      case Stmt::Kind::barrier:
        require(!hook_, "a hook has a barrier");
        return arrives("a barrier");
      case Stmt::Kind::reload: return;
      case Stmt::Kind::reduce_lanes:
      case Stmt::Kind::scan_lanes: return lanes(stmt);
      case Stmt::Kind::gather_cluster:
        cluster(stmt);
        single(stmt.variables.at(0));
        return declare(stmt.variable, stmt.count, false);
      case Stmt::Kind::send_cluster:
        cluster(stmt);
        single(stmt.variables.at(0));
        require(array(stmt.variables.at(1)).elements == kernel_.cluster, stmt.variables[1].name,
                " has not one element for each workgroup of the cluster");
        [[fallthrough]];
      case Stmt::Kind::expect_bytes:
      case Stmt::Kind::await_bytes:
        require(!hook_, "a hook reaches other workgroups");
        arrives("an exchange of the cluster");
        return within(stmt.index, array(stmt.variable).elements, stmt.variable.name);
      case Stmt::Kind::cluster_arrive:
      case Stmt::Kind::cluster_wait:
        require(!hook_, "a hook reaches other workgroups");
        return arrives("an exchange of the cluster");
      case Stmt::Kind::return_value:
        require(hook_ && hook_->returns, "nothing is to be returned here");
        return value(stmt.value, hook_->result, "the result");
    }
  }

  const Kernel& kernel_;
  const Hook* hook_;
  std::string place_;
  Scope scope_;
  AxisUse use_;
  std::vector<Sources> guards_;  // the conditions of the branches around what is at hand
  int apart_ = 0;                // branches and loops around it that use the thread's number
};

}  // namespace

void verify(const Kernel& kernel) {
  // Sizes that make an open grid negative are refused when they come.
  TCC_CHECK(kernel.workgroup >= 1 && kernel.grid.range().hi >= 0, kernel.name, ": ", kernel.grid,
            " workgroups of ", kernel.workgroup, " threads");
  TCC_CHECK(kernel.cluster >= 1 && kernel.grid.divisible_by(kernel.cluster), kernel.name,
            ": a cluster is not whole");
  TCC_CHECK(!kernel.arguments.empty(), kernel.name, " has no arguments");
  Verifier(kernel).block(kernel.body);
  verify_updates(kernel);
  for (const Hook& hook : kernel.hooks) Verifier(kernel, &hook).block(hook.body);
}

}  // namespace tcc::sched
