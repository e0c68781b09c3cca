// The C ABI: tensors in device memory.
#include "api/c_handles.h"

using namespace tcc::c;  // NOLINT: what follows is the ABI

namespace tcc::c {
namespace {

std::vector<int64_t> shape_of(const int64_t* shape, size_t rank) {
  const auto dims = span_of(shape, rank, "shape");
  return {dims.begin(), dims.end()};
}

std::vector<DeviceTensor> tensors_of(tcc_tensor* const* tensors, size_t count, const char* name) {
  std::vector<DeviceTensor> list;
  for (const tcc_tensor* tensor : span_of(tensors, count, name))
    list.push_back(given(tensor, "a tensor").tensor);
  return list;
}

std::span<std::byte> host_bytes(void* host, size_t bytes) {
  auto* data = static_cast<std::byte*>(host);
  if (bytes > 0) given(data, "host");
  return {data, bytes};
}

}  // namespace
}  // namespace tcc::c

tcc_status tcc_tensor_create(const char* device, const char* dtype, const int64_t* shape,
                             size_t rank, tcc_tensor** tensor) noexcept {
  return guard([&] {
    given(tensor, "tensor");
    *tensor = new tcc_tensor(
        tcc::DeviceTensor(&given(device, "device"), &given(dtype, "dtype"), shape_of(shape, rank)));
  });
}

tcc_status tcc_tensor_create_in(const tcc_buffer* memory, int64_t offset, const char* dtype,
                                const int64_t* shape, size_t rank, tcc_tensor** tensor) noexcept {
  return guard([&] {
    given(tensor, "tensor");
    *tensor = new tcc_tensor(tcc::DeviceTensor(given(memory, "memory").memory, offset,
                                               &given(dtype, "dtype"), shape_of(shape, rank)));
  });
}

void tcc_tensor_destroy(tcc_tensor* tensor) noexcept { delete tensor; }

tcc_status tcc_tensor_describe(const tcc_tensor* tensor, tcc_tensor_info* info) noexcept {
  return guard([&] { describe(given(tensor, "tensor").specs, 0, info); });
}

const char* tcc_tensor_device(const tcc_tensor* tensor) noexcept {
  return tensor ? tensor->device.c_str() : "";
}

int64_t tcc_tensor_offset(const tcc_tensor* tensor) noexcept {
  return tensor ? tensor->tensor.offset() : 0;
}

tcc_status tcc_tensor_memory(const tcc_tensor* tensor, tcc_buffer** memory) noexcept {
  return guard([&] {
    given(memory, "memory");
    *memory = new tcc_buffer{given(tensor, "tensor").tensor.memory()};
  });
}

tcc_status tcc_tensor_write(tcc_tensor* tensor, const void* host, size_t bytes) noexcept {
  return guard([&] {
    given(tensor, "tensor").tensor.memory().write(host_bytes(const_cast<void*>(host), bytes));
  });
}

tcc_status tcc_tensor_read(const tcc_tensor* tensor, void* host, size_t bytes) noexcept {
  return guard([&] { given(tensor, "tensor").tensor.memory().read(host_bytes(host, bytes)); });
}

tcc_status tcc_tensor_from_dlpack(struct DLManagedTensorVersioned* dlpack,
                                  tcc_tensor** tensor) noexcept {
  return guard([&] {
    given(tensor, "tensor");
    // Room first: what is taken over cannot be given back.
    auto made = std::make_unique<tcc_tensor>(tcc::DeviceTensor());
    made->assign(tcc::DeviceTensor::from_dlpack(dlpack));
    *tensor = made.release();
  });
}

tcc_status tcc_tensor_to_dlpack(const tcc_tensor* tensor,
                                struct DLManagedTensorVersioned** dlpack) noexcept {
  return guard([&] {
    given(dlpack, "dlpack");
    *dlpack = given(tensor, "tensor").tensor.to_dlpack();
  });
}

tcc_status tcc_context_run_tensors(tcc_context* context, tcc_tensor* const* inputs,
                                   size_t num_inputs, tcc_tensor* const* outputs,
                                   size_t num_outputs) noexcept {
  return guard([&] {
    given(context, "context")
        .context.run_device(tensors_of(inputs, num_inputs, "inputs"),
                            tensors_of(outputs, num_outputs, "outputs"));
  });
}

tcc_status tcc_buffer_wrap(const char* device, uint64_t address, int64_t bytes,
                           void (*release)(void* user), void* user, tcc_buffer** buffer) noexcept {
  return guard([&] {
    given(buffer, "buffer");
    auto made = std::make_unique<tcc_buffer>();
    std::function<void()> end;
    if (release) end = [release, user] { release(user); };
    made->memory = tcc::DeviceBuffer::wrap(&given(device, "device"), address, bytes, end);
    *buffer = made.release();
  });
}

tcc_status tcc_buffer_create_shared(const char* vulkan, const char* cuda, int64_t bytes,
                                    tcc_buffer** on_vulkan, tcc_buffer** on_cuda) noexcept {
  return guard([&] {
    given(on_vulkan, "on_vulkan");
    given(on_cuda, "on_cuda");
    auto first = std::make_unique<tcc_buffer>(), second = std::make_unique<tcc_buffer>();
    std::tie(first->memory, second->memory) =
        tcc::DeviceBuffer::shared(&given(vulkan, "vulkan"), &given(cuda, "cuda"), bytes);
    *on_vulkan = first.release();
    *on_cuda = second.release();
  });
}

tcc_status tcc_context_create_with(const tcc_compiled* compiled, const tcc_context_options* options,
                                   tcc_context** context) noexcept {
  return guard([&] {
    given(context, "context");
    const tcc_context_options theirs = sized(given(options, "options"), "tcc_context_options");
    tcc::ContextOptions ours;
    if (theirs.has_stream) ours.stream = theirs.stream;
    if (theirs.allocate)
      ours.allocate = [allocate = theirs.allocate, user = theirs.user](std::int64_t bytes) {
        const std::unique_ptr<tcc_buffer> memory(allocate(user, bytes));
        if (!memory) tcc::fail_device("the caller's allocator gave no memory of ", bytes, " bytes");
        return memory->memory;
      };
    *context = new tcc_context(given(compiled, "compiled").compiled, ours);
  });
}

tcc_status tcc_context_with_stream(tcc_context* context, void (*use)(void* user, void* stream),
                                   void* user) noexcept {
  return guard([&] {
    if (!use) tcc::fail_input("use is NULL");
    given(context, "context").context.with_stream([&](void* stream) { use(user, stream); });
  });
}
