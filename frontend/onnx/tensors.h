// Reads TensorProtos: types, and data from the model or from files beside it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include <onnx.pb.h>
#include "frontend/graph_files.h"
#include "ir/graph.h"
#include "ir/tensor.h"

namespace tcc::onnx {

namespace pb = ::onnx;

// Returns the dtype of a TensorProto.DataType. Throws Error(bad_input) "WHERE: ..." for types that
// tcc lacks (strings, complex numbers, types of 2 to 6 bits).
DType dtype_of(int32_t data_type, const std::string& where);
// Returns the same, and for a narrow type (narrow_types.h) the dtype that holds its elements.
DType holder_of(int32_t data_type, const std::string& where);

class TensorReader {
 public:
  TensorReader(std::string file, GraphFiles source)
      : file_(std::move(file)), source_(std::move(source)) {}

  // The type, checked: dims that are not negative, a size that does not overflow, and as much data
  // as it needs (external data: a file inside the model's folder, of at least that length). Tensors
  // of narrow types have the dtype of their holder.
  ir::Type type(const pb::TensorProto& tensor, const std::string& where) const;
  // The data is copied or read on first use. A tensor that is asked for again (in the body of a
  // loop) has one copy; so `tensor` must outlive the reader.
  ir::ConstantPtr constant(const pb::TensorProto& tensor, const std::string& where) const;
  const std::string& file() const { return file_; }

 private:
  ir::ConstantPtr read(const pb::TensorProto& tensor, const std::string& where) const;
  ir::ConstantPtr external(const pb::TensorProto& tensor, const ir::Type& type,
                           const std::string& where) const;

  std::string file_;
  GraphFiles source_;  // of external data
  mutable std::map<const pb::TensorProto*, ir::ConstantPtr> constants_;
};

}  // namespace tcc::onnx
