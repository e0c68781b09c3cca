// The constants on a device. Programs share constants of equal bytes, except mutable ones.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "executable/executable.h"

namespace tcc::runtime {

class Buffer;
class Device;
class Stream;

// Thread-safe. The pool does not own constants: a constant is freed with the last program that uses
// it.
class ConstantPool {
 public:
  // Returns constant `i` in the device's memory; it is uploaded through `stream` unless it is
  // there. A mutable one gets a buffer of its own. Throws Error when it cannot be loaded or memory
  // is out.
  std::shared_ptr<Buffer> get(Device& device, Stream& stream, const exec::Executable& executable,
                              size_t i);
  // Returns the bytes that the executable's constants would add, as far as that is known without
  // loading.
  int64_t missing_bytes(const exec::Executable& executable) const;

 private:
  // A file may claim any key: a buffer of another size is not its constant.
  using Key = std::pair<Hash128, int64_t>;  // the content's hash, its bytes

  std::shared_ptr<Buffer> find(const Key& key) const;
  std::shared_ptr<Buffer> find(const exec::Executable& executable, size_t i) const;

  mutable std::mutex mutex_;
  std::map<Key, std::weak_ptr<Buffer>> buffers_;
};

}  // namespace tcc::runtime
