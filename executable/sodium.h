// The functions of libsodium that tcc calls, loaded at first use: who verifies no signature does
// not need it, and building needs no headers of it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace tcc::exec {

// The signatures are those of sodium.h, which libsodium keeps.
struct Sodium {
  int (*sodium_init)() = nullptr;  // negative: a failure
  int (*crypto_generichash)(unsigned char* hash, size_t hash_size, const unsigned char* message,
                            unsigned long long message_size, const unsigned char* key,
                            size_t key_size) = nullptr;
  // 0: the signature is right.
  int (*crypto_sign_verify_detached)(const unsigned char* signature, const unsigned char* message,
                                     unsigned long long message_size,
                                     const unsigned char* public_key) = nullptr;
};

// Opens the first of the libraries that is there, or returns nothing and the reason.
std::optional<Sodium> open_sodium(std::span<const char* const> libraries, std::string& reason);

// Returns the system's libsodium, or nullptr and, in words for a user, what is missing.
const Sodium* find_sodium(std::string& reason);

}  // namespace tcc::exec
