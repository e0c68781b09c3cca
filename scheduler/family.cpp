#include "scheduler/family.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>

#include "scheduler/key_attributes.h"

namespace tcc::sched {
namespace {

// Attributes that say how large or where, not what. The sizes that follow from them are those of
// the node's results.
bool is_size(std::string_view attr) {
  static constexpr std::string_view names[] = {"shape", "size",   "start", "end",   "index",
                                               "pad",   "length", "seed",  "offset"};
  return std::find(std::begin(names), std::end(names), attr) != std::end(names);
}

class Writer {
 public:
  explicit Writer(const Region& region) : region_(region) {}

  Family family() && {
    if (region_.strict_rounding) out_ << "strict;";
    if (region_.tf32) out_ << "tf32;";
    if (region_.unit_sums) out_ << "unit_sums;";
    for (const ir::Value* input : region_.inputs) operand(input);
    for (const ir::Node* node : region_.nodes) write(*node);
    for (const ir::Value* output : region_.outputs) {
      out_ << "->";
      operand(output);
    }
    return {out_.str(), std::move(extents_)};
  }

 private:
  int number(const ir::Value* value) {
    return numbers_.try_emplace(value, static_cast<int>(numbers_.size())).first->second;
  }

  void sizes_of(const ir::Value* value) {
    std::vector<int64_t> shape = ir::const_shape(*value);
    extents_.insert(extents_.end(), shape.begin(), shape.end());
  }

  // A value in a buffer.
  void operand(const ir::Value* value) {
    out_ << "%" << number(value) << ":" << name(value->dtype()) << "r" << value->rank();
    sizes_of(value);
    auto layout = region_.layouts.find(value);
    if (layout != region_.layouts.end()) order(layout->second, ir::const_shape(*value));
    out_ << ";";
  }

  void order(const Layout& layout, const std::vector<int64_t>& shape) {
    const std::vector<int> dims = layout.order();
    if (!std::is_sorted(dims.begin(), dims.end()))
      for (int dim : dims) out_ << "," << dim;
    if (layout.strides != Layout::ordered(shape, dims).strides) out_ << ",padded";
  }

  void write(const ir::Node& node) {
    for (const ir::Value* output : node.outputs) out_ << "%" << number(output) << ",";
    out_ << "=" << node.op_name() << "(";
    for (const ir::Value* input : node.inputs) {
      if (!input)
        out_ << "-,";
      else if (input->is_constant() && region_.slot_of_input(input) < 0)
        out_ << name(input->dtype()) << "r" << input->rank() << ",";
      else
        out_ << "%" << number(input) << ",";
    }
    out_ << ")";
    bool sized = false;
    for (const auto& [key, attr] : key_attributes(node)) {
      sized |= is_size(key);
      out_ << key << "=" << (is_size(key) ? "?" : ir::to_string(*attr)) << " ";
    }
    if (sized)
      for (const ir::Value* output : node.outputs) {
        out_ << "r" << output->rank();
        sizes_of(output);
      }
    out_ << ";";
  }

  const Region& region_;
  std::map<const ir::Value*, int> numbers_;
  std::ostringstream out_;
  std::vector<int64_t> extents_;
};

}  // namespace

Family family_of(const Region& region) { return Writer(region).family(); }

}  // namespace tcc::sched
