#include "tests/fuzz/random_attention.h"

#include <string>
#include <utility>
#include <vector>

#include "frontend/graph_file.h"
#include "support/error.h"
#include "tests/fuzz/random_source.h"

namespace tcc::test {
namespace {

class Attention {
 public:
  explicit Attention(uint64_t seed) : random_(seed) {
    batch_ = random_.between(1, 2);
    shared_ = random_.between(1, 2);
    group_ = random_.one_of(std::vector<int64_t>{1, 1, 2, 3});
    queries_ = random_.one_of(std::vector<int64_t>{1, 2, 5, 16, 33, 70});
    keys_ = random_.one_of(std::vector<int64_t>{2, 3, 8, 17, 32, 64, 65, 200, 700});
    depth_ = random_.one_of(std::vector<int64_t>{1, 3, 8, 20, 32, 64, 72, 128});
    depth_v_ = random_.chance(70) ? depth_ : random_.between(1, 40);
    dtype_ = random_.one_of({"f32", "f32", "f16", "bf16"});
  }

  ir::Graph make() {
    input("q", dtype_, {batch_, shared_ * group_, queries_, depth_});
    input("k", dtype_, {batch_, shared_, keys_, depth_});
    input("v", dtype_, {batch_, shared_, keys_, depth_v_});
    for (const char* name : {"k", "v"})
      node(str(name, "r"), "repeat_interleave", name, str(", repeats: ", group_, ", dim: 1"));
    node("kt", "transpose", "kr", ", dim0: -1, dim1: -2");
    node("s", "matmul", "q, kt");
    node("s0", "mul", str("s, ", random_.one_of({"0.2", "1.0", "-0.5"})));
    at_ = "s0";
    for (int64_t ops = random_.between(0, 3); ops > 0; --ops) score_op();
    node("p", "softmax", at_, ", dim: -1");
    node("w", "cast", "p", ", dtype: " + dtype_);  // a bias may have widened it
    node("a", "matmul", "w, vr");
    at_ = "a";
    if (random_.chance(40)) result_op();
    return parse_yaml_graph("tcc: 1\nname: attention\ninputs:\n" + inputs_ + "nodes:\n" + nodes_ +
                                "outputs: [" + at_ + "]\n",
                            "attention.yaml", ".");
  }

 private:
  void input(const std::string& name, const std::string& dtype, std::vector<int64_t> shape,
             const std::string& more = "") {
    std::string dims;
    for (const int64_t dim : shape) dims += str(dims.empty() ? "" : ", ", dim);
    inputs_ += str("  ", name, ": {dtype: ", dtype, ", shape: [", dims, "]", more, "}\n");
  }
  void node(const std::string& out, std::string_view op, std::string_view in,
            const std::string& attrs = "") {
    nodes_ += str("  - {out: ", out, ", op: ", op, ", in: [", in, "]", attrs, "}\n");
  }
  std::string fresh(const std::string& stem) { return str(stem, ++count_); }

  void numbers() {
    if (has_numbers_) return;
    has_numbers_ = true;
    for (const auto& [name, size] : {std::pair{"j", keys_}, {"i0", queries_}})
      nodes_ += str("  - {out: ", name, ", op: arange, start: 0, end: ", size,
                    ", step: 1, dtype: i32}\n");
    node("i", "unsqueeze", "i0", ", dim: 1");
  }

  std::string condition() {
    numbers();
    const std::string at = fresh("i"), c = fresh("c");
    node(at, "add", str("i, ", random_.between(0, keys_)));
    node(c, random_.one_of({"le", "lt", "ge", "ne"}), random_.chance(50) ? "j, " + at : at + ", j");
    return c;
  }

  void score_op() {
    const std::string out = fresh("x");
    switch (random_.between(0, 5)) {
      case 0: {
        const std::string t = fresh("t");
        node(t, "tanh", at_);
        node(out, "mul", t + ", 3.0");
        break;
      }
      case 1: {
        const std::string b = fresh("b");
        input(b, random_.chance(50) ? "f32" : dtype_,
              {random_.chance(50) ? 1 : batch_, 1, random_.chance(50) ? 1 : queries_, keys_});
        node(out, "add", at_ + ", " + b);
        break;
      }
      case 2: {
        const std::string m = fresh("m");
        input(m, "bool", {random_.chance(50) ? 1 : queries_, keys_});
        node(out, "where", str(m, ", ", at_, ", -20.0"));
        break;
      }
      case 3: {
        std::string c = condition();
        if (random_.chance(50)) {
          const std::string d = condition(), both = fresh("c");
          node(both, random_.one_of({"logical_and", "logical_or"}), c + ", " + d);
          c = both;
        }
        node(out, "where", str(c, ", ", at_, ", ", random_.one_of({"-.inf", "-30.0"})));
        break;
      }
      case 4: {
        const std::string n = fresh("n"), c = fresh("c");
        numbers();
        input(n, "i32", {batch_, 1, 1, 1}, str(", range: [1, ", keys_ + 1, "]"));
        node(c, "lt", "j, " + n);
        node(out, "where", str(c, ", ", at_, ", -.inf"));
        break;
      }
      default: node(out, "div", at_ + ", 1.5");
    }
    at_ = out;
  }

  void result_op() {
    node("y0", "permute", at_, ", dims: [0, 2, 1, 3]");
    node("y1", "reshape", "y0",
         str(", shape: [", batch_, ", ", queries_, ", ", shared_ * group_ * depth_v_, "]"));
    at_ = "y1";
    if (random_.chance(50)) {
      node("y2", random_.one_of({"relu", "square", "neg"}), at_);
      at_ = "y2";
    }
  }

  RandomSource random_;
  int64_t batch_, shared_, group_, queries_, keys_, depth_, depth_v_;
  std::string dtype_, inputs_, nodes_, at_;
  int count_ = 0;
  bool has_numbers_ = false;
};

}  // namespace

ir::Graph random_attention(uint64_t seed) { return Attention(seed).make(); }

}  // namespace tcc::test
