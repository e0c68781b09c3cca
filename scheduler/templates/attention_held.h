// Loads of the scores of neighbouring keys, as words of 32 bits that a kernel loads ahead: long
// before it has the products that the scores are made of.
#pragma once

#include <vector>

#include "scheduler/axis_use.h"
#include "scheduler/kernel.h"

namespace tcc::sched {

class HeldLoads {
 public:
  // The places of values: `lane` numbers the keys of a group, and rows are of a `query`. `keys`
  // numbers groups, or, with `is_by_lane`, single keys: each lane sets it.
  struct Axes {
    SymInt lane, keys, query;
    bool is_by_lane = false;
  };
  // Those of `value` that depend on the keys or on the lane. Values of 64 bits, and of integers of
  // 8 and 16 bits with a sign, are loaded where they are read.
  HeldLoads(const Expr& value, const Axes& axes);

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
  // A load of one word for all lanes, one word for each, or halves of one word. Lanes whose loads
  // are no vector have words of their own: to join halves is to wait for both of them. But words
  // that queries do not share are many, and registers are few.
  enum class Form { shared, each, halves };
  // Which places load the same word: this tells a load from those of others.
  enum class Of { distance, key, pair };
  struct Held {
    Expr load;
    Form form;
    Of of;
    int64_t words = 1, first = 0;
  };
  bool is_vector(const ir::ExprNode& load) const;
  int64_t words_of(Of of) const;
  Block load_lane(const Variable& held) const;
  Expr half_of_lane() const;

  SymInt lane_;
  bool is_by_lane_;
  std::vector<Held> loads_;
  int64_t words_ = 0;
};

}  // namespace tcc::sched
