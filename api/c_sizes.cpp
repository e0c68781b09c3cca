// The C ABI's functions for sizes that come at run time.
#include "api/c_handles.h"

namespace tcc::c {
namespace {

std::map<std::string, std::int64_t> named_sizes(const char* const* names, const int64_t* sizes,
                                                size_t count) {
  const auto all = span_of(names, count, "names");
  const auto numbers = span_of(sizes, count, "sizes");
  std::map<std::string, std::int64_t> dims;
  for (size_t i = 0; i < count; ++i) dims[&given(all[i], "a name in names")] = numbers[i];
  return dims;
}

}  // namespace
}  // namespace tcc::c

using namespace tcc::c;  // NOLINT: what follows is the ABI

tcc_status tcc_context_set_shapes(tcc_context* context, const int64_t* const* shapes,
                                  const size_t* ranks, size_t num_inputs) noexcept {
  return guard([&] {
    tcc_context& c = given(context, "context");
    const auto all = span_of(shapes, num_inputs, "shapes");
    const auto lengths = span_of(ranks, num_inputs, "ranks");
    c.shapes.clear();
    for (size_t i = 0; i < all.size(); ++i)
      c.shapes.push_back(span_of(all[i], lengths[i], "a shape in shapes"));
    c.context.set_shapes(c.shapes);
  });
}

tcc_status tcc_context_set_dims(tcc_context* context, const char* const* names,
                                const int64_t* sizes, size_t num_dims) noexcept {
  return guard(
      [&] { given(context, "context").context.set_dims(named_sizes(names, sizes, num_dims)); });
}

tcc_status tcc_context_reserve_dims(tcc_context* context, const char* const* names,
                                    const int64_t* sizes, size_t num_dims) noexcept {
  return guard(
      [&] { given(context, "context").context.reserve_dims(named_sizes(names, sizes, num_dims)); });
}

tcc_status tcc_context_input(tcc_context* context, size_t index, tcc_tensor_info* info) noexcept {
  return guard([&] {
    tcc_context& c = given(context, "context");
    c.specs = specs_of(c.context.inputs());
    describe(c.specs, index, info);
  });
}

tcc_status tcc_context_output(tcc_context* context, size_t index, tcc_tensor_info* info) noexcept {
  return guard([&] {
    tcc_context& c = given(context, "context");
    c.specs = specs_of(c.context.outputs());
    describe(c.specs, index, info);
  });
}

tcc_status tcc_context_largest_output(tcc_context* context, size_t index,
                                      tcc_tensor_info* info) noexcept {
  return guard([&] {
    tcc_context& c = given(context, "context");
    c.specs = specs_of(c.context.largest_outputs());
    describe(c.specs, index, info);
  });
}

tcc_status tcc_context_state(tcc_context* context, size_t index, tcc_tensor_info* info) noexcept {
  return guard([&] {
    tcc_context& c = given(context, "context");
    c.specs = specs_of(c.context.states());
    describe(c.specs, index, info);
  });
}
