// Device buffers in tests of the public interface.
#pragma once

#include "tests/unit/public_api_fixture.h"

#include "tcc/graph.hpp"

namespace tcc::testing {

using DeviceBuffers = std::vector<DeviceBuffer>;

inline std::vector<float> floats_of(const DeviceBuffer& buffer) {
  std::vector<float> values(static_cast<std::size_t>(buffer.bytes()) / sizeof(float));
  buffer.read(std::as_writable_bytes(std::span(values)));
  return values;
}

// y = x * factor + 1, of `size` elements.
inline Graph scaled(std::int64_t size, double factor) {
  GraphBuilder builder("scaled");
  builder.output("y", builder.input("x", "f32", {size}) * factor + 1);
  return builder.build();
}

// One program writes a buffer that another reads, on two streams and on one.
inline void expect_two_programs_meet(const char* device, std::int64_t size) {
  const std::vector<float> x = numbers(static_cast<std::size_t>(size));
  std::vector<float> expected;
  for (const float value : x) expected.push_back((value * 2 + 1) * 3 + 1);
  const CompiledGraph twice = compile(scaled(size, 2), device);
  const CompiledGraph thrice = compile(scaled(size, 3), device);
  const DeviceBuffer a(device, size * 4), b(device, size * 4), c(device, size * 4);
  a.write(std::as_bytes(std::span(x)));
  for (const bool shares : {false, true}) {
    c.write(std::vector<std::byte>(static_cast<std::size_t>(size) * 4));
    Context first(twice);
    Context second = shares ? Context(thrice, first) : Context(thrice);
    first.run_device(DeviceBuffers{a}, DeviceBuffers{b});
    second.run_device_named({{"x", b}}, {{"y", c}});
    expect_near(floats_of(c), expected);
  }
}

}  // namespace tcc::testing
