// Writes JSON text, one call per event; the commas, the quoting and the indentation are its work.
//
//   JsonWriter json(JsonWriter::Style::indented);
//   json.begin_object().member("name", "mlp").key("shape");
//   json.begin_array().value(32).value(784).end_array().end_object();
//   out << json.text();
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tcc {

class JsonWriter {
 public:
  enum class Style { compact, indented };
  explicit JsonWriter(Style style = Style::compact) : style_(style) {}

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  // The next event is this member's value.
  JsonWriter& key(std::string_view name);

  // Invalid UTF-8 becomes U+FFFD, so that the text is always valid JSON.
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  // The shortest text that reads back as the same number; NaN and infinities, which JSON lacks,
  // become null.
  JsonWriter& value(double number);
  JsonWriter& value(bool flag);
  JsonWriter& null();
  template <std::integral T>
  requires(!std::same_as<T, bool>) JsonWriter& value(T number) {
    return literal(std::to_string(number));
  }

  template <class T>
  JsonWriter& member(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  // The finished text. Throws InternalError while an object or array is open.
  const std::string& text() const;

 private:
  struct Level {
    bool is_object;
    bool empty;
  };

  JsonWriter& open(bool is_object, char bracket);
  JsonWriter& close(bool is_object, char bracket);
  JsonWriter& literal(std::string_view text);
  void before_value();
  void new_line();
  void append_quoted(std::string_view text);

  Style style_;
  std::string text_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace tcc
