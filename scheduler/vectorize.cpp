#include "scheduler/vectorize.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

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

}  // namespace

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
  std::map<Expr, Expr, LoadLess> replaced;  // by the load
  for (const Expr& value : values) {
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
        case Access::contiguous: {
          const Variable values_read = ir::new_variable("x", e->dtype);
          block.push_back(array(values_read, width));
          block.push_back(load_vector(values_read, e->buffer, e->index.substitute(lane, 0), width));
          // The array holds values as stored, widened.
          entry->second = ir::element(values_read, lane);
          break;
        }
        case Access::other: break;
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
