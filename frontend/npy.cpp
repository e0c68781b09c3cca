#include "frontend/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "support/checked.h"
#include "support/error.h"

namespace tcc {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxNpyHeaderBytes = size_t{1} << 16;

struct TypeCode {
  DType dtype;
  char kind;  // of NumPy; the size follows from the dtype
};
constexpr std::array<TypeCode, 12> kTypeCodes = {{{DType::f64, 'f'},
                                                  {DType::f32, 'f'},
                                                  {DType::f16, 'f'},
                                                  {DType::i8, 'i'},
                                                  {DType::i16, 'i'},
                                                  {DType::i32, 'i'},
                                                  {DType::i64, 'i'},
                                                  {DType::u8, 'u'},
                                                  {DType::u16, 'u'},
                                                  {DType::u32, 'u'},
                                                  {DType::u64, 'u'},
                                                  {DType::boolean, 'b'}}};

// Parses the header's text, a Python literal of one fixed form:
//   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
// with the keys in any order, and any amount of white space.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, size_t offset, const std::string& where)
      : text_(text), offset_(offset), where_(where) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      const size_t start = position_;
      const std::string_view key = parse_string();
      expect(':');
      if (key == "descr" && !seen_descr_)
        parse_descr();
      else if (key == "fortran_order" && !seen_order_)
        parse_order();
      else if (key == "shape" && !seen_shape_)
        parse_shape();
      else
        fail_at(start, "unexpected or repeated key ", quoted_name(key));
      if (accept('}')) break;
      expect(',');
    }
    skip_space();
    if (position_ != text_.size()) fail_at(position_, "text after the header's closing brace");
    for (const auto& [seen, key] :
         {std::pair{seen_descr_, "descr"}, {seen_order_, "fortran_order"}, {seen_shape_, "shape"}})
      if (!seen) fail_at(position_, "the header lacks '", key, "'");
    return header_;
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail_at(size_t position, const Parts&... parts) const {
    fail_input(where_, ": offset ", offset_ + position, ": ", parts...);
  }

  void skip_space() {
    while (position_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[position_]) != std::string_view::npos)
      ++position_;
  }

  bool accept(char c) {
    skip_space();
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail_at(position_, "expected '", c, "' in the header");
  }

  bool accept_word(std::string_view word) {
    skip_space();
    if (text_.substr(position_, word.size()) != word) return false;
    position_ += word.size();
    return true;
  }

  std::string_view parse_string() {
    skip_space();
    const char quote = position_ < text_.size() ? text_[position_] : '\0';
    if (quote != '\'' && quote != '"') fail_at(position_, "expected a string in the header");
    const size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) fail_at(position_, "string without an end in the header");
    const std::string_view content = text_.substr(position_ + 1, end - position_ - 1);
    if (content.find('\\') != std::string_view::npos) fail_at(position_, "backslash in the header");
    position_ = end + 1;
    return content;
  }

  void parse_descr() {
    skip_space();
    const size_t start = position_;
    if (accept('[')) fail_at(start, "structured types are not supported");
    const std::string_view code = parse_string();
    seen_descr_ = true;
    if (code.find('O') != std::string_view::npos)
      fail_at(start, "Python objects (pickles) are never read");
    for (const TypeCode& candidate : kTypeCodes) {
      const int bytes = size_bytes(candidate.dtype);
      if (code.size() != 3 || code[1] != candidate.kind || code[2] != '0' + bytes) continue;
      if (code[0] != '<' && code[0] != '>' && !(code[0] == '|' && bytes == 1)) continue;
      header_.info.dtype = candidate.dtype;
      header_.big_endian = code[0] == '>' && bytes > 1;
      return;
    }
    fail_at(start, "element type ", quoted_name(code), " is not supported");
  }

  void parse_order() {
    seen_order_ = true;
    header_.fortran_order = accept_word("True");
    if (!header_.fortran_order && !accept_word("False"))
      fail_at(position_, "expected True or False in the header");
  }

  void parse_shape() {
    seen_shape_ = true;
    expect('(');
    auto& shape = header_.info.shape;
    bool comma = true;
    while (!accept(')')) {
      if (!comma) fail_at(position_, "expected ',' or ')' in the shape");
      if (shape.size() == kMaxFileRank) fail_at(position_, "more than ", kMaxFileRank, " dims");
      shape.push_back(parse_dim());
      comma = accept(',');
    }
    if (shape.size() == 1 && !comma) fail_at(position_, "expected ',' in a shape of one dim");
  }

  int64_t parse_dim() {
    skip_space();
    int64_t dim = 0;
    const char* begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), dim);
    if (error != std::errc() || *begin == '-') fail_at(position_, "expected a dim in the shape");
    position_ += static_cast<size_t>(end - begin);
    if (position_ < text_.size() && text_[position_] == 'L') ++position_;  // Python 2's long
    return dim;
  }

  std::string_view text_;
  size_t offset_, position_ = 0;
  const std::string& where_;
  NpyHeader header_;
  bool seen_descr_ = false, seen_order_ = false, seen_shape_ = false;
};

