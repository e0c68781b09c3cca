// A YAML document that may be hostile: limits are checked before anything is built, and errors of
// accessors name file and line.
#pragma once

#include <yaml-cpp/yaml.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/suggest.h"

namespace tcc::yaml {

constexpr size_t kMaxText = 4096;  // of one name, path or other text
bool is_control(char c);           // which no text may have

// A node with its file. All accessors throw Error(bad_input) "FILE:LINE: what: reason".
class Item {
 public:
  Item(YAML::Node node, std::shared_ptr<const std::string> file, std::string what)
      : node_(std::move(node)), file_(std::move(file)), what_(std::move(what)) {}

  bool is_map() const { return node_.IsMap(); }
  bool is_list() const { return node_.IsSequence(); }
  bool is_scalar() const { return node_.IsScalar(); }
  bool is_null() const { return node_.IsNull() || !node_.IsDefined(); }
  // Returns whether it is written in quotes, so that it is text whatever it looks like: the
  // accessors of numbers and of true and false refuse it.
  bool is_quoted() const { return node_.Tag() == "!"; }

  bool is_integer() const;
  // Returns the bits of an integer above those of i64 that u64 holds; nothing for others.
  std::optional<int64_t> unsigned_bits() const;
  std::string text() const;  // of at most 4096 characters, none of them a control character
  int64_t integer() const;
  double number() const;
  bool boolean() const;
  ir::SymInt dim() const;  // an integer or an expression of symbols
  // `what` names the entries in messages; by default they have the name of the list.
  std::vector<Item> list(const std::string& what = "") const;
  // Entries in file order; duplicate keys are errors.
  std::vector<std::pair<std::string, Item>> map() const;

  // The value of `key` in a map; has() asks first, at() fails naming the key.
  bool has(std::string_view key) const;
  Item at(std::string_view key) const;
  // Fails for any key that is not listed, suggesting the closest or listing all.
  void allow_keys(std::span<const std::string_view> keys) const;
  void allow_keys(std::initializer_list<std::string_view> keys) const {
    allow_keys(std::span(keys.begin(), keys.size()));
  }

  ir::Location location() const { return {file_, node_.Mark().line + 1}; }
  const std::string& what() const { return what_; }
  // One line whatever the file holds: control characters are masked, long texts shortened.
  [[noreturn]] void fail(const std::string& reason) const;

 private:
  void refuse_quotes(const std::string& expected) const;

  YAML::Node node_;
  std::shared_ptr<const std::string> file_;
  std::string what_;  // "key 'shape'", for messages
};

using ir::or_known;  // the end of the message "unknown key 'x'"

// Parses a file of one document. Limits: size, depth, nodes, and nodes after aliases are followed.
Item parse_document(std::string_view text, const std::string& file);

}  // namespace tcc::yaml
