#include "scheduler/vectorize.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

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

bool is_serial_axis(const std::string& name) {
  return name.size() > 1 && name[0] == 'r' && std::isdigit(static_cast<unsigned char>(name[1]));
}

// The axes that an expression depends on and does not bind itself.
class FreeAxes {
 public:
  const std::set<std::string>& of(const Expr& e) {
    if (auto found = memo_.find(e.get()); found != memo_.end()) return found->second;
    std::set<std::string> axes;
    add(e->index, axes);
    for (const Expr& arg : e->args) {
      const auto& inner = of(arg);
      axes.insert(inner.begin(), inner.end());
    }
    for (const SymInt& axis : e->axes)
      if (auto atom = axis.as_atom()) axes.erase(atom->name);
    return memo_[e.get()] = std::move(axes);
  }

 private:
  void add(const SymInt& index, std::set<std::string>& axes) {
    index.visit_atoms([&](const ir::AtomPtr& atom) {
      if (atom->kind == ir::Atom::Kind::axis) axes.insert(atom->name);
      if (atom->kind != ir::Atom::Kind::indirect) return;
      const auto& inner = of(atom->value);
      axes.insert(inner.begin(), inner.end());
    });
  }
  std::map<const ExprNode*, std::set<std::string>> memo_;
};

bool inside_serial_loop(const std::set<std::string>& axes) {
  return std::any_of(axes.begin(), axes.end(), is_serial_axis);
}

// Declares the largest calls and casts that several of `values` compute, once before all of them.
Block share(std::vector<Expr>& values, FreeAxes& free, Inliner& inliner) {
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
    if (!computes || !shared.count(e.get()) || inside_serial_loop(free.of(e))) return nullptr;
    auto [entry, is_new] = variables.try_emplace(e.get());
    if (is_new) {
      const std::string name = inliner.new_name("c");
      block.push_back(declare(name, e));
      entry->second = ir::variable(name, e->dtype);
    }
    return entry->second;
  });
  return block;
}

}  // namespace

std::string load_key(const Expr& load) {
  return std::string(name(load->stored)) + " " + std::to_string(load->buffer) + "@" +
         load->index.to_string();
}

Block vectorize_values(const std::vector<Expr>& values, const SymInt& lane, Inliner& inliner,
                       const std::function<Block(const std::vector<Expr>& values)>& body) {
  Block block;
  FreeAxes free;
  std::vector<Expr> rewritten = values;
  auto shared_body = [&] {
    Block statements = share(rewritten, free, inliner);
    Block rest = body(rewritten);
    statements.insert(statements.end(), rest.begin(), rest.end());
    return statements;
  };
  if (lane.is_const()) return shared_body();
  int64_t width = lane.range().hi + 1;
  std::map<std::string, Expr> replaced;  // by the load's text
  for (const Expr& value : values) {
    ir::visit(value, [&](const Expr& e) {
      // Loads of a serial reduction stay in its loop.
      if (e->kind != ExprNode::Kind::load || inside_serial_loop(free.of(e))) return;
      auto [entry, inserted] = replaced.try_emplace(load_key(e));
      if (!inserted) return;
      switch (access_along(e->index, lane, free.of(e).count(lane.as_atom()->name) > 0)) {
        case Access::invariant: {
          std::string name = inliner.new_name("s");
          block.push_back(declare(name, e));
          entry->second = ir::variable(name, e->dtype);
          break;
        }
        case Access::contiguous: {
          std::string name = inliner.new_name("x");
          block.push_back(array(name, e->dtype, width));
          block.push_back(load_vector(name, e->buffer, e->index.substitute(lane, 0), width));
          // The array holds values as stored, widened.
          entry->second = ir::element(name, e->dtype, lane);
          break;
        }
        case Access::other: break;
      }
    });
  }
  ir::rewrite_all(rewritten, [&](const Expr& e) -> Expr {
    if (e->kind != ExprNode::Kind::load) return nullptr;
    auto found = replaced.find(load_key(e));
    return found == replaced.end() ? nullptr : found->second;
  });
  block.push_back(loop(lane, shared_body(), /*unroll=*/true));
  return block;
}

Block vectorize(const std::vector<Sink>& sinks, const SymInt& lane, Inliner& inliner) {
  std::vector<Expr> values;
  for (const Sink& sink : sinks) values.push_back(sink.value);
  int64_t width = lane.range().hi + 1;
  Block before, after;
  std::vector<std::string> arrays(sinks.size());
  for (size_t i = 0; i < sinks.size() && !lane.is_const(); ++i) {
    if (sinks[i].buffer < 0 || access_along(sinks[i].offset, lane, true) != Access::contiguous)
      continue;
    arrays[i] = inliner.new_name("y");
    before.push_back(array(arrays[i], sinks[i].value->dtype, width));
    after.push_back(
        store_vector(sinks[i].buffer, sinks[i].offset.substitute(lane, 0), arrays[i], width));
  }
  Block main = vectorize_values(values, lane, inliner, [&](const std::vector<Expr>& rewritten) {
    Block body;
    for (size_t i = 0; i < sinks.size(); ++i) {
      if (!arrays[i].empty())
        body.push_back(set_element(arrays[i], lane, rewritten[i]));
      else if (sinks[i].buffer >= 0)
        body.push_back(store(sinks[i].buffer, sinks[i].offset, rewritten[i]));
      else
        body.push_back(set_element(sinks[i].array, sinks[i].offset, rewritten[i]));
    }
    return body;
  });
  Block block = std::move(before);
  block.insert(block.end(), main.begin(), main.end());
  block.insert(block.end(), after.begin(), after.end());
  return block;
}

Block hoist_invariants(std::vector<Expr>& values, const std::vector<SymInt>& varying,
                       Inliner& inliner) {
  FreeAxes free;
  Block block;
  std::map<const ExprNode*, Expr> hoisted;
  auto invariant = [&](const Expr& e) {
    if (e->kind != ExprNode::Kind::load && e->kind != ExprNode::Kind::call &&
        e->kind != ExprNode::Kind::reduce)
      return false;
    const auto& axes = free.of(e);
    return !inside_serial_loop(axes) &&
           std::none_of(varying.begin(), varying.end(), [&](const SymInt& axis) {
             return axis.as_atom() && axes.count(axis.as_atom()->name) > 0;
           });
  };
  ir::rewrite_all(values, [&](const Expr& e) -> Expr {
    if (!invariant(e)) return nullptr;
    auto [entry, inserted] = hoisted.try_emplace(e.get());
    if (inserted) {
      std::string name = inliner.new_name("h");
      block.push_back(declare(name, e));
      entry->second = ir::variable(name, e->dtype);
    }
    return entry->second;
  });
  return block;
}

}  // namespace tcc::sched
