"""The parts of tests/models/op_database.py that need no torch: the rule, the list, the workers."""

import os
import pathlib
import sys
import tempfile
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/models"))

from opdb import comparing, storage, workers  # noqa: E402

WORKER = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from opdb import workers

def handle(task):
    print("noise on standard output")
    if task["do"] == "die":
        print("last words", file=sys.stderr, flush=True)
        os._exit(3)
    if task["do"] == "hang":
        time.sleep(60)
    return {"status": "right", "pid": os.getpid()}

workers.serve(handle)
"""


class Rule(unittest.TestCase):
    def verdict(self, ours, eager, ideal=None, dtype="f32"):
        ours, eager = np.array(ours, float), np.array(eager, float)
        ideal = eager if ideal is None else np.array(ideal, float)
        limit = comparing.allowed(eager, ideal, None, dtype)
        return comparing.compare_floats(ours, eager, ideal, limit, dtype)

    def test_an_ulp_is_right_and_a_thousandth_is_wrong(self):
        self.assertIsNone(self.verdict([1 + 2.0**-23, 2], [1, 2]))
        self.assertIn("RMS error", self.verdict([1.001, 2], [1, 2]))

    def test_infinities_and_nan_stand_at_their_places(self):
        inf, nan = np.inf, np.nan
        self.assertIsNone(self.verdict([inf, -inf, nan, 1], [inf, -inf, nan, 1]))
        for wrong in ([0, -inf, nan, 1], [inf, inf, nan, 1], [inf, -inf, 0, 1], [inf, -inf, nan, nan]):
            self.assertIn("1 of 4 elements", self.verdict(wrong, [inf, -inf, nan, 1]))

    def test_a_finite_ideal_of_an_intermediate_overflow_is_right_too(self):
        self.assertIsNone(self.verdict([600.0], [np.inf], [600.0], "f16"))
        self.assertIsNone(self.verdict([np.inf], [np.inf], [600.0], "f16"))
        self.assertIsNone(self.verdict([np.inf], [np.inf], [7e4], "f16"))
        self.assertIsNotNone(self.verdict([np.nan], [np.inf], [600.0], "f16"))
        self.assertIsNotNone(self.verdict([500.0], [np.inf], [600.0], "f16"))

    def test_large_values_do_not_overflow(self):
        self.assertIsNone(self.verdict([3e38, 0], [3e38, 0]))
        self.assertIsNotNone(self.verdict([3e38, 1e38], [3e38, 0]))

    def test_cancellation_widens_the_limit(self):
        ideal, changed = np.array([1e-6]), np.array([2e-6])
        self.assertGreater(comparing.allowed(ideal, ideal, changed, "f32"), 7e-6)

    def test_empty_and_exact(self):
        self.assertIsNone(self.verdict([], []))
        self.assertIsNone(comparing.compare_exactly(np.array(3), np.array(3)))
        self.assertIn("1 of 2", comparing.compare_exactly(np.array([1, 2]), np.array([1, 3])))

    def test_bf16_is_widened(self):
        bits = np.array([0x3F80, 0xFF80, 0x7FC0], np.uint16)
        np.testing.assert_array_equal(storage.widened(bits, "bf16"), [1, -np.inf, np.nan])


class List(unittest.TestCase):
    def test_what_is_written_is_read(self):
        rows = [
            (storage.Key("add", "", "sample", "f32", 3), "script", ""),
            (storage.Key("div", "no_rounding_mode", "extremal", "bf16", 0), "dynamo", "the exporter rounds"),
        ]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "list.txt"
            storage.write_list(path, ["a comment"], rows)
            self.assertEqual(storage.read_list(path), rows)

    def test_the_committed_list_names_each_sample_once(self):
        rows = storage.read_list(ROOT / "tests/models/op_database.txt")
        self.assertEqual(len({(key, exporter) for key, exporter, _ in rows}), len(rows))
        self.assertGreaterEqual(len(rows), 1500)

    def test_samples_come_back(self):
        arrays = {"x0": np.zeros((0, 3), np.float32), "y0": np.array(True)}
        with tempfile.TemporaryDirectory() as folder:
            writer = storage.Writer(pathlib.Path(folder))
            writer.add({"op": "add"}, b"model", arrays)
            writer.close()
            reader = storage.Reader(pathlib.Path(folder))
            self.assertEqual(reader.samples, [{"id": 0, "op": "add"}])
            self.assertEqual(reader.model(0), b"model")
            for name, array in reader.arrays(0).items():
                np.testing.assert_array_equal(array, arrays[name], strict=True)


class Workers(unittest.TestCase):
    def test_a_crash_and_a_hang_cost_one_task_each(self):
        command = [sys.executable, "-c", WORKER, str(ROOT / "tests/models")]
        tasks = [{"do": word, "number": i} for i, word in enumerate(["work", "die", "work", "hang", "work"])]
        found = {task["number"]: answer for task, answer in workers.run_all(command, tasks, 1, 5)}
        self.assertEqual([found[i]["status"] for i in range(5)], ["right", "crashed", "right", "hung", "right"])
        self.assertEqual(found[1]["reason"], "exit code 3: last words")
        self.assertEqual(len({found[i]["pid"] for i in (0, 2, 4)} | {os.getpid()}), 4)


if __name__ == "__main__":
    unittest.main()
