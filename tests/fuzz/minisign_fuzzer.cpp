// libFuzzer target for the readers of minisign's signatures and keys: they end in one line, and no
// text is the signature by a key whose secret is not known.
#include <cstdlib>
#include <string>

#include "executable/minisign.h"
#include "support/error.h"

namespace {

using namespace tcc;  // NOLINT: a program

template <class Read>
void read_one(const Read& reader) try {
  reader();
} catch (const Error& error) {
  if (error.kind() != ErrorKind::bad_input) std::abort();
  if (std::string_view(error.what()).find('\n') != std::string_view::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  read_one([&] {
    const exec::PublicKey key(text, "key");
    if (exec::to_string(key.id()).size() != 16) std::abort();
  });
  read_one([&] {
    const exec::Signature signature({text, "signature"}, "file");
    if (signature.trusted_comment.find('\n') != std::string::npos) std::abort();
  });
  static const exec::PublicKey known("RWQdT3apxJeTNdpPiC0P1HfCMmL6I5Div++2Fv1M7WzCcQEtxd9grenc",
                                     "key");
  read_one([&] {
    exec::verify_signature({}, "file", {text, "signature"}, known);
    std::abort();
  });
  return 0;
}
