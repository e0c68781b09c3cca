"""Suites: what they list, and that tcc compiles all of it."""

import os
import pathlib
import tempfile
import unittest

from bench.against_torch import cases, graph
from bench.against_torch.c_api import Compiled, Library

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITES = sorted((ROOT / "bench/suites").glob("*.yaml"))


class CasesTest(unittest.TestCase):
    def test_suites(self):
        counts = {path.stem: len(cases.read(path)) for path in SUITES}
        expected = {"bandwidth": 11, "convolutions": 27, "convolutions-other": 20, "f8": 10, "fma": 67, "gemm": 10, "gemm-epilogue": 10, "int8": 6}
        expected |= {"attention": 29, "long-rows": 11, "models": 6, "unseen": 60}
        self.assertEqual(counts, expected)
        names = [case.name for path in SUITES for case in cases.read(path)]
        self.assertEqual(len(names), len(set(names)))
        self.assertIn("gemm/linear/M:4096/N:3072/K:768/bf16", names)

    def test_draws(self):
        spec = {"count": 400, "seed": 3, "dims": {"M": [1, 16384], "N": [1, 16384]}}
        drawn = cases.draw({**spec, "multiples": {"N": 8}})
        self.assertEqual(drawn, cases.draw({**spec, "multiples": {"N": 8}}))
        self.assertTrue(all(1 <= d["M"] <= 16384 and 8 <= d["N"] <= 16384 and d["N"] % 8 == 0 for d in drawn))
        below = sum(d["M"] < 128 for d in drawn) / len(drawn)  # half of the logarithmic range
        self.assertAlmostEqual(below, 0.5, delta=0.1)
        self.assertTrue(all(d["N"] % 8 for d in cases.draw({**spec, "ragged": {"N": 8}})))

    def test_a_graph_is_a_suite_of_one(self):
        (case,) = cases.read(ROOT / "bench/cases/linear.yaml", {"M": 3, "Q": 1})
        self.assertEqual((case.name, case.dims, case.peers), ("graphs/linear/M:3", {"M": 3}, cases.PEERS))

    def test_select(self):
        all_of_them = cases.read(ROOT / "bench/suites/gemm.yaml")
        self.assertEqual(len(cases.select(all_of_them, ["K:768", "M:1/*"])), 3)
        self.assertEqual(cases.select(all_of_them, []), all_of_them)

    def test_unknown_keys_and_peers_are_refused(self):
        for text, message in [
            ("{sweet: 1, cases: []}", "unknown key sweet"),
            ("{peers: [jax], cases: [{graph: x.yaml}]}", "peers are"),
            ("{cases: [{graph: x.yaml, peers: [jax]}]}", "peers are"),
            ("{weights: gone, cases: [{graph: x.yaml}]}", "weights are"),
        ]:
            with tempfile.NamedTemporaryFile("w+", suffix=".yaml") as file:
                file.write(text)
                file.flush()
                with self.assertRaisesRegex(ValueError, message):
                    cases.read(file.name)

    @unittest.skipUnless("TCC_LIBRARY" in os.environ, "$TCC_LIBRARY names no libtcc-core.so")
    def test_tcc_compiles_every_case(self):
        library = Library(os.environ["TCC_LIBRARY"])
        for case in (case for path in SUITES for case in cases.read(path)):
            with self.subTest(case.name):
                flat = graph.read(case.path, case.dims, case.dtype)
                try:
                    compiled = Compiled(library, device="null", text=flat.to_yaml())
                except RuntimeError as error:  # scores of attention, which the null device does not fuse
                    self.assertRegex(str(error), "in one buffer; the largest that the device has")
                    continue
                inputs = [(t.name, t.dtype, tuple(t.shape)) for t in flat.inputs]
                self.assertEqual([spec[:3] for spec in compiled.inputs], inputs)
                self.assertEqual([spec[0] for spec in compiled.outputs], flat.outputs)
                self.assertGreater(compiled.launches, 0)


if __name__ == "__main__":
    unittest.main()
