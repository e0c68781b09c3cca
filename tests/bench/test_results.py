"""Statistics, the JSON and the table."""

import json
import pathlib
import tempfile
import unittest

import numpy

from bench.against_torch import results, stats
from bench.against_torch.stats import Timing

CONTEXT = {"device": "GPU", "torch": "2", "tcc": "0", "date": "today"}


def timing(ms, recorded=False):
    return Timing(ms, ms * 0.99, ms * 1.01, 20, recorded)


def softmax(**changes):
    times = {"tcc": timing(2.0), "copy": timing(1.5), "eager": timing(4.0), "compile": timing(3.0)}
    values = dict(name="b/softmax", group="b", bytes=10**9, launches=1, tiers="exact", times=times)
    return results.Result(**{**values, **changes})


class StatsTest(unittest.TestCase):
    def test_the_interval_holds_the_median(self):
        generator = numpy.random.default_rng(1)
        hits = 0
        for seed in range(200):
            found = stats.bootstrap(generator.normal(10, 1, 40), resamples=300, seed=seed)
            self.assertTrue(found.low <= found.ms <= found.high)
            hits += found.low <= 10 <= found.high
        self.assertGreater(hits, 180)  # 95% of 200, less chance

    def test_an_outlier_does_not_move_the_median(self):
        self.assertEqual(stats.bootstrap([1.0] * 20 + [100.0]).high, 1.0)

    def test_geometric_mean(self):
        self.assertAlmostEqual(stats.geometric_mean([0.5, 2.0, 8.0]), 2.0)


class ResultsTest(unittest.TestCase):
    def test_ratio_is_to_the_best_peer(self):
        result = softmax()
        self.assertEqual((result.best_peer(), result.ratio(), result.rate()), ("compile", 1.5, "75% of copy"))
        self.assertIsNone(softmax(times={"tcc": timing(1.0), "copy": timing(0.1)}).ratio())

    def test_compute_bound_work_has_a_rate(self):
        self.assertEqual(softmax(flops=10**12).rate(), "500 TFLOP/s")

    def test_json_is_google_benchmarks_and_reads_back(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "results.json"
            failed = results.Result("b/sum", "b", error="no device")
            results.write_json(path, CONTEXT, [softmax(), failed])
            document = json.loads(path.read_text())
            times = results.read_peer_times(path, CONTEXT)
            with self.assertRaisesRegex(ValueError, "its device is GPU, not TPU"):
                results.read_peer_times(path, {**CONTEXT, "device": "TPU"})
            self.assertEqual([p.name for p in pathlib.Path(folder).iterdir()], ["results.json"])
        entries = {entry["name"]: entry for entry in document["benchmarks"]}
        self.assertEqual(entries["b/softmax/tcc"]["real_time"], 2.0)
        self.assertEqual(entries["b/softmax/tcc"]["bytes_per_second"], 5e11)
        self.assertEqual(entries["b/sum/tcc"]["error_message"], "no device")
        self.assertEqual(set(times), {("b/softmax", "eager"), ("b/softmax", "compile")})
        self.assertEqual(times["b/softmax", "eager"], timing(4.0, recorded=True))

    def test_table(self):
        recorded = softmax(name="b/two", times={"tcc": timing(2.0), "eager": timing(1.0, recorded=True)})
        wrong = softmax(name="b/three", error="wrong result")
        text = results.markdown(CONTEXT, [softmax(), recorded, wrong])
        self.assertIn(
            "| b/softmax | 1000.0 MB | 2.0000 ±1.0% | 3.0000 ±1.0% | compile | 1.50 | 75% of copy |", text
        )
        self.assertIn("1.0000 ±1.0%*", text)
        # A wrong result is never counted as fast.
        self.assertIn("b: 3 cases, geometric mean 0.866, worst 0.500 (b/two), 1 failed", text)


if __name__ == "__main__":
    unittest.main()
