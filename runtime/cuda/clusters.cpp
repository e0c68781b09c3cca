#include "runtime/cuda/clusters.h"

namespace tcc::runtime::cuda {
namespace {

constexpr char kEmptyKernel[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry tcc_empty() { ret; }\n";

int count(const Context& context, CUfunction function, unsigned size, unsigned shared_bytes) {
  CUlaunchAttribute cluster = {};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim = {size, 1, 1};
  CUlaunchConfig config = {};
  config.gridDimX = size;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = shared_bytes;
  config.attrs = &cluster;
  config.numAttrs = 1;
  int clusters = 0;
  TCC_CUDA(context, cuOccupancyMaxActiveClusters, &clusters, function, &config);
  return clusters;
}

}  // namespace

std::array<int, 3> count_clusters(const Context& context, const exec::Target& target) {
  const DriverApi& api = context.api();
  if (target.max_cluster < 8 || !api.cuOccupancyMaxActiveClusters) return {};
  const ContextScope scope(context);
  const CaptureTolerantScope tolerant(context);
  CUmodule module = nullptr;
  if (api.cuModuleLoadDataEx(&module, kEmptyKernel, 0, nullptr, nullptr) != CUDA_SUCCESS) return {};
  struct Unload {
    ~Unload() { api.cuModuleUnload(module); }
    const DriverApi& api;
    CUmodule module;
  } const unload{api, module};
  CUfunction function = nullptr;
  TCC_CUDA(context, cuModuleGetFunction, &function, module, "tcc_empty");
  const auto shared_bytes = static_cast<int>(target.shared_bytes);
  TCC_CUDA(context, cuFuncSetAttribute, function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
           shared_bytes);
  std::array<int, 3> clusters;
  for (unsigned i = 0; i < clusters.size(); ++i)
    clusters[i] = count(context, function, 2U << i, static_cast<unsigned>(shared_bytes));
  return clusters;
}

}  // namespace tcc::runtime::cuda
