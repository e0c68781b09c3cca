// The parsers of short expressions ("(B + 7) // 8") share this: a place in the text, its tokens,
// and errors that name the column. The text may come from anyone.
#pragma once

#include <string_view>

namespace tcc {

// A base class for parsers by recursive descent.
class ExpressionCursor {
 protected:
  explicit ExpressionCursor(std::string_view text) : text_(text) {}

  // Throws Error(bad_input): "REASON at column N of 'TEXT'".
  [[noreturn]] void fail(std::string_view reason) const { fail_at(position_, reason); }
  [[noreturn]] void fail_at(size_t position, std::string_view reason) const;

  // Skips white space. Returns whether nothing follows.
  bool at_end();
  // Returns whether the text goes on with `token`, and skips it then.
  bool accept(std::string_view token);
  void expect(std::string_view token);

  // The next character, not white space; '\0' at the end.
  char peek() { return at_end() ? '\0' : text_[position_]; }
  std::string_view digits();  // "" where there are none
  std::string_view word();    // letters, digits and _, no digit first; "" where there is none
  std::string_view text() const { return text_; }
  size_t position() const { return position_; }

  // Runs `parse` one level deeper. Beyond 64 levels, fails.
  template <class Parse>
  auto nested(const Parse& parse) {
    enter();
    auto result = parse();
    --depth_;
    return result;
  }

 private:
  void enter();

  std::string_view text_;
  size_t position_ = 0;
  int depth_ = 0;
};

}  // namespace tcc
