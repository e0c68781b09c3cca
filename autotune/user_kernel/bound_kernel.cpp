#include "autotune/user_kernel/bound_kernel.h"

#include <algorithm>
#include <limits>
#include <map>

#include "backends/backend.h"
#include "backends/compile/code.h"
#include "frontend/yaml/document.h"
#include "ir/tensor.h"
#include "support/checked.h"
#include "support/error.h"
#include "support/hash.h"

namespace tcc::autotune {
namespace {

constexpr int64_t kMaxWorkgroupDepth = 64;  // of a workgroup's third extent: what every GPU takes

Dims bind_dims(const UserKernel& kernel, const Dims& given) {
  Dims dims = kernel.dims;
  std::vector<std::string> known;
  for (const auto& [name, value] : dims) known.push_back(name);
  for (const auto& [name, value] : given) {
    auto found = dims.find(name);
    if (found == dims.end())
      fail_input(kernel.file, ": no dim '", name, "'", yaml::or_known(name, known));
    if (value < 1 || value > kMaxDim)
      fail_input(kernel.file, ": dim '", name, "': ", value, " is not in [1, ", kMaxDim, "]");
    found->second = value;
  }
  return dims;
}

std::string literal(int64_t value) {
  return value < 0 ? str("(", value, ")") : std::to_string(value);
}

std::string list_text(const std::vector<BoundArgument>& arguments) {
  std::string text;
  for (const BoundArgument& argument : arguments)
    text += (text.empty() ? "" : ", ") + type_text(argument.declared->dtype, argument.shape);
  return text;
}

template <class Extents>
std::string extents_text(const Extents& extents) {
  return str("[", extents[0], ", ", extents[1], ", ", extents[2], "]");
}

void add_arguments(Hasher& hasher, const std::vector<KernelArgument>& arguments) {
  hasher.add(arguments.size());
  for (const KernelArgument& argument : arguments) {
    hasher.add(argument.dtype).add(argument.shape.size());
    for (const Expression& dim : argument.shape) hasher.add(dim.text());
  }
}

}  // namespace

BoundKernel::BoundKernel(UserKernel kernel, const Dims& dims, const sched::Target& target) {
  auto state = std::make_shared<State>();
  state->kernel = std::move(kernel);
  state->target = target;
  state->dims = bind_dims(state->kernel, dims);
  for (const KernelScalar& scalar : state->kernel.scalars)
    if (const auto* value = std::get_if<Expression>(&scalar.value))
      state->scalars[scalar.name] = state->evaluate(*value);
  state->inputs = state->bind(state->kernel.inputs);
  state->outputs = state->bind(state->kernel.outputs);
  if (!state->kernel.sources.count(target.api))
    fail_input(state->kernel.file, ": has no source for ", sched::name(target.api), "; there is ",
               state->kernel.sources.size() == 2
                   ? "one for cuda and one for vulkan"
                   : sched::name(state->kernel.sources.begin()->first));
  state_ = std::move(state);
  for (const Expression* amount : {&this->kernel().flops, &this->kernel().terms})
    if (state_->evaluate(*amount) < 0) fail_input(amount->place(), ": is negative");
  if (std::string reason = space().violation(this->kernel().default_config); !reason.empty())
    fail_input(this->kernel().file, ": the default config is not legal for these dims on ",
               target.id(), ": ", reason);
}

std::optional<int64_t> BoundKernel::State::lookup(std::string_view name,
                                                  const sched::Config* config) const {
  if (config && config->has(name)) return (*config)[name];
  if (auto dim = dims.find(name); dim != dims.end()) return dim->second;
  if (auto scalar = scalars.find(name); scalar != scalars.end()) return scalar->second;
  return std::nullopt;
}

int64_t BoundKernel::State::evaluate(const Expression& expression,
                                     const sched::Config* config) const {
  return expression.evaluate([&](std::string_view name) { return lookup(name, config); });
}

std::array<int64_t, 3> BoundKernel::State::evaluate(const std::array<Expression, 3>& extents,
                                                    const sched::Config& config) const {
  return {evaluate(extents[0], &config), evaluate(extents[1], &config),
          evaluate(extents[2], &config)};
}

std::vector<BoundArgument> BoundKernel::State::bind(
    const std::vector<KernelArgument>& arguments) const {
  std::vector<BoundArgument> bound;
  for (const KernelArgument& argument : arguments) {
    BoundArgument& result = bound.emplace_back();
    result.declared = &argument;
    for (const Expression& dim : argument.shape) result.shape.push_back(evaluate(dim));
    const auto bytes = tensor_bytes(argument.dtype, result.shape);
    if (!bytes || *bytes == 0)
      fail_input(kernel.file, ": '", argument.name, "' is ",
                 type_text(argument.dtype, result.shape), ": ",
                 bytes ? "it has no elements" : "a size that no buffer has");
    result.elements = *bytes / size_bytes(argument.dtype);
  }
  return bound;
}

double BoundKernel::flops() const { return static_cast<double>(state_->evaluate(kernel().flops)); }

double BoundKernel::bytes() const {
  if (kernel().bytes) return static_cast<double>(state_->evaluate(*kernel().bytes));
  double sum = 0;
  for (const auto* arguments : {&inputs(), &outputs()})
    for (const BoundArgument& argument : *arguments)
      sum += static_cast<double>(argument.elements) * size_bytes(argument.declared->dtype);
  return sum;
}

double BoundKernel::terms() const {
  return std::max(1.0, static_cast<double>(state_->evaluate(kernel().terms)));
}

sched::ConfigSpace BoundKernel::space() const {
  sched::ConfigSpace space{kernel().parameters, {}};
  const auto state = state_;
  for (size_t i = 0; i < kernel().constraints.size(); ++i) {
    const Expression& constraint = state->kernel.constraints[i];
    space.constraints.push_back({constraint.text(), [state, i](const sched::Config& config) {
                                   return state->evaluate(state->kernel.constraints[i], &config) !=
                                          0;
                                 }});
  }
  const sched::Target& target = state->target;
  space.constraints.push_back(
      {str("workgroup of 1 to ", target.max_workgroup_size, " threads, at most ",
           kMaxWorkgroupDepth, " deep"),
       [state](const sched::Config& config) {
         const auto extents = state->evaluate(state->kernel.launch.workgroup, config);
         if (std::ranges::any_of(extents, [](int64_t extent) { return extent < 1; })) return false;
         const auto threads = checked_product(extents);
         return threads && *threads <= state->target.max_workgroup_size &&
                extents[2] <= kMaxWorkgroupDepth;
       }});
  space.constraints.push_back({str("grid within ", target.max_grid[0], " x ", target.max_grid[1],
                                   " x ", target.max_grid[2], " workgroups"),
                               [state](const sched::Config& config) {
                                 const auto extents =
                                     state->evaluate(state->kernel.launch.grid, config);
                                 for (size_t i = 0; i < 3; ++i)
                                   if (extents[i] < 1 || extents[i] > state->target.max_grid[i])
                                     return false;
                                 return true;
                               }});
  space.constraints.push_back({str("shared memory of at most ", target.shared_bytes, " bytes"),
                               [state](const sched::Config& config) {
                                 const int64_t bytes =
                                     state->evaluate(state->kernel.launch.shared, &config);
                                 return bytes >= 0 && bytes <= state->target.shared_bytes;
                               }});
  if (state->source().subgroup)
    space.constraints.push_back({str("subgroups of ", target.subgroup_size_min, " to ",
                                     target.subgroup_size_max, " invocations"),
                                 [state](const sched::Config& config) {
                                   const int64_t size =
                                       state->evaluate(*state->source().subgroup, &config);
                                   return size >= state->target.subgroup_size_min &&
                                          size <= state->target.subgroup_size_max &&
                                          (size & (size - 1)) == 0;
                                 }});
  return space;
}

std::string BoundKernel::State::defines(const sched::Config& config) const {
  std::string text;
  const auto define = [&](const std::string& name, const std::string& value) {
    text += "#define " + name + " " + value + "\n";
  };
  std::map<std::string, std::string> reals;
  for (const KernelScalar& scalar : kernel.scalars)
    if (const auto* real = std::get_if<std::string>(&scalar.value))
      reals[scalar.name] = "(" + *real + ")";
  if (const auto& own = source().defines) {
    for (const auto& [name, value] : *own) {
      const auto known = lookup(value, &config);
      const auto real = reals.find(value);
      define(name, known ? literal(*known) : real != reals.end() ? real->second : value);
    }
    return text;
  }
  for (const auto& [name, value] : dims) define(name, literal(value));
  for (const auto& [name, value] : scalars) define(name, literal(value));
  for (const auto& [name, real] : reals) define(name, real);
  for (const auto& [name, value] : config.values()) define(name, literal(value));
  return text;
}

std::string BoundKernel::source_text(const sched::Config& config) const {
  const KernelSource& source = state_->source();
  return backends::backend_for(target().api)
      .with_defines(source.text, state_->defines(config), source.file);
}

backends::KernelResources BoundKernel::State::resources(const sched::Config& config) const {
  backends::KernelResources resources;
  // Numbers of 32 bits, with or without a sign.
  const auto word = [&](const Expression& expression) {
    const int64_t value = evaluate(expression, &config);
    if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<uint32_t>::max())
      fail_input(expression.place(), ": ", value, " has more than 32 bits");
    return static_cast<uint32_t>(value);
  };
  resources.bindings = source().bindings;
  for (const Expression& value : source().push_constants)
    resources.push_constants.push_back(word(value));
  for (const auto& [id, value] : source().constants) resources.constants[id] = word(value);
  return resources;
}

