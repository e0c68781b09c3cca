#include "executable/sodium.h"

#include <vector>

#include "support/error.h"
#include "support/system.h"

namespace tcc::exec {
namespace {

// By their ABI: 23 is that of libsodium up to 1.0.18, 26 that of 1.0.19 and later.
std::vector<const char*> sodium_libraries() {
  if (system::kIsWindows) return {"libsodium.dll", "libsodium-26.dll", "libsodium-23.dll"};
  return {"libsodium.so.23", "libsodium.so.26"};
}

constexpr const char* kHowToGetSodium = system::kIsWindows
                                            ? "put libsodium.dll beside the program"
                                            : "install libsodium (Debian, Ubuntu: libsodium23)";

// Returns the first function that is missing, or nullptr.
const char* look_up_sodium(void* library, Sodium& sodium) {
#define TCC_SODIUM_LOOK_UP(name)                                                                 \
  sodium.name = reinterpret_cast<decltype(sodium.name)>(system::library_symbol(library, #name)); \
  if (!sodium.name) return #name;
  TCC_SODIUM_LOOK_UP(sodium_init)
  TCC_SODIUM_LOOK_UP(crypto_generichash)
  TCC_SODIUM_LOOK_UP(crypto_sign_verify_detached)
#undef TCC_SODIUM_LOOK_UP
  return nullptr;
}

struct FoundSodium {
  std::string reason;
  std::optional<Sodium> sodium = open_sodium(sodium_libraries(), reason);
};

}  // namespace

std::optional<Sodium> open_sodium(std::span<const char* const> libraries, std::string& reason) {
  std::string missing;
  for (const char* name : libraries) {
    std::string failure;
    void* const library = system::open_library(name, failure);
    if (library) {
      Sodium sodium;
      if (const char* function = look_up_sodium(library, sodium))
        reason = str(name, " has no ", function);
      else if (sodium.sodium_init() < 0)
        reason = str(name, " cannot be initialised");
      else
        return sodium;
      return std::nullopt;
    }
    missing += str(missing.empty() ? "" : "; ", failure.empty() ? name : failure,
                   failure.empty() ? " not found" : "");
  }
  reason = missing;
  return std::nullopt;
}

const Sodium* find_sodium(std::string& reason) {
  static const FoundSodium found;
  if (found.sodium) return &*found.sodium;
  reason = str(found.reason, "; ", kHowToGetSodium);
  return nullptr;
}

}  // namespace tcc::exec
