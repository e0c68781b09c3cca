// Kernel IR as text. scheduler/kernel_parse.cpp reads it back.
#include <set>
#include <sstream>

#include "scheduler/kernel.h"
#include "scheduler/kernel_names.h"

namespace tcc::sched {
namespace {

// The statements of a kernel or of a hook.
class KernelWriter {
 public:
  KernelWriter(std::ostringstream& out, const Kernel& kernel, const Hook* hook = nullptr)
      : out_(out), kernel_(kernel), names_(kernel, hook) {
    texts_.atom = [this](const ir::Atom& atom) { return text(atom); };
    texts_.variable = [this](const Variable& variable) { return names_.of(variable); };
    texts_.buffer = [this](int buffer, DType stored) {
      const auto slot = static_cast<size_t>(buffer);
      const bool plain = slot < kernel_.arguments.size() && kernel_.arguments[slot].dtype == stored;
      return "b" + std::to_string(buffer) + (plain ? "" : ":" + std::string(tcc::name(stored)));
    };
  }

  void block(const Block& block, int depth) {
    for (const Stmt& stmt : block) statement(stmt, depth);
  }

  std::string text(const Array& array) const {
    return names_.of(array.variable) + ": " + std::string(tcc::name(array.variable.dtype)) + "[" +
           std::to_string(array.elements) + "]";
  }

  // "row < 128", "acc: f32[8] in".
  std::string text(const Hook::Parameter& parameter) {
    const std::string& name = names_.of(parameter);
    if (parameter.is_index()) return name + " < " + text(ir::extent_of(parameter.axis));
    return text(Array{parameter.array, parameter.elements}) + (parameter.written ? " out" : " in");
  }

 private:
  std::ostream& line(int depth) { return out_ << std::string(static_cast<size_t>(depth) * 2, ' '); }

  std::string text(const SymInt& index) const { return index.to_string(texts_.atom); }
  std::string text(const Expr& value) const { return ir::exact_text(value, texts_); }
  std::string text(const Variable& variable) const { return names_.of(variable); }

  // An indirect index is written with its value where it comes first.
  std::string text(const ir::Atom& atom) {
    const std::string& name = names_.of(atom);
    if (atom.kind != ir::Atom::Kind::indirect || !defined_.insert(name).second) return name;
    return name + "{" + std::to_string(atom.range.lo) + ".." + std::to_string(atom.range.hi) +
           ": " + text(atom.value) + "}";
  }

  // "e < 4".
  std::string bounded(const SymInt& axis) const {
    return (axis.is_const() ? "_" : text(axis)) + " < " + text(ir::extent_of(axis));
  }

  void statement(const Stmt& stmt, int depth) {
    switch (stmt.kind) {
      case Stmt::Kind::let_index:
        if (stmt.axis.is_const()) return;
        line(depth) << "let " << bounded(stmt.axis) << " = " << text(stmt.index) << "\n";
        return;
      case Stmt::Kind::declare:
        line(depth) << "var " << text(stmt.variable) << ": " << tcc::name(stmt.variable.dtype)
                    << " = " << text(stmt.value) << "\n";
        return;
      case Stmt::Kind::assign:
        line(depth) << text(stmt.variable) << " = " << text(stmt.value) << "\n";
        return;
      case Stmt::Kind::array:
        line(depth) << "array " << text(Array{stmt.variable, stmt.count}) << "\n";
        return;
      case Stmt::Kind::set_element: return store_to(text(stmt.variable), stmt, depth);
      case Stmt::Kind::store: return store_to("b" + std::to_string(stmt.buffer), stmt, depth);
      case Stmt::Kind::load_vector:
        line(depth) << text(stmt.variable) << "[0.." << stmt.count << ") = b" << stmt.buffer << "["
                    << text(stmt.index) << "..]" << (stmt.early ? " early" : "");
        if (stmt.value) out_ << " where " << text(stmt.value);
        out_ << "\n";
        return;
      case Stmt::Kind::store_vector:
        line(depth) << "b" << stmt.buffer << "[" << text(stmt.index)
                    << "..] = " << text(stmt.variable) << "[0.." << stmt.count << ")";
        if (stmt.value) out_ << " where " << text(stmt.value);
        out_ << "\n";
        return;
      case Stmt::Kind::loop:
        line(depth) << (stmt.unroll ? "unroll " : "for ") << bounded(stmt.axis) << "\n";
        block(stmt.body, depth + 1);
        return;
      case Stmt::Kind::branch:
        line(depth) << "if " << text(stmt.value) << "\n";
        block(stmt.body, depth + 1);
        if (stmt.otherwise.empty()) return;
        line(depth) << "else\n";
        block(stmt.otherwise, depth + 1);
        return;
      case Stmt::Kind::barrier: line(depth) << "barrier\n"; return;
      case Stmt::Kind::reload: line(depth) << "reload\n"; return;
      case Stmt::Kind::reduce_lanes:
      case Stmt::Kind::scan_lanes: {
        line(depth) << (stmt.kind == Stmt::Kind::scan_lanes ? "scan " : "reduce ")
                    << ir::name(stmt.reduce) << " over " << stmt.count << " threads, stride "
                    << stmt.stride << ":";
        for (const Variable& variable : stmt.variables) out_ << " " << text(variable);
        out_ << "\n";
        return;
      }
      case Stmt::Kind::gather_cluster:
        line(depth) << "gather " << text(Array{stmt.variable, stmt.count}) << " = "
                    << text(stmt.variables[0]) << " of the cluster\n";
        return;
      case Stmt::Kind::cluster_arrive: line(depth) << "cluster arrive\n"; return;
      case Stmt::Kind::cluster_wait: line(depth) << "cluster wait\n"; return;
      case Stmt::Kind::expect_bytes:
        exchange(stmt, depth) << "expects " << stmt.count << " bytes\n";
        return;
      case Stmt::Kind::send_cluster:
        exchange(stmt, depth) << "sends " << text(stmt.variables[0]) << " to "
                              << text(stmt.variables[1]) << "[rank] of " << stmt.count << "\n";
        return;
      case Stmt::Kind::await_bytes: exchange(stmt, depth) << "waits\n"; return;
      case Stmt::Kind::return_value: line(depth) << "return " << text(stmt.value) << "\n"; return;
    }
  }

