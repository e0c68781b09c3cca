# tcc_onnx_proto: the messages of ONNX files, generated from the distribution's onnx.proto (Debian: libonnx-dev,
# libprotobuf-dev, protobuf-compiler). The lite runtime is enough to read and write them, and has no global registry that
# could meet another copy of ONNX in one process.
find_package(Protobuf REQUIRED)
find_path(TCC_ONNX_PROTO onnx/onnx.proto REQUIRED)

set(generated ${PROJECT_BINARY_DIR}/generated/onnx)
file(MAKE_DIRECTORY ${generated})
add_custom_command(
  OUTPUT ${generated}/onnx.pb.cc ${generated}/onnx.pb.h VERBATIM
  COMMAND ${Protobuf_PROTOC_EXECUTABLE} --cpp_out=lite:${generated} -I ${TCC_ONNX_PROTO}/onnx
          ${TCC_ONNX_PROTO}/onnx/onnx.proto
  DEPENDS ${TCC_ONNX_PROTO}/onnx/onnx.proto
  COMMENT "Generating the ONNX messages")
add_library(tcc_onnx_proto STATIC ${generated}/onnx.pb.cc)
target_include_directories(tcc_onnx_proto SYSTEM PUBLIC ${generated} ${Protobuf_INCLUDE_DIRS})
target_link_libraries(tcc_onnx_proto PUBLIC ${Protobuf_LITE_LIBRARIES})
