#include "scheduler/vectorize.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "scheduler/aligned_clamps.h"
#include "scheduler/axis_use.h"
#include "support/error.h"

namespace tcc::sched {

using ir::ExprNode;

namespace {

enum class Access { invariant, contiguous, other };

Access access_along(const SymInt& offset, const SymInt& lane, bool depends) {
  if (!depends) return Access::invariant;
  SymInt first = offset.substitute(lane, 0);
  return offset - first == lane ? Access::contiguous : Access::other;
}

// Vectors whose elements lanes take in another order, each known to lie in its buffer: some lane of
// some load has the last element.
class TurnedVectors {
 public:
  TurnedVectors(const std::vector<Expr>& values, const SymInt& lane) : lane_(lane) {
    const int64_t last = ir::extent_of(lane).value() - 1;
    for (const Expr& value : values)
      ir::visit(value, [&](const Expr& e) {
        if (e->kind != ExprNode::Kind::load) return;
        const auto begin = aligned_vector(e->index, lane);
        if (!begin) return;
        for (int64_t at = 0; at <= last; ++at)
          if (e->index.substitute(lane, at) == *begin + last) {
            whole_.push_back(vector_at(*e, *begin));
            break;
          }
      });
  }

  // The vector of the load's elements, as a load of its first one; null where there is none.
  Expr of(const ExprNode& load) const {
    const auto begin = aligned_vector(load.index, lane_);
    if (!begin || !is_of_lane(load.index - *begin)) return nullptr;
    const Expr vector = vector_at(load, *begin);
    const bool is_whole =
        std::ranges::any_of(whole_, [&](const Expr& one) { return ir::compare(one, vector) == 0; });
    return is_whole ? vector : nullptr;
  }

 private:
  static Expr vector_at(const ExprNode& load, const SymInt& begin) {
    return ir::load(load.buffer, load.stored, begin);
  }
  bool is_of_lane(const SymInt& place) const {
    using Kind = ir::Atom::Kind;
    bool only = true;
    place.visit_atoms([&](const ir::AtomPtr& atom) {
      const bool is_variable =
          atom->kind == Kind::axis || atom->kind == Kind::symbol || atom->kind == Kind::indirect;
      only &= !is_variable || *atom == *lane_.as_atom();
    });
    return only;
  }

  SymInt lane_;
  std::vector<Expr> whole_;
};

bool inside_reduction(const AxisSet& axes) {
  return std::any_of(axes.begin(), axes.end(),
                     [](const ir::AtomPtr& axis) { return axis->role == ir::AxisRole::reduction; });
}

// Declares the largest calls and casts that several of `values` compute, once before all of them.
Block share(std::vector<Expr>& values, AxisUse& use) {
  std::map<const ExprNode*, size_t> last;  // the value that used it last
  std::set<const ExprNode*> shared;
  for (size_t i = 0; i < values.size(); ++i)
    ir::visit(values[i], [&](const Expr& e) {
      if (auto [entry, is_new] = last.try_emplace(e.get(), i); !is_new && entry->second != i)
        shared.insert(e.get());
    });
  Block block;
  if (shared.empty()) return block;
  std::map<const ExprNode*, Expr> variables;
  ir::rewrite_all(values, [&](const Expr& e) -> Expr {
    const bool computes = e->kind == ExprNode::Kind::call || e->kind == ExprNode::Kind::cast;
    if (!computes || !shared.count(e.get()) || inside_reduction(use.of(e).free)) return nullptr;
    auto [entry, is_new] = variables.try_emplace(e.get());
    if (is_new) {
      const Variable variable = ir::new_variable("c", e->dtype);
      block.push_back(declare(variable, e));
      entry->second = ir::read(variable);
    }
    return entry->second;
  });
  return block;
}

// Whether a serial reduction reads neighbours for neighbouring lanes.
bool reads_vectors(const ExprNode& reduction, const SymInt& lane, AxisUse& use) {
  if (reduction.kind != ExprNode::Kind::reduce || ir::is_arg(reduction.reduce)) return false;
  bool reads = false;
  ir::visit(reduction.args[0], [&](const Expr& e) {
    reads |=
        e->kind == ExprNode::Kind::load &&
        access_along(e->index, lane, use.of(e).free.contains(lane.as_atom())) == Access::contiguous;
  });
  return reads;
}

// A step of a reduction; sums take products in whole, as matrix products do.
Expr added(ir::ReduceKind kind, const Expr& sum, const Expr& value) {
  const bool is_product = value->kind == ExprNode::Kind::call && value->fn == ir::Fn::mul;
  if (kind == ir::ReduceKind::sum && is_product && is_float(value->dtype))
    return ir::call(ir::Fn::fma, {value->args[0], value->args[1], sum});
  return combine_values(kind, sum, value);
}

// Reductions of one kind over as many elements, and the arrays of their lanes' results.
struct Reductions {
  std::vector<const ExprNode*> nodes;
  std::vector<Variable> results;

