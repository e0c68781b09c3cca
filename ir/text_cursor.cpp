#include "ir/text_cursor.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "ir/text_names.h"

namespace tcc::ir {
namespace {

constexpr size_t kMaxName = 4096;

bool is_word_char(char c) { return is_name_char(c) && c != '.' && c != '/' && c != '-'; }
bool is_number_char(char c) { return is_word_char(c) || c == '.' || c == '-' || c == '+'; }

size_t prefix_length(std::string_view text, bool (*accepts)(char)) {
  return static_cast<size_t>(std::ranges::find_if_not(text, accepts) - text.begin());
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string_view TextCursor::advance(size_t count) {
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

void TextCursor::skip_space() {
  while (!rest_.empty()) {
    const char c = rest_.front();
    if (c == '#') {
      advance(std::min(rest_.find('\n'), rest_.size()));
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      line_ += c == '\n';
      advance(1);
    } else {
      return;
    }
  }
}

std::string TextCursor::next_text() const {
  if (rest_.empty()) return "the end of the text";
  constexpr size_t kShown = 20;
  const size_t word = std::min(prefix_length(rest_, is_name_char), kShown);
  return quote(rest_.substr(0, std::max<size_t>(word, 1)));
}

bool TextCursor::at_end() {
  skip_space();
  return rest_.empty();
}

bool TextCursor::at(char c) {
  skip_space();
  return rest_.starts_with(c);
}

bool TextCursor::take(char c) {
  if (!at(c)) return false;
  advance(1);
  return true;
}

void TextCursor::expect(char c) {
  if (!take(c)) fail("expected '", c, "' before ", next_text());
}

bool TextCursor::take_word(std::string_view word) {
  skip_space();
  if (rest_.substr(0, prefix_length(rest_, is_word_char)) != word) return false;
  advance(word.size());
  return true;
}

void TextCursor::expect_word(std::string_view word) {
  if (!take_word(word)) fail("expected '", word, "' before ", next_text());
}

std::string TextCursor::word(std::string_view what) {
  skip_space();
  const size_t length = prefix_length(rest_, is_word_char);
  if (length == 0) fail("expected ", what, " before ", next_text());
  if (length > kMaxName) fail(what, " is longer than ", kMaxName, " characters");
  return std::string(advance(length));
}

std::string TextCursor::name(std::string_view what) {
  if (at('"')) return text_literal();
  const size_t length = prefix_length(rest_, is_name_char);
  if (length == 0) fail("expected ", what, " before ", next_text());
  if (length > kMaxName) fail(what, " is longer than ", kMaxName, " characters");
  return std::string(advance(length));
}

std::string TextCursor::text_literal() {
  expect('"');
  std::string result;
  while (true) {
    if (rest_.empty() || rest_.front() == '\n') fail("a text without its closing quote");
    const char c = advance(1).front();
    if (c == '"') return result;
    if (result.size() == kMaxName) fail("a text longer than ", kMaxName, " characters");
    result += c == '\\' ? escape() : c;
  }
}

char TextCursor::escape() {
  const char c = rest_.empty() ? '\n' : advance(1).front();
  if (c == '"' || c == '\\') return c;
  if (c == 'n') return '\n';
  if (c == 't') return '\t';
  const int high = c == 'x' && rest_.size() >= 2 ? hex_digit(rest_[0]) : -1;
  const int low = high >= 0 ? hex_digit(rest_[1]) : -1;
  if (low < 0) fail("unknown escape in a text; there are \\\\ \\\" \\n \\t and \\x0a");
  advance(2);
  return static_cast<char>(high * 16 + low);
}

std::string_view TextCursor::number_token() {
  skip_space();
  const size_t length = prefix_length(rest_, is_number_char);
  if (length == 0) fail("expected a number before ", next_text());
  return advance(length);
}

int64_t TextCursor::integer() {
  const std::string_view token = number_token();
  int64_t value = 0;
  const auto [end, error] = std::from_chars(token.begin(), token.end(), value);
  if (error != std::errc{} || end != token.end())
    fail("expected an integer, not ", quote(token.substr(0, 40)));
  return value;
}

double TextCursor::number() {
  const std::string_view token = number_token();
  double value = 0;
  const auto [end, error] = std::from_chars(token.begin(), token.end(), value);
  if (error != std::errc{} || end != token.end())
    fail("expected a number, not ", quote(token.substr(0, 40)));
  return value;
}

SymInt TextCursor::dim() {
  skip_space();
  size_t length = 0;
  for (int depth = 0; length < rest_.size(); ++length) {
    const char c = rest_[length];
    if (c == '\n' || (depth == 0 && (c == ',' || c == ']' || c == '}'))) break;
    depth += (c == '(') - (c == ')');
  }
  const std::string_view text = advance(length);
  try {
    return parse_symint(text.substr(0, text.find_last_not_of(" \t\r") + 1));
  } catch (const Error& error) { fail(error.what()); }
}

}  // namespace tcc::ir
