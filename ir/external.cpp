#include "ir/external.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "ir/op.h"
#include "ir/suggest.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, ExternalFunctionPtr, std::less<>> functions;
};

Registry& registry() {
  static Registry* const instance = new Registry;  // functions may be called until the very end
  return *instance;
}

bool is_name(std::string_view name) {
  constexpr size_t kMost = 256;
  return !name.empty() && name.size() <= kMost &&
         std::ranges::all_of(name, [](char c) { return c > ' ' && c < '\x7f' && c != '"'; });
}

}  // namespace

void register_external(ExternalFunction function) {
  if (!is_name(function.name))
    fail_input("a host's function needs a name of at most 256 printable characters without spaces");
  if (!function.results || (!function.run && !function.run_on_device))
    fail_input("the host's function '", function.name, "' lacks ",
               function.results ? "what it runs" : "the types of its results");
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const std::string name = function.name;
  const auto entry = std::make_shared<const ExternalFunction>(std::move(function));
  if (!all.functions.emplace(name, entry).second)
    fail_input("the host's function '", name, "' is registered already");
}

ExternalFunctionPtr external_function(std::string_view name) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (const auto found = all.functions.find(name); found != all.functions.end())
    return found->second;
  std::vector<std::string> names;
  for (const auto& [known, function] : all.functions) names.push_back(known);
  fail_input("the host's function '", name, "' is not registered", did_you_mean(name, names),
             ": register it before the graph is loaded");
}

namespace {

std::string begin_of_message(const ExternalFunction& function) {
  return str("the host's function '", function.name, "': ");
}

// An exception of the user's code becomes an Error that names the function.
template <class Call>
void run_named(const ExternalFunction& function, const Call& call) {
  const std::string who = begin_of_message(function);
  try {
    call();
  } catch (const Error& error) {
    throw Error(error.kind(), who + error.what());
  } catch (const std::bad_alloc&) { throw; } catch (const std::exception& error) {
    fail_input(who, error.what());
  } catch (...) { fail_input(who, "it threw an exception of an unknown type"); }
}

}  // namespace

void call_external(const ExternalFunction& function, std::span<const Tensor> operands,
                   std::span<Tensor> results) {
  const std::string who = begin_of_message(function);
  if (!function.run) fail_input(who, "it runs on device memory alone, as `run` is missing");
  std::vector<std::pair<DType, std::vector<int64_t>>> types;
  for (const Tensor& result : results) types.emplace_back(result.dtype(), result.shape());
  run_named(function, [&] { function.run(operands, results); });
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].dtype() != types[i].first || results[i].shape() != types[i].second)
      fail_input(who, "it changed the type of its result ", i, " from ",
                 type_text(types[i].first, types[i].second), " to ",
                 type_text(results[i].dtype(), results[i].shape()));
}

void call_external(const ExternalFunction& function, std::span<const DeviceValue> operands,
                   std::span<const DeviceValue> results, void* stream) {
  run_named(function, [&] { function.run_on_device(operands, results, stream); });
}

bool has_effects(const Node& node) {
  if (node.op->most_counted)  // shapes have the dim, unless it is a number
    return !node.attr<std::vector<SymInt>>("size")[0].is_const();
  return node.op->kind == OpKind::external &&
         external_function(node.attr<std::string>("function"))->has_effects;
}

}  // namespace tcc::ir
