// Evaluates loop expressions on the CPU in f64 and i64. This gives the expected values of single
// elements of a region's outputs, without a device.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/expr.h"
#include "ir/scalar_eval.h"

namespace tcc::autotune {

// A load reads from such a buffer: its element `offset` is pattern[offset % pattern size].
struct ExprBuffer {
  DType dtype = DType::f32;
  int64_t elements = 0;
  std::vector<double> floats = {};     // the pattern, of floats
  std::vector<int64_t> integers = {};  // of others
};

// An expression, flattened: shared subexpressions once, axes numbered. Immutable.
class ExprProgram {
 public:
  // `axes` are the free axes (constants, where an extent is 1). Throws InternalError for what
  // stands in kernels only: variables, array elements, shuffles.
  ExprProgram(const ir::Expr& expr, std::span<const ir::SymInt> axes);

 private:
  friend class ExprEvaluator;
  friend class ExprCompiler;

  struct Term {
    int64_t coefficient;
    std::vector<int> atoms;
  };
  struct Index {
    int64_t constant = 0;
    std::vector<Term> terms = {};
    std::vector<int> axes = {};  // that it depends on
  };
  struct Atom {
    ir::Atom::Kind kind;
    int axis = -1;                // axis
    int a = -1, b = -1;           // indices: floordiv, mod, min, max
    int value = -1;               // step: indirect
    ir::Interval range = {0, 0};  // indirect
    std::vector<int> axes = {};   // that it depends on
  };
  struct Loop {
    int axis;
    int64_t extent;
  };
  struct Step {
    ir::ExprNode::Kind kind;
    DType dtype;
    ir::Fn fn{};
    ir::ReduceKind reduce{};
    ir::Number constant = {};
    int buffer = -1, index = -1;
    DType stored{};                // load: as which the buffer's element is read
    std::vector<int> args = {};    // steps
    std::vector<DType> from = {};  // their dtypes
    std::vector<Loop> loops = {};  // of a reduction
    std::vector<int> axes = {};    // that it depends on
    bool shared = false;           // used by several
  };

  std::vector<Step> steps_;  // the last one is the value
  std::vector<Index> indices_;
  std::vector<Atom> atoms_;
  std::vector<int> free_axes_;  // by position in the constructor's list; -1: a constant
  int num_axes_ = 0;
};

// One thread's evaluation of a program. A shared value is kept while the axes that it depends on
// stand still, a reduction for every combination of them: an element of a softmax takes time linear
// in its row.
class ExprEvaluator {
 public:
  enum class Rounding : uint8_t {
    none,   // f64 throughout, but for casts to narrower types
    each,   // every function's result is rounded to its dtype, sums at their end
    noisy,  // as none; what `each` would round is changed by noise of that size (noise.h), the same
            // for the same value
  };
  // Both outlive it.
  ExprEvaluator(const ExprProgram& program, std::span<const ExprBuffer> buffers, Rounding rounding);

  // Evaluates the program where its free axes have these values.
  ir::Number operator()(std::span<const int64_t> axes);
  // Returns the number of subexpressions that were evaluated so far, as a measure of the work.
  int64_t work() const { return work_; }

 private:
  using Step = ExprProgram::Step;

  void set_axis(int axis, int64_t value);
  int64_t index(int id);
  int64_t atom(int id);
  ir::Number value(int id);
  ir::Number compute(const Step& step);
  ir::Number load(const Step& step);
  ir::Number call(const Step& step);
  ir::Number reduce(int id, const Step& step);
  ir::Number reduce_now(const Step& step);
  ir::Number finished(ir::Number value, DType dtype, const Step& step) const;
  // Times 1 + u `size`, u being drawn from the value and where it arises.
  double with_noise(double value, double size, const Step& step, int64_t position = 0) const;

  const ExprProgram& program_;
  std::span<const ExprBuffer> buffers_;
  Rounding rounding_;
  std::vector<int64_t> axes_;
  std::vector<int64_t> changed_;  // by axis: when it got another value
  int64_t now_ = 0, work_ = 0;
  struct Memo {
    ir::Number value;
    int64_t time = -1;
  };
  std::vector<Memo> memo_;                                              // by step
  std::vector<std::map<std::vector<int64_t>, ir::Number>> reductions_;  // by step
};

}  // namespace tcc::autotune
