// libFuzzer target for the reader of cached kernels: whatever the bytes are, they are code or
// damage, and code comes back only from what an encoder has written.
#include <cstdlib>

#include "support/cache_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const tcc::Hash128 key = tcc::hash_of("fuzzed");
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  std::string damage;
  const auto code = tcc::decode_cache_file(bytes, key, damage);
  if (code.has_value() != damage.empty()) std::abort();
  if (code && tcc::encode_cache_file(key, *code) != bytes) std::abort();
  // A whole entry reads back.
  const std::string whole = tcc::encode_cache_file(key, {data, size});
  if (tcc::decode_cache_file(whole, key, damage)->size() != size) std::abort();
  return 0;
}
