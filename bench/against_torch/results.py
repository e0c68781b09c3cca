"""What a run found: Google Benchmark's JSON (also read back as times of peers), and a Markdown table."""

import dataclasses
import json
import os

from .stats import Timing, geometric_mean

OURS = ("tcc", "copy")  # contestants that are no peers


@dataclasses.dataclass
class Result:
    """Of one case. `times` is by contestant: tcc, copy and the peers; `error` says what went wrong, if anything."""

    name: str
    group: str
    bytes: int = 0  # of inputs and outputs: what must move
    flops: int = 0
    launches: int = 0
    tiers: str = ""
    configs: list = dataclasses.field(default_factory=list)
    check: float = 0.0  # the worst output's error over its bound
    times: dict = dataclasses.field(default_factory=dict)
    clocks: dict = dataclasses.field(default_factory=dict)
    error: str = ""
    notes: list = dataclasses.field(default_factory=list)

    def best_peer(self):
        """Its name, or None."""
        peers = [name for name in self.times if name not in OURS]
        return min(peers, key=lambda name: self.times[name].ms, default=None)

    def ratio(self):
        """The best peer's time over tcc's: above 1, tcc is faster. None without either."""
        peer = self.best_peer()
        return self.times[peer].ms / self.times["tcc"].ms if peer and "tcc" in self.times else None

    def is_compute_bound(self):
        """More operations than 100 per byte: below that, moving the bytes takes longer on any recent GPU."""
        return self.flops > 100 * self.bytes

    def rate(self):
        """TFLOP/s, or the share of the copy's bandwidth."""
        ms = self.times["tcc"].ms
        if self.is_compute_bound():
            return f"{self.flops / ms / 1e9:.0f} TFLOP/s"
        return f"{self.times['copy'].ms / ms:.0%} of copy" if "copy" in self.times else "-"

    def work(self):
        return f"{self.flops / 1e9:.1f} GFLOP" if self.is_compute_bound() else f"{self.bytes / 1e6:.1f} MB"


def benchmark_entry(result, contestant):
    timing = result.times[contestant]
    seconds = timing.ms / 1e3
    entry = {
        "name": f"{result.name}/{contestant}",
        "run_name": f"{result.name}/{contestant}",
        "run_type": "aggregate",
        "aggregate_name": "median",
        "aggregate_unit": "time",
        "repetitions": timing.samples,
        "iterations": timing.samples,
        "threads": 1,
        "real_time": timing.ms,
        "cpu_time": timing.ms,
        "time_unit": "ms",
        "interval_low": timing.low,
        "interval_high": timing.high,
        "bytes_per_second": result.bytes / seconds,
        "flops_per_second": result.flops / seconds,
        "recorded": timing.recorded,
    }
    if contestant == "tcc":
        ours = ("launches", "tiers", "configs", "check", "error", "notes")
        entry.update({key: getattr(result, key) for key in ours})
        entry.update(result.clocks)
    return entry


def failed_entry(result):
    """As Google Benchmark writes a benchmark that ended early."""
    return {
        "name": f"{result.name}/tcc",
        "run_name": f"{result.name}/tcc",
        "run_type": "iteration",
        "error_occurred": True,
        "error_message": result.error,
    }


def write_atomically(path, text):
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "w") as file:
        file.write(text)
    os.replace(temporary, path)


def write_json(path, context, results):
    entries = []
    for result in results:
        entries += [benchmark_entry(result, contestant) for contestant in result.times]
        if "tcc" not in result.times:
            entries.append(failed_entry(result))
    write_atomically(path, json.dumps({"context": context, "benchmarks": entries}, indent=1) + "\n")


def read_peer_times(path, context):
    """{(case, peer): Timing} of an earlier run's JSON. ValueError if it ran on another device or PyTorch."""
    with open(path) as file:
        document = json.load(file)
    for key in ("device", "torch"):
        if document["context"][key] != context[key]:
            raise ValueError(f"{path}: its {key} is {document['context'][key]}, not {context[key]}")
    times = {}
    for entry in document["benchmarks"]:
        case, _, contestant = entry["name"].rpartition("/")
        if contestant in OURS or "interval_low" not in entry:
            continue
        times[case, contestant] = Timing(
            entry["real_time"], entry["interval_low"], entry["interval_high"], entry["repetitions"], True
        )
    return times


def interval(timing):
    return f"{timing.ms:.4f} ±{100 * (timing.high - timing.low) / 2 / timing.ms:.1f}%"


def row(result):
    if "tcc" not in result.times:
        verdict = f"**{result.error}**" if result.error else "right"
        return [
            result.name,
            result.work(),
            verdict,
            "-",
            "-",
            "-",
            "-",
            result.tiers or "-",
            str(result.launches),
        ]
    peer, ratio = result.best_peer(), result.ratio()
    star = "*" if peer and result.times[peer].recorded else ""
    return [
        result.name + (f" **{result.error}**" if result.error else ""),
        result.work(),
        interval(result.times["tcc"]),
        f"{interval(result.times[peer])}{star}" if peer else "-",
        peer or "-",
        f"{ratio:.2f}" if ratio else "-",
        result.rate(),
        result.tiers,
        str(result.launches),
    ]


def means(results):
    """Lines: each group's geometric mean and worst ratio."""
    lines = []
    for group in dict.fromkeys(r.group for r in results):
        members = [r for r in results if r.group == group]
        ratios = {r.name: r.ratio() for r in members if r.ratio() and not r.error}
        failed = sum(1 for r in members if r.error)
        line = f"- {group}: {len(members)} cases"
        if ratios:
            worst = min(ratios, key=ratios.get)
            line += f", geometric mean {geometric_mean(list(ratios.values())):.3f}, worst {ratios[worst]:.3f} ({worst})"
        lines.append(line + (f", {failed} failed" if failed else ""))
    return lines


def markdown(context, results):
    header = [
        "case",
        "work",
        "tcc ms",
        "best peer ms",
        "peer",
        "peer / tcc",
        "tcc's rate",
        "tier",
        "launches",
    ]
    rows = [header, ["---", *["---:"] * 3, "---", *["---:"] * 2, "---", "---:"], *map(row, results)]
    lines = [f"{context['device']}, PyTorch {context['torch']}, tcc {context['tcc']}, {context['date']}", ""]
    lines += [f"| {' | '.join(cells)} |" for cells in rows]
    if any(t.recorded for r in results for t in r.times.values()):
        lines += ["", "\\* recorded in an earlier run"]
    notes = [f"- {r.name}: {note}" for r in results for note in r.notes]
    return "\n".join(
        [*lines, "", "Peer's time over tcc's:", "", *means(results), *([""] if notes else []), *notes, ""]
    )
