#include "support/json_writer.h"

#include <charconv>
#include <cmath>

#include "support/error.h"
#include "support/utf8.h"

namespace tcc {

JsonWriter& JsonWriter::begin_object() { return open(true, '{'); }
JsonWriter& JsonWriter::end_object() { return close(true, '}'); }
JsonWriter& JsonWriter::begin_array() { return open(false, '['); }
JsonWriter& JsonWriter::end_array() { return close(false, ']'); }

JsonWriter& JsonWriter::key(std::string_view name) {
  TCC_CHECK(!levels_.empty() && levels_.back().is_object && !after_key_, "key '", name, "'");
  if (!levels_.back().empty) text_ += ',';
  levels_.back().empty = false;
  new_line();
  append_quoted(name);
  text_ += style_ == Style::indented ? ": " : ":";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  before_value();
  append_quoted(text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, number);
  return literal({buffer, static_cast<size_t>(result.ptr - buffer)});
}

JsonWriter& JsonWriter::value(bool flag) { return literal(flag ? "true" : "false"); }
JsonWriter& JsonWriter::null() { return literal("null"); }

const std::string& JsonWriter::text() const {
  TCC_CHECK(levels_.empty() && !after_key_, "unfinished JSON");
  return text_;
}

JsonWriter& JsonWriter::open(bool is_object, char bracket) {
  before_value();
  text_ += bracket;
  levels_.push_back({is_object, true});
  return *this;
}

JsonWriter& JsonWriter::close(bool is_object, char bracket) {
  TCC_CHECK(!levels_.empty() && levels_.back().is_object == is_object && !after_key_, "unexpected ",
            bracket);
  const bool empty = levels_.back().empty;
  levels_.pop_back();
  if (!empty) new_line();
  text_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::literal(std::string_view text) {
  before_value();
  text_ += text;
  return *this;
}

void JsonWriter::before_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) {
    TCC_CHECK(text_.empty(), "a second top-level value");
    return;
  }
  TCC_CHECK(!levels_.back().is_object, "a value without a key");
  if (!levels_.back().empty) text_ += ',';
  levels_.back().empty = false;
  new_line();
}

void JsonWriter::new_line() {
  if (style_ == Style::compact) return;
  text_ += '\n';
  text_.append(2 * levels_.size(), ' ');
}

void JsonWriter::append_quoted(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  text_ += '"';
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const char c = text[0];
    if (length == 0)
      text_ += "\xef\xbf\xbd";
    else if (c == '"' || c == '\\')
      text_ += '\\', text_ += c;
    else if (c == '\n')
      text_ += "\\n";
    else if (c == '\t')
      text_ += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20)
      text_ += "\\u00", text_ += digits[c >> 4], text_ += digits[c & 15];
    else
      text_ += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  text_ += '"';
}

}  // namespace tcc
