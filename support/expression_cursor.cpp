#include "support/expression_cursor.h"

#include "support/error.h"

namespace tcc {
namespace {

constexpr int kMaxDepth = 64;

// These are ASCII's alone, whatever the locale.
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

void ExpressionCursor::fail_at(size_t position, std::string_view reason) const {
  fail_input(reason, " at column ", position + 1, " of '", text_, "'");
}

bool ExpressionCursor::at_end() {
  while (position_ < text_.size() && is_space(text_[position_])) ++position_;
  return position_ == text_.size();
}

bool ExpressionCursor::accept(std::string_view token) {
  if (at_end() || !text_.substr(position_).starts_with(token)) return false;
  position_ += token.size();
  return true;
}

void ExpressionCursor::expect(std::string_view token) {
  if (!accept(token)) fail(str("expected '", token, "'"));
}

std::string_view ExpressionCursor::digits() {
  const size_t begin = position_;
  while (position_ < text_.size() && is_digit(text_[position_])) ++position_;
  return text_.substr(begin, position_ - begin);
}

std::string_view ExpressionCursor::word() {
  const size_t begin = position_;
  while (position_ < text_.size() &&
         (is_name_start(text_[position_]) || (position_ > begin && is_digit(text_[position_]))))
    ++position_;
  return text_.substr(begin, position_ - begin);
}

void ExpressionCursor::enter() {
  if (depth_ == kMaxDepth) fail(str("nested more than ", kMaxDepth, " deep"));
  ++depth_;
}

}  // namespace tcc
