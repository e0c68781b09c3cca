// Random graphs of attention: sizes, types, masks, packed sequences, pages, dropout; sizes that
// come at run time.
#pragma once

#include <map>
#include <random>
#include <string>

#include "tests/random_products.h"
#include "tests/unit/attention_cases.h"

namespace tcc::test {

class AttentionDraw {
 public:
  explicit AttentionDraw(uint64_t seed) : name_(str("seed_", seed)), random_(seed) {}

  // Some of the batch B, the queries Q and the keys K are open.
  AttentionCase draw_open(const std::string& dtype = "") {
    is_open_ = true;
    return draw(dtype);
  }

  // It has any type, unless one is given.
  AttentionCase draw(const std::string& dtype = "") {
    dtype_ = one_of({"f32", "f16", "bf16"});
    if (!dtype.empty()) dtype_ = dtype;
    const int64_t kind = number(0, 5);
    AttentionCase drawn = kind == 0 ? packed() : kind == 1 ? paged() : batched();
    drawn.name = name_;
    drawn.dims = dims_;
    return drawn;
  }

 private:
  int64_t number(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  bool chance(int64_t percent) { return number(1, 100) <= percent; }
  std::string one_of(const std::vector<std::string>& texts) {
    return texts[static_cast<size_t>(number(0, static_cast<int64_t>(texts.size()) - 1))];
  }
  template <class... Shape>
  static std::string input(const std::string& name, const std::string& dtype,
                           const std::string& range, const Shape&... dims) {
    std::string shape;
    ((shape += str(shape.empty() ? "" : ", ", dims)), ...);
    return str("  ", name, ": {dtype: ", dtype, ", shape: [", shape, "]",
               range.empty() ? "" : ", range: [" + range + "]", "}\n");
  }

  // Sizes of a batch of heads: few queries as often as many.
  AttentionSizes sizes() {
    AttentionSizes s;
    s.batch = number(1, 3);
    s.shared = number(1, 3);
    s.heads = s.shared * (chance(50) ? 1 : number(2, 4));
    s.queries = chance(30) ? number(1, 6) : number(7, 90);
    s.keys = chance(10) ? number(1, 9) : number(10, 180);
    s.depth = number(1, 72);
    s.depth_v = chance(50) ? s.depth : number(1, 72);
    if (chance(60)) s.depth = ceil_to_8(s.depth), s.depth_v = ceil_to_8(s.depth_v);
    if (!is_open_) return s;
    const int64_t which = number(1, 7);
    const auto leave_open = [&](Extent& size, const char* symbol) {
      size.symbol = symbol;
      dims_ += str(dims_.empty() ? "" : ", ", symbol, ": ", size.number);
    };
    if (which & 1) leave_open(s.keys, "K");
    if (which & 2) leave_open(s.queries, "Q");
    if (which & 4) leave_open(s.batch, "B");
    return s;
  }
  static int64_t ceil_to_8(int64_t n) { return (n + 7) / 8 * 8; }

  // A condition of "i" and "j" as nodes that make a value of the returned name. Conditions of
  // conditions are at most `deep`.
  std::string condition(const AttentionSizes& s, int64_t deep, std::string& inputs,
                        std::string& nodes) {
    const std::string made = str("c", conditions_++);
    const auto node = [&](const std::string& op, const std::string& a, const std::string& b = "") {
      nodes +=
          str("  - {out: ", made, ", op: ", op, ", in: [", a, b.empty() ? "" : ", ", b, "]}\n");
      return made;
    };
    if (deep > 0 && chance(60)) {
      const std::string a = condition(s, deep - 1, inputs, nodes);
      if (chance(20)) return node("logical_not", a);
      return node(one_of({"logical_and", "logical_and", "logical_or"}), a,
                  condition(s, deep - 1, inputs, nodes));
    }
    const auto tensor = [&](const std::string& dtype, const std::string& range, const Extent& b,
                            int64_t h, const Extent& q, const Extent& k) {
      inputs += input(made + "x", dtype, range, b, h, q, k);
      return made + "x";
    };
    const auto shifted = [&](const std::string& of) {
      nodes += str("  - {out: ", made, "y, op: add, in: [", of, ", ", number(-20, 60), "]}\n");
      return made + "y";
    };
    const std::string compare = one_of({"lt", "le", "gt", "ge", "eq"});
    const std::string order = one_of({"lt", "le", "gt", "ge"});
    const Extent of_batch = chance(60) ? s.batch : Extent(1);
    const int64_t of_heads = chance(30) ? s.heads : 1;
    const std::string far = str("-4, ", s.keys + 4);
    switch (number(0, 5)) {
      case 0: return node(order, "j", shifted("i"));
      case 1: return node(order, "j", str(number(-3, s.keys + 3)));
      case 2: return node(order, "j", tensor("i32", far, of_batch, of_heads, 1, 1));
      case 3: return node(compare, "j", tensor("i32", far, of_batch, of_heads, s.queries, 1));
      case 4: return node("le", "j", shifted(tensor("i32", far, of_batch, 1, s.queries, 1)));
      default:
        return tensor("bool", "", of_batch, of_heads, chance(50) ? Extent(1) : s.queries,
                      chance(50) ? Extent(1) : s.keys);
    }
  }

  AttentionCase batched() {
    const AttentionSizes s = sizes();
    std::string inputs = attention_inputs(s, dtype_), nodes = numbers(s, "i32");
    std::string mask = "null", lengths = "null", state = "null", attrs = ", safe_softmax: true";
    if (s.heads != s.shared) attrs += ", enable_gqa: true";
    if (chance(30)) {
      attrs += ", is_causal: true";
    } else if (chance(70)) {
      mask = condition(s, 2, inputs, nodes);
    } else if (chance(60)) {
      inputs += input("bias", dtype_, "", s.heads, s.queries, s.keys);
      mask = "bias";
    }
    if (chance(25)) {
      inputs += input("n", chance(50) ? "i32" : "i64", str("0, ", s.keys + 3), s.batch);
      lengths = "n";
    }
    if (chance(25)) {
      attrs += str(", dropout_p: 0.", number(1, 9), ", seed: ", number(-9, 99),
                   ", offset: ", number(0, 99));
      if (chance(50)) {
        inputs += input("r", "i64", "-5, 100000", 2);
        state = "r";
      }
    }
    const std::string query = chance(25) ? "q1" : "q";
    if (query != "q")
      nodes += str("  - {out: q1, op: ", one_of({"neg", "square", "sigmoid"}), ", in: [q]}\n");
    nodes += str("  - {out: [a, l], op: scaled_dot_product_attention, in: [", query, ", k, v, ",
                 mask, ", ", lengths, ", ", state, "]", attrs, "}\n");
    return {"", inputs, nodes, chance(50) ? "[a, l]" : "[a]"};
  }

  AttentionCase packed() {
    const AttentionSizes s = sizes();
    const int64_t sequences = number(1, 6);
    const bool apart = chance(50);
    const Extent keys = apart ? s.keys : s.queries;
    std::string inputs = input("q", dtype_, "", s.queries, s.heads, s.depth) +
                         input("k", dtype_, "", keys, s.shared, s.depth) +
                         input("v", dtype_, "", keys, s.shared, s.depth_v);
    std::string nodes, starts;
    for (const std::string of : {"q", "k"}) {
      if (of == "k" && !apart) break;
      inputs += input(of + "n", "i32", str("0, ", (of == "k" ? keys : s.queries) / sequences + 3),
                      sequences);
      nodes += str("  - {out: ", of,
                   "z, op: full, size: [1], fill_value: 0, dtype: i32}\n  - {out: ", of,
                   "c, op: cumsum, in: [", of, "n], dim: 0}\n  - {out: ", of, "s, op: cat, in: [",
                   of, "z, ", of, "c], dim: 0}\n");
      starts += str(", ", of, "s");
    }
    nodes += str("  - {out: [a, l], op: packed_attention, in: [q, k, v", starts, "]",
                 chance(50) ? ", is_causal: true" : "", "}\n");
    return {"", inputs, nodes, chance(50) ? "[a, l]" : "[a]"};
  }

  AttentionCase paged() {
    const AttentionSizes s = sizes();
    const int64_t page = chance(50) ? 16 : number(1, 20), of_sequence = number(1, 160 / page + 1),
                  pages = chance(30) ? number(50, 300) : number(1, 12);
    return {
        "",
        input("q", dtype_, "", s.batch, s.heads, s.queries, s.depth) +
            input("k", dtype_, "", pages, page, s.shared, s.depth) +
            input("v", dtype_, "", pages, page, s.shared, s.depth_v) +
            input("t", chance(50) ? "i32" : "i64", str("-3, ", pages + 3), s.batch, of_sequence) +
            input("n", "i32", str("0, ", of_sequence * page), s.batch),
        str("  - {out: [a, l], op: paged_attention, in: [q, k, v, t, n]",
            chance(60) ? ", is_causal: true" : "", "}\n"),
        chance(50) ? "[a, l]" : "[a]"};
  }

  std::string name_, dtype_, dims_;
  bool is_open_ = false;
  std::mt19937_64 random_;
  int conditions_ = 0;
};

// Random graphs with default and random configs, those of f32 also where matrix units may read it
// as tf32. TCC_ATTENTION_SEED and TCC_ATTENTION_COUNT choose others and more.
inline void check_random_attention(Devices of, int64_t count) {
  const auto first = static_cast<uint64_t>(number_from("TCC_ATTENTION_SEED", 1));
  count = draws("TCC_ATTENTION_COUNT", count);
  for (uint64_t seed = first; seed < first + static_cast<uint64_t>(count); ++seed) {
    const AttentionCase c = AttentionDraw(seed).draw();
    const ir::Graph graph = attention_graph(c);
    const std::vector<Tensor> inputs = draw_inputs(graph, {});
    const RandomConfigs configs(seed);
    using Precision = backends::MatmulPrecision;
    std::vector<Precision> precisions = {Precision::highest};
    if (of == Devices::gpu && c.inputs.find("f32") != c.inputs.npos)
      precisions.push_back(Precision::high);
    for (const std::string& device : devices_present(of))
      for (const sched::ConfigSource* source :
           std::initializer_list<const sched::ConfigSource*>{nullptr, &configs})
        for (const Precision precision : precisions) {
          backends::CompileOptions options;
          options.configs = source;
          options.matmul_precision = precision;
          EXPECT_EQ(difference(graph, device, inputs, options), "")
              << device << " seed " << seed << (source ? " random config" : "")
              << (precision == Precision::high ? " tf32" : "") << "\n"
              << c.inputs << c.nodes;
        }
  }
}

// The types of operands that are drawn, any where there is none, and the precision of their
// products.
struct DrawnTypes {
  std::string dtype = "";
  bool tf32 = false;
};

// One executable of a graph with open dims at sizes of 0, 1, and around those of tiles, with the
// default or a random config.
inline void check_open_attention(const std::shared_ptr<runtime::Device>& device,
                                 const sched::Target& target, uint64_t seed,
                                 const DrawnTypes& types, const Look& look = {}) {
  const AttentionCase c = AttentionDraw(seed).draw_open(types.dtype);
  std::mt19937_64 random(seed);
  // Estimates choose among the kernels of a region, and would leave out those that split few keys.
  const RandomConfigs configs(seed, seed % 3 == 1
                                        ? std::map<std::string, int64_t>{{"split_keys", 4}}
                                        : std::map<std::string, int64_t>{});
  backends::CompileOptions options;
  if (seed % 3 != 0) options.configs = &configs;
  if (types.tf32) options.matmul_precision = backends::MatmulPrecision::high;
  options.validate = true;
  const int64_t multiple = pick(random, {1, 1, 1, 8});
  std::map<std::string, int64_t> most;
  for (const char* dim : {"B", "Q", "K"})
    if (c.dims.find(dim) != c.dims.npos) most[dim] = *dim == 'B' ? 8 : pick(random, {304, 4096});
  for (const auto& [dim, end] : most)
    options.open_dims[dim] = {
        .least = 0, .most = end, .multiple = *dim.data() == 'B' ? 1 : multiple};
  const ir::Graph graph = attention_graph(c);
  const bool is_of_keys = c.inputs.find("K,") != c.inputs.npos;
  std::string said = str("seed ", seed, "\n", c.inputs, c.nodes);
  try {
    exec::Executable executable = backends::compile(graph, target, options);
    if (look) look(executable);
    for (const exec::KernelBinary& kernel : executable.kernels)
      said += str(kernel.template_name, " ", kernel.config, "; ");
    const auto program = std::make_shared<const runtime::Program>(device, std::move(executable));
    for (int run = 0; run < 4; ++run) {
      std::map<std::string, int64_t, std::less<>> sizes;
      for (const auto& [dim, end] : most)
        sizes[dim] = dim == "B"
                         ? pick(random, {0, 1, 2, 3, 5})
                         : pick(random, {0, 1, 2, 7, 16, 17, 31, 61, 64, 65, 127, 128, 129, 300}) /
                               multiple * multiple;
      std::string at;
      for (const auto& [dim, size] : sizes) at += str(dim, " = ", size, ", ");
      SCOPED_TRACE(at + said);
      const ir::Graph bound = graph.bind(sizes);
      const std::vector<Tensor> inputs = draw_inputs(bound, {.seed = seed});
      runtime::Context context(program, nullptr, sizes);
      const std::vector<Tensor> outputs = context.run(inputs);
      if (outputs[0].numel() == 0) continue;
      if (const auto keys = sizes.find("K");
          keys != sizes.end() && keys->second == 0 && is_of_keys) {
        // A maximum of nothing has no reference, and the result is a sum of nothing.
        for (int64_t i = 0; i < outputs[0].numel(); ++i) ASSERT_EQ(outputs[0].get(i), 0) << i;
        continue;
      }
      EXPECT_EQ(
          compare_with_reference(bound, inputs, outputs, {.tf32 = types.tf32, .progress = {}}), "");
    }
  } catch (const std::exception& error) {
    ADD_FAILURE() << "throws: " << error.what() << "\n" << said;
  }
}

// Some kernels are of each of these templates, and some share the keys of a query.
inline void check_random_open_attention(const std::shared_ptr<runtime::Device>& device,
                                        const sched::Target& target, int64_t count,
                                        const std::vector<std::string>& templates,
                                        const DrawnTypes& types = {}) {
  std::map<std::string, int64_t> used;
  int64_t split = 0;
  // The keys of the first are split.
  const auto first = static_cast<uint64_t>(number_from("TCC_ATTENTION_SEED", 7));
  count = draws("TCC_ATTENTION_COUNT", count);
  for (uint64_t seed = first; seed < first + static_cast<uint64_t>(count); ++seed)
    check_open_attention(device, target, seed, types, [&](const exec::Executable& executable) {
      for (const exec::KernelBinary& kernel : executable.kernels) {
        ++used[kernel.template_name];
        const size_t at = kernel.config.find("split_keys=");
        split += at != kernel.config.npos && kernel.config.substr(at + 11, 2) != "1 " &&
                 kernel.config.substr(at + 11) != "1";
      }
    });
  for (const std::string& name : templates) EXPECT_GT(used[name], 0) << name;
  EXPECT_GT(split, 0) << "no keys are split";
}

}  // namespace tcc::test
