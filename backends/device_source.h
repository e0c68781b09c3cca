// Device source files: hand-made kernels and math under backends/device, embedded at build time.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tcc::backends {

// Returns the text of a device source file, named by its path below backends/device:
// "cuda/contraction.cu". If the environment variable TCC_DEVICE_DIR is set, the file is read from
// that folder instead, so that a kernel can be edited without a build. Throws Error(bad_input) when
// TCC_DEVICE_DIR lacks the file, InternalError when no such file was embedded.
std::string device_source(std::string_view path);

// Returns the text with its includes resolved.
std::string device_source_with_includes(std::string_view path);

// Returns `text`, of a file in `folder` ("cuda/"), with its lines `#include "PATH"` replaced by the
// device source files that they name, each once, but those that end in .body each time, and so on
// in those. Paths are relative to the file's folder, or, in headers that the host includes too,
// begin with "backends/device/". Throws InternalError where there is no such file.
std::string resolve_device_includes(std::string_view text, std::string_view folder);

// Returns the paths of all embedded files, sorted.
std::vector<std::string_view> device_source_paths();

// The table behind the functions above; the build writes its definition.
struct EmbeddedFile {
  std::string_view path, text;
};
std::span<const EmbeddedFile> embedded_device_files();

}  // namespace tcc::backends
