// recognize_attention reads the nodes between the two products of attention as these steps.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "ir/graph.h"
#include "ir/known_values.h"

namespace tcc::ir {

// A number from which on scores of ordinary size are lost in a sum, in f32 and in f64.
inline constexpr double kAbsorbing = -1e30;

// One change of the scaled scores before the softmax.
struct ScoreStep {
  enum class Kind : uint8_t {
    add,    // `operand` is added
    fill,   // `value` stands where the bool `operand` holds, or where it does not
    floor,  // nothing is below the lowest number
  };
  Kind kind;
  Value* operand = nullptr;
  bool hides = false;  // fill: hidden is where the operand holds
  double value = 0;    // fill, times the scale behind it: -inf, or lower than scores ever are
  Shape shape = {};    // of the scores that it changes
};

struct AttentionScores {
  const Node* product = nullptr;  // matmul(query, key^T)
  double scale = 1;               // of the product
  std::vector<ScoreStep> steps;   // in the order in which they are applied
  Shape shape;                    // of the scores, in the finest batch dims that a step sees
  // A score more of each row [..., queries, 1], which takes a part of the weights and none of the
  // values; null: there is none.
  Value* sink = nullptr;
  bool safe = false;  // the probabilities of a row that is NaN are replaced by 0
  int widest = 0;     // bytes of the widest float on the way
};

// The shape of a mask of scores `from` once they are `to`, whose batch dims divide those of `from`;
// nothing where they do not.
std::optional<Shape> regrouped_mask(const Shape& mask, const Shape& from, const Shape& to);

using UseMap = std::map<const Value*, Graph::Uses>;

// Follows the probabilities of an attention back to the product that makes their scores. Returns
// nothing where they come from anything else, or where another node reads a value on the way.
std::optional<AttentionScores> match_scores(Value* probabilities, const UseMap& uses,
                                            KnownValues& known);

// The scores and the sink of probabilities softmax(cat([scores, sink]))[..., :-1], perhaps cast,
// which no other node reads a part of; both have the dims of the probabilities but the last.
struct ScoresAndSink {
  Value* scores;
  Value* sink;
};
std::optional<ScoresAndSink> match_sink(Value* probabilities, const UseMap& uses,
                                        KnownValues& known);

// Returns the tensor, where it follows from constants that are spelled out in the graph; no weight
// is loaded.
TensorPtr spelled_out(const Value* value, KnownValues& known);
// Returns the number that all its elements equal, where such constants determine it.
std::optional<double> uniform_value(const Value* value, KnownValues& known);

// Returns whether the node is a view that keeps the order of elements: reshape, unsqueeze, ...
bool keeps_order(const Node& node);
// Returns whether such a view regroups batch dims only: the matrices in the last two dims stay.
bool keeps_matrices(const Node& node);

}  // namespace tcc::ir
