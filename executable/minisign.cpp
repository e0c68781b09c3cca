#include "executable/minisign.h"

#include <algorithm>
#include <vector>

#include "executable/package.h"
#include "executable/sodium.h"
#include "support/error.h"
#include "support/file.h"
#include "support/plural.h"

namespace tcc::exec {
namespace {

constexpr std::string_view kUntrustedComment = "untrusted comment: ";
constexpr std::string_view kTrustedComment = "trusted comment: ";
constexpr size_t kKeyCharacters = 56;

// Returns how much was decoded into `to` of base64 that is written in the one canonical way, or
// false where the text is not the base64 of so many bytes.
bool decode_base64(std::string_view text, std::span<uint8_t> to) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() != (to.size() + 2) / 3 * 4) return false;
  const size_t padding = (3 - to.size() % 3) % 3;
  const size_t digits = text.size() - padding;
  if (text.substr(digits) != std::string_view("==").substr(0, padding)) return false;
  uint32_t bits = 0;
  int count = 0;
  size_t done = 0;
  for (const char c : text.substr(0, digits)) {
    const size_t digit = kDigits.find(c);
    if (digit == kDigits.npos) return false;
    bits = (bits << 6 | static_cast<uint32_t>(digit)) & 0xfff;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    to[done++] = static_cast<uint8_t>(bits >> count);
  }
  return (bits & ((1u << count) - 1)) == 0;
}

// Splits into lines, whose ends may be those of Windows; the last one may lack its end.
std::vector<std::string_view> signature_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool has_control_character(std::string_view line) {
  return std::ranges::any_of(line, [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == '\x7f';
  });
}

const unsigned char* unsigned_bytes(const void* bytes) {
  return static_cast<const unsigned char*>(bytes);
}

}  // namespace

bool PublicKey::looks_like(std::string_view text) {
  return text.size() == kKeyCharacters && text.starts_with("RW");
}

PublicKey::PublicKey(std::string_view text, const std::string& name) {
  std::string_view line;
  if (std::ssize(text) <= kMostSignatureBytes) {
    const std::vector<std::string_view> lines = signature_lines(text);
    const bool is_file = lines.size() == 2 && lines[0].starts_with(kUntrustedComment);
    if (lines.size() == 1 || is_file) line = lines.back();
  }
  std::array<uint8_t, 42> key{};
  if (!decode_base64(line, key) || key[0] != 'E' || key[1] != 'd')
    fail_input(one_line(name), ": is no public key of minisign, which is a line of ",
               kKeyCharacters, " characters (RW...), or the .pub file that has it");
  std::copy_n(key.begin() + 2, id_.size(), id_.begin());
  std::copy_n(key.begin() + 10, bytes_.size(), bytes_.begin());
}

std::string to_string(const KeyId& id) {
  std::string text;
  for (size_t i = id.size(); i-- > 0;)
    for (const int shift : {4, 0}) text += "0123456789ABCDEF"[id[i] >> shift & 15];
  return text;
}

SignatureText read_signature(const std::filesystem::path& path) {
  std::filesystem::path beside = path;
  beside += kSignatureExtension;
  const std::string file = one_line(path.string());
  const std::string name = one_line(beside.string());
  std::error_code error;
  if (!std::filesystem::exists(beside, error))
    fail_input(file, ": is not signed: there is no ", name,
               ", which its author makes by: minisign -Sm ", file);
  try {
    return {read_file(beside, kMostSignatureBytes), name};
  } catch (const Error& failure) {
    fail_input(file, ": its signature cannot be read: ", one_line(failure.what()));
  }
}

Signature::Signature(const SignatureText& signature, const std::string& file) {
  const auto fail = [&](const auto&... reasons) {
    fail_input(one_line(signature.name), ": is no signature of minisign: ", reasons...,
               "; get it again from the author of ", one_line(file), ", who makes it by: minisign ",
               "-Sm ", one_line(file));
  };
  if (std::ssize(signature.text) > kMostSignatureBytes)
    fail("it has more than ", kMostSignatureBytes, " bytes");
  const std::vector<std::string_view> lines = signature_lines(signature.text);
  if (lines.size() != 4) fail("it has ", counted(lines.size(), "line"), " instead of 4");
  if (!lines[0].starts_with(kUntrustedComment))
    fail("line 1 does not begin with '", kUntrustedComment, "'");
  if (!lines[2].starts_with(kTrustedComment))
    fail("line 3 does not begin with '", kTrustedComment, "'");
  trusted_comment = lines[2].substr(kTrustedComment.size());
  if (has_control_character(trusted_comment)) fail("line 3 has a control character");
  std::array<uint8_t, 74> with_key{};
  if (!decode_base64(lines[1], with_key)) fail("line 2 is not the base64 of a signature");
  if (!decode_base64(lines[3], of_comment)) fail("line 4 is not the base64 of a signature");
  if (with_key[0] == 'E' && with_key[1] == 'd')
    fail_input(one_line(signature.name),
               ": is a signature of minisign's legacy form (-l, or an old version), which is not ",
               "taken; the author of ", one_line(file), " makes another by: minisign -SHm ",
               one_line(file));
  if (with_key[0] != 'E' || with_key[1] != 'D') fail("line 2 is of an unknown algorithm");
  std::copy_n(with_key.begin() + 2, key_id.size(), key_id.begin());
  std::copy_n(with_key.begin() + 10, of_file.size(), of_file.begin());
}

std::string verify_signature(std::span<const std::byte> bytes, const std::string& file,
                             const SignatureText& signature_text, const PublicKey& key) {
  const Signature signature(signature_text, file);
  const std::string label = one_line(file), signature_name = one_line(signature_text.name);
  if (signature.key_id != key.id())
    fail_input(label, ": is signed by the key ", to_string(signature.key_id),
               " and not by the given one, ", to_string(key.id()),
               "; get it from the owner of the given key");
  std::string reason;
  const Sodium* const sodium = find_sodium(reason);
  if (!sodium) fail_input(label, ": its signature cannot be verified: ", one_line(reason));

  std::vector<uint8_t> with_comment(signature.of_file.begin(), signature.of_file.end());
  with_comment.insert(with_comment.end(), signature.trusted_comment.begin(),
                      signature.trusted_comment.end());
  if (sodium->crypto_sign_verify_detached(signature.of_comment.data(), with_comment.data(),
                                          with_comment.size(), key.bytes().data()) != 0)
    fail_input(signature_name, ": is damaged or forged: it is not what the key ",
               to_string(key.id()), " signed; get it again from the author of ", label);
  std::array<uint8_t, 64> hash{};
  if (sodium->crypto_generichash(hash.data(), hash.size(), unsigned_bytes(bytes.data()),
                                 bytes.size(), nullptr, 0) != 0 ||
      sodium->crypto_sign_verify_detached(signature.of_file.data(), hash.data(), hash.size(),
                                          key.bytes().data()) != 0)
    fail_input(label, ": is not what ", signature_name, " signs: it was changed, or the signature ",
               "is of another file; get both again from its author");
  return signature.trusted_comment;
}

}  // namespace tcc::exec
