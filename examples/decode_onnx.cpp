// Decodes with an ONNX decoder that takes past_key_values.N.key and .value and gives present.N.key
// and .value: decode_onnx MODEL TOKENS [DEVICE [ROOM [USUAL]]]
//
// The pairs become states with room for ROOM rows (default: one for each token), and kernels are
// chosen for USUAL of them (default: half of the room). TOKENS is a file
// with the numbers that are fed one by one; for each, the most probable next token is printed. Then
// all are fed again without reading anything back, and the time per token is told. bench/decode
// writes such models, and compares the tokens with PyTorch's.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <tcc/tcc.hpp>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::vector<std::int64_t> read_tokens(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::int64_t> tokens;
  for (std::int64_t token; file >> token;) tokens.push_back(token);
  if (tokens.empty()) throw tcc::Error(tcc::ErrorKind::bad_input, path + " has no tokens");
  return tokens;
}

// The first of the largest elements.
std::int64_t largest(const tcc::HostTensor& logits) {
  if (logits.dtype == "f32") {
    const std::span<const float> values = logits.as<float>();
    return std::ranges::max_element(values) - values.begin();
  }
  const std::span<const std::uint16_t> bits = logits.as<std::uint16_t>();
  const auto value = [](std::uint16_t x) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16);  // bf16
  };
  return std::ranges::max_element(bits, {}, value) - bits.begin();
}

// One element for each step, each where kernels find it without a copy.
struct Numbers {
  static constexpr std::int64_t kStride = 64;
  tcc::DeviceBuffer memory;
  Numbers(const std::string& device, std::span<const std::int64_t> values)
      : memory(device, std::ssize(values) * kStride) {
    std::vector<std::int64_t> spaced(values.size() * kStride / 8);
    for (std::size_t i = 0; i < values.size(); ++i) spaced[i * kStride / 8] = values[i];
    memory.write(std::as_bytes(std::span(spaced)));
  }
  tcc::DeviceBuffer at(std::int64_t i) const { return memory.slice(i * kStride, 8); }
};

class Decoder {
 public:
  Decoder(const std::string& model, const std::string& device,
          const std::vector<std::int64_t>& tokens, std::int64_t room, std::int64_t usual)
      : compiled_(compile(model, device, room, usual)),
        context_(compiled_),
        tokens_(compiled_.device(), tokens),
        positions_(compiled_.device(), counted(tokens.size())),
        ones_(compiled_.device(), std::ssize(tokens) * 8),
        logits_spec_(compiled_.outputs().at(0)),
        logits_(compiled_.device(), logits_spec_.bytes) {
    const std::vector<std::int64_t> ones(tokens.size(), 1);
    ones_.write(std::as_bytes(std::span(ones)));
  }

  // Enqueues the step that reads token `i`.
  void step(std::int64_t i) {
    std::vector<tcc::DeviceBuffer> inputs;
    for (const tcc::TensorSpec& input : compiled_.inputs())
      inputs.push_back(input.name == "input_ids"        ? tokens_.at(i)
                       : input.name == "attention_mask" ? ones_.slice(0, (i + 1) * 8)
                                                        : positions_.at(i));
    context_.run_device(inputs, std::vector{logits_});
  }

  tcc::HostTensor logits() const {
    tcc::HostTensor result(logits_spec_);
    logits_.read(result.bytes);
    return result;
  }

  void restart() { context_.reset_states(); }
  void wait() { context_.synchronize(); }
  const tcc::CompiledGraph& compiled() const { return compiled_; }

 private:
  static std::vector<std::int64_t> counted(std::size_t count) {
    std::vector<std::int64_t> numbers(count);
    for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<std::int64_t>(i);
    return numbers;
  }

  static tcc::CompiledGraph compile(const std::string& model, const std::string& device,
                                    std::int64_t room, std::int64_t usual) {
    std::map<std::string, std::string> states;
    for (const tcc::ValueSpec& input : tcc::Graph::load(model).inputs())
      if (const std::string past = "past_key_values"; input.name.starts_with(past))
        states[input.name] = "present" + input.name.substr(past.size());
    const tcc::Graph graph = tcc::Graph::load(model, {}, states);
    tcc::CompileOptions options;
    for (const char* one : {"batch_size", "sequence_length"})
      if (graph.dims().contains(one)) options.dims[one] = 1;
    if (graph.dims().contains("cache_length")) {
      options.dims["cache_length"] = room;  // a cache of fixed size, written at `position`
    } else {
      options.open_dims = {"past_sequence_length=0.." + std::to_string(room - 1)};
      options.dims["past_sequence_length"] = usual;
    }
    return tcc::compile(graph, device, options);
  }

  tcc::CompiledGraph compiled_;
  tcc::Context context_;
  Numbers tokens_, positions_;
  tcc::DeviceBuffer ones_;
  tcc::TensorSpec logits_spec_;
  tcc::DeviceBuffer logits_;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::fprintf(stderr, "usage: decode_onnx MODEL TOKENS [DEVICE [ROOM [USUAL]]]\n");
    return 2;
  }
  const std::vector<std::int64_t> tokens = read_tokens(argv[2]);
  const std::int64_t count = std::ssize(tokens), room = argc > 4 ? std::stol(argv[4]) : count;
  const std::int64_t usual = argc > 5 ? std::stol(argv[5]) : room / 2;
  const Clock::time_point start = Clock::now();
  Decoder decoder(argv[1], argc > 3 ? argv[3] : "auto", tokens, room, usual);
  const tcc::CompiledGraph& compiled = decoder.compiled();
  std::fprintf(stderr, "%s: %lld launches a token, ready after %.0f ms\n",
               compiled.device().c_str(), static_cast<long long>(compiled.launches()),
               milliseconds_since(start));
  for (std::int64_t i = 0; i < count; ++i) {
    decoder.step(i);
    std::printf("%lld\n", static_cast<long long>(largest(decoder.logits())));
  }

  decoder.restart();
  decoder.wait();
  const Clock::time_point begin = Clock::now();
  for (std::int64_t i = 0; i < count; ++i) decoder.step(i);
  const double enqueued = milliseconds_since(begin);
  decoder.wait();
  const auto per_token = [&](double all) { return all / static_cast<double>(count); };
  std::fprintf(stderr, "%.4f ms a token, of which the host took %.4f ms\n",
               per_token(milliseconds_since(begin)), per_token(enqueued));
} catch (const tcc::Error& error) {
  std::fprintf(stderr, "decode_onnx: %s\n", error.what());
  return static_cast<int>(error.kind());
}
