// The part of NVIDIA's driver API that tcc calls, loaded from libcuda.so.1 at first use: one binary
// runs with or without an NVIDIA driver, and building needs no CUDA SDK.
//
// Names, values and signatures are those of cuda.h from CUDA 11.4 on; the suffixes _v2 belong to
// the symbols, which drivers keep for good.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tcc::runtime::cuda {

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's.
using CUdevice = int;
using CUdeviceptr = uint64_t;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUgraphNode = struct CUgraphNode_st*;

// tcc distinguishes these results; drivers return others, too.
enum CUresult : int {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_ECC_UNCORRECTABLE = 214,
  CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
  CUDA_ERROR_CONTAINED = 226,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
  CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
  CUDA_ERROR_MISALIGNED_ADDRESS = 716,
  CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
  CUDA_ERROR_INVALID_PC = 718,
  CUDA_ERROR_LAUNCH_FAILED = 719,
};

enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,  // kHz
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,        // kHz
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,  // bits
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
  CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};

enum CUfunction_attribute : int {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,  // static
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
};

enum CUjit_option : int {
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
};

enum CUpointer_attribute : int { CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9 };

enum CUstreamCaptureStatus : int { CU_STREAM_CAPTURE_STATUS_NONE = 0 };
struct CUgraphEdgeData;
enum CUstreamCaptureMode : int {
  CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
  CU_STREAM_CAPTURE_MODE_RELAXED = 2,
};

struct alignas(64) CUtensorMap {
  uint64_t opaque[16];
};
enum CUtensorMapDataType : int {
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32 = 7,
  CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9,
};
enum CUtensorMapSwizzle : int {
  CU_TENSOR_MAP_SWIZZLE_NONE = 0,
  CU_TENSOR_MAP_SWIZZLE_32B = 1,
  CU_TENSOR_MAP_SWIZZLE_64B = 2,
  CU_TENSOR_MAP_SWIZZLE_128B = 3,
};
enum CUtensorMapL2promotion : int { CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3 };

enum CUlaunchAttributeID : int {
  CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
};
union CUlaunchAttributeValue {
  char pad[64];
  struct {
    unsigned x, y, z;
  } clusterDim;
  int programmaticStreamSerializationAllowed;
};
struct CUlaunchAttribute {
  alignas(8) CUlaunchAttributeID id;
  alignas(8) CUlaunchAttributeValue value;
};
struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned numAttrs;
};

struct CUDA_KERNEL_NODE_PARAMS {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  void** kernelParams;
  void** extra;
};
enum CUmemorytype : int { CU_MEMORYTYPE_UNIFIED = 4 };
struct CUDA_MEMCPY3D {
  size_t srcXInBytes, srcY, srcZ, srcLOD;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  void *srcArray, *reserved0;
  size_t srcPitch, srcHeight;
  size_t dstXInBytes, dstY, dstZ, dstLOD;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  void *dstArray, *reserved1;
  size_t dstPitch, dstHeight;
  size_t WidthInBytes, Height, Depth;
};

using CUexternalMemory = struct CUextMemory_st*;
enum CUexternalMemoryHandleType : int { CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD = 1 };
struct CUDA_EXTERNAL_MEMORY_HANDLE_DESC {
  CUexternalMemoryHandleType type;
  union {
    int fd;
    struct {
      void* handle;
      const void* name;
    } win32;
    const void* nvSciBufObject;
  } handle;
  unsigned long long size;
  unsigned flags;
  unsigned reserved[16];
};
struct CUDA_EXTERNAL_MEMORY_BUFFER_DESC {
  unsigned long long offset, size;
  unsigned flags;
  unsigned reserved[16];
};
inline constexpr unsigned CUDA_EXTERNAL_MEMORY_DEDICATED = 1;

inline constexpr unsigned CU_STREAM_NON_BLOCKING = 1;
inline constexpr unsigned CU_EVENT_DEFAULT = 0;
inline constexpr unsigned CU_EVENT_DISABLE_TIMING = 2;
inline constexpr unsigned CU_EVENT_RECORD_EXTERNAL = 1;

// NOLINTEND(readability-identifier-naming)

