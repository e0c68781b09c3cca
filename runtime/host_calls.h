// Programs call functions of the host as steps.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "executable/executable.h"
#include "ir/device_value.h"
#include "ir/tensor.h"

namespace tcc::runtime {

class Buffer;
class Device;
class Stream;

// `run` gets copies of the buffers that its step reads and zeroed tensors for those that it writes,
// in the step's order; the latter are copied to the device afterwards. It may not change their
// types. `run_on_device` gets the places of the buffers themselves and the stream's native handle,
// on which it enqueues its work: devices that give their streams call it, others `run`. An
// exception ends the run.
struct HostFunction {
  std::function<void(std::span<const Tensor> reads, std::span<Tensor> writes)> run = {};
  std::function<void(std::span<const DeviceValue> reads, std::span<const DeviceValue> writes,
                     void* stream)>
      run_on_device = {};
  bool may_be_captured = false;  // run_on_device does nothing but enqueue
};
// Makes a call; its caller may let go of what it holds meanwhile.
using CallThrough = std::function<void(const std::function<void()>& call)>;
using HostFunctions = std::map<std::string, HostFunction, std::less<>>;

// One host call of a context. Copies in host memory pass through device memory beside the program's
// buffers, which steps before the call fill and steps after it empty, wherever the program's
// buffers lie.
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
    std::unique_ptr<Buffer> memory;  // null: the function gets the program's buffer itself
    uint64_t address = 0;            // of that one, which who binds the program sets
  };
  std::vector<Value>& reads() { return reads_; }
  std::vector<Value>& writes() { return writes_; }
  const std::vector<Value>& reads() const { return reads_; }
  const std::vector<Value>& writes() const { return writes_; }
  const std::string& name() const { return name_; }
  bool is_on_device() const { return is_on_device_; }
  bool may_be_captured() const { return is_on_device_ && function_.may_be_captured; }

  // Calls the function, through `through` if there is one; where it gets copies, after waiting for
  // `stream`.
  void run(Stream& stream, const CallThrough& through);

 private:
  void run_on_device(Stream& stream, const CallThrough& through) const;
  void run_on_copies(Stream& stream, const CallThrough& through) const;

  const std::string& name_;
  const HostFunction& function_;
  const bool is_on_device_;
  std::vector<Value> reads_, writes_;
};

}  // namespace tcc::runtime
