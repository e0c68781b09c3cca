#include "scheduler/kernel.h"

#include "support/error.h"

namespace tcc::sched {
namespace {

Stmt make(Stmt::Kind kind) {
  Stmt stmt;
  stmt.kind = kind;
  return stmt;
}

}  // namespace

Stmt let_index(const SymInt& axis, const SymInt& value) {
  Stmt stmt = make(Stmt::Kind::let_index);
  stmt.axis = axis;
  stmt.index = value;
  return stmt;
}

Stmt declare(const Variable& variable, Expr value) {
  Stmt stmt = make(Stmt::Kind::declare);
  stmt.variable = variable;
  stmt.value = std::move(value);
  return stmt;
}

Stmt assign(const Variable& variable, Expr value) {
  Stmt stmt = make(Stmt::Kind::assign);
  stmt.variable = variable;
  stmt.value = std::move(value);
  return stmt;
}

Stmt array(const Variable& array, int64_t count) {
  Stmt stmt = make(Stmt::Kind::array);
  stmt.variable = array;
  stmt.count = count;
  return stmt;
}

Stmt set_element(const Variable& array, const SymInt& index, Expr value) {
  Stmt stmt = make(Stmt::Kind::set_element);
  stmt.variable = array;
  stmt.index = index;
  stmt.value = std::move(value);
  return stmt;
}

Stmt store(int buffer, const SymInt& index, Expr value) {
  Stmt stmt = make(Stmt::Kind::store);
  stmt.buffer = buffer;
  stmt.index = index;
  stmt.value = std::move(value);
  return stmt;
}

Stmt load_vector(const Variable& array, int buffer, const SymInt& index, int64_t count) {
  Stmt stmt = make(Stmt::Kind::load_vector);
  stmt.variable = array;
  stmt.buffer = buffer;
  stmt.index = index;
  stmt.count = count;
  return stmt;
}

Stmt store_vector(int buffer, const SymInt& index, const Variable& array, int64_t count) {
  Stmt stmt = make(Stmt::Kind::store_vector);
  stmt.variable = array;
  stmt.buffer = buffer;
  stmt.index = index;
  stmt.count = count;
  return stmt;
}

Stmt loop(const SymInt& axis, Block body, bool unroll) {
  Stmt stmt = make(Stmt::Kind::loop);
  stmt.axis = axis;
  stmt.body = std::move(body);
  stmt.unroll = unroll;
  return stmt;
}

Stmt branch(Expr condition, Block body, Block otherwise) {
  Stmt stmt = make(Stmt::Kind::branch);
  stmt.value = std::move(condition);
  stmt.body = std::move(body);
  stmt.otherwise = std::move(otherwise);
  return stmt;
}

Stmt barrier() { return make(Stmt::Kind::barrier); }

Stmt reload() { return make(Stmt::Kind::reload); }

Stmt reduce_lanes(ir::ReduceKind kind, std::vector<Variable> variables, int64_t lanes,
                  int64_t stride) {
  Stmt stmt = make(Stmt::Kind::reduce_lanes);
  stmt.reduce = kind;
  stmt.variables = std::move(variables);
  stmt.count = lanes;
  stmt.stride = stride;
  return stmt;
}

Stmt scan_lanes(ir::ReduceKind kind, const Variable& prefix, const Variable& total, int64_t lanes,
                int64_t stride) {
  Stmt stmt = reduce_lanes(kind, {prefix, total}, lanes, stride);
  stmt.kind = Stmt::Kind::scan_lanes;
  return stmt;
}

Stmt gather_cluster(const Variable& array, const Variable& variable, int64_t ranks) {
  Stmt stmt = make(Stmt::Kind::gather_cluster);
  stmt.variable = array;
  stmt.variables = {variable};
  stmt.count = ranks;
  return stmt;
}

Stmt cluster_arrive() { return make(Stmt::Kind::cluster_arrive); }
Stmt cluster_wait() { return make(Stmt::Kind::cluster_wait); }

Stmt expect_bytes(const Variable& exchanges, int64_t exchange, int64_t bytes) {
  Stmt stmt = make(Stmt::Kind::expect_bytes);
  stmt.variable = exchanges;
  stmt.index = exchange;
  stmt.count = bytes;
  return stmt;
}

Stmt send_cluster(const Variable& exchanges, int64_t exchange, const Variable& array,
                  const Variable& variable, int64_t ranks) {
  Stmt stmt = make(Stmt::Kind::send_cluster);
  stmt.variable = exchanges;
  stmt.variables = {variable, array};
  stmt.index = exchange;
  stmt.count = ranks;
  return stmt;
}

Stmt await_bytes(const Variable& exchanges, int64_t exchange) {
  Stmt stmt = make(Stmt::Kind::await_bytes);
  stmt.variable = exchanges;
  stmt.index = exchange;
  return stmt;
}

Stmt return_value(Expr value) {
  Stmt stmt = make(Stmt::Kind::return_value);
  stmt.value = std::move(value);
  return stmt;
}

Expr combine_values(ir::ReduceKind kind, const Expr& a, const Expr& b) {
  using ir::Fn, ir::ReduceKind;
  switch (kind) {
    case ReduceKind::sum: return ir::call(Fn::add, {a, b});
    case ReduceKind::prod: return ir::call(Fn::mul, {a, b});
    case ReduceKind::max: return ir::call(Fn::maximum, {a, b});
    case ReduceKind::min: return ir::call(Fn::minimum, {a, b});
    case ReduceKind::any: return ir::call(Fn::logical_or, {a, b});
    case ReduceKind::all: return ir::call(Fn::logical_and, {a, b});
    case ReduceKind::argmax:
    case ReduceKind::argmin: break;
  }
  throw InternalError("argmax and argmin combine pairs");
}

Expr identity_value(ir::ReduceKind kind, DType dtype) {
  return is_float(dtype) ? ir::constant(dtype, ir::identity(kind, dtype))
                         : ir::constant_int(dtype, ir::identity_int(kind, dtype));
}

Block combine(ir::ReduceKind kind, const std::vector<Variable>& accs,
              const std::vector<Expr>& values) {
  using ir::Fn, ir::ReduceKind, ir::call;
  if (!ir::is_arg(kind)) {
    Block each;
    for (size_t i = 0; i < accs.size(); ++i)
      each.push_back(assign(accs[i], combine_values(kind, ir::read(accs[i]), values[i])));
    return each;
  }
  Expr acc = ir::read(accs[0]);
  const Expr& value = values[0];
  // (value, index): the better value wins, NaN is best of all, the smaller index breaks ties.
  Expr acc_index = ir::read(accs[1]);
  const Expr& index = values[1];
  Expr better =
      kind == ReduceKind::argmax ? call(Fn::gt, {value, acc}) : call(Fn::lt, {value, acc});
  Expr same = call(Fn::eq, {value, acc});
  if (is_float(value->dtype)) {
    Expr value_nan = call(Fn::isnan, {value}), acc_nan = call(Fn::isnan, {acc});
    better = call(Fn::logical_or,
                  {better, call(Fn::logical_and, {value_nan, call(Fn::logical_not, {acc_nan})})});
    same = call(Fn::logical_or, {same, call(Fn::logical_and, {value_nan, acc_nan})});
  }
  Expr earlier = call(Fn::logical_and, {same, call(Fn::lt, {index, acc_index})});
  Expr take = call(Fn::logical_or, {better, earlier});
  return {branch(take, {assign(accs[0], value), assign(accs[1], index)})};
}

Block substitute(const Block& block, const SymInt& axis, const SymInt& by) {
  const auto moved = [&](const SymInt& index) { return index.substitute(axis, by); };
  Block result = block;
  for (Stmt& stmt : result) {
    stmt.index = moved(stmt.index);
    if (stmt.value) stmt.value = ir::rewrite(stmt.value, {}, moved);
    stmt.body = substitute(stmt.body, axis, by);
    stmt.otherwise = substitute(stmt.otherwise, axis, by);
  }
  return result;
}

Hook::Parameter Hook::index_parameter(std::string name, const SymInt& extent) {
  Parameter parameter;
  parameter.axis = SymInt::axis(name, extent, ir::AxisRole::parameter);
  parameter.name = std::move(name);
  return parameter;
}

Hook::Parameter Hook::array_parameter(std::string name, DType dtype, int64_t elements,
                                      bool written) {
  TCC_CHECK(elements > 0, "the array parameter ", name, " is empty");
  Parameter parameter;
  parameter.array = ir::new_variable(name, dtype);
  parameter.elements = elements;
  parameter.written = written;
  parameter.name = std::move(name);
  return parameter;
}

SymInt block_axis(const SymInt& grid) { return SymInt::standard_axis(ir::AxisRole::block, grid); }
SymInt thread_axis(int64_t workgroup) {
  return SymInt::standard_axis(ir::AxisRole::thread, workgroup);
}

}  // namespace tcc::sched
