#include <algorithm>
#include <map>
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
  void share(ReadSize& read) {
    share(read.from);
    share(read.most);
  }

 private:
  struct Hash {
    size_t operator()(const SymInt& value) const { return ir::hash_value(value); }
  };
  std::unordered_set<SymInt, Hash> all_;
};

// Whether their LaunchNumbers are the same at any sizes.
bool have_same_numbers(const KernelLaunch& a, const KernelLaunch& b) {
  const auto same_argument = [](const Argument& x, const Argument& y) {
    const auto *of_x = std::get_if<Scalar>(&x), *of_y = std::get_if<Scalar>(&y);
    return (of_x == nullptr) == (of_y == nullptr) &&
           (!of_x || (of_x->dtype == of_y->dtype && of_x->value == of_y->value));
  };
  return a.grid == b.grid && a.times == b.times && a.maps == b.maps &&
         std::ranges::equal(a.arguments, b.arguments, same_argument);
}

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
  std::map<int, std::vector<int>> kinds;  // by kernel: the first launches of each kind
  for (size_t i = 0; i < executable.steps.size(); ++i) {
    std::visit([&](auto& each) { sharer.share(each); }, executable.steps[i]);
    auto* launch = std::get_if<KernelLaunch>(&executable.steps[i]);
    if (!launch) continue;
    std::vector<int>& first = kinds[launch->kernel];
    const auto same = std::ranges::find_if(first, [&](int step) {
      const Step& other = executable.steps[static_cast<size_t>(step)];
      return have_same_numbers(std::get<KernelLaunch>(other), *launch);
    });
    launch->same_as = same == first.end() ? static_cast<int>(i) : *same;
    if (same == first.end()) first.push_back(launch->same_as);
  }
  for (StateInfo& state : executable.states) sharer.share(state.added);
  sharer.share(executable.arena_bytes);
}

}  // namespace tcc::exec
