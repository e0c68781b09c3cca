// Packages in memory: written, read, damaged and made up.
#include "executable/package.h"

#include <fstream>
#include <functional>
#include <iterator>
#include <random>

#include <gtest/gtest.h>

#include "executable/serialize.h"
#include "executable/sodium.h"
#include "support/content_hash.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/expect_error.h"
#include "tests/source_dir.h"
#include "tests/unit/sample_executable.h"

namespace tcc::exec {
namespace {

namespace fs = std::filesystem;

// Two parts whose constants are 7s, and 9s in the second one.
PackageContents contents() {
  PackageContents contents;
  contents.name = "sample";
  contents.parts = {sample(), sample(SymInt::symbol("n"))};
  contents.parts[1].target.arch = "other";
  contents.parts[1].store = std::make_shared<const Constants>(
      std::vector<Bytes>{Bytes(16, std::byte{7}), Bytes(16, std::byte{9})});
  contents.parts[1].variants.push_back({{{"n", 8}}, sample()});
  return contents;
}

Bytes written(const PackageContents& package) {
  Bytes all;
  write_package(package, [&](std::span<const std::byte> bytes) {
    all.insert(all.end(), bytes.begin(), bytes.end());
  });
  return all;
}

Package read(const Bytes& bytes, const fs::path& folder = {}) {
  const auto copy = std::make_shared<const Bytes>(bytes);
  return {copy, *copy, "file", folder};
}

std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Bytes bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// The package with a manifest that `change` changed, and a checksum that is right.
Bytes with_manifest(const Bytes& bytes, const std::function<void(std::string&)>& change) {
  const std::string all = text_of(bytes);
  const size_t end = all.find("\nend: ") + 1;
  std::string manifest = all.substr(0, end);
  const size_t old_data = (end + 38 + 63) / 64 * 64;
  change(manifest);
  manifest += "end: " + content_hash(std::as_bytes(std::span(manifest))).hex() + "\n";
  manifest.resize((manifest.size() + 63) / 64 * 64);
  return bytes_of(manifest + all.substr(std::min(old_data, all.size())));
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  ASSERT_NE(at, text.npos) << from;
  text.replace(at, from.size(), to);
}

TEST(Packages, ComeBackAsTheyWereWritten) {
  const Bytes bytes = written(contents());
  EXPECT_EQ(written(contents()), bytes) << "the same contents, the same bytes";
  const Package package = read(bytes);
  EXPECT_EQ(package.name(), "sample");
  ASSERT_EQ(package.parts().size(), 2u);
  EXPECT_EQ(package.parts()[0].target, "null:generic");
  EXPECT_EQ(package.parts()[1].target, "null:other");
  EXPECT_EQ(package.weight_bytes(), 32) << "each content is there once";
  EXPECT_NE(package.manifest().find("kernel 0: ? add"), std::string::npos) << package.manifest();
  EXPECT_NO_THROW(package.verify());
  for (size_t i = 0; i < 2; ++i) {
    const Executable part = package.executable(i);
    Executable expected = contents().parts[i];
    EXPECT_EQ(part.kernels[0].source, "") << "texts stay with the compiler";
    each_executable(expected, [](Executable& one) {
      for (KernelBinary& kernel : one.kernels) kernel.source = kernel.comment = "";
    });
    EXPECT_EQ(exec::written(part), exec::written(expected));
    for (size_t k = 0; k < 2; ++k) {
      EXPECT_EQ(part.store->load(k).bytes[0], std::byte(i == 1 && k == 1 ? 9 : 7));
      EXPECT_EQ(part.store->key(k), part.store->load(k).key);
    }
  }
  const Executable first = package.executable(0), second = package.executable(1);
  EXPECT_EQ(second.variants.at(0).executable.store->load(1).bytes.data(),
            first.store->load(0).bytes.data());
  EXPECT_EQ(first.store->load(0).bytes.data(), second.store->load(0).bytes.data());
}

TEST(Packages, OutliveTheirObject) {
  Executable part;
  {
    const Package package = read(written(contents()));
    part = package.executable(1);
  }
  EXPECT_EQ(part.store->load(1).bytes[15], std::byte{9});
}

TEST(Packages, NeedPartsForTargetsThatDiffer) {
  PackageContents none;
  EXPECT_ERROR_KIND(written(none), ErrorKind::bad_input, "a package of no parts");
  PackageContents twice = contents();
  twice.parts[1].target.arch = "generic";
  EXPECT_ERROR_KIND(written(twice), ErrorKind::bad_input, "two parts for null:generic");
}

TEST(Packages, HoldAnyName) {
  PackageContents named = contents();
  named.name = "a\nb | c\x01";
  for (Executable& part : named.parts) {
    part.constants[1].name = "w|\r\n" + std::string(5000, 'x');
    part.kernels[0].region = std::string(5000, '\n');
  }
  const Package package = read(written(named));
  EXPECT_EQ(package.name(), "a?b ? c?");
  EXPECT_EQ(package.executable(0).constants[1].name, named.parts[0].constants[1].name);
  named.name = "";
  EXPECT_EQ(read(written(named)).name(), "?");
}

// Reads all of it.
void use(const Package& package) {
  for (size_t i = 0; i < package.parts().size(); ++i) {
    const Executable part = package.executable(i);
    for (size_t k = 0; k < part.constants.size(); ++k) part.store->load(k);
  }
}

TEST(Packages, AreRefusedWhereTheyAreCutOff) {
  const Bytes bytes = written(contents());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_ERROR_KIND(read(Bytes(bytes.begin(), bytes.begin() + static_cast<long>(size))),
                      ErrorKind::bad_input, "file: ");
  Bytes longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_ERROR_KIND(read(longer), ErrorKind::bad_input, "has 1 bytes that its manifest");
}

TEST(Packages, AreRefusedWhereAByteChanged) {
  const Bytes bytes = written(contents());
  int between = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const int bit : {0, 3, 7}) {
      Bytes changed = bytes;
      changed[at] ^= std::byte(1 << bit);
      try {
        const Package package = read(changed);
        use(package);
        // The byte is in nothing, then.
        ++between;
        EXPECT_ERROR_KIND(package.verify(), ErrorKind::bad_input, "between its sections");
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::bad_input) << at;
        const std::string_view what = error.what();
        EXPECT_EQ(what.substr(0, 6), "file: ") << what;
        EXPECT_EQ(what.find('\n'), what.npos) << what;
      }
    }
  }
  EXPECT_LE(between, 3 * 63 * 5) << "no more than the gaps before five sections";
}

