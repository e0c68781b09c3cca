// The fields of every type that is written, in the order of the format. A change of this file is a
// new kFormatVersion. Files of the versions from kOldestFormatVersion on are read: a field that is
// added is read by since(), and none is taken away.
#pragma once

#include <algorithm>

#include "executable/archive.h"
#include "executable/executable.h"

namespace tcc::exec {

namespace archived {

template <class T>
void tag(Writer& to, const T& value, T) {
  field(to, value);
}
template <class T>
void tag(Reader& from, T& value, T last) {
  value = static_cast<T>(from.number(0, static_cast<int64_t>(last)));
}

template <class A, class... T>
void all(A& archive, T&... values) {
  (field(archive, values), ...);
}

// Fields that the format has since `version`: what was written before lacks them, and they keep the
// values that they have.
template <class A, class... T>
void since(uint32_t version, A& archive, T&... values) {
  if constexpr (A::reads)
    if (archive.version() < version) return;
  (field(archive, values), ...);
}

template <class A>
void fields(A& a, FloatControls& x) {
  all(a, x.keep_special, x.keep_denormals, x.round_to_even);
}

// A back end is written by its name, as the numbers of added ones differ from process to process.
inline void api_field(Writer& to, Api api) { field(to, std::string(name(api))); }
inline void api_field(Reader& from, Api& api) {
  constexpr size_t kMostShown = 40;
  std::string text;
  field(from, text);
  const std::optional<Api> found = find_api(text);
  if (!found) {
    const bool is_plain =
        text.size() <= kMostShown &&
        std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
    std::string known;
    for (const std::string& one : api_names()) known += (known.empty() ? "" : ", ") + one;
    from.fail("is for the back end '", is_plain ? text : "?",
              "', which this program does not have; it has ", known);
  }
  api = *found;
}

template <class A>
void fields(A& a, MatrixUnit& x) {
  all(a, x.kind, x.m, x.n, x.k, x.n_step);
  for (DType* dtype : {&x.a, &x.b, &x.c, &x.d}) tag(a, *dtype, DType::f8e5m2);
  tag(a, x.scope, MatrixUnit::Scope::workgroup);
  all(a, x.saturating, x.lines_along_k, x.exact_sum);
}

template <class A>
void fields(A& a, Target& x) {
  api_field(a, x.api);
  all(a, x.vendor, x.device, x.arch, x.driver);
  all(a, x.subgroup_size, x.subgroup_size_min, x.subgroup_size_max, x.max_workgroup_size);
  all(a, x.max_grid, x.shared_bytes, x.max_buffer_bytes, x.push_constant_bytes, x.max_cluster);
  all(a, x.compute_units, x.clusters, x.unit_groups, x.registers_per_unit, x.fma_lanes);
  all(a, x.max_threads_per_unit, x.l2_bytes);
  all(a, x.bandwidth, x.flops_f32, x.flops_matrix);
  all(a, x.storage16, x.storage8, x.int64, x.float64, x.subgroup_shuffle, x.native_exp2);
  all(a, x.native_f16);
  all(a, x.float_controls, x.spirv_minor, x.unified_memory, x.overlapping_launches);
  all(a, x.cooperative_launches);
  std::vector<std::string> unused;  // the device sources that the back end had
  all(a, x.matrix_units, x.matrix_row_bytes, unused, x.byte_products);
  all(a, x.indexed_registers, x.serial_workgroups, x.wide_accesses, x.full_workgroup);
  all(a, x.busy_threads, x.max_loop_iterations, x.declared_shared_bytes, x.is_cpu);
  all(a, x.fixed_subgroups);
  since(10, a, x.load_registers, x.box_copies);
  since(15, a, x.matrix_conversions);
}

template <class A>
void fields(A& a, TensorMap& x) {
  all(a, x.name, x.argument);
  tag(a, x.dtype, DType::f8e5m2);
  all(a, x.offset, x.dims, x.strides, x.box, x.swizzle);
  tag(a, x.kind, TensorMap::Kind::im2col);
  all(a, x.im2col.lower, x.im2col.upper, x.im2col.channels, x.im2col.pixels, x.steps);
  since(14, a, x.clip);
}

template <class A>
void fields(A& a, Scalar& x) {
  tag(a, x.dtype, DType::f8e5m2);
  all(a, x.value);
}

template <class A>
void fields(A& a, KernelBinary& x) {
  all(a, x.workgroup, x.shared_bytes, x.flops, x.bytes, x.flop_rate, x.cooperative);
  all(a, x.entry, x.comment, x.source, x.subgroup_size, x.waits, x.argument_table, x.num_arguments,
      x.num_maps, x.environment, x.matrix_units, x.alignments);
  all(a, x.template_name, x.region, x.config, x.template_version, x.region_key, x.tier);
  all(a, x.part, x.parts);
  all(a, x.code, x.block);
}

template <class A>
void fields(A& a, StandaloneKernel& x) {
  fields(a, static_cast<KernelBinary&>(x));
  all(a, x.grid, x.scalars, x.maps, x.loop_iterations);
}

template <class A>
void fields(A& a, Workspace& x) {
  all(a, x.name);
  tag(a, x.dtype, DType::f8e5m2);
  all(a, x.elements, x.zeroed);
}

template <class A>
void fields(A& a, StandaloneSequence::Launch& x) {
  all(a, x.kernel, x.buffers);
  if constexpr (A::reads)
    if (a.version() < 13) {
      x.times = a.number(INT32_MIN, INT32_MAX);  // no expression then
      return;
    }
  all(a, x.times);
}

template <class A>
void fields(A& a, StandaloneSequence& x) {
  all(a, x.arguments, x.launches, x.workspaces);
}

template <class A>
void fields(A& a, BufferInfo& x) {
  tag(a, x.kind, BufferInfo::Kind::workspace);
  all(a, x.name);
  tag(a, x.dtype, DType::f8e5m2);
  all(a, x.shape, x.strides, x.bytes, x.offset, x.alias);
}

template <class A>
void fields(A& a, Address& x) {
  all(a, x.buffer, x.offset);
}

// The alternative's number, then its fields. Steps have ReadSize since version 17.
template <class A, class... T>
void fields(A& a, std::variant<T...>& x) {
  if constexpr (A::reads) {
    const auto kind = static_cast<size_t>(a.number(0, sizeof...(T) - 1));
    size_t at = 0;
    ((at++ == kind ? field(a, x.template emplace<T>()) : void()), ...);
  } else {
    a.number(static_cast<int64_t>(x.index()));
    std::visit([&](auto& value) { field(a, value); }, x);
  }
}

template <class A>
void fields(A& a, SizeBounds& x) {
  all(a, x.number, x.least, x.most);
}

template <class A>
void fields(A& a, SizeTable& x) {
  if constexpr (A::reads) {
    if (a.version() < 13) {  // one condition a choice
      std::vector<SizeCondition> conditions;
      all(a, conditions);
      for (SizeCondition& condition : conditions) x.conditions.push_back({std::move(condition)});
      return;
    }
  }
  all(a, x.conditions);
}

template <class A>
void fields(A& a, Chosen& x) {
  all(a, x.table, x.choice);
}

template <class A>
void fields(A& a, KernelLaunch& x) {
  all(a, x.kernel, x.grid, x.arguments, x.maps, x.loop_iterations, x.layers);
  since(12, a, x.chosen);
  since(13, a, x.times);
  since(14, a, x.flops.factor, x.flops.count, x.bytes.factor, x.bytes.count);
}

template <class A>
void fields(A& a, Copy& x) {
  all(a, x.to, x.from, x.bytes);
}

template <class A>
void fields(A& a, Fill& x) {
  all(a, x.to, x.bytes, x.value);
  since(12, a, x.chosen);
}

template <class A>
void fields(A& a, HostCall& x) {
  all(a, x.function, x.reads, x.writes);
}

template <class A>
void fields(A& a, ReadSize& x) {
  all(a, x.dim, x.from, x.most);
}

template <class A>
void fields(A& a, ConstantInfo& x) {
  all(a, x.name, x.bytes, x.is_mutable);
}

template <class A>
void fields(A& a, StateInfo& x) {
  all(a, x.buffer, x.initial);
  since(11, a, x.axis, x.dim, x.added);
}

template <class A>
void fields(A& a, OpenDim& x) {
  all(a, x.name, x.range.least, x.range.most, x.range.multiple);
}

template <class A>
void fields(A& a, EqualDim& x) {
  all(a, x.name, x.value);
}

// A variant's executable has none of its own.
template <class A>
void fields_but_variants(A& a, Executable& x) {
  all(a, x.name, x.target, x.dims, x.kernels, x.steps, x.buffers, x.inputs, x.outputs, x.states);
  all(a, x.constants, x.arena_bytes, x.live_bytes_peak);
  since(12, a, x.tables);
  since(16, a, x.equal_dims);
  if constexpr (A::reads)
    if (a.version() < 14)  // as at usual sizes
      for (Step& step : x.steps)
        if (auto* launch = std::get_if<KernelLaunch>(&step);
            launch && launch->kernel >= 0 && launch->kernel < std::ssize(x.kernels)) {
          const KernelBinary& kernel = x.kernels[static_cast<size_t>(launch->kernel)];
          launch->flops = kernel.flops;
          launch->bytes = kernel.bytes;
        }
}

template <class A>
void fields(A& a, Variant& x) {
  if constexpr (A::reads) {
    const size_t count = a.count(kMostItems);
    for (size_t i = 0; i < count; ++i) {
      std::string name;
      field(a, name);
      field(a, x.sizes[name]);
    }
  } else {
    a.number(std::ssize(x.sizes));
    for (auto& [name, size] : x.sizes) {
      field(a, name);
      field(a, size);
    }
  }
  fields_but_variants(a, x.executable);
}

template <class A>
void fields(A& a, Executable& x) {
  fields_but_variants(a, x);
  all(a, x.variants);
}

}  // namespace archived

template <class A, class T>
void fields(A& archive, T& value) {
  archived::fields(archive, value);
}

}  // namespace tcc::exec
