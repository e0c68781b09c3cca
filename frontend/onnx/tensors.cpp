#include "frontend/onnx/tensors.h"

#include <charconv>
#include <cstring>

#include "frontend/onnx/narrow_types.h"
#include "frontend/tensor_file.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

using Proto = pb::TensorProto;

// The elements as raw_data would hold them: little-endian, packed.
struct Packed {
  std::string bytes;
  template <class T>
  void append(T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
};

// Counts all typed fields: data must stand in the one that is right for the type.
int64_t all_typed(const Proto& tensor) {
  return int64_t{tensor.float_data_size()} + tensor.double_data_size() + tensor.int64_data_size() +
         tensor.uint64_data_size() + tensor.int32_data_size() + tensor.string_data_size();
}

// Values of TensorProto.DataType that old versions of onnx.proto lack.
constexpr int32_t kFloat8E4M3FN = 17, kFloat8E5M2 = 19;

// The typed fields: which one holds a type's elements is the format's choice.
int64_t typed_count(const Proto& tensor) {
  switch (tensor.data_type()) {
    case Proto::FLOAT: return tensor.float_data_size();
    case Proto::DOUBLE: return tensor.double_data_size();
    case Proto::INT64: return tensor.int64_data_size();
    case Proto::UINT32:
    case Proto::UINT64: return tensor.uint64_data_size();
    default: return tensor.int32_data_size();
  }
}

std::string typed_bytes(const Proto& tensor, DType dtype) {
  Packed packed;
  for (float value : tensor.float_data()) packed.append(value);
  for (double value : tensor.double_data()) packed.append(value);
  for (int64_t value : tensor.int64_data()) packed.append(value);
  for (uint64_t value : tensor.uint64_data()) {
    if (dtype == DType::u32)
      packed.append(static_cast<uint32_t>(value));
    else
      packed.append(value);
  }
  for (int32_t value : tensor.int32_data()) switch (size_bytes(dtype)) {
      case 1: packed.append(static_cast<int8_t>(value)); break;
      case 2: packed.append(static_cast<int16_t>(value)); break;
      default: packed.append(value);
    }
  return std::move(packed.bytes);
}

bool is_external(const Proto& tensor) { return tensor.data_location() == Proto::EXTERNAL; }

std::vector<int64_t> shape_of(const ir::Type& type) { return ir::const_shape(type.shape); }

// The bits from one element to the next in a typed field, where the bytes of raw data may be packed
// closer.
int typed_stride(const NarrowType& type) { return type.bits == 6 ? 8 : type.bits; }

// The bytes of the tensor's data, raw or external; `typed`: in typed_bytes.
int64_t bytes_needed(const Proto& tensor, const ir::Type& type, bool typed) {
  const std::vector<int64_t> shape = shape_of(type);
  const NarrowType* narrow = narrow_type(tensor.data_type());
  if (!narrow) return *tensor_bytes(type.dtype, shape);
  const int64_t count = *tensor_bytes(DType::u8, shape);
  return packed_bytes(count, typed ? typed_stride(*narrow) : narrow->bits);
}

// Reads bytes as `typed_bytes` or the file have them.
Tensor tensor_of(int32_t data_type, const ir::Type& type, std::string_view bytes, bool typed) {
  Tensor result(type.dtype, shape_of(type));
  if (const NarrowType* narrow = narrow_type(data_type)) {
    unpack(*narrow, bytes, typed ? typed_stride(*narrow) : narrow->bits, result);
    return result;
  }
  copy_bytes(result.data(), reinterpret_cast<const std::byte*>(bytes.data()), bytes.size());
  normalise_bools(result);
  return result;
}

int64_t natural_number(const std::string& text, const std::string& where) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0)
    fail_input(where, ": external data: ", quoted_name(text), " is no offset or length");
  return value;
}

}  // namespace

DType dtype_of(int32_t data_type, const std::string& where) {
  if (const NarrowType* narrow = narrow_type(data_type))
    fail_input(where, ": elements of ", narrow->name, " are not supported here");
  switch (data_type) {
    case Proto::FLOAT: return DType::f32;
    case Proto::DOUBLE: return DType::f64;
    case Proto::FLOAT16: return DType::f16;
    case Proto::BFLOAT16: return DType::bf16;
    case kFloat8E4M3FN: return DType::f8e4m3;
    case kFloat8E5M2: return DType::f8e5m2;
    case Proto::INT8: return DType::i8;
    case Proto::INT16: return DType::i16;
    case Proto::INT32: return DType::i32;
    case Proto::INT64: return DType::i64;
    case Proto::UINT8: return DType::u8;
    case Proto::UINT16: return DType::u16;
    case Proto::UINT32: return DType::u32;
    case Proto::UINT64: return DType::u64;
    case Proto::BOOL: return DType::boolean;
    case Proto::STRING: fail_input(where, ": tensors of strings are not supported");
    case Proto::COMPLEX64:
    case Proto::COMPLEX128: fail_input(where, ": tensors of complex numbers are not supported");
    case Proto::UNDEFINED: fail_input(where, ": the element type is not given");
    default:
      fail_input(where, ": element type ", data_type, " of TensorProto.DataType is not supported");
  }
}