template <class Word>
void reverse_words(std::byte* data, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    std::reverse(data + i * sizeof(Word), data + (i + 1) * sizeof(Word));
}

void reverse_bytes(Tensor& tensor) {
  switch (size_bytes(tensor.dtype())) {
    case 2: return reverse_words<uint16_t>(tensor.data(), tensor.numel());
    case 4: return reverse_words<uint32_t>(tensor.data(), tensor.numel());
    case 8: return reverse_words<uint64_t>(tensor.data(), tensor.numel());
    default: return;
  }
}

// From column-major to row-major elements.
template <class Word>
void reorder(const Tensor& from, Tensor& to) {
  const auto& shape = to.shape();
  const size_t rank = shape.size();
  std::vector<int64_t> strides(rank, 1), index(rank, 0);
  for (size_t d = 1; d < rank; ++d) strides[d] = strides[d - 1] * shape[d - 1];
  auto source = from.as<Word>();
  auto target = to.as<Word>();
  int64_t offset = 0;
  for (Word& element : target) {
    element = source[offset];
    for (size_t d = rank; d-- > 0;) {  // the next index, as an odometer
      offset += strides[d];
      if (++index[d] < shape[d]) break;
      offset -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

Tensor to_row_major(const Tensor& tensor) {
  Tensor result(tensor.dtype(), tensor.shape());
  switch (size_bytes(tensor.dtype())) {
    case 1: reorder<uint8_t>(tensor, result); break;
    case 2: reorder<uint16_t>(tensor, result); break;
    case 4: reorder<uint32_t>(tensor, result); break;
    default: reorder<uint64_t>(tensor, result); break;
  }
  return result;
}

// The bytes of a mapped file as a stream.
ByteSource source_of(const FileBytes& file) {
  return [&file, position = size_t{0}](std::byte* to, size_t size) mutable {
    TCC_CHECK(size <= file.size() - position, "read past the end");
    copy_bytes(to, file.data() + position, size);
    position += size;
  };
}

}  // namespace

NpyHeader read_npy_header(const ByteSource& source, int64_t size, const std::string& where) {
  int64_t position = 0;
  const auto read = [&](size_t count) {
    if (static_cast<int64_t>(count) > size - position)
      fail_input(where, ": offset ", position, ": truncated: the header needs ", count,
                 " more bytes of ", size - position);
    std::string bytes(count, '\0');
    source(reinterpret_cast<std::byte*>(bytes.data()), count);
    position += static_cast<int64_t>(count);
    return bytes;
  };

  const std::string start = read(kMagic.size() + 2);
  if (start.substr(0, kMagic.size()) != kMagic)
    fail_input(where, ": offset 0: not a NumPy array (wrong magic)");
  const int version = static_cast<unsigned char>(start[6]);
  if (version < 1 || version > 3 || start[7] != 0)
    fail_input(where, ": offset 6: version ", version, ".",
               int{static_cast<unsigned char>(start[7])}, " is not supported");
  const std::string length = read(version == 1 ? 2 : 4);
  size_t header_bytes = 0;
  for (size_t i = length.size(); i-- > 0;)
    header_bytes = header_bytes << 8 | static_cast<unsigned char>(length[i]);
  if (header_bytes > kMaxNpyHeaderBytes)
    fail_input(where, ": offset 8: a header of ", header_bytes, " bytes; at most ",
               kMaxNpyHeaderBytes, " are read");
  const auto text_offset = static_cast<size_t>(position);
  NpyHeader header = HeaderParser(read(header_bytes), text_offset, where).parse();

  const auto bytes = tensor_bytes(header.info.dtype, header.info.shape);
  if (!bytes)
    fail_input(where, ": ", type_text(header.info.dtype, header.info.shape), " is too large");
  header.data_offset = position;
  header.data_bytes = *bytes;
  const int64_t present = size - position;
  if (*bytes != present)
    fail_input(where, ": offset ", position, ": ", present < *bytes ? "truncated: " : "too long: ",
               type_text(header.info.dtype, header.info.shape), " has ", *bytes,
               " bytes, the file ", present);
  return header;
}

Tensor read_npy(const ByteSource& source, int64_t size, const std::string& where) {
  NpyHeader header = read_npy_header(source, size, where);
  Tensor tensor(header.info.dtype, std::move(header.info.shape));
  source(tensor.data(), tensor.bytes());
  if (header.big_endian) reverse_bytes(tensor);
  normalise_bools(tensor);
  const bool same_in_both_orders = tensor.shape().size() < 2 || tensor.numel() < 2;
  return header.fortran_order && !same_in_both_orders ? to_row_major(tensor) : tensor;
}

Tensor read_npy(const std::filesystem::path& path) { return NpyFile(path).load(""); }

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  if (!has_npy_code(tensor.dtype())) return write_npy(path, cast(tensor, DType::f32));
  AtomicFile file(path);
  file.write(npy_header_text(tensor.dtype(), tensor.shape()));
  file.write(tensor.data(), tensor.bytes());
  file.commit();
}

bool has_npy_code(DType dtype) {
  return std::ranges::find(kTypeCodes, dtype, &TypeCode::dtype) != kTypeCodes.end();
}

std::string npy_header_text(DType dtype, const std::vector<int64_t>& shape) {
  const auto code = std::find_if(kTypeCodes.begin(), kTypeCodes.end(),
                                 [&](const TypeCode& c) { return c.dtype == dtype; });
  TCC_CHECK(code != kTypeCodes.end(), "NumPy has no ", name(dtype));
  std::string dims;
  for (int64_t dim : shape) dims += str(dims.empty() ? "" : " ", dim, ",");
  if (shape.size() > 1) dims.pop_back();
  const int bytes = size_bytes(dtype);
  std::string text = str("{'descr': '", bytes == 1 ? '|' : '<', code->kind, bytes,
                         "', 'fortran_order': False, 'shape': (", dims, "), }");
  // magic, version, length (2 bytes), text, newline
  const size_t before = kMagic.size() + 4;
  text.append(static_cast<size_t>(round_up(static_cast<int64_t>(before + text.size() + 1), 64)) -
                  before - text.size() - 1,
              ' ');
  text += '\n';
  TCC_CHECK(text.size() < kMaxNpyHeaderBytes, "header of ", text.size(), " bytes");
  std::string header{kMagic};
  header += '\x01';
  header += '\0';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

NpyFile::NpyFile(const std::filesystem::path& path, FileBytes bytes)
    : path_(path),
      file_(std::move(bytes)),
      info_(read_npy_header(source_of(file_), static_cast<int64_t>(file_.size()), path.string())
                .info) {}

TensorInfo NpyFile::info(std::string_view name) const {
  if (!contains(name)) fail_missing_tensor(path_, *this, name);
  return info_;
}

Tensor NpyFile::load(std::string_view name) const {
  if (!contains(name)) fail_missing_tensor(path_, *this, name);
  return read_npy(source_of(file_), static_cast<int64_t>(file_.size()), path_.string());
}

}  // namespace tcc