  void store_to(const std::string& what, const Stmt& stmt, int depth) {
    const std::string at = text(stmt.index);
    line(depth) << what << "[" << at << "] = " << text(stmt.value) << "\n";
  }

  std::ostream& exchange(const Stmt& stmt, int depth) {
    return line(depth) << "exchange " << text(stmt.variable) << "[" << text(stmt.index) << "] ";
  }

  std::ostringstream& out_;
  const Kernel& kernel_;
  KernelNames names_;
  ir::ExprNames texts_;
  std::set<std::string> defined_;  // indirect indices
};

std::string_view access_text(Argument::Access access) {
  switch (access) {
    case Argument::Access::read: return "in ";
    case Argument::Access::write: return "out ";
    case Argument::Access::read_write: return "inout ";
  }
  return "";
}

void write_head(std::ostringstream& out, const Kernel& kernel) {
  out << "kernel " << kernel.name;
  for (const std::string& size : kernel.sizes) out << " size " << size;
  for (const Count& count : kernel.counts) out << " " << count.name << " " << count.value;
  out << " grid " << kernel.grid << " workgroup " << kernel.workgroup;
  if (kernel.cluster > 1) out << " cluster " << kernel.cluster;
  if (kernel.resident > 0) out << " resident " << kernel.resident;
  if (kernel.shared_bytes > 0) out << " shared_bytes " << kernel.shared_bytes;
  if (kernel.begins_alone) out << " begins_alone";
  if (kernel.cooperative) out << " cooperative";
  if (kernel.numbered) out << " numbered";
  if (kernel.uses_lanes) out << " lanes";
  if (kernel.wide_index) out << " wide";
  out << "\n";
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const Argument& a = kernel.arguments[i];
    out << "  b" << i << ": " << access_text(a.access) << tcc::name(a.dtype) << "[" << a.elements
        << "]";
    if (a.alignment != 16) out << " align " << a.alignment;
    if (a.needed != 1) out << " needed " << a.needed;
    out << "\n";
  }
}

}  // namespace

std::string to_string(const Kernel& kernel) {
  std::ostringstream out;
  write_head(out, kernel);
  KernelWriter writer(out, kernel);
  for (const Array& a : kernel.shared) out << "  shared " << writer.text(a) << "\n";
  if (!kernel.source.empty()) {
    out << "  source " << kernel.source << "\n";
    const Parameters& parameters = kernel.parameters;
    if (!parameters.header.empty())
      out << "  parameters " << parameters.header << " " << parameters.type << "\n";
    for (const auto& [name, value] : parameters.fields)
      out << "  set " << name << " = " << value << "\n";
    for (const auto& [name, value] : kernel.defines)
      out << "  define " << name << " = " << value << "\n";
  }
  writer.block(kernel.body, 1);
  for (const Hook& hook : kernel.hooks) {
    KernelWriter of_hook(out, kernel, &hook);
    out << "  hook " << hook.name << "(";
    for (size_t i = 0; i < hook.parameters.size(); ++i)
      out << (i ? ", " : "") << of_hook.text(hook.parameters[i]);
    out << ")";
    if (hook.returns) out << ": " << tcc::name(hook.result);
    out << "\n";
    of_hook.block(hook.body, 2);
  }
  return out.str();
}

}  // namespace tcc::sched