DType holder_of(int32_t data_type, const std::string& where) {
  const NarrowType* narrow = narrow_type(data_type);
  return narrow ? narrow->holder : dtype_of(data_type, where);
}

ir::Type TensorReader::type(const Proto& tensor, const std::string& where) const {
  const DType dtype = holder_of(tensor.data_type(), where);
  if (tensor.has_segment()) fail_input(where, ": tensors in segments are not supported");
  if (static_cast<size_t>(tensor.dims_size()) > kMaxFileRank)
    fail_input(where, ": has ", tensor.dims_size(), " dims; at most ", kMaxFileRank,
               " are supported");
  const std::vector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  if (!tensor_bytes(dtype, shape))
    fail_input(where, ": its size is impossible: ", type_text(dtype, shape));
  const ir::Type type{dtype, {shape.begin(), shape.end()}};
  if (!is_external(tensor)) {
    if (tensor.has_raw_data() && all_typed(tensor) > 0)
      fail_input(where, ": has both raw and typed data");
    if (!tensor.has_raw_data() && all_typed(tensor) != typed_count(tensor))
      fail_input(where, ": has data of another type than ", name(dtype));
    const int typed_size = narrow_type(tensor.data_type()) ? 1 : size_bytes(dtype);
    const auto there = tensor.has_raw_data() ? static_cast<int64_t>(tensor.raw_data().size())
                                             : typed_count(tensor) * typed_size;
    const int64_t bytes = bytes_needed(tensor, type, !tensor.has_raw_data());
    if (there != bytes)
      fail_input(where, ": ", type_text(dtype, shape), " needs ", bytes, " bytes of data, but ",
                 there, " are there");
  }
  return type;
}

ir::ConstantPtr TensorReader::constant(const Proto& tensor, const std::string& where) const {
  ir::ConstantPtr& known = constants_[&tensor];
  if (!known) known = read(tensor, where);
  return known;
}

ir::ConstantPtr TensorReader::read(const Proto& tensor, const std::string& where) const {
  const ir::Type type = this->type(tensor, where);
  if (is_external(tensor)) return external(tensor, type, where);
  const bool is_typed = !tensor.has_raw_data();
  const DType stored = narrow_type(tensor.data_type()) ? DType::u8 : type.dtype;
  const std::string typed = is_typed ? typed_bytes(tensor, stored) : "";
  const std::string& bytes = is_typed ? typed : tensor.raw_data();
  TCC_CHECK(static_cast<int64_t>(bytes.size()) == bytes_needed(tensor, type, is_typed), where, ": ",
            bytes.size(), " bytes");
  return ir::make_constant(
      std::make_shared<const Tensor>(tensor_of(tensor.data_type(), type, bytes, is_typed)));
}

ir::ConstantPtr TensorReader::external(const Proto& tensor, const ir::Type& type,
                                       const std::string& where) const {
  std::string location;
  int64_t offset = 0, length = -1;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = natural_number(entry.value(), where);
    if (entry.key() == "length") length = natural_number(entry.value(), where);
  }
  if (location.empty()) fail_input(where, ": external data without a location");
  const std::vector<int64_t> shape = shape_of(type);
  const int64_t needed = bytes_needed(tensor, type, false);
  if (length >= 0 && length != needed)
    fail_input(where, ": ", type_text(type.dtype, shape), " needs ", needed,
               " bytes, but its external data has ", length);
  if (source_.reads(location))
    return ir::make_lazy_constant([=, source = source_, code = tensor.data_type()] {
      try {
        const std::vector<std::byte> bytes =
            source.read(location, static_cast<uint64_t>(offset), static_cast<size_t>(needed));
        const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return std::make_shared<const Tensor>(tensor_of(code, type, text, false));
      } catch (const Error& error) { fail_input(where, ": external data: ", error.what()); }
    });
  // Opened now, for its size, and again on first use.
  const auto open = [source = source_, location, where] {
    try {
      return source.open(location);
    } catch (const Error& error) { fail_input(where, ": external data: ", error.what()); }
  };
  const auto size = static_cast<int64_t>(open().size());
  const std::string place = source_.place(location).string();
  if (offset > size || needed > size - offset)
    fail_input(where, ": external data: ", place, " has ", size, " bytes; ", needed,
               " from offset ", offset, " are needed");
  return ir::make_lazy_constant([=, code = tensor.data_type()] {
    const FileBytes file = open();
    if (static_cast<uint64_t>(offset + needed) > file.size())
      fail_input(where, ": external data: ", place, " has become shorter");
    const auto bytes = file.text().substr(static_cast<size_t>(offset), static_cast<size_t>(needed));
    return std::make_shared<const Tensor>(tensor_of(code, type, bytes, false));
  });
}

}  // namespace tcc::onnx