// Behind checksums that are right, everything is hostile still.
TEST(Packages, ChangedOnPurposeAreRefusedOrSound) {
  const Bytes bytes = written(contents());
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    const Bytes changed = with_manifest(bytes, [&](std::string& manifest) {
      const std::string digits = "0123456789 |-:\nwfp#";
      for (unsigned i = 0; i <= random() % 3; ++i)
        manifest[random() % manifest.size()] = digits[random() % digits.size()];
    });
    try {
      const Package package = read(changed);
      use(package);
    } catch (const Error& error) {
      ++refused;
      EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
      EXPECT_TRUE(std::string_view(error.what()).starts_with("file: ")) << error.what();
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(Packages, SayWhatIsWrong) {
  const Bytes bytes = written(contents());
  const auto changed = [&](const std::string& from, const std::string& to) {
    return with_manifest(bytes, [&](std::string& manifest) { replace(manifest, from, to); });
  };
  EXPECT_ERROR_KIND(read(bytes_of("tcc: 1\n")), ErrorKind::bad_input, "file: is no package of tcc");
  EXPECT_ERROR_KIND(read(changed("tcc_package: 1", "tcc_package: 2")), ErrorKind::bad_input,
                    "file: is a package of version 2; this tcc reads 1: a newer one made it");
  EXPECT_ERROR_KIND(read(changed("name: sample", "hints: sample")), ErrorKind::bad_input,
                    "line 2: has the unknown key 'hints': a newer tcc made the package");
  EXPECT_ERROR_KIND(read(changed("name: sample", "name: a\nname: b")), ErrorKind::bad_input,
                    "a second name");
  EXPECT_ERROR_KIND(read(changed("weight: w | 16", "weight: w | 016")), ErrorKind::bad_input,
                    "'016' is no number of bytes");
  EXPECT_ERROR_KIND(read(changed("weight: w | 16", "weight: w | -16")), ErrorKind::bad_input,
                    "'-16' is no number of bytes");
  EXPECT_ERROR_KIND(read(changed("weight: w | 16", "weight: w | 9223372036854775807")),
                    ErrorKind::bad_input, "is no number of bytes");
  EXPECT_ERROR_KIND(read(changed("weight: w | 16", "weight: w | 1125899906842624")),
                    ErrorKind::bad_input, "file: is cut off: its manifest lists more");
  EXPECT_ERROR_KIND(read(changed("weight: w | 16 | ", "weight: w | 16 | x")), ErrorKind::bad_input,
                    "is no checksum");
  EXPECT_ERROR_KIND(read(changed("weight: w | 16", "weight: w | 16 | 1")), ErrorKind::bad_input,
                    "has 4 values instead of 3");
  EXPECT_ERROR_KIND(read(changed("name: sample", "name: " + std::string(4100, 'x'))),
                    ErrorKind::bad_input, "is longer than 4000 characters");
  EXPECT_ERROR_KIND(read(changed("name: sample", "name: a\tb")), ErrorKind::bad_input,
                    "line 2: has a control character");
  EXPECT_ERROR_KIND(read(changed("name: sample", "n\xffme: sample")), ErrorKind::bad_input,
                    "has the unknown key 'n?me'");
  EXPECT_EQ(one_line("\xc3\xa4\xc2\x85\x7f\x80z"), "\xc3\xa4???z");
  // A part for another target than the manifest says, and weights of another size than its own.
  EXPECT_ERROR_KIND(read(changed("part: null:other", "part: null:third")).executable(1),
                    ErrorKind::bad_input, "is for another target than the manifest says");
  EXPECT_NO_THROW(read(changed("part: null:other", "part: null:third")).executable(0));
  const Bytes swapped = with_manifest(bytes, [](std::string& manifest) {
    const size_t first = manifest.find("weight: "), second = manifest.find("weight: ", first + 1);
    manifest.erase(first, second - first);
  });
  EXPECT_ERROR_KIND(read(swapped), ErrorKind::bad_input, "bytes that its manifest does not list");
}

TEST(Packages, MayHaveWeightsInAFileBesideThem) {
  const fs::path folder = fs::path(::testing::TempDir()) / "tcc-package-weights";
  fs::create_directories(folder);
  const Bytes beside(16, std::byte{9});
  write_file_atomic(folder / "w.bin", "12345" + text_of(beside));
  PackageContents package = contents();
  package.files = {{"w.bin", 21, {{5, 16, content_hash(beside)}}}};
  const Bytes bytes = written(package);
  EXPECT_NE(text_of(bytes).find(" | 0 | 5\n"), std::string::npos);
  {  // Windows replaces no file that is mapped
    const Package read_back = read(bytes, folder);
    EXPECT_EQ(read_back.weight_bytes(), 32);
    EXPECT_NO_THROW(read_back.verify());
    EXPECT_EQ(read_back.executable(1).store->load(1).bytes[0], std::byte{9});
  }

  EXPECT_ERROR_KIND(read(bytes).executable(1).store->load(1), ErrorKind::bad_input,
                    "and no folder to look for it");
  EXPECT_NO_THROW(read(bytes).executable(1).store->load(0));
  write_file_atomic(folder / "w.bin", "12345" + std::string(16, 'x'));
  EXPECT_ERROR_KIND(read(bytes, folder).executable(1).store->load(1), ErrorKind::bad_input,
                    "or its file is another one");
  write_file_atomic(folder / "w.bin", "12345");
  EXPECT_ERROR_KIND(read(bytes, folder).executable(1).store->load(1), ErrorKind::bad_input,
                    "which has 5 bytes and had 21");
  fs::remove(folder / "w.bin");
  EXPECT_ERROR_KIND(read(bytes, folder).executable(1).store->load(1), ErrorKind::bad_input,
                    "w.bin");

  const auto changed = [&](const std::string& from, const std::string& to) {
    return with_manifest(bytes, [&](std::string& manifest) { replace(manifest, from, to); });
  };
  for (const char* name : {"../w.bin", "/etc/passwd", "a/../../w.bin"})
    EXPECT_ERROR_KIND(
        read(changed("file: w.bin", str("file: ", name)), folder).executable(1).store->load(1),
        ErrorKind::bad_input, "");
  EXPECT_ERROR_KIND(read(changed(" | 0 | 5", " | 0 | 6")), ErrorKind::bad_input,
                    "bytes 6 to 6 + 16 of 21");
  EXPECT_ERROR_KIND(read(changed(" | 0 | 5", " | 1 | 5")), ErrorKind::bad_input,
                    "is of file 1, which is not above");
  fs::remove_all(folder);
}

// This runs on systems without libsodium, too: nothing is taken there either. signed_packages_test
// has the rest.
TEST(Packages, WhoseSignatureIsAskedForAreVerifiedFirst) {
  const PublicKey key("RWQdT3apxJeTNdpPiC0P1HfCMmL6I5Div++2Fv1M7WzCcQEtxd9grenc", "key");
  EXPECT_EQ(to_string(key.id()), "359397C4A9764F1D");
  const SignatureText of_another{
      "untrusted comment: x\n"
      "RUQdT3apxJeTNUKSI8KjKnO/e/DWcTSakrfVGhpIA0vUG4P/3kwDgkcjRr/V9fsKAcrpg85hPdZYxkJqyUc7r+CYbbon"
      "WY/51gI=\n"
      "trusted comment: timestamp:1795822205\tfile:affine-1.tccpkg\thashed\n"
      "tVLQv+6ATzG+ain7OlnY6D5Kx2JYlQKHdHP5c9BHcnm00S9Pr4LiRuETyxaoYBJ/"
      "hLKSQJlm7nK69mX8y+zHCA==\n",
      "sig"};
  for (const Bytes& bytes : {written(contents()), bytes_of("tcc: 1\n"), Bytes()}) {
    const auto open = [&](const std::optional<SignatureText>& signature) {
      return Package(nullptr, bytes, "file", {}, SignedBy{key, signature});
    };
    EXPECT_ERROR_KIND(open(std::nullopt), ErrorKind::bad_input, "file: no signature is given");
    EXPECT_ERROR_KIND(open(SignatureText{"", "sig"}), ErrorKind::bad_input,
                      "sig: is no signature of minisign: it has 0 lines");
    std::string reason;
    EXPECT_ERROR_KIND(open(of_another), ErrorKind::bad_input,
                      find_sodium(reason) ? "file: is not what sig signs"
                                          : "file: its signature cannot be verified: ");
  }
}

TEST(Packages, DocumentsNameTheVersionsThatAreRead) {
  std::ifstream file(::tcc::testing::source_dir() / "docs/packages.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string sentence =
      str("has version ", kFormatVersion + 1, " of the format; this tcc reads ", format_versions());
  EXPECT_NE(text.find(sentence), std::string::npos) << sentence;
}

TEST(Packages, AreKnownByTheirBeginning) {
  const fs::path file = fs::path(::testing::TempDir()) / "tcc-package-known.tccpkg";
  save_package(contents(), file);
  EXPECT_TRUE(is_package(file));
  EXPECT_EQ(Package::load(file).name(), "sample");
  write_file_atomic(file, "tcc: 1\nname: graph\n");
  EXPECT_FALSE(is_package(file));
  EXPECT_ERROR_KIND(Package::load(file), ErrorKind::bad_input, "is no package of tcc");
  write_file_atomic(file, "");
  EXPECT_FALSE(is_package(file));
  EXPECT_ERROR_KIND(Package::load(file), ErrorKind::bad_input, "is no package of tcc");
  fs::remove(file);
  EXPECT_FALSE(is_package(file));
  EXPECT_FALSE(is_package(::testing::TempDir()));
}

}  // namespace
}  // namespace tcc::exec
