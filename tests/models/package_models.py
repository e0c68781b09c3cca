"""ONNX models with trained weights, as packages ship them: runs each through tcc-run and ONNX Runtime, and compares.

    package_models.py FOLDER                 every .onnx file below the folder; a table on stdout and in FOLDER/packages.md
    package_models.py FOLDER --models NAME   those whose path has NAME in it

Inputs are drawn; dims without a number are tried with a few sizes until ONNX Runtime takes them. It exits with 1 if a
model's outputs differ, or if one that ONNX Runtime runs does not run.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

from results import Budget, Results

PROGRAMS = ("build/release/bin/tcc-run", "build/dev/bin/tcc-run")
SIZES = (None, 128, 512, 64, 224, 320, 1024, 1)  # of dims that are no batch; None: what the name suggests
SUGGESTED = (("height", 320), ("width", 320), ("sample", 16000), ("audio", 16000), ("frame", 100), ("time", 100))
NUMPY = {
    "tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16,
    "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(int8)": np.int8, "tensor(uint8)": np.uint8,
    "tensor(bool)": np.bool_,
}


class Skipped(Exception):
    """ONNX Runtime does not run the model either, or has no inputs that fit; the text says why."""


def default_program():
    root = pathlib.Path(__file__).resolve().parents[2]
    return next((root / p for p in PROGRAMS if (root / p).exists()), root / PROGRAMS[0])


def extent(dim, k, size, name):
    """A number for a dim: its own, 1 for a batch, what its name suggests, or the size to try."""
    if isinstance(dim, int) and dim > 0:
        return dim
    text = str(dim or "").lower()
    if "batch" in text or text == "n" or (k == 0 and size is None):
        return 1
    if size is not None:
        return size
    return next((n for word, n in SUGGESTED if word in text or word in name.lower()), 64)


def draw(random, kind, shape, name, values):
    if name in values:
        return np.array(values[name], dtype=kind).reshape(shape)
    if kind == np.bool_:
        return random.integers(0, 2, shape).astype(kind)
    if np.issubdtype(kind, np.integer):
        high = 2 if "mask" in name or "segment" in name or "type" in name else 8
        return (np.ones(shape) if "mask" in name else random.integers(0, high, shape)).astype(kind)
    return random.uniform(-1, 1, shape).astype(kind)


def inputs_of(session, size, seed, values):
    """One dim name has one extent."""
    random, extents, inputs = np.random.default_rng(seed), {}, {}
    for info in session.get_inputs():
        if info.type not in NUMPY:
            raise Skipped(f"input {info.name} is a {info.type}")
        shape = []
        for k, dim in enumerate(info.shape):
            number = extent(dim, k, size, info.name)
            shape.append(extents.setdefault(dim, number) if isinstance(dim, str) else number)
        inputs[info.name] = draw(random, NUMPY[info.type], shape, info.name, values)
    return inputs


def session_of(path):
    """Each node computes what the file says: nothing is fused."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise Skipped(str(error).splitlines()[0]) from None


def run_peer(session, inputs):
    return {info.name: value for info, value in zip(session.get_outputs(), session.run(None, inputs))}


def peer(session, seed, values):
    """ONNX Runtime's outputs by name, and the inputs that it took."""
    reason = ""
    for size in SIZES:
        inputs = inputs_of(session, size, seed, values)
        try:
            outputs = run_peer(session, inputs)
        except Exception as error:
            reason = str(error).splitlines()[0]
            continue
        if all(isinstance(value, np.ndarray) for value in outputs.values()):
            return inputs, outputs
        raise Skipped("an output is no tensor")
    raise Skipped(reason)


def movement(session, inputs, ideal):
    """By how much ONNX Runtime's own outputs move when each number of the inputs moves by one ulp."""
    moved = {}
    for name, value in inputs.items():
        is_float = np.issubdtype(value.dtype, np.floating)
        moved[name] = np.nextafter(value, np.array(np.inf, value.dtype)) if is_float else value
    return compare(run_peer(session, moved), ideal, np.inf, 0)[0]


