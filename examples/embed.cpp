// Runs a graph on ones: embed [GRAPH [DEVICE]]
#include <cstdio>
#include <tcc/tcc.hpp>

int main(int argc, char** argv) try {
  const tcc::Graph graph = tcc::Graph::load(argc > 1 ? argv[1] : "examples/demo.yaml");
  const tcc::CompiledGraph compiled = tcc::compile(graph, argc > 2 ? argv[2] : "auto");
  for (const tcc::KernelReport& kernel : compiled.kernels())
    std::printf("%s: %s\n", kernel.kernel_template.c_str(), kernel.region.c_str());

  tcc::Context context(compiled);  // one per thread
  std::vector<tcc::HostTensor> inputs;
  for (const tcc::TensorSpec& spec : compiled.inputs()) {
    tcc::HostTensor& input = inputs.emplace_back(spec);
    for (float& element : input.as<float>()) element = 1;
  }
  const std::vector<tcc::HostTensor> outputs = context.run(inputs);
  std::printf("first output, first element: %g\n", outputs.at(0).as<float>()[0]);
} catch (const tcc::Error& error) {
  std::fprintf(stderr, "embed: %s\n", error.what());
  return static_cast<int>(error.kind());
}
