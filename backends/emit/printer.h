// Prints the statements and expressions of one kernel or hook in a dialect.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "backends/emit/dialect.h"
#include "scheduler/kernel.h"
#include "scheduler/kernel_names.h"

namespace tcc::backends {

class Printer {
 public:
  // `names` are those of the body or hook to print; the printer adds its own. It outlives this.
  Printer(const sched::Kernel& kernel, const Dialect& dialect, sched::KernelNames& names);

  void block(const sched::Block& block);
  void line(const std::string& text);
  const std::string& text() const { return text_; }
  // An expression of the kernel's sizes as text.
  std::string size(const ir::SymInt& value) { return index(value); }
  std::string index_type() const { return kernel_.wide_index ? "i64" : "i32"; }

 private:
  using SymInt = ir::SymInt;
  using Expr = ir::Expr;

  void statement(const sched::Stmt& stmt);
  void scoped(const sched::Block& body);
  void loop(const SymInt& axis, bool unroll, const sched::Block& body);
  std::string loop_head(const SymInt& axis);
  void load_vector(const sched::Stmt& stmt);
  void store_vector(const sched::Stmt& stmt);
  void check_vector(int buffer, int words) const;
  DType accessed_as(const sched::Stmt& stmt) const;

  // Returns the expression as text; parts that it needs first (shared subexpressions, serial loops)
  // are printed as statements.
  std::string expression(const Expr& e);
  void count_uses(const Expr& e);
  std::string render(const Expr& e);
  std::string render_now(const Expr& e);
  std::string render_call(const Expr& e);
  // Rewrites constant zeros among the operands of float arithmetic as the dialect wants them.
  void hide_zeros(const Expr& e, std::vector<std::string>& args);
  std::string render_random(const Expr& e);
  std::string reduction(const Expr& e);
  std::string constant(const Expr& e) const;
  std::string named(const Expr& e, const std::string& text);
  std::string plain_index(const Expr& e);

  std::string index(const SymInt& value);          // may be a sum, or of weaker operators (a & 3)
  std::string array_index(const SymInt& value);    // of a register or shared array
  std::string index_operand(const SymInt& value);  // parenthesised where needed
  std::string atom(const ir::AtomPtr& atom);
  std::string index_constant(int64_t value) const;
  std::string buffer_element(int buffer, const SymInt& offset);
  // Subscripts need 64 bits, and the dialect's do not have them.
  bool is_far() const { return kernel_.wide_index && !dialect_.far_element.empty(); }
  std::string vector_word(const std::string& vector, int words, int i) const;
  std::string far_element(const std::string& type, int buffer, const std::string& at,
                          int bytes) const;

  const sched::Kernel& kernel_;
  const Dialect& dialect_;
  sched::KernelNames& names_;
  int indent_ = 1;
  std::string text_;
  std::map<uint64_t, DType> arrays_;  // what arrays hold, by their ids
  std::map<const ir::ExprNode*, int> uses_;
  std::map<const ir::ExprNode*, std::string> shared_;  // parts of the statement at hand
  // Indirect indices declared in this scope.
  using Atoms = std::unordered_set<ir::AtomPtr, ir::AtomHash, ir::AtomEqual>;
  Atoms indirect_;
};

std::string buffer_name(int buffer);
// "In_f32": the type of the buffer behind an argument, in dialects that declare one.
std::string buffer_type(const sched::Argument& argument);
// "(a + b)" without its outer parentheses.
std::string without_parentheses(const std::string& text);

}  // namespace tcc::backends
