// Parses the text of an expression to its nodes.
#pragma once

#include <string_view>
#include <vector>

#include "autotune/user_kernel/expression.h"

namespace tcc::autotune {

// Returns the nodes, operands before operators, the root last. Throws Error(bad_input) "REASON at
// column C of 'TEXT'".
std::vector<Expression::Node> parse_expression(std::string_view text);

}  // namespace tcc::autotune
