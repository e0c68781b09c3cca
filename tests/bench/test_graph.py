"""Graph files as bench/ reads them."""

import pathlib
import tempfile
import unittest

from bench.against_torch import graph, yaml12

FUNCTIONS = """
tcc: 1
name: blocks
dims: {B: 2, N: 4}
inputs:
  x: {dtype: f32, shape: [B, N]}
  i: {dtype: i64, shape: [B], range: [0, 9]}
functions:
  block:
    inputs: [x]
    outputs: [y]
    weights: {w: {dtype: f32, shape: [4, 4], init: {normal: 0.5}}}
    nodes:
      - {out: h, op: linear, in: [x, w]}
      - {out: y, op: relu, in: h}
nodes:
  - {out: z.0, op: block, in: [x]}
  - {out: z, op: block, in: [z.0], repeat: 2}
  - {out: r, op: reshape, in: [z], shape: [B * 2, "N // 2"]}
  - {out: n, op: layer_norm, in: [r, null, null], normalized_shape: [2], eps: 1e-5}
outputs: [n, z]
"""


def read(text, dims=None, dtype=None):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "graph.yaml"
        path.write_text(text)
        return graph.read(path, dims, dtype)


class GraphTest(unittest.TestCase):
    def test_scalars_are_those_of_yaml_1_2(self):
        with tempfile.NamedTemporaryFile("w+") as file:
            file.write('{a: 1e-5, b: on, c: .inf, d: null, e: "1", f: 12, g: no, h: true, i: 1.5}')
            file.flush()
            document = yaml12.read(file.name)
        expected = dict(a=1e-5, b="on", c=float("inf"), d=None, e="1", f=12, g="no", h=True, i=1.5)
        self.assertEqual(document, expected)

    def test_dims_are_expressions(self):
        self.assertEqual(graph.evaluate("(S + 7) // 8 * 2 - 1 % N", {"S": 17, "N": 3}), 5)
        self.assertEqual(graph.evaluate(3, {}), 3)
        for bad in ("S / 2", "T", "S ** 2", "__import__('os')", "1.5"):
            with self.assertRaises(ValueError):
                graph.evaluate(bad, {"S": 8})

    def test_functions_are_expanded_and_weights_become_inputs(self):
        flat = read(FUNCTIONS, {"B": 6})
        names = [t.name for t in flat.inputs]
        self.assertEqual(names, ["x", "i", "z.0.w", "z.0.w_", "z.1.w"])  # two uses make z.0.w
        self.assertEqual([n.op for n in flat.nodes], ["linear", "relu"] * 3 + ["reshape", "layer_norm"])
        self.assertEqual(flat.nodes[2].operands, [flat.nodes[1].results[0], "z.0.w_"])
        self.assertEqual(flat.nodes[4].operands, [flat.nodes[3].results[0], "z.1.w"])
        self.assertEqual(flat.nodes[6].attributes, {"shape": [12, 2]})
        self.assertEqual(flat.outputs, ["n", flat.nodes[5].results[0]])
        self.assertEqual(flat.inputs[1].fill, {"integers": [0, 9]})
        self.assertEqual(flat.inputs[2].fill, {"normal": 0.5})

    def test_dtype_replaces_floating_point_only(self):
        self.assertEqual(
            [t.dtype for t in read(FUNCTIONS, dtype="bf16").inputs], ["bf16", "i64"] + ["bf16"] * 3
        )

    def test_text_reads_back(self):
        flat = read(FUNCTIONS)
        again = read(flat.to_yaml())
        self.assertEqual((again.nodes, again.outputs), (flat.nodes, flat.outputs))
        self.assertEqual([(t.name, t.shape) for t in again.inputs], [(t.name, t.shape) for t in flat.inputs])

    def test_refusals(self):
        with self.assertRaisesRegex(ValueError, "no dim Q"):
            read(FUNCTIONS, {"Q": 1})
        with self.assertRaisesRegex(ValueError, "must state dtype and shape"):
            read(FUNCTIONS.replace("{dtype: f32, shape: [4, 4], init: {normal: 0.5}}", "{file: w.npy}"))


if __name__ == "__main__":
    unittest.main()
