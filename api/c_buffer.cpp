// The C ABI: device memory, and running on it.
#include "api/c_handles.h"

using namespace tcc::c;  // NOLINT: what follows is the ABI

namespace tcc::c {

std::vector<DeviceBuffer> memory_of(tcc_buffer* const* buffers, size_t count, const char* name) {
  std::vector<DeviceBuffer> memory;
  for (const tcc_buffer* buffer : span_of(buffers, count, name))
    memory.push_back(given(buffer, "a buffer").memory);
  return memory;
}

namespace {

std::span<std::byte> bytes_of(void* host, size_t bytes) {
  auto* data = static_cast<std::byte*>(host);
  if (bytes > 0) given(data, "host");
  return {data, bytes};
}

}  // namespace
}  // namespace tcc::c

tcc_status tcc_buffer_create(const char* device, int64_t bytes, tcc_buffer** buffer) noexcept {
  return guard([&] {
    given(buffer, "buffer");
    *buffer = new tcc_buffer{tcc::DeviceBuffer(&given(device, "device"), bytes)};
  });
}

void tcc_buffer_destroy(tcc_buffer* buffer) noexcept { delete buffer; }

tcc_status tcc_buffer_slice(const tcc_buffer* buffer, int64_t offset, int64_t bytes,
                            tcc_buffer** slice) noexcept {
  return guard([&] {
    given(slice, "slice");
    *slice = new tcc_buffer{given(buffer, "buffer").memory.slice(offset, bytes)};
  });
}

int64_t tcc_buffer_bytes(const tcc_buffer* buffer) noexcept {
  return buffer ? buffer->memory.bytes() : 0;
}

uint64_t tcc_buffer_address(const tcc_buffer* buffer) noexcept {
  return buffer ? buffer->memory.address() : 0;
}

tcc_status tcc_buffer_write(tcc_buffer* buffer, const void* host, size_t bytes) noexcept {
  return guard(
      [&] { given(buffer, "buffer").memory.write(bytes_of(const_cast<void*>(host), bytes)); });
}

tcc_status tcc_buffer_read(const tcc_buffer* buffer, void* host, size_t bytes) noexcept {
  return guard([&] { given(buffer, "buffer").memory.read(bytes_of(host, bytes)); });
}

tcc_status tcc_context_create_beside(const tcc_compiled* compiled, const tcc_context* other,
                                     tcc_context** context) noexcept {
  return guard([&] {
    given(context, "context");
    *context = new tcc_context(given(compiled, "compiled").compiled, given(other, "other"));
  });
}

tcc_status tcc_context_run_buffers(tcc_context* context, tcc_buffer* const* inputs,
                                   size_t num_inputs, tcc_buffer* const* outputs,
                                   size_t num_outputs) noexcept {
  return guard([&] {
    given(context, "context")
        .context.run_device(memory_of(inputs, num_inputs, "inputs"),
                            memory_of(outputs, num_outputs, "outputs"));
  });
}
