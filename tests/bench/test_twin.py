"""Graphs as PyTorch functions, the rule of results, and buffers; on the CPU."""

import json
import os
import pathlib
import struct
import tempfile
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("no PyTorch")

from bench.against_torch import buffers, check, constants, contest, peers, twin
from bench.against_torch.cases import Case
from bench.against_torch.graph import Graph, Node, Tensor
from bench.against_torch.c_api import Library

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(nodes, *inputs, outputs=("y",), wide=False):
    names = [f"x{i}" for i in range(len(inputs))]
    graph = Graph(
        "test", [Tensor(n, "f32", list(x.shape)) for n, x in zip(names, inputs)], nodes, list(outputs)
    )
    found = twin.function(graph, wide, "cpu")(*inputs)
    return found[0] if len(outputs) == 1 else found


class TwinTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.x, self.y = torch.randn(4, 6), torch.randn(4, 6)

    def assert_equal(self, found, expected):
        torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)

    def test_ops_by_name_and_by_operator(self):
        found = run([Node(["a"], "sub", [1.0, "x0"], {}), Node(["y"], "softmax", ["a"], {"dim": -1})], self.x)
        self.assert_equal(found, torch.softmax(1.0 - self.x, -1))

    def test_integer_products(self):
        for rows in (5, 32):
            x, w = (torch.randint(-128, 128, shape, dtype=torch.int8) for shape in ((rows, 16), (24, 16)))
            node = Node(["y"], "linear", ["x0", "x1"], {"out_dtype": "i32"})
            self.assert_equal(run([node], x, w), x.int() @ w.int().t())
            node = Node(["y"], "matmul", ["x0", "x1"], {"out_dtype": "i32"})
            self.assert_equal(run([node], x, w.t()), x.int() @ w.int().t())

    def test_products_of_f8(self):
        x, w = (torch.randn(shape).to(torch.float8_e4m3fn) for shape in ((32, 16), (48, 16)))
        node = Node(["y"], "linear", ["x0", "x1"], {"out_dtype": "bf16"})
        self.assert_equal(run([node], x, w), (x.float() @ w.float().t()).bfloat16())
        self.assert_equal(run([node], x.double(), w.double(), wide=True), x.double() @ w.double().t())
        node = Node(["y"], "matmul", ["x0", "x1"], {"out_dtype": "f32"})
        torch.testing.assert_close(run([node], x, w.t()), x.float() @ w.float().t())

    def test_attributes_between_operands(self):
        bias = torch.randn(6)
        node = Node(["y"], "layer_norm", ["x0", None, "x1"], {"normalized_shape": [6]})
        self.assert_equal(run([node], self.x, bias), torch.nn.functional.layer_norm(self.x, [6], None, bias))
        images, weight = torch.randn(2, 6, 3, 3), torch.randn(6)
        node = Node(["y"], "instance_norm", ["x0", "x1", "x2"], {"eps": 1e-3})
        expected = torch.nn.functional.instance_norm(images, weight=weight, bias=bias, eps=1e-3)
        self.assert_equal(run([node], images, weight, bias), expected)
        index = torch.randint(0, 6, (4, 2))
        node = Node(["y"], "gather", ["x0", "x1"], {"dim": 1})
        self.assert_equal(run([node], self.x, index), self.x.gather(1, index))

    def test_views_and_lists(self):
        self.assert_equal(
            run([Node(["y"], "slice", ["x0"], {"dim": 1, "start": 1, "step": 2})], self.x), self.x[:, 1::2]
        )
        self.assert_equal(
            run([Node(["y"], "cat", ["x0", "x1"], {"dim": 1})], self.x, self.y),
            torch.cat([self.x, self.y], 1),
        )
        self.assert_equal(
            run([Node(["y"], "expand", ["x0"], {"size": [3, 4, 6]})], self.x), self.x.expand(3, 4, 6)
        )
        halves = run([Node(["y", "z"], "chunk", ["x0"], {"chunks": 2, "dim": 1})], self.x, outputs=("y", "z"))
        self.assert_equal(halves[1], self.x[:, 3:])

    def test_several_results_and_the_first_alone(self):
        self.assert_equal(run([Node(["y"], "max", ["x0"], {"dim": 1})], self.x), self.x.amax(1))
        self.assert_equal(run([Node(["v", "y"], "max", ["x0"], {"dim": 1})], self.x), self.x.argmax(1))

    def test_embedding_takes_both_orders(self):
        rows = torch.tensor([3, 0])
        for inputs in ((self.x, rows), (rows, self.x)):
            self.assert_equal(run([Node(["y"], "embedding", ["x0", "x1"], {})], *inputs), self.x[[3, 0]])

    def test_wide_keeps_everything_in_f64(self):
        nodes = [Node(["a"], "cast", ["x0"], {"dtype": "bf16"}), Node(["y"], "to", ["a"], {"dtype": "f32"})]
        x = self.x.double()
        self.assert_equal(run(nodes, x, wide=True), x)
        self.assertFalse(torch.equal(run(nodes, self.x), self.x))

    def test_names_that_python_has_no_room_for(self):
        nodes = [
            Node(["a.b"], "relu", ["x0"], {}),
            Node(["a_b"], "neg", ["x0"], {}),
            Node(["in"], "add", ["a.b", "a_b"], {}),
        ]
        self.assert_equal(run(nodes, self.x, outputs=("in",)), self.x.relu() - self.x)

    def test_infinities(self):
        node = Node(["y"], "clamp", ["x0"], {"min": 0.0, "max": float("inf")})
        self.assert_equal(run([node], self.x), self.x.clamp(min=0))

    def test_refusals(self):
        for node in (
            Node(["y"], "rand", [], {"size": [2]}),
            Node(["y"], "no_such_op", ["x0"], {}),
            Node(["y"], "maximum", ["x0", 1.0], {}),
        ):
            with self.assertRaises(ValueError):
                run([node], self.x)

    def test_attention_in_blocks_is_attention(self):
        q, k, v = (torch.randn(2, heads, length, 8, dtype=torch.float64) for heads, length in ((4, 21), (2, 17), (2, 17)))
        whole = torch.nn.functional.scaled_dot_product_attention
        for mask in (None, torch.randn(21, 17, dtype=torch.float64), torch.randn(4, 1, 17, dtype=torch.float64)):
            blocks = twin.attention_in_blocks(q, k, v, mask, block=5, enable_gqa=True)
            torch.testing.assert_close(blocks, whole(q, k, v, mask, enable_gqa=True))
        blocks = twin.attention_in_blocks(q, k, v, is_causal=True, block=5, enable_gqa=True)
        torch.testing.assert_close(blocks, whole(q, k, v, is_causal=True, enable_gqa=True))

    def test_constants_are_operands_behind_the_inputs(self):
        weight = Tensor("w", "f32", [7, 5])
        graph = Graph(
            "t", [Tensor("x", "f32", [3, 5])], [Node(["y"], "linear", ["x", "w"], {})], ["y"], [weight]
        )
        drawn = constants.draw(graph)
        sets = buffers.Buffers(graph, [(torch.float32, (3, 7))], 2, "cpu", drawn)
        self.assertEqual([len(s) for s in sets.inputs + sets.operands], [1, 1, 2, 2])
        self.assertIs(sets.operands[0][1], sets.operands[1][1])
        (y,) = twin.function(graph, device="cpu")(*sets.operands[0])
        self.assert_equal(y, torch.nn.functional.linear(sets.inputs[0][0], drawn[0]))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "w.safetensors"
            constants.save(graph, drawn, path)
            (length,) = struct.unpack("<Q", path.read_bytes()[:8])
            header = json.loads(path.read_bytes()[8 : 8 + length])
            self.assertEqual(header, {"w": {"dtype": "F32", "shape": [7, 5], "data_offsets": [0, 140]}})
            self.assertEqual(path.read_bytes()[8 + length :], drawn[0].numpy().tobytes())

    def test_flops(self):
        inputs = [Tensor("x", "bf16", [3, 5]), Tensor("w", "bf16", [7, 5])]
        graph = Graph("test", inputs, [Node(["y"], "linear", ["x", "w"], {})], ["y"])
        self.assertEqual(twin.flops(graph), 2 * 3 * 5 * 7)


class CheckTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.ideal = torch.randn(1000, dtype=torch.float64)
        self.stepwise = self.ideal.bfloat16()

    def judge(self, out):
        return check.judge(out, self.stepwise, self.ideal).ok

    def test_rule(self):
        self.assertTrue(self.judge(self.stepwise))
        self.assertTrue(self.judge((self.ideal * 1.02).bfloat16()))
        self.assertFalse(self.judge((self.ideal * 1.05).bfloat16()))

    def test_one_element_that_was_not_written_fails(self):
        out = self.stepwise.clone()
        out.view(torch.uint8)[10:12] = 0xFF
        self.assertFalse(self.judge(out))

    def test_integers_are_exact(self):
        ideal = torch.arange(10)
        self.assertTrue(check.judge(ideal.int(), ideal.int(), ideal).ok)
        self.assertFalse(check.judge((ideal + (ideal == 3)).int(), ideal.int(), ideal).ok)

    def test_the_worst_output_decides(self):
        wrong = self.stepwise * 2
        verdict = check.judge_all((self.stepwise, wrong), (self.stepwise,) * 2, (self.ideal,) * 2)
        self.assertFalse(verdict.ok)


class BuffersTest(unittest.TestCase):
    def test_sets_go_beyond_twice_the_cache(self):
        for size in (10, 10**6, 10**8):
            sets = buffers.set_count(size, 60 * 2**20)
            self.assertTrue(sets * size > 120 * 2**20 or sets == buffers.MOST_SETS)
        self.assertEqual(buffers.set_count(10**9, 60 * 2**20), 2)

    def test_sets_are_apart_aligned_random_and_poisoned(self):
        graph = Graph(
            "t", [Tensor("x", "bf16", [3, 5]), Tensor("i", "i64", [40], {"integers": [2, 4]})], [], []
        )
        sets = buffers.Buffers(graph, [(torch.float32, (7,))], 3, "cpu")
        addresses = [t.data_ptr() for s in sets.inputs for t in s]
        self.assertEqual(len(set(addresses)), 6)
        self.assertFalse(torch.equal(sets.inputs[0][0], sets.inputs[1][0]))
        self.assertEqual(set(sets.inputs[2][1].tolist()), {2, 3})
        self.assertTrue(all(o[0].isnan().all() for o in sets.outputs))
        base = sets.inputs[0][0].data_ptr()
        self.assertTrue(all((s[0].data_ptr() - base) % buffers.ALIGNMENT == 0 for s in sets.inputs))


