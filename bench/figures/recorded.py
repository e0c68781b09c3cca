"""What bench/results holds: rows of ratios, each the best peer's time over tcc's."""

import dataclasses
import json
import math
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "results"


@dataclasses.dataclass(frozen=True)
class Row:
    """`ratio` is the geometric mean of `count` cases between `worst` and `best`."""

    panel: str
    series: str
    name: str
    ratio: float
    worst: float
    best: float
    count: int


def ratio_of(case):
    return case["ratio"] if "ratio" in case else case["peer_ms"] / case["tcc_ms"]


def row_of(document, entry):
    if "cases" in entry:
        ratios = [ratio_of(case) for case in entry["cases"]]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        numbers = mean, min(ratios), max(ratios), len(ratios)
    else:  # the mean alone was recorded
        numbers = entry["mean"], entry["worst"], entry["mean"], entry["count"]
    if not all(math.isfinite(n) and n > 0 for n in numbers):
        raise ValueError(f"{entry['name']}: no ratio: {numbers}")
    return Row(document["panel"], document["series"], entry["name"], *numbers)


def read(folder=FOLDER):
    """Every row of every file, files in the order of their names."""
    rows = []
    for path in sorted(folder.glob("*.json")):
        document = json.loads(path.read_text())
        rows += [row_of(document, entry) for entry in document["rows"]]
    return rows
