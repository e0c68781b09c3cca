"""The README's drawings are those of the recorded results, and runs are recorded as they were."""

import json
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree

from bench.figures import __main__ as figures
from bench.figures import record, recorded, speed

ROOT = pathlib.Path(__file__).resolve().parents[2]


def entry(case, contestant, ms, **more):
    return {"name": f"{case}/{contestant}", "real_time": ms, **more}


class FiguresTest(unittest.TestCase):
    def test_committed_drawings_are_current(self):
        for path, text in figures.draw().items():
            self.assertEqual((ROOT / path).read_text(), text, f"{path} is old: python3 -m bench.figures")

    def test_drawings_are_well_formed(self):
        for text in figures.draw().values():
            xml.etree.ElementTree.fromstring(text)

    def test_every_recorded_file_says_where_it_is_from(self):
        for path in recorded.FOLDER.glob("*.json"):
            document = json.loads(path.read_text())
            for key in ("device", "peer", "command"):
                self.assertTrue(document[key], f"{path}: {key}")

    def test_ratios_are_means_of_cases(self):
        cases = [{"tcc_ms": 1, "peer_ms": 2}, {"tcc_ms": 2, "peer_ms": 1}, {"ratio": 8}]
        row = recorded.row_of({"panel": "p", "series": "s"}, {"name": "n", "cases": cases})
        self.assertAlmostEqual(row.ratio, 2)
        self.assertEqual((row.worst, row.best, row.count), (0.5, 8, 3))

    def test_nonsense_is_refused(self):
        for case in ({"ratio": 0}, {"ratio": float("nan")}, {"tcc_ms": float("inf"), "peer_ms": 1}):
            with self.assertRaises(ValueError):
                recorded.row_of({"panel": "p", "series": "s"}, {"name": "n", "cases": [case]})

    def test_axis_holds_what_is_beyond_it(self):
        self.assertEqual(speed.place(1e-9), speed.place(speed.LOW))
        self.assertEqual(speed.place(1e9), speed.place(speed.HIGH))
        self.assertLess(speed.place(0.5), speed.place(1))


class RecordTest(unittest.TestCase):
    def setUp(self):
        self.document = {
            "context": {"device": "GPU", "date": "2026-11-22T10:00:00", "tcc": "0", "torch": "2"},
            "benchmarks": [
                entry("a/x/B:1", "tcc", 1.0),
                entry("a/x/B:1", "copy", 0.5),
                entry("a/x/B:1", "eager", 3.0),
                entry("a/x/B:1", "compile", 2.0),
                entry("a/x/B:8", "tcc", 1.0, error="wrong"),
                entry("a/x/B:8", "eager", 3.0),
            ],
        }

    def test_takes_the_fastest_peer_and_right_results_only(self):
        found = record.record(self.document, "p", "s", "c", [("X", "a/x/*")])
        case = {"case": "a/x/B:1", "tcc_ms": 1.0, "peer_ms": 2.0, "peer": "compile"}
        self.assertEqual(found["rows"], [{"name": "X", "cases": [case]}])
        self.assertEqual(found["date"], "2026-11-22")
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "r.json").write_text(json.dumps(found))
            self.assertEqual([row.ratio for row in recorded.read(pathlib.Path(folder))], [2.0])

    def test_a_pattern_that_matches_nothing_is_refused(self):
        with self.assertRaises(ValueError):
            record.record(self.document, "p", "s", "c", [("Y", "b/*")])


if __name__ == "__main__":
    unittest.main()
