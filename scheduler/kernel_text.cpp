// The kernel IR as text, and its structural checks.
#include <algorithm>
#include <set>
#include <sstream>

#include "scheduler/kernel.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

class Writer {
 public:
  explicit Writer(std::ostringstream& out) : out_(out) {}

  void block(const Block& block, int depth) {
    for (const Stmt& stmt : block) statement(stmt, depth);
  }

 private:
  std::ostream& line(int depth) { return out_ << std::string(static_cast<size_t>(depth) * 2, ' '); }

  void statement(const Stmt& stmt, int depth) {
    switch (stmt.kind) {
      case Stmt::Kind::let_index: line(depth) << stmt.axis << " = " << stmt.index << "\n"; return;
      case Stmt::Kind::declare:
        line(depth) << "var " << stmt.name << ": " << tcc::name(stmt.dtype) << " = "
                    << ir::to_string(stmt.value) << "\n";
        return;
      case Stmt::Kind::assign:
        line(depth) << stmt.name << " = " << ir::to_string(stmt.value) << "\n";
        return;
      case Stmt::Kind::array:
        line(depth) << "array " << stmt.name << ": " << tcc::name(stmt.dtype) << "[" << stmt.count
                    << "]\n";
        return;
      case Stmt::Kind::set_element:
        line(depth) << stmt.name << "[" << stmt.index << "] = " << ir::to_string(stmt.value)
                    << "\n";
        return;
      case Stmt::Kind::store:
        line(depth) << "b" << stmt.buffer << "[" << stmt.index
                    << "] = " << ir::to_string(stmt.value) << "\n";
        return;
      case Stmt::Kind::load_vector:
        line(depth) << stmt.name << "[0.." << stmt.count << ") = b" << stmt.buffer << "["
                    << stmt.index << "..]" << (stmt.early ? " early" : "") << "\n";
        return;
      case Stmt::Kind::store_vector:
        line(depth) << "b" << stmt.buffer << "[" << stmt.index << "..] = " << stmt.name << "[0.."
                    << stmt.count << ")\n";
        return;
      case Stmt::Kind::loop:
        line(depth) << (stmt.unroll ? "unroll " : "for ") << stmt.axis << " < "
                    << stmt.axis.range().hi + 1 << "\n";
        block(stmt.body, depth + 1);
        return;
      case Stmt::Kind::branch:
        line(depth) << "if " << ir::to_string(stmt.value) << "\n";
        block(stmt.body, depth + 1);
        if (stmt.otherwise.empty()) return;
        line(depth) << "else\n";
        block(stmt.otherwise, depth + 1);
        return;
      case Stmt::Kind::barrier: line(depth) << "barrier\n"; return;
      case Stmt::Kind::reduce_lanes:
      case Stmt::Kind::scan_lanes: {
        line(depth) << (stmt.kind == Stmt::Kind::scan_lanes ? "scan " : "reduce ")
                    << ir::name(stmt.reduce) << " over " << stmt.count << " threads, stride "
                    << stmt.stride << ":";
        for (const std::string& name : stmt.names) out_ << " " << name;
        out_ << "\n";
        return;
      }
      case Stmt::Kind::gather_cluster:
        line(depth) << "gather " << stmt.name << "[0.." << stmt.count << ") = " << stmt.names[0]
                    << " of the cluster\n";
        return;
      case Stmt::Kind::cluster_arrive: line(depth) << "cluster arrive\n"; return;
      case Stmt::Kind::cluster_wait: line(depth) << "cluster wait\n"; return;
      case Stmt::Kind::expect_bytes:
        line(depth) << "exchange " << stmt.index << " expects " << stmt.count << " bytes\n";
        return;
      case Stmt::Kind::send_cluster:
        line(depth) << "exchange " << stmt.index << " sends " << stmt.names[0] << " to "
                    << stmt.name << "[rank] of " << stmt.count << "\n";
        return;
      case Stmt::Kind::await_bytes: line(depth) << "exchange " << stmt.index << " waits\n"; return;
      case Stmt::Kind::return_value:
        line(depth) << "return " << ir::to_string(stmt.value) << "\n";
        return;
    }
  }

