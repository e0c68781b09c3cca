// Tests what tcc-run and tcc-compile leave in files.
#include <unistd.h>

#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "frontend/tensor_file.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/run_command.h"
#include "tests/source_dir.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

using testing::Outcome;

Outcome run(const char* program, const std::string& arguments) {
  return testing::run_command(str("cd '", testing::source_dir().string(), "' && '",
                                  testing::program(program).string(), "' ", arguments, " 2>&1"));
}

class OutputFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("tcc-files-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_))
      names.insert(entry.path().filename().string());
    return names;
  }
  Outcome compile(const std::string& graph) const {
    return run("tcc-compile", graph + " --target vulkan -o '" + folder_.string() + "'");
  }

  fs::path folder_;
};

TEST_F(OutputFilesTest, ASingleOutputIsAnNpyWhereTheNameSaysSo) {
  const std::string file = (folder_ / "o.npy").string();
  const Outcome outcome =
      run("tcc-run", "configs/models/mlp.yaml --device reference --outputs '" + file + "'");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_EQ(read_file(file).substr(1, 5), "NUMPY");
  EXPECT_EQ(open_tensor_file(file)->load("").shape(), (std::vector<int64_t>{32, 10}));
}

TEST_F(OutputFilesTest, AFolderHoldsTheKernelsOfTheLastGraphAlone) {
  ASSERT_EQ(compile("configs/models/mlp.yaml").code, 0);
  const auto of_mlp = files();
  EXPECT_EQ(of_mlp.size(), 9u);  // four kernels and the manifest
  write_file_atomic(folder_ / "notes.txt", "mine");
  write_file_atomic(folder_ / "000_mine.comp", "mine");  // the manifest does not name it
  ASSERT_EQ(compile("tests/golden/pointwise_vector/graph.yaml").code, 0);
  EXPECT_EQ(files(), (std::set<std::string>{"000_add_relu_mul.comp", "000_add_relu_mul.spv",
                                            "000_mine.comp", "manifest.json", "notes.txt"}));
}

TEST_F(OutputFilesTest, CompileOptionsMakeOtherKernels) {
  const auto source_with = [&](const std::string& options) {
    EXPECT_EQ(compile("configs/models/mlp.yaml --dtype bf16 " + options).code, 0);
    return read_file(folder_ / "000_matmul_add_gelu.comp");
  };
  EXPECT_NE(source_with(""), source_with("--strict-rounding"));
  EXPECT_EQ(source_with(""), source_with("--matmul-precision high"));  // there is no f32 product
  EXPECT_EQ(compile("configs/models/mlp.yaml --matmul-precision exact").code, 2);
  EXPECT_EQ(compile("configs/models/mlp.yaml --no-fuse").code, 0);
  EXPECT_FALSE(files().contains("000_matmul_add_gelu.comp"));
}

TEST_F(OutputFilesTest, OpenDimsAreExpressionsAndVariantsAreFolders) {
  const std::string open = "configs/models/mlp.yaml --dim B=8..64:8 ";
  ASSERT_EQ(compile(open + "--specialize B=16,32").code, 0);
  const std::string manifest = read_file(folder_ / "manifest.json");
  for (const char* words : {"\"symbol\": \"B_by_8\"", "\"most\": 64", "\"B=16\"", "B_by_8*"})
    EXPECT_NE(manifest.find(words), std::string::npos) << words;
  const std::string variant = read_file(folder_ / "B=16" / "manifest.json");
  EXPECT_EQ(variant.find("B_by_8"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder_ / "B=32" / "manifest.json"));
  ASSERT_EQ(compile(open).code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "B=16"));
  // A manifest may call a variant anything.
  fs::create_directories(folder_ / "kept");
  write_file_atomic(folder_ / "kept" / "manifest.json", "{\"tcc_manifest\": 1}");
  write_file_atomic(folder_ / "manifest.json",
                    "{\"tcc_manifest\": 1, \"variants\": [7, \"kept\", \"../B=1\", \"B=\"]}");
  ASSERT_EQ(compile("configs/models/mlp.yaml").code, 0);
  EXPECT_TRUE(fs::exists(folder_ / "kept" / "manifest.json"));
}

TEST_F(OutputFilesTest, AManifestThatIsNotOursStays) {
  for (const std::string text : {"{\"name\": \"an app\"}", "no json"}) {
    write_file_atomic(folder_ / "manifest.json", text);
    const Outcome outcome = compile("configs/models/mlp.yaml");
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.text.find("is not tcc-compile's; remove it"), std::string::npos)
        << outcome.text;
    EXPECT_EQ(read_file(folder_ / "manifest.json"), text);
    EXPECT_EQ(files().size(), 1u);
  }
  // The link is ours, but the file that it names may not be removed.
  write_file_atomic(folder_ / "manifest.json",
                    "{\"tcc_manifest\": 1, \"kernels\": [7, {\"source\": \"../x\", \"binary\": "
                    "\"notes.txt\"}, {\"source\": \"001_../y.cu\"}]}");
  write_file_atomic(folder_ / "notes.txt", "mine");
  EXPECT_EQ(compile("configs/models/mlp.yaml").code, 0);
  EXPECT_TRUE(fs::exists(folder_ / "notes.txt"));
}

}  // namespace
}  // namespace tcc
