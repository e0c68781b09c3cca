"""Cases: a graph with dims and a type. Suites are files that list them, bench/README.md."""

import dataclasses
import fnmatch
import math
import pathlib
import random

from . import yaml12

PEERS = ("eager", "compile", "max-autotune")  # of suites that name none
KNOWN_PEERS = (*PEERS, "cudnn", "flash", "flex")  # the last three of attention
WEIGHTS = ("inputs", "constants")
SUITE_KEYS = {"suite", "dtype", "matmul_precision", "peers", "weights", "cases"}
ENTRY_KEYS = {"graph", "dims", "dtype", "matmul_precision", "peers", "weights", "group", "random"}


@dataclasses.dataclass(frozen=True)
class Case:
    path: pathlib.Path
    dims: dict  # those that the suite or the command line sets
    dtype: str | None = None
    matmul_precision: str = "highest"
    group: str = "cases"  # whose geometric mean it counts for
    peers: tuple = PEERS
    weights: str = "inputs"  # or "constants", which tcc may fold and pack, and nothing rotates

    @property
    def name(self):
        parts = [self.group, self.path.stem, *(f"{k}:{v}" for k, v in self.dims.items()), self.dtype]
        return "/".join(part for part in parts if part)


def draw(spec):
    """`count` maps of dims, each log-uniform between its bounds (included).

    `multiples` rounds a dim up to a multiple; `ragged` draws again until it is none.
    """
    generator = random.Random(spec["seed"])
    multiples, ragged = spec.get("multiples", {}), spec.get("ragged", {})

    def value(dim, low, high):
        while True:
            drawn = round(math.exp(generator.uniform(math.log(low), math.log(high))))
            unit = multiples.get(dim, 1)
            drawn = (drawn + unit - 1) // unit * unit
            if dim not in ragged or drawn % ragged[dim] != 0:
                return drawn

    return [{dim: value(dim, *bounds) for dim, bounds in spec["dims"].items()} for _ in range(spec["count"])]


def refuse_unknown(path, keys, known):
    if unknown := set(keys) - known:
        raise ValueError(f"{path}: unknown key {', '.join(sorted(unknown))}")


def read(path, dims=None):
    """The cases of a suite, or the one of a graph file; `dims` replaces dims that a case's graph has."""
    path = pathlib.Path(path)
    document = yaml12.read(path)
    if "nodes" in document:
        entries, suite = [{"graph": path.name}], {"suite": "graphs"}
    else:
        refuse_unknown(path, document, SUITE_KEYS)
        entries, suite = document["cases"], document
    cases = []
    for entry in entries:
        refuse_unknown(path, entry, ENTRY_KEYS)
        peers = tuple(entry.get("peers", suite.get("peers", PEERS)))
        if not set(peers) <= set(KNOWN_PEERS):
            raise ValueError(f"{path}: peers are {', '.join(KNOWN_PEERS)}")
        weights = entry.get("weights", suite.get("weights", WEIGHTS[0]))
        if weights not in WEIGHTS:
            raise ValueError(f"{path}: weights are {' or '.join(WEIGHTS)}")
        graph = path.parent / entry["graph"]
        known = yaml12.read(graph).get("dims") or {}
        given = {k: v for k, v in (dims or {}).items() if k in known}
        drawn = draw(entry["random"]) if "random" in entry else entry.get("dims", {})
        for own in drawn if isinstance(drawn, list) else [drawn]:
            cases.append(
                Case(
                    graph.resolve(),
                    {**own, **given},
                    entry.get("dtype", suite.get("dtype")),
                    entry.get("matmul_precision", suite.get("matmul_precision", "highest")),
                    entry.get("group", suite.get("suite", path.stem)),
                    peers,
                    weights,
                )
            )
    return cases


def select(cases, patterns):
    """Those whose name holds one of the patterns (with `*` and `?`); all without patterns."""
    if not patterns:
        return cases
    return [c for c in cases if any(fnmatch.fnmatch(c.name, f"*{p}*") for p in patterns)]
