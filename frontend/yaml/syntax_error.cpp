#include "frontend/yaml/syntax_error.h"

#include <algorithm>
#include <vector>

#include "support/error.h"

namespace tcc::yaml {
namespace {

struct Place {
  size_t line = 0, column = 0;  // from 0
};

std::string at(Place place, const std::string& reason) {
  return str(place.line + 1, ":", place.column + 1, ": ", reason);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

struct Bracket {
  char open = '[';
  Place place;
  char close() const { return open == '[' ? ']' : '}'; }
};

struct Open {
  // Flow lists and maps that are open; brackets in quotes, in comments and inside words open none.
  std::vector<Bracket> brackets;
  char quote = 0;  // 0: none
  Place quoted;    // where the quote is
};

// Returns what is open before `end`.
Open open_before(const std::vector<std::string_view>& lines, Place end) {
  Open result;
  std::vector<Bracket>& open = result.brackets;
  char& quote = result.quote;
  for (size_t i = 0; i < lines.size() && i <= end.line; ++i) {
    const std::string_view line = lines[i];
    char before = ' ', meaning = ':';  // the last character, and the last that is no space
    const size_t size = i == end.line ? std::min(line.size(), end.column) : line.size();
    for (size_t k = 0; k < size; before = line[k++]) {
      const char c = line[k];
      if (quote) {
        if (c == '\\' && quote == '"') ++k;
        if (c == quote) quote = 0;
        if (k >= size) break;
        continue;
      }
      if (c == '#' && (before == ' ' || before == '\t')) break;
      const bool begins = std::string_view(":,-?[{").find(meaning) != std::string_view::npos;
      if (begins && (c == '"' || c == '\'')) {
        quote = c;
        result.quoted = {i, k};
      }
      if (begins && (c == '[' || c == '{')) open.push_back({c, {i, k}});
      if (!open.empty() && (c == ']' || c == '}')) open.pop_back();
      if (c != ' ' && c != '\t') meaning = c;
    }
  }
  return result;
}

// Returns the line without surrounding spaces and without a comment at its end.
std::string_view trimmed(std::string_view line) {
  line = line.substr(0, line.find(" #"));
  const size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos || line[begin] == '#') return "";
  return line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
}

// Returns the last line above `line` that is not blank, if it is a word without a colon.
const std::string_view* key_without_colon(const std::vector<std::string_view>& lines, size_t line) {
  while (line-- > 0)
    if (const std::string_view text = trimmed(lines[line]); !text.empty())
      return text.find_first_of(":,-[]{}") == std::string_view::npos ? &lines[line] : nullptr;
  return nullptr;
}

class Explanation {
 public:
  Explanation(std::string_view text, Place place) : lines_(lines_of(text)), place_(place) {
    place_.line = std::min(place_.line, lines_.size() - 1);
    brackets_ = open_before(lines_, place_).brackets;
  }

  std::string of(const std::string& message) const {
    const auto says = [&](std::string_view part) {
      return message.find(part) != std::string::npos;
    };
    if (const size_t tab = tab_in_indentation(); tab != std::string_view::npos)
      return at({place_.line, tab}, "a tab in the indentation: use spaces");
    if (says("map flow not found") || says("sequence flow not found")) return unclosed();
    if (says("illegal flow end")) return wrong_close();
    if (says("EOF in scalar")) return unclosed_quote();
    const std::string_view line = trimmed(lines_[place_.line]);
    if (says("end of map not found") && line.find_first_of(":-") == std::string_view::npos)
      return at(place_, str("'", line, "' is a key without ':' behind it"));
    if (says("end of map not found") || says("end of sequence not found"))
      return at(
          place_,
          "this is no entry of what stands above it: check its indentation (entries of one map or "
          "list begin in the same column, those of a list with '- ')");
    if (says("illegal map value")) return unexpected_colon();
    if (says("unknown token"))
      return at(place_, str("a value cannot begin with '", here(), "': put it in quotes"));
    if (says("anchor is not defined"))
      return at(place_,
                "an alias (*) of no anchor (&) above: text that begins with '*' needs quotes");
    return at(place_, "invalid YAML: " + message);
  }

 private:
  char here() const {
    const std::string_view line = lines_[place_.line];
    return place_.column < line.size() ? line[place_.column] : ' ';
  }

  size_t tab_in_indentation() const {
    const std::string_view line = lines_[place_.line];
    const size_t tab = line.find('\t');
    return tab != std::string_view::npos && tab < line.find_first_not_of(" \t")
               ? tab
               : std::string_view::npos;
  }

  std::string unclosed() const {
    if (brackets_.empty()) return at(place_, "a ',' or a closing bracket is missing before this");
    const Bracket& last = brackets_.back();
    if (last.place.line == place_.line)
      return at(place_, str("a ',' or '", last.close(), "' is missing before this; the '",
                            last.open, "' of column ", last.place.column + 1, " is open"));
    return at(last.place, str("this '", last.open, "' has no '", last.close(),
                              "', or a ',' is missing behind it"));
  }

  std::string unclosed_quote() const {
    const Open open = open_before(lines_, {lines_.size() - 1, lines_.back().size()});
    if (!open.quote) return at(place_, "the file ends inside of a quoted text");
    return at(open.quoted, str("this ", open.quote, " has no ", open.quote,
                               " behind it: the file ends inside of the text"));
  }

  std::string wrong_close() const {
    if (brackets_.empty()) return at(place_, str("this '", here(), "' closes nothing"));
    const Bracket& last = brackets_.back();
    if (last.place.line != place_.line)
      return at(last.place, str("this '", last.open, "' has no '", last.close(), "'"));
    return at(place_, str("'", here(), "' where '", last.close(), "' must close the '", last.open,
                          "' of column ", last.place.column + 1));
  }

  std::string unexpected_colon() const {
    if (const std::string_view* line = key_without_colon(lines_, place_.line)) {
      const auto number = static_cast<size_t>(line - lines_.data());
      return at({number, line->find_first_not_of(" \t")},
                str("'", trimmed(*line), "' is a key without ':' behind it"));
    }
    const std::string_view line = lines_[place_.line].substr(0, place_.column);
    if (line.find(": ") != std::string_view::npos)
      return at(place_, "a second ':' in one entry: text that holds ': ' needs quotes");
    return at(place_, "an unexpected ':'");
  }

  std::vector<std::string_view> lines_;
  Place place_;
  std::vector<Bracket> brackets_;
};

}  // namespace

std::string syntax_error(std::string_view text, int line, int column, const std::string& message) {
  const Place place{static_cast<size_t>(std::max(line, 0)),
                    static_cast<size_t>(std::max(column, 0))};
  return Explanation(text, place).of(message);
}

}  // namespace tcc::yaml
