// The C ABI: the states of a context, by name.
#include "api/c_handles.h"

using namespace tcc::c;  // NOLINT: what follows is the ABI

tcc_status tcc_context_read_state(tcc_context* context, const char* name, void* host,
                                  size_t bytes) noexcept {
  return guard([&] {
    const tcc::HostTensor value = given(context, "context").context.state(&given(name, "name"));
    if (value.bytes.size() != bytes)
      tcc::fail_input("room for ", bytes, " bytes of state '", name, "', which has ",
                      value.bytes.size());
    if (bytes > 0) std::memcpy(&given(static_cast<char*>(host), "host"), value.bytes.data(), bytes);
  });
}

tcc_status tcc_context_write_state(tcc_context* context, const char* name, const void* host,
                                   size_t bytes) noexcept {
  return guard([&] {
    tcc::Context& to = given(context, "context").context;
    const std::string wanted = &given(name, "name");
    for (const tcc::TensorSpec& spec : to.states()) {
      if (spec.name != wanted) continue;
      tcc::HostTensor value(spec);
      if (value.bytes.size() != bytes)
        tcc::fail_input(bytes, " bytes for state '", wanted, "', which has ", value.bytes.size());
      if (bytes > 0)
        std::memcpy(value.bytes.data(), &given(static_cast<const char*>(host), "host"), bytes);
      return to.set_state(wanted, value);
    }
    tcc::fail_input("the graph has no state '", wanted, "'");
  });
}

tcc_status tcc_context_reset_states(tcc_context* context) noexcept {
  return guard([&] { given(context, "context").context.reset_states(); });
}

tcc_status tcc_context_bind_state(tcc_context* context, const char* name,
                                  const tcc_buffer* memory) noexcept {
  return guard([&] {
    given(context, "context")
        .context.bind_state(&given(name, "name"), given(memory, "memory").memory);
  });
}

tcc_status tcc_context_bind_growing_state(tcc_context* context, const char* name,
                                          const tcc_buffer* memory, int64_t length) noexcept {
  return guard([&] {
    given(context, "context")
        .context.bind_state(&given(name, "name"), given(memory, "memory").memory, length);
  });
}

tcc_status tcc_context_save_states(tcc_context* context, const char* path) noexcept {
  return guard([&] { given(context, "context").context.save_states(&given(path, "path")); });
}

tcc_status tcc_context_load_states(tcc_context* context, const char* path) noexcept {
  return guard([&] { given(context, "context").context.load_states(&given(path, "path")); });
}
