// Parses indices and expressions of kernel text. Nothing but scheduler/kernel_parse.cpp includes
// this.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/kernel.h"

namespace tcc::sched {

// The meanings of names at one place of the text.
struct TextScope {
  std::map<std::string, SymInt, std::less<>> indices;  // axes and indirect indices
  std::map<std::string, Variable, std::less<>> variables;
};

// Reads one line.
class LineParser {
 public:
  LineParser(std::string_view text, size_t line, TextScope& scope,
             const std::vector<Argument>& arguments)
      : text_(text), line_(line), scope_(scope), arguments_(arguments) {}

  // Throws Error(bad_input).
  [[noreturn]] void fail(const std::string& problem) const;

  bool at_end();
  bool peek(std::string_view token);
  bool accept(std::string_view token);
  void expect(std::string_view token);
  bool accept_word(std::string_view word);
  void expect_word(std::string_view word);
  std::string word();
  // Returns the next word without taking it.
  std::string_view next_word();
  std::string path();  // up to a space
  std::string rest();
  int64_t integer();
  int64_t count();  // at least 0
  DType dtype();
  ir::ReduceKind reduce_kind(std::string_view name) const;
  int buffer();
  const Variable& variable();

  SymInt index();
  // The axis of this name, which statements of different blocks may bind each for itself.
  SymInt axis(const std::string& name, const SymInt& extent, ir::AxisRole role);
  Expr expression();

 private:
  struct Deeper {
    explicit Deeper(LineParser& line);
    ~Deeper() { --parser.depth_; }
    LineParser& parser;
  };

  void skip_spaces();
  SymInt product();
  SymInt factor();
  SymInt named_index();
  Expr marked();
  Expr unary(ir::Fn fn);
  Expr number();
  Expr parenthesised();
  Expr named(const std::string& name);
  Expr reduction(std::string_view kind);
  Expr call(const std::string& name);
  Expr load();

  std::string_view text_;
  size_t line_;
  TextScope& scope_;
  const std::vector<Argument>& arguments_;
  size_t at_ = 0;
  int depth_ = 0;
  std::map<int64_t, Expr> marks_;
};

}  // namespace tcc::sched