class PeersTest(unittest.TestCase):
    def test_time_limit_passes_through_handlers_of_exceptions(self):
        with self.assertRaises(peers.TimeLimit), peers.time_limit(0.05):
            while True:
                try:
                    [i for i in range(1000)]
                except Exception:
                    pass

    def test_no_limit_is_left_behind(self):
        with peers.time_limit(60):
            pass
        self.assertEqual(peers.signal.getitimer(peers.signal.ITIMER_REAL), (0.0, 0.0))


@unittest.skipUnless("TCC_LIBRARY" in os.environ, "$TCC_LIBRARY names no libtcc-core.so")
class ContestTest(unittest.TestCase):
    def entry(self, device):
        case = Case(ROOT / "bench/cases/linear-gelu.yaml", {"M": 5, "N": 9, "K": 17}, "bf16")
        return contest.Entry(case, Library(os.environ["TCC_LIBRARY"]), device, [])

    def test_a_device_that_computes_nothing_is_wrong(self):
        result = contest.check_on_host(self.entry("null"))
        self.assertIn("wrong result", result.error)

    def test_a_device_that_is_not_there(self):
        self.assertIn("vulkan:99", contest.check_on_host(self.entry("vulkan:99")).error)

    def test_vulkan_is_right(self):
        entry = self.entry("vulkan:0")
        if not entry.compiled:
            self.skipTest(entry.error)
        result = contest.check_on_host(entry)
        self.assertEqual(result.error, "")
        self.assertEqual((result.flops, result.launches), (2 * 5 * 9 * 17, 1))


if __name__ == "__main__":
    unittest.main()
