// Integer expressions in a kernel file: launch geometry, shapes and constraints over dims, scalars
// and parameters. The text may come from anyone: its length and depth are limited, and nothing
// wraps, traps or loops.
//
//   ||   &&   == != < <= > >=   + -   * // %   - !   min(a, b) max(a, b) ceil_div(a, b)   ( )
//
// in rising precedence, as in the graph format where both have an operator: `//` rounds down and
// `%` has the sign of the divisor. Comparisons and logic give 0 or 1 and do not chain; `&&` and
// `||` do not evaluate what no longer matters.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tcc::autotune {

class Expression {
 public:
  // Returns the value of a name; nothing when it is not known.
  using Scope = std::function<std::optional<int64_t>(std::string_view)>;

  Expression() : Expression(0) {}
  explicit Expression(int64_t constant);
  // `place` begins every message, "FILE:LINE: key 'grid'". Throws Error(bad_input) naming the
  // column.
  static Expression parse(std::string_view text, std::string place);

  // Throws Error(bad_input) on overflow, a divisor that is not positive, or an unknown name.
  int64_t evaluate(const Scope& scope) const;

  const std::string& text() const { return text_; }
  const std::string& place() const { return place_; }
  std::set<std::string> names() const;

  enum class Op : uint8_t {
    constant,
    name,
    logical_or,
    logical_and,
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    add,
    subtract,
    multiply,
    floor_divide,
    modulo,
    minimum,
    maximum,
    ceil_divide,
    negate,
    logical_not,
  };
  struct Node {
    Op op = Op::constant;
    int left = -1, right = -1;  // operands, which stand before it
    int64_t value = 0;          // constant
    std::string name;
  };

 private:
  Expression(std::vector<Node> nodes, std::string text, std::string place)
      : nodes_(std::move(nodes)), text_(std::move(text)), place_(std::move(place)) {}
  int64_t value_of(int node, const Scope& scope) const;
  int64_t binary(const Node& node, int64_t left, int64_t right) const;
  [[noreturn]] void fail(const std::string& reason) const;

  std::vector<Node> nodes_;  // the last one is the whole
  std::string text_, place_;
};

}  // namespace tcc::autotune
