#include "autotune/worker_protocol.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>

#include "executable/serialize.h"
#include "support/error.h"

namespace tcc::autotune {

using nlohmann::json;

namespace {

constexpr size_t kMostValues = 4096;         // buffers of a job
constexpr size_t kMostReferences = 1 << 20;  // samples of a job
constexpr size_t kMostSamples = 4096;        // of a measurement
constexpr int64_t kMostElements = int64_t{1} << 40;

// Any exception of the JSON library is a message that is not ours.
template <class Read>
auto parse(const char* what, const Read& read) {
  try {
    return read();
  } catch (const json::exception& error) {
    fail_input("worker protocol: bad ", what, ": ", error.what());
  }
}

template <class T>
T within(T value, T low, T high, const char* what) {
  if (value < low || value > high)
    fail_input("worker protocol: ", what, " is ", value, ", outside [", low, ", ", high, "]");
  return value;
}

DType dtype_of(const json& value) {
  const auto text = value.get<std::string>();
  const auto dtype = parse_dtype(text);
  if (!dtype) fail_input("worker protocol: no dtype '", text, "'");
  return *dtype;
}

int64_t elements_of(const json& value) {
  return within<int64_t>(value.at("elements").get<int64_t>(), 0, kMostElements, "a buffer's size");
}

const json& list_of(const json& value, const char* key, size_t most) {
  const json& list = value.at(key);
  if (!list.is_array() || list.size() > most)
    fail_input("worker protocol: ", key, " is no list of at most ", most);
  return list;
}

}  // namespace

json to_json(const BenchJob& job) {
  json inputs = json::array(), outputs = json::array(), reference = json::array();
  for (const BenchInput& input : job.inputs)
    inputs.push_back({{"dtype", name(input.dtype)},
                      {"elements", input.elements},
                      {"low", input.low},
                      {"high", input.high},
                      {"int_low", input.int_low},
                      {"int_high", input.int_high}});
  for (const BenchOutput& output : job.outputs) {
    outputs.push_back({{"dtype", name(output.dtype)}, {"elements", output.elements}});
    if (output.rounded) outputs.back()["rounded"] = name(*output.rounded);
    if (output.noise > 0) outputs.back()["noise"] = output.noise;
  }
  for (const ReferenceSample& sample : job.reference)
    reference.push_back(json::array({sample.output, sample.element, sample.value}));
  return {{"name", job.name},
          {"inputs", std::move(inputs)},
          {"outputs", std::move(outputs)},
          {"combined", job.combined},
          {"seed", job.seed},
          {"reference", std::move(reference)}};
}

BenchJob job_from_json(const json& value) {
  return parse("job", [&] {
    BenchJob job;
    job.name = value.at("name").get<std::string>();
    job.combined = value.at("combined").get<double>();
    job.seed = value.at("seed").get<uint64_t>();
    for (const json& input : list_of(value, "inputs", kMostValues))
      job.inputs.push_back({dtype_of(input.at("dtype")), elements_of(input),
                            input.at("low").get<double>(), input.at("high").get<double>(),
                            input.at("int_low").get<int64_t>(),
                            input.at("int_high").get<int64_t>()});
    for (const json& output : list_of(value, "outputs", kMostValues)) {
      job.outputs.push_back({dtype_of(output.at("dtype")), elements_of(output), std::nullopt});
      if (output.contains("rounded")) job.outputs.back().rounded = dtype_of(output.at("rounded"));
      if (output.contains("noise")) job.outputs.back().noise = output.at("noise").get<double>();
    }
    for (const json& sample : list_of(value, "reference", kMostReferences)) {
      ReferenceSample read;
      read.output = within(sample.at(0).get<int>(), 0, static_cast<int>(job.outputs.size()) - 1,
                           "a sample's output");
      read.element = within<int64_t>(sample.at(1).get<int64_t>(), 0,
                                     job.outputs[static_cast<size_t>(read.output)].elements - 1,
                                     "a sample's element");
      read.value = sample.at(2).get<double>();
      job.reference.push_back(read);
    }
    return job;
  });
}

json to_json(const exec::StandaloneSequence& kernel) {
  return json::binary(exec::write_sequence(kernel));
}

exec::StandaloneSequence kernel_from_json(const json& value) {
  return parse("kernel",
               [&] { return exec::read_sequence(value.get_binary(), "worker protocol"); });
}

json to_json(const Measurement& m) {
  return {{"status", static_cast<int>(m.status)},
          {"seconds", m.seconds},
          {"low", m.low},
          {"high", m.high},
          {"samples", m.samples},
          {"error", m.error},
          {"sm_mhz", m.clocks.sm_mhz},
          {"memory_mhz", m.clocks.memory_mhz},
          {"throttle", m.clocks.throttle},
          {"reason", m.reason}};
}

namespace {

Measurement measurement_from_json(const json& value) {
  return parse("measurement", [&] {
    Measurement m;
    m.status = static_cast<Measurement::Status>(
        within(value.at("status").get<int>(), 0, static_cast<int>(Measurement::Status::crashed),
               "a status"));
    m.seconds = value.at("seconds").get<double>();
    m.low = value.at("low").get<double>();
    m.high = value.at("high").get<double>();
    m.samples = list_of(value, "samples", kMostSamples).get<std::vector<double>>();
    m.error = value.at("error").get<double>();
    m.clocks.sm_mhz = value.at("sm_mhz").get<double>();
    m.clocks.memory_mhz = value.at("memory_mhz").get<double>();
    m.clocks.throttle = value.at("throttle").get<std::string>();
    m.reason = value.at("reason").get<std::string>();
    return m;
  });
}

}  // namespace

std::vector<Measurement> measurements_from_json(const json& value) {
  return parse("measurements", [&] {
    std::vector<Measurement> list;
    for (const json& one : value) list.push_back(measurement_from_json(one));
    return list;
  });
}

size_t frame_size(std::span<const uint8_t> header) {
  size_t size = 0;
  for (size_t k = 0; k < kFrameHeaderBytes; ++k) size |= size_t{header[k]} << (8 * k);
  if (size > kMostFrameBytes) fail_input("worker protocol: a message of ", size, " bytes");
  return size;
}

json decode_frame(std::span<const uint8_t> bytes) {
  return parse("message", [&] { return json::from_cbor(bytes.begin(), bytes.end()); });
}

namespace {

// False at the end of the stream.
bool read_all(int descriptor, std::span<uint8_t> to) {
  while (!to.empty()) {
    const ssize_t got = ::read(descriptor, to.data(), to.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to = to.subspan(static_cast<size_t>(got));
  }
  return true;
}

}  // namespace

std::optional<json> read_frame(int descriptor) {
  std::array<uint8_t, kFrameHeaderBytes> header{};
  if (!read_all(descriptor, header)) return std::nullopt;
  std::vector<uint8_t> bytes(frame_size(header));
  if (!read_all(descriptor, bytes)) return std::nullopt;
  return decode_frame(bytes);
}

bool write_frame(int socket, const json& message) {
  std::vector<uint8_t> frame(kFrameHeaderBytes);
  json::to_cbor(message, frame);
  const size_t size = frame.size() - kFrameHeaderBytes;
  if (size > kMostFrameBytes) fail_input("worker protocol: a message of ", size, " bytes");
  for (size_t k = 0; k < kFrameHeaderBytes; ++k) frame[k] = static_cast<uint8_t>(size >> (8 * k));
  for (size_t at = 0; at < frame.size();) {
    // Without a signal when the reader is gone.
    const ssize_t put = ::send(socket, &frame[at], frame.size() - at, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    at += static_cast<size_t>(put);
  }
  return true;
}

}  // namespace tcc::autotune