  bool takes(const ExprNode& node) const {
    const ExprNode& own = *nodes.front();
    return own.reduce == node.reduce &&
           std::ranges::equal(own.axes, node.axes, [](const SymInt& a, const SymInt& b) {
             return ir::extent_of(a) == ir::extent_of(b);
           });
  }
};

// The value of a step, where the node's axes are at these places.
Expr step_of(const ExprNode& node, const std::vector<SymInt>& at) {
  return ir::rewrite(
      node.args[0], [](const Expr&) -> Expr { return nullptr; },
      [&](SymInt index) {
        for (size_t i = 0; i < at.size(); ++i) index = index.substitute(node.axes[i], at[i]);
        return index;
      });
}

// Reductions for all lanes at once: their loops run around the lanes', so that loads are vectors.
// Several of them share the loads of a step of the innermost axis, and of its neighbours.
Block reduce_lanes_together(const Reductions& all, const SymInt& lane) {
  constexpr int64_t kUnrolled = 16;  // iterations
  const ExprNode& first = *all.nodes.front();
  Block block, initial;
  for (const Variable& result : all.results) {
    block.push_back(array(result, ir::extent_of(lane).value()));
    initial.push_back(set_element(result, lane, identity_value(first.reduce, result.dtype)));
  }
  block.push_back(loop(lane, std::move(initial), true));
  std::vector<SymInt> axes;
  for (const SymInt& axis : first.axes) axes.push_back(SymInt::axis("r", ir::extent_of(axis)));
  const SymInt inner = ir::extent_of(axes.back());
  const bool shares = all.nodes.size() > 1 && inner.is_const() && inner.value() <= kUnrolled;
  std::vector<Expr> steps;
  std::vector<size_t> of;  // the reduction of each
  std::vector<SymInt> at = axes;
  for (int64_t t = 0; t < (shares ? inner.value() : 1); ++t) {
    if (shares) at.back() = t;
    for (size_t i = 0; i < all.nodes.size(); ++i) {
      steps.push_back(step_of(*all.nodes[i], at));
      of.push_back(i);
    }
  }
  Block body = vectorize_values(steps, lane, [&](const std::vector<Expr>& values) {
    Block adds;
    for (size_t i = 0; i < values.size(); ++i) {
      const Variable& result = all.results[of[i]];
      adds.push_back(
          set_element(result, lane, added(first.reduce, ir::element(result, lane), values[i])));
    }
    return adds;
  });
  if (shares) axes.pop_back();
  int64_t iterations = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    const SymInt extent = ir::extent_of(axes[i]);
    iterations = extent.is_const() ? iterations * extent.value() : kUnrolled + 1;
    body = {loop(axes[i], std::move(body), iterations <= kUnrolled)};
  }
  block.insert(block.end(), body.begin(), body.end());
  return block;
}

// Replaces the reductions that read vectors by arrays, which the block computes.
Block reduce_before(std::vector<Expr>& values, const SymInt& lane, AxisUse& use) {
  std::vector<Reductions> all;
  std::vector<Expr> kept = values;  // the nodes live as long as these
  std::map<const ExprNode*, Expr> replaced;
  ir::rewrite_all(values, [&](const Expr& e) -> Expr {
    if (!reads_vectors(*e, lane, use)) return nullptr;
    auto [entry, is_new] = replaced.try_emplace(e.get());
    if (is_new) {
      const Variable result = ir::new_variable("acc", e->dtype);
      auto group = std::ranges::find_if(all, [&](const Reductions& r) { return r.takes(*e); });
      if (group == all.end()) group = all.insert(all.end(), Reductions{});
      group->nodes.push_back(e.get());
      group->results.push_back(result);
      entry->second = ir::element(result, lane);
    }
    return entry->second;
  });
  Block block;
  for (const Reductions& group : all) {
    const Block loops = reduce_lanes_together(group, lane);
    block.insert(block.end(), loops.begin(), loops.end());
  }
  return block;
}

// Whether all bits are zero.
bool is_zero(const ExprNode& e) {
  return e.kind == ExprNode::Kind::constant && e.integer == 0 && e.number == 0 &&
         !std::signbit(e.number);
}

// Replaces what is loaded where a condition of all lanes holds, and zero elsewhere, by arrays of
// masked vectors, as of windows that reach over a border.
Block load_masked(std::vector<Expr>& values, const SymInt& lane, AxisUse& use) {
  const int64_t width = ir::extent_of(lane).value();
  Block block;
  std::vector<std::pair<Expr, Expr>> masks;  // the condition and the load of each
  std::vector<Expr> arrays;
  ir::rewrite_all(values, [&](const Expr& e) -> Expr {
    if (e->kind != ExprNode::Kind::call || e->fn != ir::Fn::select) return nullptr;
    const Expr &condition = e->args[0], &load = e->args[1];
    if (load->kind != ExprNode::Kind::load || !is_zero(*e->args[2])) return nullptr;
    if (use.of(condition).free.contains(lane.as_atom()) || inside_reduction(use.of(e).free) ||
        access_along(load->index, lane, true) != Access::contiguous)
      return nullptr;
    for (size_t i = 0; i < masks.size(); ++i)
      if (ir::compare(masks[i].first, condition) == 0 && ir::compare(masks[i].second, load) == 0)
        return arrays[i];
    const Variable values_read = ir::new_variable("x", e->dtype);
    block.push_back(array(values_read, width));
    block.push_back(load_vector(values_read, load->buffer, load->index.substitute(lane, 0), width));
    block.back().value = condition;
    masks.emplace_back(condition, load);
    arrays.push_back(ir::element(values_read, lane));
    return arrays.back();
  });
  return block;
}

}  // namespace

