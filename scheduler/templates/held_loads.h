// Loads of values at neighbouring places, as words of 32 bits that a kernel loads ahead: before it
// has the sums that the values are made of.
#pragma once

#include <span>
#include <vector>

#include "scheduler/axis_use.h"
#include "scheduler/kernel.h"

namespace tcc::sched {

class HeldLoads {
 public:
  // The places of values: `lane` numbers the keys of a group, and rows are of a `query`. `keys`
  // numbers groups, or, with `is_by_lane`, single keys: each lane sets it. Keys of a product's
  // results are its columns, and queries its rows.
  struct Axes {
    SymInt lane, keys, query;
    bool is_by_lane = false;
  };
  // Loads that depend on the keys or on the lane, those that all queries share, or all.
  enum class Which { by_keys, of_all_queries, all };
  // Those of `values`. Values of 64 bits, and of integers of 8 and 16 bits with a sign, are loaded
  // where they are read.
  HeldLoads(std::span<const Expr> values, const Axes& axes, Which which);
  HeldLoads(const Expr& value, const Axes& axes)
      : HeldLoads(std::span(&value, 1), axes, Which::by_keys) {}

  int64_t words() const { return words_; }
  // So many words, the first ones, are the same kShared queries and keys further on, as those of a
  // table of distances are.
  static constexpr int64_t kShared = 8;
  int64_t words_of_distances() const;
  // The words that differ between a group's queries otherwise.
  int64_t words_apart() const;

  // Statements that set the words of the array. With `is_by_lane` they are in a loop over lanes,
  // and the words are 0 before.
  Block load(const Variable& held) const;
  // The value, made of the words.
  Expr read(const Expr& value, const Variable& held) const;

 private:
  // A load of one word for all lanes, one word for each, or halves of words, each of two lanes.
  // Lanes whose loads are no vector have words of their own: to join halves is to wait for both of
  // them. But words that queries do not share are many, and registers are few.
  enum class Form { shared, each, halves };
  // Which places load the same word: this tells a load from those of others.
  enum class Of { distance, key, pair };
  struct Held {
    Expr load;
    Form form;
    Of of;
    int64_t words = 1, first = 0;
  };
  // A single lane is no axis.
  int64_t lanes() const { return lane_.is_const() ? 1 : ir::extent_of(lane_).value(); }
  SymInt at_lane(const SymInt& index, int64_t lane) const {
    return lane_.is_const() ? index : index.substitute(lane_, lane);
  }
  bool is_vector(const ir::ExprNode& load) const;
  int64_t words_of(Of of) const;
  Block load_lane(const Variable& held) const;
  Expr half_of_lane() const;
  SymInt word_of_lane() const { return floordiv(lane_, 2); }

  SymInt lane_;
  bool is_by_lane_;
  std::vector<Held> loads_;
  int64_t words_ = 0;
};

}  // namespace tcc::sched