// The code of a source with resources: it must be a kernel like others then.
std::vector<uint8_t> BoundKernel::with_resources(const std::vector<uint8_t>& code,
                                                 const sched::Config& config) const {
  const backends::Backend& backend = backends::backend_for(target().api);
  const auto arguments = static_cast<int>(inputs().size() + outputs().size());
  const auto refuse = [&](const std::string& reason) {
    fail_input(kernel().file, ": config ", config.to_string(), ": ", state_->source().file, ": ",
               reason);
  };
  std::vector<uint8_t> bound;
  try {
    bound = backend.with_resources(code, state_->resources(config), arguments);
  } catch (const Error& error) { refuse(error.what()); }
  if (const std::string reason = backend.violation(bound); !reason.empty()) refuse(reason);
  return bound;
}

exec::StandaloneKernel BoundKernel::compile(const sched::Config& config,
                                            const backends::CompileOptions& options) const {
  if (std::string reason = space().violation(config); !reason.empty())
    fail_input(kernel().file, ": config ", config.to_string(), ": ", reason);
  exec::StandaloneKernel binary;
  binary.entry = state_->source().entry;
  binary.source = source_text(config);
  const auto grid = state_->evaluate(kernel().launch.grid, config);
  const auto workgroup = state_->evaluate(kernel().launch.workgroup, config);
  for (size_t i = 0; i < 3; ++i) {
    binary.grid[i] = grid[i];
    binary.block[i] = static_cast<uint32_t>(workgroup[i]);
  }
  binary.workgroup = static_cast<int>(*checked_product(workgroup));
  if (!backends::backend_for(target().api).sizes_are_in_code())
    binary.shared_bytes = state_->evaluate(kernel().launch.shared, &config);
  binary.num_arguments = static_cast<int>(inputs().size() + outputs().size());
  binary.template_name = "user:" + kernel().name;
  binary.region = kernel().name;
  binary.config = config.to_string();
  binary.flops = flops();
  binary.bytes = bytes();
  const KernelSource& source = state_->source();
  if (source.subgroup)
    binary.subgroup_size = static_cast<int>(state_->evaluate(*source.subgroup, &config));
  if (options.binaries) {
    binary.code = backends::compile_source(binary.source, kernel().name, target(), options.cache,
                                           options.validate,
                                           {backends::TextOrigin::user, source.environment});
    if (source.has_resources() && !binary.code.empty())
      binary.code = with_resources(binary.code, config);
    check_workgroup(binary);
  }
  return binary;
}