std::optional<SymInt> aligned_vector(const SymInt& index, const SymInt& lane) {
  if (lane.is_const()) return std::nullopt;
  const int64_t width = ir::extent_of(lane).value();
  const SymInt first = index.substitute(lane, 0);
  for (int64_t before = 0; before < width; ++before) {
    const SymInt begin = first - before;
    if (!begins_vector(begin, width)) continue;
    for (int64_t at = 0; at < width; ++at) {
      const SymInt place = index.substitute(lane, at) - begin;
      if (!place.is_const() || place.value() < 0 || place.value() >= width) return std::nullopt;
    }
    return begin;
  }
  return std::nullopt;
}

bool has_vector_reductions(const std::vector<Expr>& values, const SymInt& lane) {
  AxisUse use;
  bool found = false;
  for (const Expr& value : values)
    ir::visit(value, [&](const Expr& e) { found |= reads_vectors(*e, lane, use); });
  return found;
}

Block vectorize_values(const std::vector<Expr>& values, const SymInt& lane,
                       const std::function<Block(const std::vector<Expr>& values)>& body) {
  Block block;
  AxisUse use;
  std::vector<Expr> rewritten = values;
  auto shared_body = [&] {
    Block statements = share(rewritten, use);
    Block rest = body(rewritten);
    statements.insert(statements.end(), rest.begin(), rest.end());
    return statements;
  };
  if (lane.is_const()) return shared_body();
  const int64_t width = ir::extent_of(lane).value();
  align_clamps(rewritten, lane);
  Block masked = load_masked(rewritten, lane, use);
  block = reduce_before(rewritten, lane, use);
  block.insert(block.end(), masked.begin(), masked.end());
  std::map<Expr, Expr, LoadLess> replaced;     // by the load
  std::map<Expr, Variable, LoadLess> vectors;  // by the load of the first element
  std::optional<TurnedVectors> turned;
  // The array of the elements of a vector in memory, which holds them as stored, widened.
  const auto vector_read = [&](const Expr& first) {
    auto [entry, is_new] = vectors.try_emplace(first);
    if (is_new) {
      entry->second = ir::new_variable("x", first->dtype);
      block.push_back(array(entry->second, width));
      block.push_back(load_vector(entry->second, first->buffer, first->index, width));
    }
    return entry->second;
  };
  for (const Expr& value : std::vector<Expr>(rewritten)) {
    ir::visit(value, [&](const Expr& e) {
      // Loads of a serial reduction stay in its loop.
      if (e->kind != ExprNode::Kind::load || inside_reduction(use.of(e).free)) return;
      auto [entry, inserted] = replaced.try_emplace(e);
      if (!inserted) return;
      switch (access_along(e->index, lane, use.of(e).free.contains(lane.as_atom()))) {
        case Access::invariant: {
          const Variable variable = ir::new_variable("s", e->dtype);
          block.push_back(declare(variable, e));
          entry->second = ir::read(variable);
          break;
        }
        case Access::contiguous:
          entry->second = ir::element(
              vector_read(ir::load(e->buffer, e->stored, e->index.substitute(lane, 0))), lane);
          break;
        case Access::other:
          if (!turned) turned.emplace(rewritten, lane);
          if (const Expr first = turned->of(*e))
            entry->second = ir::element(vector_read(first), e->index - first->index);
          break;
      }
    });
  }
  ir::rewrite_all(rewritten, [&](const Expr& e) -> Expr {
    if (e->kind != ExprNode::Kind::load) return nullptr;
    auto found = replaced.find(e);
    return found == replaced.end() ? nullptr : found->second;
  });
  block.push_back(loop(lane, shared_body(), /*unroll=*/true));
  return block;
}

