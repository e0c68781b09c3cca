// Conformance: allocation, copies, fill, and running out of memory.
#include <algorithm>
#include <random>

#include "support/error.h"
#include "tests/device/conformance.h"

namespace tcc::runtime {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(size_t size, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

class MemoryTest : public DeviceTest {
 protected:
  Bytes download_bytes(const Buffer& buffer) {
    Bytes bytes(static_cast<size_t>(buffer.bytes()));
    stream->copy_to_host(bytes, buffer, 0);
    return bytes;
  }
  std::string allocation_error(int64_t bytes) {
    try {
      device->allocate(bytes);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::device);
      return error.what();
    }
    return "";
  }
};
TCC_ON_EVERY_DEVICE(MemoryTest);

TEST_P(MemoryTest, RoundTripsAtOddOffsetsAndSizes) {
  constexpr size_t size = 4099;
  const auto buffer = device->allocate(size);
  EXPECT_EQ(buffer->bytes(), static_cast<int64_t>(size));
  EXPECT_NE(buffer->address(), 0u);
  EXPECT_EQ(buffer->address() % 16, 0u);
  Bytes expected = random_bytes(size, 1);
  stream->copy_to_device(*buffer, 0, expected);
  for (size_t offset : {0, 1, 3, 4, 63, 1000, 4098}) {
    for (size_t count : {0, 1, 2, 5, 64, 999}) {
      if (offset + count > size) continue;
      const Bytes piece = random_bytes(count, static_cast<unsigned>(offset * 1000 + count));
      std::copy(piece.begin(), piece.end(), expected.begin() + static_cast<std::ptrdiff_t>(offset));
      stream->copy_to_device(*buffer, static_cast<int64_t>(offset), piece);
      Bytes back(count);
      stream->copy_to_host(back, *buffer, static_cast<int64_t>(offset));
      EXPECT_EQ(back, piece) << offset << " " << count;
    }
  }
  EXPECT_EQ(download_bytes(*buffer), expected);
}

TEST_P(MemoryTest, CopiesMoreThanOneStagingChunk) {
  const Bytes expected = random_bytes((size_t{50} << 20) + 13, 2);
  const auto buffer = device->allocate(static_cast<int64_t>(expected.size()) + 7);
  stream->copy_to_device(*buffer, 7, expected);
  Bytes back(expected.size());
  stream->copy_to_host(back, *buffer, 7);
  EXPECT_TRUE(back == expected);
}

TEST_P(MemoryTest, EmptyBuffersAndCopiesAreAllowed) {
  const auto empty = device->allocate(0);
  EXPECT_EQ(empty->bytes(), 0);
  stream->copy_to_device(*empty, 0, {});
  stream->copy_to_host({}, *empty, 0);
  stream->fill(*empty, 0, 0, 1);
  const auto other = device->allocate(10);
  stream->copy_to_device(*other, 10, {});
  stream->copy_to_host({}, *other, 10);
  stream->fill(*other, 10, 0, 1);
  stream->synchronize();
}

TEST_P(MemoryTest, FillsAnyRange) {
  constexpr int64_t size = 100;
  const auto buffer = device->allocate(size);
  for (int64_t offset : {0, 1, 2, 3, 4, 50}) {
    for (int64_t count : {1, 2, 3, 4, 5, 7, 8, 33, 50}) {
      Bytes expected(size, std::byte{0xab});
      std::fill_n(expected.begin() + offset, count, std::byte{0x5c});
      stream->fill(*buffer, 0, size, 0xab);
      stream->fill(*buffer, offset, count, 0x5c);
      EXPECT_EQ(download_bytes(*buffer), expected) << offset << " " << count;
    }
  }
}

TEST_P(MemoryTest, RangesBeyondTheBufferAreRefused) {
  const auto buffer = device->allocate(16);
  Bytes bytes(8);
  EXPECT_THROW(stream->copy_to_device(*buffer, 9, bytes), InternalError);
  EXPECT_THROW(stream->copy_to_device(*buffer, -1, bytes), InternalError);
  EXPECT_THROW(stream->copy_to_host(bytes, *buffer, INT64_MAX - 3), InternalError);
  EXPECT_THROW(stream->fill(*buffer, 8, 9, 0), InternalError);
  EXPECT_THROW(device->allocate(-1), InternalError);
}

TEST_P(MemoryTest, ABufferLargerThanTheDeviceIsAnError) {
  for (int64_t bytes : {device->memory_bytes() + 1, INT64_MAX / 2, INT64_MAX}) {
    const std::string message = allocation_error(bytes);
    EXPECT_NE(message.find("out of memory"), std::string::npos) << message;
    EXPECT_EQ(message.find(GetParam()), 0u) << message;
  }
}

TEST_P(MemoryTest, TheDeviceWorksAfterMemoryRanOut) {
  const int64_t step = std::max<int64_t>(
      int64_t{1} << 28, std::min(device->target().max_buffer_bytes, device->memory_bytes()) / 4);
  std::vector<std::unique_ptr<Buffer>> buffers;
  const auto allocate_all = [&] {
    for (int64_t total = 0; total <= device->memory_bytes(); total += step)
      buffers.push_back(device->allocate(step));
  };
  EXPECT_THROW(allocate_all(), Error);
  buffers.clear();
  const auto values = std::vector<float>(1000, 1.5f);
  EXPECT_EQ(download(*upload(values)), values);
}

TEST_P(MemoryTest, ManySmallBuffersHaveTheirOwnMemory) {
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (int i = 0; i < 300; ++i)
    buffers.push_back(upload(std::vector<float>(static_cast<size_t>(i), static_cast<float>(i))));
  for (int i = 0; i < 300; ++i)
    EXPECT_EQ(download(*buffers[static_cast<size_t>(i)]),
              std::vector<float>(static_cast<size_t>(i), static_cast<float>(i)));
}

TEST_P(MemoryTest, BuffersMayOutliveTheStreamAndTheDeviceHandle) {
  auto own = device;
  auto buffer = own->allocate(64);
  stream->fill(*buffer, 0, 64, 1);
  stream.reset();
  own.reset();
  buffer.reset();
}

TEST_P(MemoryTest, VulkanHasNoRawAddressesOfTheCallers) {
  if (device->target().api != exec::Api::vulkan) GTEST_SKIP() << "others do";
  EXPECT_THROW(device->wrap(4096, 16), Error);
  EXPECT_THROW(device->wrap_stream(nullptr), Error);
}

}  // namespace
}  // namespace tcc::runtime
