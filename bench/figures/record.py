"""Keeps a run of bench/against_torch in bench/results, for the figures:

python3 -m bench.figures.record RESULTS.json NAME --panel 'Whole models' --series 'CUDA, bf16' \\
    --command 'python3 -m bench.against_torch --cases bench/suites/models.yaml' --row 'ResNet-50, batch 1=*resnet50/B:1/*'

A row is the cases whose names match its pattern.
"""

import argparse
import fnmatch
import json
import pathlib
import sys

from .recorded import FOLDER

OURS = ("tcc", "copy")


def times_of(document):
    """{case: {contestant: ms}} of the cases whose results were right."""
    times, wrong = {}, set()
    for entry in document["benchmarks"]:
        case, _, contestant = entry["name"].rpartition("/")
        if entry.get("error_occurred") or entry.get("error"):
            wrong.add(case)
        elif "real_time" in entry:
            times.setdefault(case, {})[contestant] = entry["real_time"]
    return {case: found for case, found in times.items() if case not in wrong and "tcc" in found}


def reduced(case, times):
    peer = min((name for name in times if name not in OURS), key=times.get)
    return {"case": case, "tcc_ms": round(times["tcc"], 5), "peer_ms": round(times[peer], 5), "peer": peer}


def record(document, panel, series, command, rows):
    """The file's content. `rows` is a list of (name, pattern). ValueError for a pattern that matches nothing."""
    times = times_of(document)
    entries = []
    for name, pattern in rows:
        cases = [reduced(case, times[case]) for case in times if fnmatch.fnmatch(case, pattern)]
        if not cases:
            raise ValueError(f"{pattern}: no case of that name; there are {', '.join(times)}")
        entries.append({"name": name, "cases": cases})
    context = document["context"]
    return {
        "panel": panel,
        "series": series,
        "device": context["device"],
        "date": context["date"][:10],
        "tcc": context["tcc"],
        "peer": f"PyTorch {context['torch']}, the fastest of what was run",
        "command": command,
        "rows": entries,
    }


def main():
    parser = argparse.ArgumentParser(prog="python3 -m bench.figures.record", description=__doc__.split("\n")[0])
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("name", help="of the file in bench/results, without .json")
    for option in ("panel", "series", "command"):
        parser.add_argument(f"--{option}", required=True)
    parser.add_argument("--row", action="append", required=True, metavar="NAME=PATTERN")
    arguments = parser.parse_args()
    rows = [row.rpartition("=")[::2] for row in arguments.row]
    try:
        document = json.loads(arguments.results.read_text())
        content = record(document, arguments.panel, arguments.series, arguments.command, rows)
    except (OSError, KeyError, ValueError) as error:
        print(f"{arguments.results}: {error}", file=sys.stderr)
        return 2
    path = FOLDER / f"{arguments.name}.json"
    path.write_text(json.dumps(content, indent=1) + "\n")
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
