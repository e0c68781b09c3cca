// The objects that the public handles point to, and the functions that several files of the API
// use, are declared here.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "autotune/tuning_files.h"
#include "autotune/user_kernel/user_kernel.h"
#include "ir/graph.h"
#include "runtime/program.h"
#include "support/error.h"

#include "tcc/tcc.hpp"
#include "tcc/tuned_kernel.hpp"

namespace tcc {

struct Graph::Impl {
  ir::Graph graph;
};

struct KernelFile::Impl {
  autotune::UserKernel kernel;
};

struct CompiledGraph::Impl {
  std::shared_ptr<const runtime::Program> program;
};

// Returns the folder of compiled kernels; "": none.
std::filesystem::path cache_folder(const CompileOptions& options);
// Loads the tuning files that the options and the environment name. Throws Error(bad_input) for a
// path of the options that is not there.
autotune::TuningFiles load_tuning(const CompileOptions& options, sched::Api api);
// Gets the warnings about these files.
std::function<void(const std::string&)> tuning_warn(const CompileOptions& options);

// The functions that the executable calls. Throws Error(bad_input) for one that is not registered.
runtime::HostFunctions host_functions(const exec::Executable& executable);
// Makes `find` what host_functions() asks: the part of the API that registers functions does. A
// program with libtcc-runtime alone has none.
void use_host_functions(runtime::HostFunctions (*find)(const exec::Executable& executable));

// The types of those buffers; with open dims that have no `sizes`, -1 stands for what depends on
// one.
std::vector<TensorSpec> specs_of(const runtime::Program& program, const std::vector<int>& buffers,
                                 const exec::Sizes* sizes = nullptr);

// Both copy. Throws Error(bad_input), which names the tensor `name`, when `host` is damaged.
Tensor to_tensor(const HostTensor& host, const std::string& name);
HostTensor to_host(const Tensor& tensor);

}  // namespace tcc