// F(name, parameters): every function returns CUresult.
#define TCC_CUDA_FUNCTIONS(F)                                                                     \
  F(cuGetErrorName, (CUresult error, const char** text))                                          \
  F(cuGetErrorString, (CUresult error, const char** text))                                        \
  F(cuInit, (unsigned flags))                                                                     \
  F(cuDriverGetVersion, (int* version))                                                           \
  F(cuDeviceGetCount, (int* count))                                                               \
  F(cuDeviceGet, (CUdevice * device, int ordinal))                                                \
  F(cuDeviceGetName, (char* name, int bytes, CUdevice device))                                    \
  F(cuDeviceGetPCIBusId, (char* address, int bytes, CUdevice device))                             \
  F(cuDeviceGetAttribute, (int* value, CUdevice_attribute attribute, CUdevice device))            \
  F(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))                                       \
  F(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                             \
  F(cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                              \
  F(cuCtxGetCurrent, (CUcontext * context))                                                       \
  F(cuCtxPushCurrent_v2, (CUcontext context))                                                     \
  F(cuCtxPopCurrent_v2, (CUcontext * context))                                                    \
  F(cuMemGetInfo_v2, (size_t * free, size_t * total))                                             \
  F(cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes))                                         \
  F(cuMemFree_v2, (CUdeviceptr address))                                                          \
  F(cuMemHostAlloc, (void** address, size_t bytes, unsigned flags))                               \
  F(cuMemFreeHost, (void* address))                                                               \
  F(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void* from, size_t bytes, CUstream stream))      \
  F(cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from, size_t bytes, CUstream stream))            \
  F(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))             \
  F(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream))        \
  F(cuPointerGetAttribute, (void* value, CUpointer_attribute attribute, CUdeviceptr address))     \
  F(cuModuleLoadDataEx, (CUmodule * module, const void* image, unsigned num_options,              \
                         CUjit_option* options, void** values))                                   \
  F(cuModuleUnload, (CUmodule module))                                                            \
  F(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char* name))              \
  F(cuFuncGetAttribute, (int* value, CUfunction_attribute attribute, CUfunction function))        \
  F(cuFuncSetAttribute, (CUfunction function, CUfunction_attribute attribute, int value))         \
  F(cuLaunchKernel, (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,      \
                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, \
                     CUstream stream, void** parameters, void** extra))                           \
  F(cuLaunchCooperativeKernel,                                                                    \
    (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,    \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,                  \
     void** parameters))                                                                          \
  F(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                  \
    (int* blocks, CUfunction function, int threads, size_t shared_bytes))                         \
  F(cuStreamCreate, (CUstream * stream, unsigned flags))                                          \
  F(cuStreamDestroy_v2, (CUstream stream))                                                        \
  F(cuStreamSynchronize, (CUstream stream))                                                       \
  F(cuStreamGetCtx, (CUstream stream, CUcontext * context))                                       \
  F(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus * status))                       \
  F(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode))                         \
  F(cuStreamEndCapture, (CUstream stream, CUgraph * graph))                                       \
  F(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode))                              \
  F(cuGraphInstantiateWithFlags,                                                                  \
    (CUgraphExec * executable, CUgraph graph, unsigned long long flags))                          \
  F(cuGraphUpload, (CUgraphExec executable, CUstream stream))                                     \
  F(cuGraphLaunch, (CUgraphExec executable, CUstream stream))                                     \
  F(cuGraphExecDestroy, (CUgraphExec executable))                                                 \
  F(cuGraphExecKernelNodeSetParams,                                                               \
    (CUgraphExec executable, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* parameters))        \
  F(cuGraphExecMemcpyNodeSetParams, (CUgraphExec executable, CUgraphNode node,                    \
                                     const CUDA_MEMCPY3D* parameters, CUcontext context))         \
  F(cuGraphDestroy, (CUgraph graph))                                                              \
  F(cuEventCreate, (CUevent * event, unsigned flags))                                             \
  F(cuEventDestroy_v2, (CUevent event))                                                           \
  F(cuEventRecord, (CUevent event, CUstream stream))                                              \
  F(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned flags))                     \
  F(cuEventSynchronize, (CUevent event))                                                          \
  F(cuEventElapsedTime, (float* milliseconds, CUevent start, CUevent end))

// Newer drivers alone have these functions; the pointers are null where the driver lacks them.
#define TCC_CUDA_NEWER_FUNCTIONS(F)                                                            \
  F(cuImportExternalMemory,                                                                    \
    (CUexternalMemory * memory, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* handle))               \
  F(cuExternalMemoryGetMappedBuffer, (CUdeviceptr * address, CUexternalMemory memory,          \
                                      const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* buffer))         \
  F(cuDestroyExternalMemory, (CUexternalMemory memory))                                        \
  F(cuLaunchKernelEx,                                                                          \
    (const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra))      \
  F(cuOccupancyMaxActiveClusters,                                                              \
    (int* clusters, CUfunction function, const CUlaunchConfig* config))                        \
  F(cuFuncGetParamInfo, (CUfunction function, size_t number, size_t * offset, size_t * bytes)) \
  F(cuStreamGetCaptureInfo_v3,                                                                 \
    (CUstream stream, CUstreamCaptureStatus * status, uint64_t * id, CUgraph * graph,          \
     const CUgraphNode** last, const CUgraphEdgeData** edges, size_t* count))                  \
  F(cuTensorMapEncodeTiled,                                                                    \
    (CUtensorMap * map, CUtensorMapDataType type, unsigned rank, void* address,                \
     const uint64_t* dims, const uint64_t* strides, const uint32_t* box,                       \
     const uint32_t* element_strides, int interleave, CUtensorMapSwizzle swizzle,              \
     CUtensorMapL2promotion promotion, int out_of_bounds))                                     \
  F(cuTensorMapEncodeIm2col,                                                                   \
    (CUtensorMap * map, CUtensorMapDataType type, unsigned rank, void* address,                \
     const uint64_t* dims, const uint64_t* strides, const int* lower, const int* upper,        \
     unsigned channels, unsigned pixels, const uint32_t* element_strides, int interleave,      \
     CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, int out_of_bounds))

struct DriverApi {
  // NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration
#define TCC_CUDA_MEMBER(name, parameters) CUresult(*name) parameters = nullptr;
  TCC_CUDA_FUNCTIONS(TCC_CUDA_MEMBER)
  TCC_CUDA_NEWER_FUNCTIONS(TCC_CUDA_MEMBER)
#undef TCC_CUDA_MEMBER

  // "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)".
  std::string describe(CUresult result) const;
};

// The driver, opened and initialised at the first call and never closed; thread-safe. Throws
// Error(no_device), always with the same reason, when that failed: "cuda: libcuda.so.1 not found".
const DriverApi& driver();

}  // namespace tcc::runtime::cuda
