#include "frontend/tensor_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "ir/suggest.h"
#include "support/error.h"
#include "support/parallel.h"

namespace tcc {
namespace {

static_assert(std::endian::native == std::endian::little, "tensor files are read as little endian");

constexpr int64_t kGrain = int64_t{1} << 20;  // bytes per piece of work

}  // namespace

std::string quoted_name(std::string_view name) {
  constexpr size_t max_length = 120;
  std::string text = "'";
  for (const char c : name.substr(0, max_length)) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    text += control ? '?' : c;
  }
  return text + (name.size() > max_length ? "...'" : "'");
}

void fail_missing_tensor(const std::filesystem::path& path, const TensorFile& file,
                         std::string_view name) {
  constexpr size_t shown = 8, max_compared = 10000;
  const std::vector<std::string> names = file.names();
  const std::string message = str(path.string(), ": no tensor ", quoted_name(name));
  // The names are untrusted: comparing very many would take for ever.
  const std::span compared(names.data(), std::min(names.size(), max_compared));
  const std::string close = ir::closest_name(name, compared);
  if (!close.empty()) fail_input(message, "; did you mean ", quoted_name(close), "?");

  std::string list;
  for (size_t i = 0; i < names.size() && i < shown; ++i)
    list += (i == 0 ? "" : ", ") + quoted_name(names[i]);
  if (names.size() > shown) list += str(", ... (", names.size(), " in all)");
  fail_input(message, "; it has ", list.empty() ? "none" : list);
}

void copy_bytes(std::byte* to, const std::byte* from, size_t size) {
  parallel_for(0, static_cast<int64_t>(size), kGrain, [&](int64_t first, int64_t last) {
    std::memcpy(to + first, from + first, static_cast<size_t>(last - first));
  });
}

void normalise_bools(Tensor& tensor) {
  if (tensor.dtype() != DType::boolean) return;
  for (uint8_t& value : tensor.as<uint8_t>()) value = value != 0;
}

}  // namespace tcc
