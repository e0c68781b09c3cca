#include "tests/onnx/conformance.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <tuple>

#include <yaml-cpp/yaml.h>

#include "frontend/graph_file.h"
#include "frontend/onnx/tensors.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/given_tensors.h"
#include "tests/source_dir.h"

namespace tcc::test {
namespace {

namespace fs = std::filesystem;

// The tensors of input_0.pb, input_1.pb, ...; a file that is no tensor (a sequence) reads as null.
std::vector<TensorPtr> read_tensors(const fs::path& folder, const std::string& prefix) {
  std::vector<TensorPtr> tensors;
  for (int k = 0;; ++k) {
    const fs::path file = folder / str(prefix, "_", k, ".pb");
    if (!fs::exists(file)) return tensors;
    onnx::pb::TensorProto proto;
    const bool parsed = proto.ParseFromString(read_file(file));
    try {
      tensors.push_back(
          parsed
              ? onnx::TensorReader(file, GraphFiles(folder)).constant(proto, file.string())->load()
              : nullptr);
    } catch (const Error&) { tensors.push_back(nullptr); }
  }
}

// numpy has no bf16: some releases wrote its bits as u16.
TensorPtr as_declared(const TensorPtr& tensor, const onnx::pb::ValueInfoProto& declared) {
  const bool bits = tensor && tensor->dtype() == DType::u16 &&
                    declared.type().tensor_type().elem_type() == onnx::pb::TensorProto::BFLOAT16;
  if (!bits) return tensor;
  Tensor result(DType::bf16, tensor->shape());
  std::ranges::copy(tensor->as<uint16_t>(), result.as<uint16_t>().begin());
  return std::make_shared<const Tensor>(std::move(result));
}

// The data of the graph's inputs. Initialisers may be listed among them, but have no file.
testing::GivenTensors given_inputs(const onnx::pb::GraphProto& graph,
                                   const std::vector<TensorPtr>& tensors) {
  testing::GivenTensors given;
  size_t k = 0;
  for (const auto& input : graph.input()) {
    if (std::ranges::any_of(graph.initializer(),
                            [&](const auto& tensor) { return tensor.name() == input.name(); }))
      continue;
    if (k < tensors.size() && tensors[k]) given.add(input.name(), as_declared(tensors[k], input));
    ++k;
  }
  return given;
}

}  // namespace

std::vector<ConformanceRelease> conformance_releases() {
  std::vector<ConformanceRelease> releases;
  const auto add = [&](const char* variable, const fs::path& usual, const std::string& name) {
    const char* given = std::getenv(variable);
    const fs::path folder = given ? given : usual;
    if (fs::is_directory(folder)) releases.push_back({name, folder});
  };
  add("TCC_ONNX_TESTDATA", "/usr/lib/python3/dist-packages/onnx/backend/test/data", kDistributed);
  add("TCC_ONNX_CASES", testing::source_dir() / "build" / (std::string("onnx-") + kGenerated),
      kGenerated);
  return releases;
}

std::vector<ConformanceCase> conformance_cases() {
  std::vector<ConformanceCase> cases;
  for (const auto& [release, folder] : conformance_releases())
    for (const char* suite : {"node", "simple", "pytorch-operator", "pytorch-converted"})
      for (const auto& entry : fs::directory_iterator(folder / suite))
        if (fs::exists(entry.path() / "model.onnx"))
          cases.push_back({release, suite, entry.path().filename(), entry.path()});
  std::ranges::sort(
      cases, {}, [](const ConformanceCase& c) { return std::tuple(c.release, c.suite, c.name); });
  return cases;
}

std::string test_name(const ConformanceCase& c) {
  std::string text = c.release + "_" + c.suite + "_" + c.name;
  std::ranges::replace_if(
      text, [](char letter) { return !std::isalnum(letter); }, '_');
  return text;
}

const std::vector<ListedCase>& listed_cases() {
  static const std::vector<ListedCase> list = [] {
    std::vector<ListedCase> cases;
    for (const auto& group :
         YAML::LoadFile(testing::source_dir() / "tests/onnx/unsupported.yaml")) {
      ListedCase entry;
      using enum Expectation::Outcome;
      entry.expectation = {group["outcome"].as<std::string>() == "differs" ? differs : refused,
                           group["reason"].as<std::string>()};
      if (group["release"]) entry.release = group["release"].as<std::string>();
      for (const auto& name : group["cases"]) {
        entry.name = name.as<std::string>();
        cases.push_back(entry);
      }
    }
    return cases;
  }();
  return list;
}

Expectation expectation(const ConformanceCase& c) {
  for (const ListedCase& listed : listed_cases())
    if (listed.name == c.suite + "/" + c.name && listed.is_of(c.release)) return listed.expectation;
  return {};
}

std::vector<fs::path> data_sets(const ConformanceCase& c) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(c.folder))
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_"))
      folders.push_back(entry.path());
  std::ranges::sort(folders);
  return folders;
}

ConformanceRun load_run(const ConformanceCase& c, const fs::path& data) {
  const std::string bytes = read_file(c.folder / "model.onnx");
  onnx::pb::ModelProto model;
  if (!model.ParseFromString(bytes)) fail_input(c.name, ": cannot be parsed");
  const testing::GivenTensors given = given_inputs(model.graph(), read_tensors(data, "input"));
  ConformanceRun run;
  run.graph = parse_onnx_graph(bytes, c.folder / "model.onnx", {.inputs = &given}).bind({});
  for (const ir::Value* input : run.graph.inputs) {
    if (!given.info(input->name)) fail_input(c.name, ": no data of input ", input->name);
    run.inputs.push_back(*given.load(input->name));
  }
  for (const TensorPtr& tensor : read_tensors(data, "output")) {
    const auto k = static_cast<int>(run.expected.size());
    if (!tensor || k >= model.graph().output_size())
      fail_input(c.name, ": an expected output is no tensor of the graph");
    run.expected.push_back(*as_declared(tensor, model.graph().output(k)));
  }
  return run;
}

std::string mismatch(const Tensor& out, const Tensor& expected) {
  if (out.dtype() != expected.dtype() || out.shape() != expected.shape())
    return str("is ", type_text(out.dtype(), out.shape()), " instead of ",
               type_text(expected.dtype(), expected.shape()));
  // Two ulp of 16 bits: the expected numbers are rounded after every step of theirs.
  const double relative = out.dtype() == DType::bf16  ? 0x1p-6
                          : out.dtype() == DType::f16 ? 0x1p-9
                                                      : 1e-3;
  int64_t wrong = 0;
  std::string first;
  for (int64_t k = 0; k < out.numel(); ++k) {
    bool right;
    if (is_float(out.dtype())) {
      const double a = out.get(k), b = expected.get(k);
      right = (std::isnan(a) && std::isnan(b)) || a == b ||
              std::fabs(a - b) <= 1e-7 + relative * std::fabs(b);
    } else {
      right = out.get_int(k) == expected.get_int(k);
    }
    if (right) continue;
    if (++wrong == 1)
      first = str("element ", k, " is ", out.get(k), " instead of ", expected.get(k));
  }
  return wrong == 0 ? "" : str(wrong, " of ", out.numel(), " elements differ; ", first);
}

}  // namespace tcc::test