def compare(ours, ideal, tolerance, steps):
    """The largest error over the largest absolute value, over all outputs; integers may differ by so many steps."""
    worst = 0.0
    for name, expected in ideal.items():
        got = ours[name]
        if got.shape != expected.shape:
            return np.inf, f"{name}: shape {got.shape}, not {expected.shape}"
        if expected.size == 0:
            continue
        if not np.issubdtype(expected.dtype, np.floating):
            apart = np.abs(got.astype(np.float64) - expected.astype(np.float64)).max()
            if apart > steps:
                return float(apart), f"{name}: integers that are {apart:.0f} apart"
            continue
        if not np.array_equal(np.isfinite(got), np.isfinite(expected)):
            return np.inf, f"{name}: not finite where ONNX Runtime is, or the other way round"
        finite = np.isfinite(expected)
        a, b = got[finite].astype(np.float64), expected[finite].astype(np.float64)
        if a.size:
            worst = max(worst, float(np.abs(a - b).max()) / (float(np.abs(b).max()) or 1.0))
    return worst, "" if worst <= tolerance else f"error of {worst:.2g} of the largest value"


def run(options, path, cell):
    session = session_of(path)
    inputs, ideal = peer(session, options.seed, options.values)
    operators = {node.op_type for node in onnx.load(path, load_external_data=False).graph.node}
    quantised = any("Quant" in name or "Integer" in name or name.startswith("Q") for name in operators)
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/inputs.npz", **inputs)
        command = [str(options.tcc_run), str(path), "--device", cell["device"], "--json"]
        command += ["--inputs", f"{folder}/inputs.npz", "--outputs", f"{folder}/outputs.npz"]
        command += ["--check"] if options.check else []
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout)
        except subprocess.TimeoutExpired:
            return {**cell, "status": "error", "reason": f"longer than {options.timeout:.0f} seconds"}
        if done.returncode not in (0, 1):
            lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
            return {**cell, "status": "error", "reason": lines[-1]}
        report = json.loads(done.stdout)
        with np.load(f"{folder}/outputs.npz") as file:
            ours = {name: file[name] for name in file.files}
    # If an input of a quantisation lies next to a tie, a last bit moves it by a whole step.
    tolerance, steps = (0.05, 1) if quantised else (options.tolerance, 0)
    error, reason = compare(ours, ideal, tolerance, steps)
    if reason and np.isfinite(error) and error <= 4 * movement(session, inputs, ideal):
        reason = ""
    found = {**cell, "max_error": error, "launches": report.get("launches"), "status": "wrong" if reason else "ok"}
    if reason:
        found["reason"] = reason
    if "pass" in report:
        found["own_check"] = "ok" if report["pass"] else "MISMATCH"
    return found


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--models", default="", help="those whose path has this in it")
    parser.add_argument("--tcc-run", type=pathlib.Path, default=default_program())
    parser.add_argument("--device", default="auto", help="as tcc-run names it")
    parser.add_argument("--check", action="store_true", help="tcc-run --check, too")
    parser.add_argument("--tolerance", type=float, default=1e-3, help="of the largest error, over the largest value")
    parser.add_argument("--timeout", type=float, default=300, help="seconds of one tcc-run")
    parser.add_argument("--budget", type=float, default=0, help="seconds after which nothing more is started")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--value", action="append", default=[], metavar="NAME=NUMBER", help="of an input, in every model")
    parser.add_argument("--redo", action="store_true", help="forget the results so far")
    options = parser.parse_args()
    options.values = {"sr": 16000}
    for text in options.value:
        name, _, number = text.partition("=")
        options.values[name] = float(number)
    return options


def main():
    options = arguments()
    if not options.tcc_run.exists():
        sys.exit(f"{options.tcc_run} does not exist: build it, or name it with --tcc-run")
    paths = sorted(p for p in options.folder.rglob("*.onnx") if options.models in str(p))
    if not paths:
        sys.exit(f"{options.folder} holds no model")
    columns = ["model", "device", "status", "max_error", "own_check", "launches", "reason"]
    results, budget = Results(options.folder, "packages", columns, options.redo), Budget(options.budget)
    for path in paths:
        cell = {"model": str(path.relative_to(options.folder)), "device": options.device}
        if results.has(cell) or budget.is_spent():
            continue
        try:
            cell = run(options, path, cell)
        except Skipped as reason:
            cell = {**cell, "status": "skipped", "reason": str(reason)}
        results.add(cell)
        print(", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in cell.items()), flush=True)
    shown = [cell for cell in results.cells.values()]
    bad = [cell for cell in shown if cell["status"] in ("wrong", "error")]
    print(f"{len(shown) - len(bad)} of {len(shown)} ok or skipped; {results.path.with_suffix('.md')}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
