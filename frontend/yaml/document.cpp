#include "frontend/yaml/document.h"

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "frontend/yaml/syntax_error.h"
#include "support/error.h"

namespace tcc::yaml {
namespace {

constexpr size_t kMaxBytes = size_t{16} << 20;
constexpr int kMaxDepth = 64;
constexpr int64_t kMaxNodes = 1000000;  // after aliases are followed
constexpr size_t kMaxMessage = 400;

// Runs over the events before a tree is built: a few lines of nested aliases can stand for billions
// of nodes.
class Limits : public YAML::EventHandler {
 public:
  explicit Limits(const std::string& file) : file_(file) {}
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { leaf(mark, anchor); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string&) override {
    leaf(mark, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto found = sizes_.find(anchor);
    if (found == sizes_.end()) fail(mark, "an alias inside its own anchor");
    count(mark, found->second);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YAML::anchor_t anchor;
    int64_t before;
  };

  void leaf(const YAML::Mark& mark, YAML::anchor_t anchor) {
    count(mark, 1);
    if (anchor) sizes_[anchor] = 1;
  }
  void open(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (stack_.size() >= kMaxDepth) fail(mark, str("nested deeper than ", kMaxDepth, " levels"));
    stack_.push_back({anchor, total_});
    count(mark, 1);
  }
  void close() {
    Open top = stack_.back();
    stack_.pop_back();
    if (top.anchor) sizes_[top.anchor] = total_ - top.before;
  }
  void count(const YAML::Mark& mark, int64_t nodes) {
    total_ += nodes;
    if (total_ > kMaxNodes)
      fail(mark, str("more than ", kMaxNodes, " nodes once aliases are followed"));
  }
  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& reason) const {
    fail_input(file_, ":", mark.line + 1, ": ", reason);
  }

  const std::string& file_;
  int64_t total_ = 0;
  std::vector<Open> stack_;
  std::map<YAML::anchor_t, int64_t> sizes_;
};

// Gives what a message may quote of an untrusted file.
std::string masked(std::string text) {
  std::replace_if(text.begin(), text.end(), is_control, '?');
  if (text.size() > kMaxMessage) text = text.substr(0, kMaxMessage) + "...";
  return text;
}

template <class Number>
std::optional<Number> parse_number(const std::string& text) {
  const char* begin = text.data();
  if (!text.empty() && text[0] == '+') ++begin;
  Number value{};
  auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

void Item::fail(const std::string& reason) const {
  std::string place = ir::to_string(location());
  fail_input(place.empty() ? "" : place + ": ", masked(what_), what_.empty() ? "" : ": ",
             masked(reason));
}

std::string Item::text() const {
  if (!is_scalar()) fail("must be text");
  const std::string& text = node_.Scalar();
  if (text.size() > kMaxText) fail(str("is longer than ", kMaxText, " characters"));
  if (std::any_of(text.begin(), text.end(), is_control)) fail("has a control character");
  return text;
}

void Item::refuse_quotes(const std::string& expected) const {
  if (is_quoted())
    fail(str("must be ", expected, ", not the text \"", node_.Scalar(),
             "\": write it without quotes"));
}

bool Item::is_integer() const {
  return is_scalar() && !is_quoted() && parse_number<int64_t>(node_.Scalar());
}

std::optional<int64_t> Item::unsigned_bits() const {
  if (!is_scalar() || is_quoted() || is_integer()) return std::nullopt;
  const auto value = parse_number<uint64_t>(node_.Scalar());
  return value ? std::optional(static_cast<int64_t>(*value)) : std::nullopt;
}

int64_t Item::integer() const {
  if (!is_scalar()) fail("must be an integer");
  auto value = parse_number<int64_t>(node_.Scalar());
  if (value) refuse_quotes("an integer");
  if (!value) fail("must be an integer, not '" + node_.Scalar() + "'");
  return *value;
}

double Item::number() const {
  if (!is_scalar()) fail("must be a number");
  const std::string& text = node_.Scalar();
  static const std::map<std::string, double> special = {
      {".inf", INFINITY},  {"inf", INFINITY}, {"+.inf", INFINITY}, {"-.inf", -INFINITY},
      {"-inf", -INFINITY}, {".nan", NAN},     {"nan", NAN}};
  const auto found = special.find(text);
  const auto value = found == special.end() ? parse_number<double>(text) : found->second;
  if (!value) fail("must be a number, not '" + text + "'");
  refuse_quotes("a number");
  return *value;
}

bool Item::boolean() const {
  const std::string text = is_scalar() ? node_.Scalar() : "";
  if (text != "true" && text != "false") fail("must be true or false");
  refuse_quotes("true or false");
  return text == "true";
}

ir::SymInt Item::dim() const {
  if (!is_scalar()) fail("must be an integer or an expression of dims");
  if (parse_number<int64_t>(node_.Scalar())) refuse_quotes("an integer or an expression of dims");
  try {
    return ir::parse_symint(node_.Scalar());
  } catch (const Error& error) { fail(error.what()); }
}

std::vector<Item> Item::list(const std::string& what) const {
  if (!is_list()) fail("must be a list");
  std::vector<Item> items;
  for (const auto& child : node_) items.emplace_back(child, file_, what.empty() ? what_ : what);
  return items;
}

std::vector<std::pair<std::string, Item>> Item::map() const {
  if (!is_map()) fail("must be a map");
  std::vector<std::pair<std::string, Item>> entries;
  std::set<std::string> seen;
  for (const auto& child : node_) {
    Item key(child.first, file_, what_);
    if (!key.is_scalar()) key.fail("keys must be text");
    std::string name = key.text();
    if (!seen.insert(name).second) key.fail("duplicate key '" + name + "'");
    entries.emplace_back(name, Item(child.second, file_, "key '" + name + "'"));
  }
  return entries;
}

bool Item::has(std::string_view key) const {
  if (!is_map()) fail("must be a map");
  return std::any_of(node_.begin(), node_.end(), [&](const auto& child) {
    return child.first.IsScalar() && child.first.Scalar() == key;
  });
}

Item Item::at(std::string_view key) const {
  for (auto& [name, item] : map())
    if (name == key) return item;
  fail("missing key '" + std::string(key) + "'");
}

void Item::allow_keys(std::span<const std::string_view> keys) const {
  for (const auto& [name, item] : map()) {
    if (std::find(keys.begin(), keys.end(), name) != keys.end()) continue;
    const std::vector<std::string> candidates(keys.begin(), keys.end());
    Item(item.node_, file_, "").fail("unknown key '" + name + "'" + or_known(name, candidates));
  }
}

Item parse_document(std::string_view text, const std::string& file) {
  if (text.size() > kMaxBytes) fail_input(file, ": larger than ", kMaxBytes >> 20, " MiB");
  if (text.find('\0') != std::string_view::npos) fail_input(file, ": not a text file");
  auto name = std::make_shared<const std::string>(file);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Limits limits(file);
    if (!parser.HandleNextDocument(limits)) fail_input(file, ": is empty");
    if (parser.HandleNextDocument(limits)) fail_input(file, ": holds more than one document");
    return Item(YAML::Load(std::string(text)), name, "");
  } catch (const YAML::Exception& error) {
    fail_input(file, ":",
               masked(syntax_error(text, error.mark.line, error.mark.column, error.msg)));
  }
}

}  // namespace tcc::yaml
