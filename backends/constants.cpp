#include "backends/constants.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "support/content_hash.h"
#include "support/strided_copy.h"

namespace tcc::backends {
namespace {

// The keys of weights that were loaded, as long as these exist: the next executable of the same
// graph finds them on the device without loading them again.
class KnownKeys {
 public:
  std::optional<Hash128> find(const ir::ConstantPtr& data, const sched::Layout& layout) {
    const std::lock_guard lock(mutex_);
    const auto weight = keys_.find(data);
    if (weight == keys_.end()) return std::nullopt;
    for (const auto& [known, key] : weight->second)
      if (known == layout) return key;
    return std::nullopt;
  }

  void add(const ir::ConstantPtr& data, const sched::Layout& layout, const Hash128& key) {
    const std::lock_guard lock(mutex_);
    if (keys_.size() >= swept_) {
      std::erase_if(keys_, [](const auto& entry) { return entry.first.expired(); });
      swept_ = std::max(kLeast, 2 * keys_.size());
    }
    keys_[data].emplace_back(layout, key);
  }

 private:
  static constexpr size_t kLeast = 1024;

  using Weight = std::weak_ptr<const ir::ConstantData>;
  using Keys = std::vector<std::pair<sched::Layout, Hash128>>;
  std::mutex mutex_;
  std::map<Weight, Keys, std::owner_less<Weight>> keys_;
  size_t swept_ = kLeast;  // how many entries are the next reason to look for dead ones
};

KnownKeys& known_keys() {
  static KnownKeys keys;
  return keys;
}

// A constant's bytes with its dims in the layout's order.
std::vector<std::byte> pack(const Tensor& tensor, const sched::Layout& layout) {
  auto element = static_cast<size_t>(size_bytes(tensor.dtype()));
  std::vector<std::byte> bytes(static_cast<size_t>(layout.elements.value()) * element);
  const std::vector<int64_t>& shape = tensor.shape();
  std::vector<int64_t> own(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) own[d - 1] = own[d] * shape[d];
  copy_strided(tensor.data(), own, bytes.data(), exec::fixed(layout.strides), shape,
               static_cast<int>(element));
  return bytes;
}

}  // namespace

void GraphConstants::add(ir::ConstantPtr data, sched::Layout layout) {
  entries_.push_back({std::move(data), std::move(layout)});
}

exec::ConstantBytes GraphConstants::load(size_t i) const {
  const auto& [data, layout] = entries_[i];
  const TensorPtr tensor = data->load();
  exec::ConstantBytes result;
  const ir::Shape shape(tensor->shape().begin(), tensor->shape().end());
  if (layout == sched::Layout::row_major(shape)) {
    result.owner = tensor;
    result.bytes = {tensor->data(), tensor->bytes()};
  } else {
    const auto packed = std::make_shared<const std::vector<std::byte>>(pack(*tensor, layout));
    result.owner = packed;
    result.bytes = *packed;
  }
  if (const auto known = known_keys().find(data, layout)) {
    result.key = *known;
  } else {
    result.key = content_hash(result.bytes);
    known_keys().add(data, layout, result.key);
  }
  return result;
}

std::optional<Hash128> GraphConstants::key(size_t i) const {
  return known_keys().find(entries_[i].data, entries_[i].layout);
}

}  // namespace tcc::backends
