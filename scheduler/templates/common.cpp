#include "scheduler/templates/common.h"

#include "ir/append.h"
#include "scheduler/cost.h"

namespace tcc::sched {

Kernel start_kernel(const Region& region) {
  Kernel kernel;
  // The ending keeps the name apart from functions of the target language.
  kernel.name = region.name() + "_kernel";
  const auto add = [&](const ir::Value* value, Argument::Access access) {
    kernel.arguments.push_back({value->dtype(), access, region.layout(value).elements, 16});
  };
  for (const ir::Value* value : region.inputs) add(value, Argument::Access::read);
  for (const ir::Value* value : region.outputs)
    if (!region.in_place.contains(value)) add(value, Argument::Access::write);
  for (const auto& [output, input] : region.in_place)
    kernel.arguments[static_cast<size_t>(region.slot_of_input(input))].access =
        Argument::Access::read_write;
  const std::set<std::string> sizes = open_dims(region);
  kernel.sizes.assign(sizes.begin(), sizes.end());
  kernel.bytes = {1, least_bytes(region)};
  SymInt elements = 0;
  std::string comment;
  for (const ir::Node* node : region.nodes) {
    comment += node->outputs[0]->name + " = " + std::string(node->op_name()) + "(";
    for (size_t i = 0; i < node->inputs.size(); ++i)
      comment += (i ? ", " : "") + (node->inputs[i] ? node->inputs[i]->name : std::string("-"));
    comment += ") : " + ir::to_string(node->outputs[0]->type) + "\n";
    elements = elements + ir::stored_elements(node->outputs[0]);
  }
  kernel.flops = {1, elements};
  kernel.comment = comment;
  return kernel;
}

void append(Block& block, Block more) {
  block.insert(block.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
}

Block guarded(std::span<const Expr> conditions, Block body) {
  const Expr all = ir::all_of(conditions);
  if (!all || ir::is_true(all)) return body;
  return {branch(all, std::move(body))};
}

Block stores_where(const Expr& condition, Block body) {
  if (ir::is_true(condition)) return body;
  for (Stmt& stmt : body) {
    stmt.body = stores_where(condition, std::move(stmt.body));
    stmt.otherwise = stores_where(condition, std::move(stmt.otherwise));
    if (stmt.kind == Stmt::Kind::store_vector)
      stmt.value = ir::all_of(std::vector{stmt.value, condition});
    else if (stmt.kind == Stmt::Kind::store)
      stmt = branch(condition, {stmt});
  }
  return body;
}

std::vector<SymInt> delinearize_ints(const SymInt& linear, const std::vector<int64_t>& shape) {
  return ir::delinearize(linear, std::vector<SymInt>(shape.begin(), shape.end()));
}

std::vector<SymInt> memory_order_index(const SymInt& linear, const ir::Shape& shape,
                                       const Layout& layout) {
  const std::vector<int> order = layout.order();
  ir::Shape sorted;
  for (int d : order) sorted.push_back(shape[static_cast<size_t>(d)]);
  std::vector<SymInt> in_order = ir::delinearize(linear, sorted), index(shape.size());
  for (size_t i = 0; i < order.size(); ++i) index[static_cast<size_t>(order[i])] = in_order[i];
  return index;
}

int64_t fewest_threads(const Target& target) {
  return std::min<int64_t>(32, power_of_two_at_most(target.max_workgroup_size));
}

std::vector<int64_t> workgroup_sizes(const Target& target) {
  std::vector<int64_t> sizes;
  for (int64_t threads = fewest_threads(target); threads <= 1024; threads *= 2)
    sizes.push_back(threads);
  return sizes;
}

std::vector<int64_t>& values_of(std::vector<Parameter>& parameters, std::string_view name) {
  const auto found = std::ranges::find(parameters, name, &Parameter::name);
  TCC_CHECK(found != parameters.end(), "no parameter '", name, "'");
  return found->values;
}

void leave_out(std::vector<Parameter>& parameters, std::string_view name) {
  std::erase_if(parameters, [&](const Parameter& one) { return one.name == name; });
}

int64_t power_of_two_at_least(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

int64_t power_of_two_at_most(int64_t n) {
  int64_t p = 1;
  while (p * 2 <= n) p *= 2;
  return p;
}

}  // namespace tcc::sched
