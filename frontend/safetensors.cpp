#include "frontend/safetensors.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "support/error.h"

namespace tcc {
namespace {

using nlohmann::json;

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kMaxHeaderBytes = int64_t{64} << 20;
constexpr size_t kMaxTensors = size_t{1} << 20;
constexpr std::string_view kMetadata = "__metadata__";  // a key that is no tensor
constexpr int kMaxDepth = 3;                            // directory, tensor, shape

constexpr std::array<std::pair<std::string_view, DType>, 15> kTypeNames = {
    {{"F64", DType::f64},
     {"F32", DType::f32},
     {"F16", DType::f16},
     {"BF16", DType::bf16},
     {"F8_E4M3", DType::f8e4m3},
     {"F8_E5M2", DType::f8e5m2},
     {"I8", DType::i8},
     {"I16", DType::i16},
     {"I32", DType::i32},
     {"I64", DType::i64},
     {"U8", DType::u8},
     {"U16", DType::u16},
     {"U32", DType::u32},
     {"U64", DType::u64},
     {"BOOL", DType::boolean}}};

// Parses the directory, with limits on its depth and count, and without repeated keys.
json parse_directory(std::string_view text, const std::string& path) {
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int depth, json::parse_event_t event, json& parsed) {
    switch (event) {
      case json::parse_event_t::object_start: keys.emplace_back(); [[fallthrough]];
      case json::parse_event_t::array_start:
        if (depth >= kMaxDepth) fail_input(path, ": the directory is nested too deeply");
        break;
      case json::parse_event_t::object_end: keys.pop_back(); break;
      case json::parse_event_t::key: {
        const auto& key = parsed.get_ref<const std::string&>();
        if (!keys.back().insert(key).second)
          fail_input(path, ": the directory has ", quoted_name(key), " twice");
        if (keys.back().size() > kMaxTensors)
          fail_input(path, ": more than ", kMaxTensors, " tensors");
        break;
      }
      default: break;
    }
    return true;
  };
  try {
    return json::parse(text, check);
  } catch (const json::parse_error& error) {
    fail_input(path, ": offset ", kLengthBytes + static_cast<int64_t>(error.byte),
               ": the directory is not valid JSON");
  } catch (const json::exception&) {
    fail_input(path, ": the directory has a number that is out of range");
  }
}

// A whole number that int64 holds.
std::optional<int64_t> as_size(const json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  const auto number = value.get<uint64_t>();
  if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  return static_cast<int64_t>(number);
}

std::optional<std::vector<int64_t>> as_sizes(const json& value, size_t max_count) {
  if (!value.is_array() || value.size() > max_count) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const json& element : value) {
    const auto size = as_size(element);
    if (!size) return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

}  // namespace

// Turns the directory into checked entries, sorted by their place in the data.
class SafetensorsFile::Parser {
 public:
  Parser(const std::string& path, int64_t data_bytes) : path_(path), data_bytes_(data_bytes) {}

  std::vector<Entry> parse(const json& directory) {
    if (!directory.is_object())
      fail_input(path_, ": offset ", kLengthBytes, ": the directory is not a JSON object");
    std::vector<Entry> entries;
    for (const auto& [name, value] : directory.items())
      if (name != kMetadata) entries.push_back(parse_entry(name, value));
    // Among tensors that begin together the empty ones come first.
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    int64_t position = 0;
    for (const Entry& entry : entries) {
      if (entry.begin < position) fail(entry.name, "its data overlaps another tensor's");
      if (entry.begin > position)
        fail(entry.name, "there is a gap of ", entry.begin - position, " bytes before its data");
      position = entry.end;
    }
    if (position != data_bytes_)
      fail_input(path_, ": ",
                 position < data_bytes_ ? "too long: " : "truncated: ", "the tensors have ",
                 position, " bytes, the file has ", data_bytes_);
    return entries;
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const std::string& name, const Parts&... parts) const {
    fail_input(path_, ": tensor ", quoted_name(name), ": ", parts...);
  }

  const json& field(const std::string& name, const json& value, const char* key) const {
    const auto found = value.is_object() ? value.find(key) : value.end();
    if (!value.is_object() || found == value.end()) fail(name, "it has no '", key, "'");
    return *found;
  }

  Entry parse_entry(const std::string& name, const json& value) const {
    Entry entry;
    entry.name = name;
    entry.info.dtype = parse_dtype_of(name, field(name, value, "dtype"));
    const auto shape = as_sizes(field(name, value, "shape"), kMaxFileRank);
    if (!shape) fail(name, "'shape' must be a list of at most ", kMaxFileRank, " sizes");
    entry.info.shape = *shape;
    const auto offsets = as_sizes(field(name, value, "data_offsets"), 2);
    if (!offsets || offsets->size() != 2 || (*offsets)[0] > (*offsets)[1])
      fail(name, "'data_offsets' must be [begin, end]");
    entry.begin = (*offsets)[0];
    entry.end = (*offsets)[1];
    if (entry.end > data_bytes_)
      fail(name, "truncated: its data ends at ", entry.end, ", the file's at ", data_bytes_);
    const auto bytes = tensor_bytes(entry.info.dtype, entry.info.shape);
    if (!bytes || *bytes != entry.end - entry.begin)
      fail(name, type_text(entry.info.dtype, entry.info.shape), " does not have the ",
           entry.end - entry.begin, " bytes of its data");
    return entry;
  }

