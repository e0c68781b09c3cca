#include <unordered_set>

#include "executable/executable.h"

namespace tcc::exec {
namespace {

class Sharer {
 public:
  void share(SymInt& expression) {
    if (!expression.is_const()) expression = *all_.insert(expression).first;
  }
  void share(std::vector<SymInt>& expressions) {
    for (SymInt& expression : expressions) share(expression);
  }
  void share(Address& address) { share(address.offset); }

  void share(TensorMap& map) {
    share(map.offset);
    share(map.dims);
    share(map.strides);
  }
  void share(KernelLaunch& launch) {
    for (SymInt& groups : launch.grid) share(groups);
    for (Argument& argument : launch.arguments)
      if (auto* address = std::get_if<Address>(&argument))
        share(*address);
      else
        share(std::get<Scalar>(argument).value);
    for (TensorMap& map : launch.maps) share(map);
    share(launch.loop_iterations);
    share(launch.times);
    share(launch.flops.count);
    share(launch.bytes.count);
  }
  void share(Copy& copy) {
    share(copy.to);
    share(copy.from);
    share(copy.bytes);
  }
  void share(Fill& fill) {
    share(fill.to);
    share(fill.bytes);
  }
  void share(HostCall&) {}

 private:
  struct Hash {
    size_t operator()(const SymInt& value) const { return ir::hash_value(value); }
  };
  std::unordered_set<SymInt, Hash> all_;
};

}  // namespace

void share_expressions(Executable& executable) {
  Sharer sharer;
  for (SizeTable& table : executable.tables)
    for (std::vector<SizeCondition>& choice : table.conditions)
      for (SizeCondition& condition : choice)
        for (SizeBounds& bounds : condition) sharer.share(bounds.number);
  for (BufferInfo& buffer : executable.buffers) {
    sharer.share(buffer.shape);
    sharer.share(buffer.strides);
    sharer.share(buffer.bytes);
    sharer.share(buffer.offset);
  }
  for (Step& step : executable.steps) std::visit([&](auto& each) { sharer.share(each); }, step);
  for (StateInfo& state : executable.states) sharer.share(state.added);
  sharer.share(executable.arena_bytes);
}

}  // namespace tcc::exec