namespace {

// Returns whether a value is of an element that an earlier sink may have stored.
bool reads_stored(const std::vector<Sink>& sinks) {
  bool reads = false;
  for (size_t i = 1; i < sinks.size(); ++i)
    ir::visit(sinks[i].value, [&](const Expr& e) {
      if (e->kind != ExprNode::Kind::load) return;
      reads |= std::any_of(sinks.begin(), sinks.begin() + static_cast<ptrdiff_t>(i),
                           [&](const Sink& sink) { return sink.buffer == e->buffer; });
    });
  return reads;
}

}  // namespace

Block vectorize(const std::vector<Sink>& sinks, const SymInt& lane) {
  std::vector<Expr> values;
  for (const Sink& sink : sinks) values.push_back(sink.value);
  const bool stores_last = reads_stored(sinks);
  const int64_t width = ir::extent_of(lane).value();
  Block before, after;
  std::vector<std::optional<Variable>> arrays(sinks.size());
  for (size_t i = 0; i < sinks.size() && !lane.is_const(); ++i) {
    if (sinks[i].buffer < 0 || access_along(sinks[i].offset, lane, true) != Access::contiguous)
      continue;
    arrays[i] = ir::new_variable("y", sinks[i].value->dtype);
    before.push_back(array(*arrays[i], width));
    after.push_back(
        store_vector(sinks[i].buffer, sinks[i].offset.substitute(lane, 0), *arrays[i], width));
  }
  Block main = vectorize_values(values, lane, [&](const std::vector<Expr>& rewritten) {
    Block body, stores;
    for (size_t i = 0; i < sinks.size(); ++i) {
      Expr value = rewritten[i];
      if (stores_last) {
        const Variable variable = ir::new_variable("n", value->dtype);
        body.push_back(declare(variable, value));
        value = ir::read(variable);
      }
      if (arrays[i])
        stores.push_back(set_element(*arrays[i], lane, value));
      else if (sinks[i].buffer >= 0)
        stores.push_back(store(sinks[i].buffer, sinks[i].offset, value));
      else
        stores.push_back(set_element(sinks[i].array, sinks[i].offset, value));
    }
    body.insert(body.end(), stores.begin(), stores.end());
    return body;
  });
  Block block = std::move(before);
  block.insert(block.end(), main.begin(), main.end());
  block.insert(block.end(), after.begin(), after.end());
  return block;
}

Block hoist_invariants(std::vector<Expr>& values, const std::vector<SymInt>& varying) {
  AxisUse use;
  Block block;
  std::map<const ExprNode*, Expr> hoisted;
  auto invariant = [&](const Expr& e) {
    if (e->kind != ExprNode::Kind::load && e->kind != ExprNode::Kind::call &&
        e->kind != ExprNode::Kind::reduce)
      return false;
    const AxisSet& axes = use.of(e).free;
    return !inside_reduction(axes) &&
           std::none_of(varying.begin(), varying.end(), [&](const SymInt& axis) {
             return axis.as_atom() && axes.contains(axis.as_atom());
           });
  };
  ir::rewrite_all(values, [&](const Expr& e) -> Expr {
    if (!invariant(e)) return nullptr;
    auto [entry, inserted] = hoisted.try_emplace(e.get());
    if (inserted) {
      const Variable variable = ir::new_variable("h", e->dtype);
      block.push_back(declare(variable, e));
      entry->second = ir::read(variable);
    }
    return entry->second;
  });
  return block;
}

}  // namespace tcc::sched