// CUDA takes the file's workgroup at each launch; a Vulkan module has its own.
void BoundKernel::check_workgroup(const exec::StandaloneKernel& binary) const {
  const auto stated = backends::backend_for(target().api).workgroup_of(binary.code);
  if (!stated) return;
  const auto& compiled = *stated;
  if (!std::ranges::equal(compiled, binary.block))
    fail_input(kernel().file, ": config ", binary.config, ": launch.workgroup is ",
               extents_text(binary.block), ", but ", state_->source().file, " has a local size of ",
               extents_text(compiled));
}

std::string BoundKernel::operands_text() const {
  return list_text(inputs()) + " -> " + list_text(outputs());
}

std::string BoundKernel::family() const {
  const KernelSource& source = state_->source();
  Hasher hasher;
  hasher.add(kernel().name).add(source.text).add(source.entry);
  add_arguments(hasher, kernel().inputs);
  add_arguments(hasher, kernel().outputs);
  for (const KernelScalar& scalar : kernel().scalars) {
    const auto* integer = std::get_if<Expression>(&scalar.value);
    hasher.add(scalar.name).add(integer ? integer->text() : std::get<std::string>(scalar.value));
  }
  for (const auto* extents : {&kernel().launch.grid, &kernel().launch.workgroup})
    for (const Expression& extent : *extents) hasher.add(extent.text());
  if (source.defines)
    for (const auto& [name, value] : *source.defines) hasher.add(name).add(value);
  if (source.subgroup) hasher.add(source.subgroup->text());
  if (source.has_resources() || !source.environment.empty()) {
    hasher.add(source.environment);
    for (const int argument : source.bindings) hasher.add(argument);
    for (const Expression& value : source.push_constants) hasher.add(value.text());
    for (const auto& [id, value] : source.constants) hasher.add(id).add(value.text());
  }
  return hasher.add(kernel().launch.shared.text()).hex();
}

std::string BoundKernel::region() const {
  Hasher hasher;
  hasher.add(family());
  for (const auto& [name, value] : dims()) hasher.add(name).add(value);
  return hasher.hex();
}

}  // namespace tcc::autotune
