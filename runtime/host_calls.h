// Programs call functions of the host as steps.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "executable/executable.h"
#include "ir/tensor.h"

namespace tcc::runtime {

class Buffer;
class Device;
class Stream;

// A host function gets copies of the buffers that its step reads and zeroed tensors for those that
// it writes, in the step's order; the latter are copied to the device afterwards. It may not change
// their types. An exception ends the run.
using HostFunction = std::function<void(std::span<const Tensor> reads, std::span<Tensor> writes)>;
// Makes a call; its caller may let go of what it holds meanwhile.
using CallThrough = std::function<void(const std::function<void()>& call)>;
using HostFunctions = std::map<std::string, HostFunction, std::less<>>;

// One host call of a context: device memory beside the program's buffers, which steps before it
// fill and steps after it empty, wherever the program's buffers lie.
class HostCallSite {
 public:
  HostCallSite(Device& device, const exec::Executable& executable, const exec::HostCall& call,
               const HostFunction& function, const exec::Sizes& sizes);
  ~HostCallSite();
  HostCallSite(HostCallSite&&) noexcept;

  // A value that the function reads or writes.
  struct Value {
    int buffer;  // of the program
    std::vector<int64_t> shape;
    DType dtype;
    int64_t bytes;
    std::unique_ptr<Buffer> memory;
  };
  const std::vector<Value>& reads() const { return reads_; }
  const std::vector<Value>& writes() const { return writes_; }

  // Waits for `stream`, then calls the function, through `through` if there is one.
  void run(Stream& stream, const CallThrough& through);

 private:
  const std::string& name_;
  const HostFunction& function_;
  std::vector<Value> reads_, writes_;
};

}  // namespace tcc::runtime
