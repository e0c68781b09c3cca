// The rule of buffers that a kernel reads and writes.
#include <algorithm>
#include <optional>
#include <utility>

#include "scheduler/kernel.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using ir::ExprNode;

// `count` neighbouring elements of a buffer.
struct Place {
  SymInt index;
  int64_t count;
  friend bool operator==(const Place&, const Place&) = default;
};

class Updates {
 public:
  Updates(const Kernel& kernel, int buffer) : kernel_(kernel), buffer_(buffer) {}

  void block(const Block& block) {
    for (size_t i = 0; i < block.size(); ++i) {
      coming_.emplace_back(&block, i);
      statement(block[i]);
      coming_.pop_back();
    }
  }

 private:
  std::optional<Place> store_of(const Stmt& stmt) const {
    if (stmt.buffer != buffer_) return std::nullopt;
    if (stmt.kind == Stmt::Kind::store) return Place{stmt.index, 1};
    if (stmt.kind == Stmt::Kind::store_vector) return Place{stmt.index, stmt.count};
    return std::nullopt;
  }

  void statement(const Stmt& stmt) {
    if (stmt.value) loads_of(stmt.value);
    if (stmt.kind == Stmt::Kind::load_vector && stmt.buffer == buffer_)
      load({stmt.index, stmt.count});
    block(stmt.body);
    block(stmt.otherwise);
  }

  void loads_of(const Expr& value) {
    ir::visit(value, [&](const Expr& e) {
      if (e->kind == ExprNode::Kind::load && e->buffer == buffer_) load({e->index, 1});
    });
  }

  void load(const Place& place) const {
    const bool is_stored = std::ranges::any_of(coming_, [&](const auto& from) {
      return std::any_of(from.first->begin() + static_cast<ptrdiff_t>(from.second),
                         from.first->end(), [&](const Stmt& stmt) {
                           const auto store = store_of(stmt);
                           return store && *store == place;
                         });
    });
    if (!is_stored)
      throw InternalError(str(kernel_.name, ": b", buffer_, "[", place.index, "] of ", place.count,
                              " is read and not written afterwards by the same thread"));
  }

  const Kernel& kernel_;
  const int buffer_;
  // The blocks around the statement at hand, and its place in each: what follows is reached, too.
  std::vector<std::pair<const Block*, size_t>> coming_;
};

}  // namespace

void verify_updates(const Kernel& kernel) {
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    if (kernel.arguments[i].access != Argument::Access::read_write) continue;
    if (!kernel.is_generated()) continue;
    Updates(kernel, static_cast<int>(i)).block(kernel.body);
  }
}

}  // namespace tcc::sched
