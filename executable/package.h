// Model packages: one file with the executables of a model for several kinds of devices, and their
// constants once (docs/packages.md):
//
//   the manifest, lines of text: "tcc_package: 1", then "KEY: VALUE | VALUE...", comments after
//   '#',
//     and at last "end: CHECKSUM" of the lines before it
//   the sections, in the order of the manifest, each at the next multiple of 64 bytes: the parts
//     (executable/serialize.h), then the weights
//
// Nothing follows the last section, so that the manifest says how large the file is. Weights may be
// in a file beside the package instead, at a place that the manifest says. Sections have checksums:
// a part's is held against it when the part is read, a weight's when it is loaded.
//
// Packages are hostile, as executable/serialize.h says of files. All readers throw
// Error(bad_input), one line that begins with the package's name.
//
// Who is given a public key holds the package's signature against it before anything is read
// (executable/minisign.h), and the signatures of the files beside the package before load returns:
// checksums do not withstand somebody who makes up weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "executable/executable.h"
#include "executable/minisign.h"
#include "executable/serialize.h"

namespace tcc::exec {

inline constexpr int kPackageVersion = 1;
inline constexpr std::string_view kPackageExtension = ".tccpkg";

// A file beside the package whose bytes constants may be.
struct WeightFile {
  struct Range {
    int64_t offset = 0, bytes = 0;
    Hash128 key;  // content_hash of the bytes
  };
  std::string name;  // relative to the package's folder
  int64_t bytes = 0;
  std::vector<Range> ranges;
};

struct PackageContents {
  std::string name;               // the model's
  std::vector<Executable> parts;  // for targets that differ
  std::vector<WeightFile> files;
};
// The same contents give the same bytes. Throws Error(bad_input) for no parts, and for two of one
// target.
void write_package(const PackageContents& contents, const Sink& sink);
void save_package(const PackageContents& contents, const std::filesystem::path& path);

class Package {
 public:
  struct Part {
    std::string target;  // Target::id()
    int64_t bytes = 0;
    Hash128 key;
  };

  // Maps the file.
  static Package load(const std::filesystem::path& path,
                      const std::optional<SignedBy>& signed_by = {});
  // `owner` keeps the bytes as long as a store of the package's executables lives. Weights in files
  // are looked for in `folder`; "": there are none. `signed_by` has the signature's text.
  Package(std::shared_ptr<const void> owner, std::span<const std::byte> bytes,
          const std::string& file, const std::filesystem::path& folder = {},
          const std::optional<SignedBy>& signed_by = {});

  const std::string& file() const;      // in messages
  const std::string& name() const;      // of the model
  const std::string& manifest() const;  // the text
  std::span<const Part> parts() const;
  int64_t weight_bytes() const;  // of all weights, wherever they are
  struct Weights {
    int64_t count = 0, bytes = 0;
  };
  // Those that are in files beside the package, or else in itself.
  Weights weights(bool in_files) const;
  // The text that the author signed beside the bytes; "" where no signature was asked for.
  const std::string& trusted_comment() const;
  // Part `i`, whose constants are the package's.
  Executable executable(size_t i) const;
  // Holds everything against its checksum, and the bytes between sections against zero.
  void verify() const;

  struct Contents;

 private:
  std::shared_ptr<const Contents> contents_;
};

// The text with '?' for control characters and bytes that are no UTF-8: names in a package are
// anybody's, and errors are lines.
std::string one_line(std::string_view text);

// Whether the file begins as a package does.
bool is_package(const std::filesystem::path& path);

}  // namespace tcc::exec
