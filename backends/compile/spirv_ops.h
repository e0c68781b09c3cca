// SPIR-V's numbers of the instructions that are read or written here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tcc::backends::spirv {

constexpr size_t kHeaderWords = 5;  // before the first instruction

enum Op : uint32_t {
  kSourceContinued = 2,
  kName = 5,
  kMemberName = 6,
  kString = 7,
  kExtension = 10,
  kExtInstImport = 11,
  kExtInst = 12,
  kMemoryModel = 14,
  kEntryPoint = 15,
  kExecutionMode = 16,
  kCapability = 17,
  kTypeInt = 21,
  kTypeFloat = 22,
  kTypeVector = 23,
  kTypeMatrix = 24,
  kTypeArray = 28,
  kTypeRuntimeArray = 29,
  kTypeStruct = 30,
  kTypePointer = 32,
  kConstantTrue = 41,
  kConstantFalse = 42,
  kConstant = 43,
  kConstantComposite = 44,
  kSpecConstantTrue = 48,
  kSpecConstantFalse = 49,
  kSpecConstant = 50,
  kSpecConstantComposite = 51,
  kFunction = 54,
  kFunctionEnd = 56,
  kVariable = 59,
  kLoad = 61,
  kStore = 62,
  kAccessChain = 65,
  kInBoundsAccessChain = 66,
  kArrayLength = 68,
  kDecorate = 71,
  kMemberDecorate = 72,
  kCopyObject = 83,
  kFConvert = 115,
  kBitcast = 124,
  kFNegate = 127,
  kFAdd = 129,
  kFSub = 131,
  kFMul = 133,
  kFDiv = 136,
  kFRem = 140,
  kDot = 148,
  kFOrdEqual = 180,
  kFUnordGreaterThanEqual = 191,
  kLabel = 248,
  kModuleProcessed = 330,
  kExecutionModeId = 331,
  kMatrixLoad = 4457,
  kMatrixStore = 4458,
  kMatrixLoadTensor = 5367,
  kMatrixStoreTensor = 5368,
};

}  // namespace tcc::backends::spirv
