// A position in text IR, from which the parser reads tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/symint.h"
#include "support/error.h"

namespace tcc::ir {

class TextCursor {
 public:
  TextCursor(std::string_view text, std::string file) : rest_(text), file_(std::move(file)) {}

  int line() const { return line_; }
  // Throws Error(bad_input): "FILE:LINE: reason".
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    fail_input(file_, ":", line_, ": ", parts...);
  }

  // All of these skip white space and comments first.
  bool at_end();
  bool at(char c);
  bool take(char c);  // if it is there
  void expect(char c);
  bool take_word(std::string_view word);
  void expect_word(std::string_view word);
  std::string word(std::string_view what);  // letters, digits and _; `what` is for the message
  std::string name(std::string_view what);  // plain or quoted
  std::string text_literal();               // "..." with its escapes undone
  std::string_view number_token();          // what may belong to a number, inf and nan included
  int64_t integer();
  double number();
  SymInt dim();  // up to a ',', ']' or '}' outside parentheses

 private:
  void skip_space();
  std::string next_text() const;  // what stands here, for messages
  char escape();
  std::string_view advance(size_t count);

  std::string_view rest_;
  std::string file_;
  int line_ = 1;
};

}  // namespace tcc::ir