  std::ostringstream& out_;
};

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel) {}

  void run() {
    TCC_CHECK(kernel_.workgroup >= 1 && kernel_.grid >= 0, kernel_.name);
    TCC_CHECK(kernel_.grid % kernel_.cluster == 0, kernel_.name, ": a cluster is not whole");
    TCC_CHECK(!kernel_.arguments.empty(), kernel_.name, " has no arguments");
    for (const Array& a : kernel_.shared) add(a.name);
    block(kernel_.body);
    for (const Hook& hook : kernel_.hooks) {
      std::set<std::string> outside = names_;
      for (const Hook::Parameter& p : hook.parameters) add(p.name);
      block(hook.body);
      names_ = std::move(outside);
    }
  }

 private:
  void block(const Block& block) {
    std::set<std::string> outside = names_;
    for (const Stmt& stmt : block) statement(stmt);
    names_ = std::move(outside);
  }

  // A name means one thing where it is in scope: no declaration hides another.
  void add(const std::string& name) {
    TCC_CHECK(names_.insert(name).second, kernel_.name, ": ", name, " is declared twice");
  }

  void known(const std::string& name) const {
    TCC_CHECK(names_.count(name), kernel_.name, ": ", name, " is not declared");
  }

  void buffer(int slot, bool written) const {
    TCC_CHECK(slot >= 0 && slot < static_cast<int>(kernel_.arguments.size()), kernel_.name,
              ": no buffer ", slot);
    TCC_CHECK(!written || kernel_.arguments[static_cast<size_t>(slot)].written, kernel_.name,
              " writes its input b", slot);
  }

  void expression(const Expr& e) const {
    ir::visit(e, [&](const Expr& node) {
      if (node->kind == ir::ExprNode::Kind::load) buffer(node->buffer, false);
      if (node->kind == ir::ExprNode::Kind::var || node->kind == ir::ExprNode::Kind::element)
        known(node->name);
    });
  }

  void statement(const Stmt& stmt) {
    if (stmt.value) expression(stmt.value);
    switch (stmt.kind) {
      case Stmt::Kind::declare:
      case Stmt::Kind::array: add(stmt.name); break;
      case Stmt::Kind::let_index:
        if (!stmt.axis.is_const()) add(stmt.axis.as_atom()->name);
        break;
      case Stmt::Kind::assign:
      case Stmt::Kind::set_element: known(stmt.name); break;
      case Stmt::Kind::store: buffer(stmt.buffer, true); break;
      case Stmt::Kind::load_vector:
      case Stmt::Kind::store_vector:
        buffer(stmt.buffer, stmt.kind == Stmt::Kind::store_vector);
        known(stmt.name);
        TCC_CHECK(stmt.count > 0 && stmt.count <= 64, kernel_.name, ": a vector of ", stmt.count);
        break;
      case Stmt::Kind::reduce_lanes:
      case Stmt::Kind::scan_lanes:
        for (const std::string& name : stmt.names) known(name);
        TCC_CHECK(stmt.count * stmt.stride <= kernel_.workgroup, kernel_.name,
                  ": combines over more threads than there are");
        break;
      case Stmt::Kind::gather_cluster:
      case Stmt::Kind::send_cluster:
        if (stmt.kind == Stmt::Kind::gather_cluster) add(stmt.name);
        known(stmt.name);
        known(stmt.names[0]);
        TCC_CHECK(stmt.count == kernel_.cluster, kernel_.name, ": gathers from ", stmt.count,
                  " workgroups of ", kernel_.cluster);
        break;
      default: break;
    }
    const std::set<std::string> outside = names_;
    if (stmt.kind == Stmt::Kind::loop && !stmt.axis.is_const()) add(stmt.axis.as_atom()->name);
    block(stmt.body);
    names_ = outside;
    block(stmt.otherwise);
  }

  const Kernel& kernel_;
  std::set<std::string> names_;
};

}  // namespace

std::string to_string(const Kernel& kernel) {
  std::ostringstream out;
  out << "kernel " << kernel.name << " grid " << kernel.grid << " workgroup " << kernel.workgroup;
  if (kernel.cluster > 1) out << " cluster " << kernel.cluster;
  out << "\n";
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const Argument& a = kernel.arguments[i];
    out << "  b" << i << ": " << (a.written ? "out " : "in ") << tcc::name(a.dtype) << "["
        << a.elements << "]\n";
  }
  for (const Array& a : kernel.shared)
    out << "  shared " << a.name << ": " << tcc::name(a.dtype) << "[" << a.elements << "]\n";
  if (!kernel.source.empty()) {
    out << "  source " << kernel.source << "\n";
    for (const auto& [name, value] : kernel.parameters.fields)
      out << "  " << name << " = " << value << "\n";
    for (const auto& [name, value] : kernel.defines) out << "  " << name << " = " << value << "\n";
  }
  Writer writer(out);
  writer.block(kernel.body, 1);
  for (const Hook& hook : kernel.hooks) {
    out << "  hook " << hook.name << "(";
    for (size_t i = 0; i < hook.parameters.size(); ++i) {
      const auto& p = hook.parameters[i];
      out << (i ? ", " : "") << p.name;
      if (p.elements > 0) out << "[" << p.elements << "]";
    }
    out << ")\n";
    writer.block(hook.body, 2);
  }
  return out.str();
}

void verify(const Kernel& kernel) { Verifier(kernel).run(); }

}  // namespace tcc::sched
