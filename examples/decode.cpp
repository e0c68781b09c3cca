// Decodes with a cache of keys and values as state: decode [DEVICE [TOKENS [MODEL]]]
//
// One program reads the prompt, another takes a token a run. They share the states, and, since
// their weights are the same, those. Each run writes its token where the next one reads it: nothing
// goes through the host until all tokens are there.
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <tcc/tcc.hpp>
#include <vector>

int main(int argc, char** argv) try {
  const std::string device = argc > 1 ? argv[1] : "auto";
  const long wanted = argc > 2 ? std::atol(argv[2]) : 24;
  const tcc::Graph graph = tcc::Graph::load(argc > 3 ? argv[3] : "examples/decode.yaml");
  const std::vector<std::int64_t> prompt = {72, 101, 108, 108, 111};
  const auto prompt_size = static_cast<std::int64_t>(prompt.size());
  if (wanted < 1 || prompt_size + wanted - 1 > graph.dims().at("T")) {
    std::fprintf(stderr, "decode: 1 to %ld tokens\n",
                 static_cast<long>(graph.dims().at("T") - prompt_size + 1));
    return 2;
  }
  const tcc::CompiledGraph read_program =
      tcc::compile(graph, device, {.dims = {{"N", prompt_size}}});
  const tcc::CompiledGraph step_program = tcc::compile(graph, read_program.device());
  tcc::Context reader(read_program), decoder(step_program, reader);  // on one stream

  for (const tcc::TensorSpec& state : reader.states()) {
    const tcc::DeviceBuffer memory(read_program.device(), state.bytes);
    reader.bind_state(state.name, memory);
    decoder.bind_state(state.name, memory);
  }
  reader.reset_states();

  // Token i lies in slice i; `logits` holds those of the last run.
  const tcc::TensorSpec token = step_program.outputs().at(0);
  const std::int64_t stride = 64;
  const tcc::DeviceBuffer given(step_program.device(), read_program.inputs().at(0).bytes);
  const tcc::DeviceBuffer made(step_program.device(), wanted * stride);
  const tcc::DeviceBuffer logits(step_program.device(), step_program.outputs().at(1).bytes);
  const auto slot = [&](long i) { return made.slice(i * stride, token.bytes); };
  given.write(std::as_bytes(std::span(prompt)));
  reader.run_device(std::vector{given}, std::vector{slot(0), logits});
  for (long i = 1; i < wanted; ++i)
    decoder.run_device(std::vector{slot(i - 1)}, std::vector{slot(i), logits});

  for (long i = 0; i < wanted; ++i) {
    std::int64_t id = 0;
    slot(i).read(std::as_writable_bytes(std::span(&id, 1)));
    std::printf("%lld%c", static_cast<long long>(id), i + 1 < wanted ? ' ' : '\n');
  }
} catch (const tcc::Error& error) {
  std::fprintf(stderr, "decode: %s\n", error.what());
  return static_cast<int>(error.kind());
}