  DType parse_dtype_of(const std::string& name, const json& value) const {
    if (!value.is_string()) fail(name, "'dtype' must be a string");
    const auto& text = value.get_ref<const std::string&>();
    for (const auto& [type_name, dtype] : kTypeNames)
      if (type_name == text) return dtype;
    fail(name, "dtype ", quoted_name(text), " is not supported");
  }

  const std::string& path_;
  int64_t data_bytes_;
};

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path, FileBytes bytes)
    : path_(path), file_(std::move(bytes)) {
  const std::string name = path.string();
  const auto size = static_cast<int64_t>(file_.size());
  if (size < kLengthBytes) fail_input(name, ": offset 0: truncated: ", size, " bytes");
  uint64_t header_bytes = 0;
  for (int i = kLengthBytes; i-- > 0;)
    header_bytes = header_bytes << 8 | std::to_integer<uint64_t>(file_.data()[i]);
  if (header_bytes > static_cast<uint64_t>(size - kLengthBytes))
    fail_input(name, ": offset 0: truncated or no safetensors file: a directory of ", header_bytes,
               " bytes in a file of ", size);
  if (header_bytes > static_cast<uint64_t>(kMaxHeaderBytes))
    fail_input(name, ": offset 0: a directory of ", header_bytes, " bytes; at most ",
               kMaxHeaderBytes, " are read");
  data_offset_ = kLengthBytes + static_cast<int64_t>(header_bytes);
  const std::string_view text = file_.text().substr(kLengthBytes, header_bytes);
  entries_ = Parser(name, size - data_offset_).parse(parse_directory(text, name));
  for (size_t i = 0; i < entries_.size(); ++i) index_.emplace(entries_[i].name, i);
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) names.push_back(entry.name);
  return names;
}

bool SafetensorsFile::contains(std::string_view name) const {
  return index_.find(name) != index_.end();
}

TensorInfo SafetensorsFile::info(std::string_view name) const { return find(name).info; }

SafetensorsFile::Place SafetensorsFile::place(std::string_view name) const {
  const Entry& entry = find(name);
  return {data_offset_ + entry.begin, entry.end - entry.begin};
}

std::span<const std::byte> SafetensorsFile::bytes() const { return {file_.data(), file_.size()}; }

Tensor SafetensorsFile::load(std::string_view name) const {
  const Entry& entry = find(name);
  Tensor tensor(entry.info.dtype, entry.info.shape);
  copy_bytes(tensor.data(), file_.data() + data_offset_ + entry.begin, tensor.bytes());
  normalise_bools(tensor);
  return tensor;
}

const SafetensorsFile::Entry& SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) fail_missing_tensor(path_, *this, name);
  return entries_[found->second];
}

void write_safetensors(const std::filesystem::path& path,
                       std::span<const std::pair<std::string, TensorInfo>> tensors,
                       const std::function<TensorPtr(size_t)>& load) {
  json directory = json::object();
  int64_t position = 0;
  for (const auto& [tensor_name, info] : tensors) {
    const auto bytes = tensor_bytes(info.dtype, info.shape);
    if (!bytes) fail_input(path.string(), ": tensor ", quoted_name(tensor_name), " is too large");
    if (tensor_name == kMetadata)
      fail_input(path.string(), ": no tensor can be named ", quoted_name(tensor_name));
    if (directory.contains(tensor_name))
      fail_input(path.string(), ": two tensors are named ", quoted_name(tensor_name));
    const auto type =
        std::ranges::find(kTypeNames, info.dtype, [](const auto& t) { return t.second; });
    TCC_CHECK(type != kTypeNames.end(), "no safetensors name of ", name(info.dtype));
    directory[tensor_name] = {{"dtype", type->first},
                              {"shape", info.shape},
                              {"data_offsets", {position, position + *bytes}}};
    position += *bytes;
  }
  std::string text;
  try {
    text = directory.dump();
  } catch (const json::exception&) { fail_input(path.string(), ": a tensor's name is not UTF-8"); }
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');  // aligned data
  AtomicFile file(path);
  for (int i = 0; i < kLengthBytes; ++i) {
    const char byte = static_cast<char>(text.size() >> (8 * i) & 0xff);
    file.write(&byte, 1);
  }
  file.write(text);
  for (size_t k = 0; k < tensors.size(); ++k) {
    const TensorPtr tensor = load(k);
    const TensorInfo& info = tensors[k].second;
    TCC_CHECK(tensor->dtype() == info.dtype && tensor->shape() == info.shape, "tensor ",
              tensors[k].first, " is ", type_text(tensor->dtype(), tensor->shape()));
    file.write(tensor->data(), tensor->bytes());
  }
  file.commit();
}

}  // namespace tcc
