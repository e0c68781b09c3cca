// A program that reads its model into memory, follows the compilation and can end it: lists the
// devices, logs through its own hook, shows progress, stops at Ctrl-C, runs by name.
//
//   follow [GRAPH [DEVICE]]     GRAPH: .yaml or .onnx
#include <atomic>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <tcc/tcc.hpp>

static std::atomic<bool> stop = false;

int main(int argc, char** argv) try {
  const std::filesystem::path path = argc > 1 ? argv[1] : "examples/demo.yaml";
  tcc::set_log_hook([](tcc::LogLevel level, std::string_view channel, std::string_view text) {
    std::fprintf(stderr, "[%d %.*s] %.*s\n", static_cast<int>(level),
                 static_cast<int>(channel.size()), channel.data(), static_cast<int>(text.size()),
                 text.data());
  });
  const tcc::DeviceList list = tcc::list_devices();
  for (const tcc::DeviceInfo& device : list.devices)
    std::printf("%s: %s, %s, %lld MiB\n", device.id.c_str(), device.name.c_str(),
                device.driver.c_str(), static_cast<long long>(device.memory_bytes >> 20));
  for (const std::string& reason : list.missing) std::printf("not there: %s\n", reason.c_str());

  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  // Without `files` and `folder`, no other file is opened.
  const tcc::Graph graph = path.extension() == ".onnx"
                               ? tcc::Graph::from_onnx(std::as_bytes(std::span(bytes)))
                               : tcc::Graph::from_yaml(bytes, tcc::MemoryOptions{});

  std::signal(SIGINT, [](int) { stop = true; });
  tcc::CompileOptions options;
  options.progress = [](const tcc::CompileProgress& now) {
    std::fprintf(stderr, "%.*s %zu/%zu\n", static_cast<int>(now.stage.size()), now.stage.data(),
                 now.done, now.total);
  };
  options.cancelled = [] { return stop.load(); };
  const tcc::CompiledGraph compiled = tcc::compile(graph, argc > 2 ? argv[2] : "auto", options);

  tcc::Context context(compiled);
  std::map<std::string, tcc::HostTensor> inputs;  // of zeros
  for (const tcc::TensorSpec& spec : compiled.inputs()) inputs.emplace(spec.name, spec);
  for (const auto& [name, tensor] : context.run_named(inputs))
    std::printf("%s: %s, %zu bytes\n", name.c_str(), tensor.dtype.c_str(), tensor.bytes.size());
} catch (const tcc::Cancelled&) {
  std::fprintf(stderr, "follow: stopped\n");
  return 130;
} catch (const tcc::Error& error) {
  std::fprintf(stderr, "follow: %s\n", error.what());
  return static_cast<int>(error.kind());
}
