// Signatures of files by minisign (jedisct1.github.io/minisign): Ed25519 over the BLAKE2b-512 hash
// of a file, and over that signature with a comment that is to be trusted. docs/packages.md says
// how packages are signed. libsodium computes; here is the form.
//
// Signatures and keys are anybody's text. All functions throw Error(bad_input), one line that
// begins with the name of what is wrong.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tcc::exec {

inline constexpr std::string_view kSignatureExtension = ".minisig";
inline constexpr int64_t kMostSignatureBytes = 16 << 10;  // of a signature's or a key's text

// The number by which a signature names its key. It proves nothing.
using KeyId = std::array<uint8_t, 8>;

class PublicKey {
 public:
  // `text` is the key, "RW..." of 56 characters, or the text of the .pub file that has it. `name`
  // is in messages; the text is not, since it may be a secret key.
  PublicKey(std::string_view text, const std::string& name);
  // Returns whether the text is of the form of a key, rather than a file's name.
  static bool looks_like(std::string_view text);

  const KeyId& id() const { return id_; }
  std::span<const uint8_t, 32> bytes() const { return bytes_; }

 private:
  KeyId id_{};
  std::array<uint8_t, 32> bytes_{};
};

// Formats an id as minisign does: "359397C4A9764F1D".
std::string to_string(const KeyId& id);

// The text of a .minisig file, and its name in messages.
struct SignatureText {
  std::string text, name;
};
// Reads the signature in the file beside `path`, which has one more ending.
SignatureText read_signature(const std::filesystem::path& path);

// The parts of a signature's text. Only minisign's present form is taken, that signs a hash.
struct Signature {
  // `file` is what it should sign, for messages.
  Signature(const SignatureText& signature, const std::string& file);

  KeyId key_id{};
  std::array<uint8_t, 64> of_file{}, of_comment{};
  std::string trusted_comment;
};

// Throws unless the key's owner signed these bytes, which messages call `file`, and the trusted
// comment, which is returned. Throws, too, where libsodium is missing.
std::string verify_signature(std::span<const std::byte> bytes, const std::string& file,
                             const SignatureText& signature, const PublicKey& key);

// Who must have signed a package.
struct SignedBy {
  PublicKey key;
  std::optional<SignatureText> signature;  // nothing: it is in the file beside the package
};

}  // namespace tcc::exec
