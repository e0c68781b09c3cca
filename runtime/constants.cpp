#include "runtime/constants.h"

#include <algorithm>

#include "runtime/device.h"
#include "support/error.h"

namespace tcc::runtime {

std::shared_ptr<Buffer> ConstantPool::find(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = buffers_.find(key);
  return found == buffers_.end() ? nullptr : found->second.lock();
}

std::shared_ptr<Buffer> ConstantPool::find(const exec::Executable& executable, size_t i) const {
  const exec::ConstantInfo& info = executable.constants[i];
  if (info.is_mutable || !executable.store) return nullptr;
  const std::optional<Hash128> key = executable.store->key(i);
  return key ? find(Key(*key, info.bytes)) : nullptr;
}

std::shared_ptr<Buffer> ConstantPool::get(Device& device, Stream& stream,
                                          const exec::Executable& executable, size_t i) {
  const exec::ConstantInfo& info = executable.constants[i];
  TCC_CHECK(executable.store, info.name, ": the executable has constants and no store of them");
  if (auto buffer = find(executable, i)) return buffer;
  const exec::ConstantBytes loaded = executable.store->load(i);
  TCC_CHECK(std::ssize(loaded.bytes) == info.bytes, info.name, ": ", loaded.bytes.size(),
            " bytes instead of ", info.bytes);
  const Key key(loaded.key, info.bytes);
  if (!info.is_mutable)
    if (auto buffer = find(key)) return buffer;
  const std::shared_ptr<Buffer> buffer = device.allocate(std::max<int64_t>(info.bytes, 1));
  if (!loaded.bytes.empty()) stream.copy_to_device(*buffer, 0, loaded.bytes);
  if (info.is_mutable) return buffer;

  const std::lock_guard lock(mutex_);
  std::erase_if(buffers_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Buffer>& entry = buffers_[key];
  if (auto other = entry.lock()) return other;  // another thread was faster
  entry = buffer;
  return buffer;
}

int64_t ConstantPool::missing_bytes(const exec::Executable& executable) const {
  int64_t bytes = 0;
  for (size_t i = 0; i < executable.constants.size(); ++i)
    if (!find(executable, i)) bytes += executable.constants[i].bytes;
  return bytes;
}

}  // namespace tcc::runtime
