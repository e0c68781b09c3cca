// Attributes: their text for messages, and the check against what an op declares.
#include <charconv>
#include <cmath>

#include "ir/exact_double.h"
#include "ir/op.h"
#include "ir/suggest.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

std::string_view wanted(AttrType type) {
  switch (type) {
    case AttrType::boolean: return "true or false";
    case AttrType::integer: return "an integer";
    case AttrType::number: return "a number";
    case AttrType::text: return "text";
    case AttrType::dtype: return "an element type such as f32";
    case AttrType::ints: return "a list of integers";
    case AttrType::numbers: return "a list of numbers";
  }
  TCC_CHECK(false, "attribute type ", static_cast<int>(type));
  return "";
}

std::string_view kind_of(const Attr& attr) {
  static constexpr std::string_view names[] = {
      "true or false", "an integer",         "a number",         "text",
      "a dtype",       "a list of integers", "a list of numbers"};
  return names[attr.index()];
}

bool matches(AttrType type, const Attr& attr) {
  switch (type) {
    case AttrType::boolean: return std::holds_alternative<bool>(attr);
    case AttrType::integer: return std::holds_alternative<int64_t>(attr);
    // An integer, where a double would round it.
    case AttrType::number:
      return std::holds_alternative<double>(attr) || std::holds_alternative<int64_t>(attr);
    case AttrType::text: return std::holds_alternative<std::string>(attr);
    case AttrType::dtype: return std::holds_alternative<DType>(attr);
    case AttrType::ints: return std::holds_alternative<std::vector<SymInt>>(attr);
    case AttrType::numbers: return std::holds_alternative<std::vector<double>>(attr);
  }
  return false;
}

// A list of constant integers as numbers; nothing when one is symbolic.
std::optional<std::vector<double>> as_numbers(const std::vector<SymInt>& values) {
  std::vector<double> result;
  for (const SymInt& value : values) {
    if (!value.is_const()) return std::nullopt;
    result.push_back(static_cast<double>(value.value()));
  }
  return result;
}

// `attr` as what the op declares, where nothing is lost; itself otherwise.
Attr widen(const AttrDef& def, Attr attr) {
  const auto* integer = std::get_if<int64_t>(&attr);
  const auto* number = std::get_if<double>(&attr);
  const auto* text = std::get_if<std::string>(&attr);
  switch (def.type) {
    case AttrType::number:
      if (integer && is_exact_double(*integer)) return static_cast<double>(*integer);
      break;
    case AttrType::dtype:
      if (const auto dtype = text ? parse_dtype(*text) : std::nullopt) return *dtype;
      break;
    case AttrType::ints: {
      if (integer && def.scalar_to_list) return std::vector{SymInt(*integer)};
      const auto* numbers = std::get_if<std::vector<double>>(&attr);
      if (numbers && numbers->empty()) return std::vector<SymInt>{};
      break;
    }
    case AttrType::numbers: {
      if (integer && def.scalar_to_list) return std::vector{static_cast<double>(*integer)};
      if (number && def.scalar_to_list) return std::vector{*number};
      const auto* ints = std::get_if<std::vector<SymInt>>(&attr);
      if (const auto numbers = ints ? as_numbers(*ints) : std::nullopt) return *numbers;
      break;
    }
    default: break;
  }
  return attr;
}

void check_choice(const AttrDef& def, const std::string& value) {
  if (def.choices.empty()) return;
  std::string list;
  for (const std::string& choice : def.choices) {
    if (choice == value) return;
    list += (list.empty() ? "'" : ", '") + choice + "'";
  }
  fail_input("attribute '", def.name, "' must be one of ", list, ", not '", value, "'",
             did_you_mean(value, def.choices));
}

Attr checked(const AttrDef& def, Attr attr) {
  attr = widen(def, std::move(attr));
  if (!matches(def.type, attr)) {
    const auto* text = std::get_if<std::string>(&attr);
    const bool unknown_dtype = def.type == AttrType::dtype && text;
    fail_input("attribute '", def.name, "' must be ", wanted(def.type), ", not ",
               unknown_dtype ? "'" + *text + "'" : std::string(kind_of(attr)));
  }
  if (const auto* text = std::get_if<std::string>(&attr)) check_choice(def, *text);
  return attr;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";  // without its sign
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, result.ptr};
}

struct AttrText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return number_text(value); }
  std::string operator()(const std::string& value) const { return quote(value); }
  std::string operator()(DType value) const { return std::string(name(value)); }
  std::string operator()(const std::vector<SymInt>& values) const {
    return to_string(std::span<const SymInt>(values));
  }
  std::string operator()(const std::vector<double>& values) const {
    std::string text = "[";
    for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + number_text(values[i]);
    return text + "]";
  }
};

}  // namespace

std::string quote(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr std::string_view digits = "0123456789abcdef";
      result += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string to_string(const Attr& attr) { return std::visit(AttrText{}, attr); }

void complete_attrs(const OpDef& op, Attrs& attrs) {
  for (const auto& [name, value] : attrs) {
    std::vector<std::string> known;
    bool found = false;
    for (const AttrDef& def : op.attrs) {
      known.push_back(def.name);
      found |= def.name == name;
    }
    if (!found) fail_input("unknown attribute '", name, "'", did_you_mean(name, known));
  }
  for (const AttrDef& def : op.attrs) {
    const auto given = attrs.find(def.name);
    if (given != attrs.end()) {
      given->second = checked(def, std::move(given->second));
    } else if (def.default_value) {
      attrs.emplace(def.name, widen(def, *def.default_value));
    } else {
      fail_input("attribute '", def.name, "' is missing; it must be ", wanted(def.type));
    }
  }
}

}  // namespace tcc::ir
