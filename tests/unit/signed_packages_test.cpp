// Packages that are signed by minisign: tests/data/signatures has signatures of what is in
// tests/data/packages, and minisign makes others where it is installed.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <random>

#include <gtest/gtest.h>

#include "executable/minisign.h"
#include "executable/package.h"
#include "executable/sodium.h"
#include "runtime/device.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/expect_error.h"
#include "tests/run_command.h"
#include "tests/source_dir.h"

#include "tcc/c_api.h"
#include "tcc/package.hpp"

namespace tcc {
namespace {

namespace fs = std::filesystem;

std::string signatures(const std::string& name) {
  return read_file(testing::source_dir() / "tests/data/signatures" / name);
}
std::string package_file(const std::string& name) {
  return read_file(testing::source_dir() / "tests/data/packages" / name);
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// Loads what is said to be a package from memory.
exec::Package load(const std::string& package, const std::string& signature,
                   const std::string& key) {
  const auto copy = std::make_shared<const std::string>(package);
  const exec::SignedBy by{exec::PublicKey(key, "key"), exec::SignatureText{signature, "s.minisig"}};
  return {copy, bytes_of(*copy), "file", {}, by};
}

// Returns the refusal, "" for what is taken.
std::string refusal(const std::string& package, const std::string& signature,
                    const std::string& key) {
  try {
    load(package, signature, key);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
    const std::string what = error.what();
    EXPECT_EQ(what.find('\n'), what.npos) << what;
    EXPECT_TRUE(what.starts_with("file: ") || what.starts_with("s.minisig: ") ||
                what.starts_with("key: "))
        << what;
    return what;
  }
}

bool has(const std::string& text, std::string_view words) { return text.find(words) != text.npos; }

class SignedPackages : public ::testing::Test {
 protected:
  const std::string package = package_file("affine-1.tccpkg");
  const std::string signature = signatures("affine-1.tccpkg.minisig");
  const std::string key = signatures("minisign.pub");
  const std::string line = key.substr(key.find('\n') + 1, 56);  // the key itself
  // The parts of the signature that minisign does not vouch for.
  const size_t comment_begin = std::string_view("untrusted comment: ").size();
  const size_t comment_end = signature.find('\n');
};

TEST_F(SignedPackages, AreTakenWithTheirSignature) {
  for (const std::string& form : {key, line, line + "\n", line + "\r\n"})
    EXPECT_EQ(refusal(package, signature, form), "");
  const exec::Package loaded = load(package, signature, key);
  EXPECT_EQ(loaded.name(), "affine");
  EXPECT_TRUE(loaded.trusted_comment().starts_with("timestamp:1")) << loaded.trusted_comment();
  EXPECT_TRUE(loaded.trusted_comment().ends_with("\tfile:affine-1.tccpkg\thashed"));
  EXPECT_EQ(exec::to_string(exec::PublicKey(line, "key").id()),
            key.substr(key.find('\n') - 16, 16));
  // Line ends are no part of what is signed.
  std::string windows = signature;
  for (size_t at = 0; (at = windows.find('\n', at)) != windows.npos; at += 2)
    windows.insert(at, "\r");
  EXPECT_EQ(refusal(package, windows, key), "");
  EXPECT_EQ(refusal(package, signature.substr(0, signature.size() - 1), key), "");
}

TEST_F(SignedPackages, AreRefusedWhereAByteChanged) {
  for (size_t at = 0; at < package.size(); at += 7) {
    std::string changed = package;
    changed[at] ^= static_cast<char>(1 << at % 8);
    EXPECT_TRUE(has(refusal(changed, signature, key), "file: is not what s.minisig signs")) << at;
  }
  EXPECT_NE(refusal(package + '\0', signature, key), "");
  EXPECT_NE(refusal(package.substr(1), signature, key), "");
  EXPECT_NE(refusal("", signature, key), "");
  for (size_t at = 0; at < signature.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = signature;
      changed[at] = static_cast<char>(changed[at] ^ 1 << bit);
      const bool in_comment = at >= comment_begin && at < comment_end;
      EXPECT_TRUE(in_comment || !refusal(package, changed, key).empty())
          << "byte " << at << ", bit " << bit;
    }
  for (size_t at = 0; at < line.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = line;
      changed[at] = static_cast<char>(changed[at] ^ 1 << bit);
      EXPECT_NE(refusal(package, signature, changed), "") << "byte " << at << ", bit " << bit;
    }
}

TEST_F(SignedPackages, AreRefusedWhereTheSignatureIsCutOff) {
  for (size_t size = 0; size + 1 < signature.size(); ++size)
    EXPECT_TRUE(has(refusal(package, signature.substr(0, size), key),
                    "s.minisig: is no signature of minisign: "))
        << size;
  for (size_t size = 0; size < line.size(); ++size)
    EXPECT_TRUE(has(refusal(package, signature, line.substr(0, size)),
                    "key: is no public key of minisign"));
}

TEST_F(SignedPackages, AreRefusedWithTheSignatureOfAnother) {
  const std::string other_key = signatures("other.pub");
  const std::string id = key.substr(key.find('\n') - 16, 16);
  const std::string other_id = other_key.substr(other_key.find('\n') - 16, 16);
  EXPECT_EQ(refusal(package, signature, other_key),
            str("file: is signed by the key ", id, " and not by the given one, ", other_id,
                "; get it from the owner of the given key"));
  // The same key signed another file.
  const std::string other = signatures("affine.safetensors.minisig");
  EXPECT_EQ(refusal(package, other, key),
            "file: is not what s.minisig signs: it was changed, or the signature is of another "
            "file; get both again from its author");
  // The comment of one signature under another.
  const size_t begin = signature.find("trusted comment: ", comment_end);
  const size_t other_begin = other.find("trusted comment: ", other.find('\n'));
  EXPECT_TRUE(has(refusal(package, signature.substr(0, begin) + other.substr(other_begin), key),
                  "s.minisig: is damaged or forged: it is not what the key "));
  EXPECT_EQ(refusal(package_file("affine.safetensors"), other, key), "file: is no package of tcc")
      << "what is signed is read, and then it is as wrong as before";
}

TEST_F(SignedPackages, AreRefusedInOtherForms) {
  const std::string legacy = signatures("legacy.minisig");
  EXPECT_TRUE(has(refusal(package, legacy, key),
                  "s.minisig: is a signature of minisign's legacy form (-l, or an old version), "
                  "which is not taken; the author of file makes another by: minisign -SHm file"));
  std::string unknown = signature;
  unknown[comment_end + 2] = 'V';  // RU is "ED"
  EXPECT_TRUE(has(refusal(package, unknown, key), "line 2 is of an unknown algorithm"));
  EXPECT_TRUE(has(refusal(package, signature + "\n", key), "it has 5 lines instead of 4"));
  EXPECT_TRUE(has(refusal(package, "RW", key), "it has 1 line instead of 4"));
  EXPECT_TRUE(has(refusal(package, "a\nb\nc\nd\n", key), "line 1 does not begin with 'untrusted"));
  EXPECT_TRUE(has(refusal(package, std::string(size_t{1} << 22, '\n'), key),
                  "it has more than 16384 bytes"));
  EXPECT_TRUE(has(refusal(package, signature + std::string(20000, 'x'), key), "more than 16384"));
  std::string control = signature;
  control[control.find("trusted comment: ", comment_end) + 20] = '\x1b';
  EXPECT_TRUE(has(refusal(package, control, key), "line 3 has a control character"));
  // A secret key given by mistake is not shown.
  const std::string secret = "untrusted comment: minisign secret key\nRWQAAEIyABCD\n";
  EXPECT_TRUE(has(refusal(package, signature, secret), "key: is no public key of minisign"));
  EXPECT_FALSE(has(refusal(package, signature, secret), "RWQAAEIy"));
  for (const std::string& no_key : {std::string(), key + key, std::string(100000, 'R'), "\n" + line,
                                    "comment\n" + line, line + "\n" + line, line + " "})
    EXPECT_TRUE(has(refusal(package, signature, no_key), "key: is no public key of minisign"));
}

// Whatever a signature holds, it is refused in one line (refusal() looks).
TEST_F(SignedPackages, HostileSignaturesAreRefused) {
  std::mt19937 random(1);
  std::string pieces = "untrusted comment: trusted comment: \n\r\t=AR+/\xff ";
  pieces += '\0';
  for (int round = 0; round < 3000; ++round) {
    std::string changed = signature;
    for (unsigned i = 0; i <= random() % 4; ++i) {
      const size_t at = comment_end + 1 + random() % (changed.size() - comment_end - 1);
      switch (random() % 3) {
        case 0: changed[at] = pieces[random() % pieces.size()]; break;
        case 1: changed.erase(at, random() % 20); break;
        default: changed.insert(at, pieces, random() % pieces.size(), random() % 20);
      }
      if (changed.size() <= comment_end + 1) break;
    }
    if (changed == signature || changed + "\n" == signature) continue;
    std::string read;  // line ends of Windows are the same signature
    for (const char c : changed)
      if (c != '\r') read += c;
    EXPECT_TRUE(read == signature || !refusal(package, changed, key).empty()) << changed;
  }
}

TEST_F(SignedPackages, AreVerifiedByThePublicInterfaces) {
  const PackageLoadOptions options{.public_key = key, .signature = signature};
  const Package loaded = Package::from_bytes(bytes_of(package), {}, options);
  EXPECT_EQ(loaded.name(), "affine");
  EXPECT_TRUE(has(loaded.trusted_comment(), "file:affine-1.tccpkg"));
  EXPECT_EQ(Package::from_bytes(bytes_of(package)).trusted_comment(), "");
  EXPECT_ERROR(Package::from_bytes(bytes_of(package), {}, {.public_key = key}),
               "<package>: no signature is given for it");
  EXPECT_ERROR(Package::from_bytes(bytes_of(package), {}, {.signature = signature}),
               "a signature is given, and no public key");
  EXPECT_ERROR(Package::from_bytes(bytes_of(package), {}, {.public_key = "", .signature = ""}),
               "public_key: is no public key");
  EXPECT_ERROR(Package::from_bytes(bytes_of(package), {},
                                   {.public_key = signatures("other.pub"), .signature = signature}),
               "<package>: is signed by the key ");

  tcc_package* c_package = nullptr;
  ASSERT_EQ(tcc_package_from_signed_bytes(package.data(), package.size(), nullptr, line.c_str(),
                                          signature.c_str(), &c_package),
            TCC_OK)
      << tcc_last_error();
  EXPECT_STREQ(tcc_package_name(c_package), "affine");
  EXPECT_TRUE(has(tcc_package_trusted_comment(c_package), "file:affine-1.tccpkg"));
  EXPECT_STREQ(tcc_package_trusted_comment(nullptr), "");
  tcc_package_destroy(c_package);
  c_package = nullptr;
  EXPECT_EQ(tcc_package_from_signed_bytes(package.data(), package.size() - 1, nullptr, line.c_str(),
                                          signature.c_str(), &c_package),
            TCC_BAD_INPUT);
  EXPECT_TRUE(has(tcc_last_error(), "<package>: is not what <signature> signs"))
      << tcc_last_error();
  EXPECT_EQ(tcc_package_from_signed_bytes(package.data(), package.size(), nullptr, nullptr,
                                          signature.c_str(), &c_package),
            TCC_BAD_INPUT);
  EXPECT_EQ(tcc_package_from_signed_bytes(package.data(), package.size(), nullptr, line.c_str(),
                                          nullptr, &c_package),
            TCC_BAD_INPUT);
  EXPECT_EQ(tcc_package_load_signed("affine-1.tccpkg", nullptr, &c_package), TCC_BAD_INPUT);
  EXPECT_EQ(c_package, nullptr);
}

TEST(Sodium, WhatIsMissingIsSaid) {
  std::string reason;
  const std::array absent = {"libtcc-none.so.1", "libtcc-none.so.2"};
  EXPECT_FALSE(exec::open_sodium(absent, reason));
  EXPECT_EQ(reason, "libtcc-none.so.1 not found; libtcc-none.so.2 not found");
  const std::array another = {"libc.so.6"};
  EXPECT_FALSE(exec::open_sodium(another, reason));
  EXPECT_EQ(reason, "libc.so.6 has no sodium_init");
}

// Files and programs, as users have them.
class SignedPackagePrograms : public SignedPackages {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("tcc-signed-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    write_file_atomic(path("m.tccpkg"), package);
    write_file_atomic(path("m.tccpkg.minisig"), signature);
    write_file_atomic(path("k.pub"), key);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  testing::Outcome shell(const std::string& command) const {
    return testing::run_command(str("cd '", folder_.string(), "' && ", command, " 2>&1"));
  }
  testing::Outcome run(const char* program, const std::string& arguments) const {
    return shell(str("'", testing::program(program).string(), "' ", arguments));
  }
  // A software device, or "null", where nothing of a package runs.
  static std::string device() {
    for (const runtime::DeviceEntry& entry : runtime::list_devices().devices)
      if (entry.target.arch == "llvmpipe") return entry.name;
    return "null";
  }
  bool has_minisign() const { return shell("command -v minisign").code == 0; }
  // Makes a key pair of its own, k.pub and k.sec.
  void make_keys() const {
    const testing::Outcome made = shell("minisign -f -G -W -p k.pub -s k.sec");
    ASSERT_EQ(made.code, 0) << made.text;
  }
  void sign(const std::string& files) const {
    const testing::Outcome made = shell("minisign -S -s k.sec -m " + files);
    ASSERT_EQ(made.code, 0) << made.text;
  }

  fs::path folder_;
};

TEST_F(SignedPackagePrograms, RunWhereTheSignatureIsRight) {
  const std::string on = device();
  for (const std::string& given : {line, std::string("k.pub")}) {
    const testing::Outcome ran =
        run("tcc-run", str("m.tccpkg --device ", on, " --public-key ", given));
    EXPECT_EQ(ran.code, on == "null" ? 4 : 0) << ran.text;
    const std::string id = key.substr(key.find('\n') - 16, 16);
    EXPECT_TRUE(
        has(ran.text, str("tcc-run: note: m.tccpkg is signed by the key ", id, ": timestamp:")))
        << ran.text;
    EXPECT_TRUE(has(ran.text, " file:affine-1.tccpkg hashed\n")) << ran.text;
  }
  for (const char* program : {"run_package", "run_package_c"}) {
    const testing::Outcome ran = run(program, str("m.tccpkg ", on, " ", line));
    EXPECT_EQ(ran.code, on == "null" ? 4 : 0) << ran.text;
  }
  EXPECT_EQ(Package::load(path("m.tccpkg"), {.public_key = key}).name(), "affine");
}

TEST_F(SignedPackagePrograms, EndWithALineWhereItIsNot) {
  const auto refused = [&](const std::string& file, const std::string& words,
                           const std::string& given = "k.pub") {
    const testing::Outcome ran =
        run("tcc-run", str(file, " --device null --public-key '", given, "'"));
    EXPECT_EQ(ran.code, 2) << ran.text;
    EXPECT_EQ(std::count(ran.text.begin(), ran.text.end(), '\n'), 1) << ran.text;
    EXPECT_TRUE(ran.text.starts_with("tcc-run: " + words)) << ran.text;
  };
  for (const std::string no_key : {"", "absent.pub", "RWshort"})
    refused("m.tccpkg", str("--public-key ", no_key, ": is neither a public key of minisign"),
            no_key);
  refused("m.tccpkg", "--public-key .: not a regular file", ".");
  refused("m.tccpkg", "--public-key m.tccpkg: 17296 bytes; at most 16384 are read", "m.tccpkg");
  refused("m.tccpkg",
          "--public-key m.tccpkg.minisig: is no public key of minisign, which is a line",
          "m.tccpkg.minisig");
  refused("absent.tccpkg", "absent.tccpkg: cannot open");

  fs::copy(folder_ / "m.tccpkg", folder_ / "unsigned.tccpkg");
  refused("unsigned.tccpkg",
          "unsigned.tccpkg: is not signed: there is no unsigned.tccpkg.minisig, which its author "
          "makes by: minisign -Sm unsigned.tccpkg\n");
  EXPECT_EQ(run("tcc-run", "unsigned.tccpkg --device null").code, 4) << "as far as without keys";
  // The kind of a file is not looked at before its signature: a graph is no way around it.
  write_file_atomic(path("other.tccpkg"), "tcc: 1\nname: graph\n");
  refused("other.tccpkg", "other.tccpkg: is not signed: ");
  write_file_atomic(path("graph.yaml"), "tcc: 1\nname: graph\n");
  refused("graph.yaml", "graph.yaml: is not signed: ");

  write_file_atomic(path("m.tccpkg"), package + "x");
  refused("m.tccpkg", "m.tccpkg: is not what m.tccpkg.minisig signs: ");
  for (const char* program : {"run_package", "run_package_c"}) {
    const testing::Outcome ran = run(program, str("m.tccpkg null ", line));
    EXPECT_EQ(ran.code, 2) << ran.text;
    EXPECT_TRUE(has(ran.text, ": m.tccpkg: is not what m.tccpkg.minisig signs: ")) << ran.text;
  }
  // 64 GiB, of which nothing is read.
  fs::resize_file(folder_ / "m.tccpkg.minisig", uintmax_t{64} << 30);
  refused("m.tccpkg",
          "m.tccpkg: its signature cannot be read: m.tccpkg.minisig: 68719476736 bytes; at most "
          "16384 are read\n");
  fs::remove(folder_ / "m.tccpkg.minisig");
  fs::create_directory(folder_ / "m.tccpkg.minisig");
  refused("m.tccpkg", "m.tccpkg: its signature cannot be read: m.tccpkg.minisig: not a regular");
}

// A library of that name which is none stands before the system's.
TEST_F(SignedPackagePrograms, AreRefusedWithoutLibsodium) {
  fs::create_directories(folder_ / "lib");
  for (const char* name : {"libsodium.so.23", "libsodium.so.26"})
    write_file_atomic(folder_ / "lib" / name, std::string(4096, 'x'));
  for (const char* program : {"tcc-run", "run_package", "run_package_c"}) {
    const std::string arguments = program == std::string("tcc-run")
                                      ? "m.tccpkg --device null --public-key k.pub"
                                      : "m.tccpkg null " + line;
    const testing::Outcome ran = shell(str("LD_LIBRARY_PATH=\"$PWD/lib:$LD_LIBRARY_PATH\" '",
                                           testing::program(program).string(), "' ", arguments));
    EXPECT_EQ(ran.code, 2) << ran.text;
    EXPECT_TRUE(has(ran.text, ": m.tccpkg: its signature cannot be verified: ")) << ran.text;
    EXPECT_TRUE(ran.text.ends_with("; install libsodium (Debian, Ubuntu: libsodium23)\n"))
        << ran.text;
    EXPECT_EQ(std::count(ran.text.begin(), ran.text.end(), '\n'), 1) << ran.text;
  }
}

TEST_F(SignedPackagePrograms, AreSignedByMinisign) {
  if (!has_minisign()) GTEST_SKIP() << "no minisign (Debian, Ubuntu: minisign)";
  make_keys();
  EXPECT_TRUE(has(run("tcc-run", "m.tccpkg --device null --public-key k.pub").text,
                  "m.tccpkg: is signed by the key "));
  sign("m.tccpkg -t 'version 2 of the model'");
  const testing::Outcome ran = run("tcc-run", "m.tccpkg --device null --public-key k.pub");
  EXPECT_EQ(ran.code, 4) << ran.text;
  EXPECT_TRUE(has(ran.text, ": version 2 of the model\n")) << ran.text;
  EXPECT_EQ(
      Package::load(path("m.tccpkg"), {.public_key = read_file(path("k.pub"))}).trusted_comment(),
      "version 2 of the model");
  sign("m.tccpkg -l");
  EXPECT_TRUE(has(run("tcc-run", "m.tccpkg --device null --public-key k.pub").text,
                  "minisign's legacy form"));
}

// A checksum does not hold against weights that somebody makes up.
TEST_F(SignedPackagePrograms, WeightsInFilesAreSignedToo) {
  if (!has_minisign()) GTEST_SKIP() << "no minisign (Debian, Ubuntu: minisign)";
  make_keys();
  write_file_atomic(path("affine.safetensors"), package_file("affine.safetensors"));
  write_file_atomic(path("by_file.yaml"),
                    "tcc: 1\nname: by_file\ninputs: {x: {dtype: f32, shape: [4, 4]}}\n"
                    "weights: {w: {file: affine.safetensors, key: w}}\n"
                    "nodes: [{out: y, op: add, in: [x, w]}]\noutputs: [y]\n");
  const testing::Outcome made = run("tcc-compile",
                                    "by_file.yaml --target vulkan:lavapipe --weights "
                                    "affine.safetensors --package by_file.tccpkg");
  ASSERT_EQ(made.code, 0) << made.text;
  sign("by_file.tccpkg");
  const PackageLoadOptions options{.public_key = read_file(path("k.pub"))};
  const auto open = [&] { return Package::load(path("by_file.tccpkg"), options); };
  EXPECT_ERROR(open(), "affine.safetensors: is not signed: there is no ");
  write_file_atomic(path("affine.safetensors.minisig"), signatures("affine.safetensors.minisig"));
  EXPECT_ERROR(open(), "affine.safetensors: is signed by the key ");
  sign("by_file.tccpkg affine.safetensors");
  EXPECT_NO_THROW(open().verify());
  {
    const std::string bytes = read_file(path("by_file.tccpkg"));
    PackageLoadOptions with_text = options;
    with_text.signature = read_file(path("by_file.tccpkg.minisig"));
    EXPECT_NO_THROW(Package::from_bytes(bytes_of(bytes), folder_, with_text).verify());
    EXPECT_ERROR(Package::from_bytes(bytes_of(bytes), {}, with_text), "and no folder to look");
  }
  std::string weights = read_file(path("affine.safetensors"));
  weights.back() ^= 1;
  write_file_atomic(path("affine.safetensors"), weights);
  EXPECT_ERROR(open(), "affine.safetensors: is not what ");
  EXPECT_NO_THROW(Package::load(path("by_file.tccpkg"))) << "nobody asked for a signature";
}

}  // namespace
}  // namespace tcc
