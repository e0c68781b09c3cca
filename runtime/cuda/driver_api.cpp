#include "runtime/cuda/driver_api.h"

#include <string>

#include "support/error.h"
#include "support/system.h"

namespace tcc::runtime::cuda {
namespace {

constexpr const char* kDriver = system::kIsWindows ? "nvcuda.dll" : "libcuda.so.1";
// Containers and WSL put the driver in these places without telling the linker.
constexpr const char* kPlaces[] = {kDriver, "/usr/local/nvidia/lib64/libcuda.so.1",
                                   "/usr/lib/wsl/lib/libcuda.so.1"};

// The library, or nullptr with the reason.
void* open_library(std::string& reason) {
  reason = str(kDriver, " not found");
  for (const char* place : kPlaces) {
    std::string failure;
    if (void* library = system::open_library(place, failure)) return library;
    if (!failure.empty()) reason = failure;
    if (system::kIsWindows) break;  // it has one place
  }
  return nullptr;
}

// Returns the first function that is missing, or nullptr.
const char* look_up(void* library, DriverApi& api) {
#define TCC_CUDA_LOOK_UP(name, parameters)                                                 \
  api.name = reinterpret_cast<decltype(api.name)>(system::library_symbol(library, #name)); \
  if (!api.name) return #name;
  TCC_CUDA_FUNCTIONS(TCC_CUDA_LOOK_UP)
#undef TCC_CUDA_LOOK_UP
#define TCC_CUDA_LOOK_UP(name, parameters) \
  api.name = reinterpret_cast<decltype(api.name)>(system::library_symbol(library, #name));
  TCC_CUDA_NEWER_FUNCTIONS(TCC_CUDA_LOOK_UP)
#undef TCC_CUDA_LOOK_UP
  return nullptr;
}

struct Opened {
  DriverApi api;
  std::string reason;  // "": usable

  Opened() {
    void* const library = open_library(reason);
    if (!library) return;
    if (const char* missing = look_up(library, api)) {
      reason = str("the NVIDIA driver has no ", missing, "; tcc needs one for CUDA 11.4 or newer");
      return;
    }
    const CUresult result = api.cuInit(0);
    reason = result == CUDA_SUCCESS ? "" : "cuInit: " + api.describe(result);
  }
};

}  // namespace

std::string DriverApi::describe(CUresult result) const {
  const char *error_name = nullptr, *text = nullptr;
  if (cuGetErrorName(result, &error_name) != CUDA_SUCCESS || !error_name)
    return str("CUresult ", static_cast<int>(result));
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS || !text) return error_name;
  return str(error_name, " (", text, ")");
}

const DriverApi& driver() {
  static const Opened opened;
  if (!opened.reason.empty()) throw Error(ErrorKind::no_device, "cuda: " + opened.reason);
  return opened.api;
}

}  // namespace tcc::runtime::cuda
