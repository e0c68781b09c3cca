// Builds a graph in C++, prints it as YAML and runs it: build_graph [DEVICE]
#include <cstdio>
#include <tcc/graph.hpp>

int main(int argc, char** argv) try {
  tcc::GraphBuilder builder("head");
  const tcc::Dim batch = builder.dim("B", 4);
  const tcc::GraphValue x = builder.input("x", "f32", {batch, 3});
  const tcc::GraphValue w =
      builder.constant("w", tcc::HostTensor::of<float>({2, 3}, {1, 2, 3, -1, 0, 1}));
  const tcc::GraphValue hidden = relu(linear(x, w) + 0.5).named("hidden");
  builder.output("largest", builder.op("amax", {hidden}, {{"dim", {1}}, {"keepdim", true}}));
  builder.output("probabilities", softmax(hidden, -1));
  const tcc::Graph graph = builder.build();
  std::printf("%s", graph.to_yaml().c_str());

  const tcc::CompiledGraph compiled = tcc::compile(graph, argc > 1 ? argv[1] : "auto");
  tcc::Context context(compiled);
  tcc::HostTensor input(compiled.inputs().at(0));
  float number = 0;
  for (float& element : input.as<float>()) element = number++;
  const std::vector<tcc::HostTensor> outputs = context.run(std::vector{input});
  for (const float element : outputs.at(0).as<float>()) std::printf("%g\n", element);
} catch (const tcc::Error& error) {
  std::fprintf(stderr, "build_graph: %s\n", error.what());
  return static_cast<int>(error.kind());
}
