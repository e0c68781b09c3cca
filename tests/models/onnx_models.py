"""Models of PyTorch through ONNX: exports them, runs them through tcc-run, and compares.

    onnx_models.py export FOLDER             writes the models (random weights) with both exporters; CPU only
    onnx_models.py check FOLDER              runs each file through tcc-run and compares with PyTorch
    onnx_models.py fusion FOLDER             launches and bytes of each file against torch.compile; needs a CUDA GPU
    onnx_models.py torch FOLDER              times of torch.compile, and tcc's of the same cells beside them; needs a CUDA GPU

Each command keeps its results after every step in FOLDER/{export,check,fusion,torch}.json and .md, and goes on where it
stopped when it is called again. It exits with 1 if anything failed.
"""

import argparse
import functools
import math
import os
import pathlib
import sys

import torch

import checking
import compiled
import exporting
import fusing
import zoo
from results import Budget, Results

PROGRAMS = ("build/release/bin/tcc-run", "build/dev/bin/tcc-run")


def default_program():
    root = pathlib.Path(__file__).resolve().parents[2]
    return next((root / p for p in PROGRAMS if (root / p).exists()), root / PROGRAMS[0])


def words(text):
    return [word for word in text.split(",") if word]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("export", "check", "fusion", "torch"):
        p = commands.add_parser(name)
        p.add_argument("folder", type=pathlib.Path)
        p.add_argument("--models", type=words, default=[m.name for m in zoo.MODELS], help="names, with commas (default: all)")
        p.add_argument("--exporters", type=words, default=list(exporting.EXPORTERS), help="dynamo, script")
        p.add_argument("--budget", type=float, default=0, help="seconds after which nothing more is started")
        p.add_argument("--redo", action="store_true", help="forget the results so far")
        if name == "export":
            p.add_argument("--small", action="store_true", help="small images and narrow layers, for slow devices")
            continue
        p.add_argument("--tcc-run", type=pathlib.Path, default=default_program())
        p.add_argument("--devices", type=words, default=["cuda:0"], help="as tcc-run names them (default cuda:0)")
        p.add_argument("--dtypes", type=words, default=["f32", "bf16", "f16"])
        p.add_argument("--batches", type=lambda text: [int(word) for word in words(text)], default=[1, 8])
        p.add_argument("--timeout", type=float, default=300, help="seconds of one tcc-run")
        p.add_argument("--tuning", action="append", default=[], help="passed to tcc-run")
        p.add_argument("--bench", type=int, default=0, help="replays that tcc-run times (default: none; fusion: 20)")
        if name == "torch":
            p.add_argument("--mode", choices=["default", "max-autotune"], default="default", help="of torch.compile")
            p.add_argument("--compile-seconds", type=float, default=600, help="models that take longer are left out")
        if name == "check":
            p.add_argument("--own-check", action="store_true", help="tcc-run --check, too: slow for large models")
    options = parser.parse_args()
    known = {m.name for m in zoo.MODELS}
    for model in options.models:
        if model not in known:
            parser.error(f"--models: no model {model} ({', '.join(sorted(known))})")
    return options


def is_small(folder):
    return (folder / "small").exists()


def export(options):
    options.folder.mkdir(parents=True, exist_ok=True)
    marker = options.folder / "small"
    marker.touch() if options.small else marker.unlink(missing_ok=True)
    columns = ["model", "exporter", "status", "opset", "nodes", "operators", "megabytes", "seconds", "reason"]
    results, budget = Results(options.folder, "export", columns, options.redo), Budget(options.budget)
    for model in options.models:
        todo = [e for e in options.exporters if not results.has({"model": model, "exporter": e})]
        if not todo or budget.is_spent():
            continue
        try:
            case = zoo.build(model, options.small)
        except zoo.Missing as error:
            for exporter in todo:
                announce(results, {"model": model, "exporter": exporter, "status": "missing", "reason": str(error)})
            continue
        torch.save(case.module.state_dict(), exporting.weights_path(options.folder, model))
        for exporter in todo:
            announce(results, exporting.export_one(case, model, exporter, options.folder))
    return results


def announce(results, cell):
    results.add(cell)
    shown = {key: value for key, value in cell.items() if key not in ("outputs", "trace")}
    print(", ".join(f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}" for key, value in shown.items()))
    sys.stdout.flush()


def loaded(options, model):
    """The case with the weights that were exported, and a peer of it."""
    case = zoo.build(model, is_small(options.folder))
    weights = torch.load(exporting.weights_path(options.folder, model), map_location="cpu", weights_only=True)
    case.module.load_state_dict(weights)
    return case, checking.Peer(case)


def cells(options, model, results, lengths):
    """What is left to do of a model, those of the same inputs together."""
    for batch in options.batches:
        for length in lengths:
            for dtype in options.dtypes:
                for device in options.devices:
                    for exporter in options.exporters:
                        cell = {"model": model, "exporter": exporter, "device": device, "dtype": dtype}
                        cell |= {"batch": batch, "length": length}
                        if exporting.model_path(options.folder, model, exporter).exists() and not results.has(cell):
                            yield cell


def exported_models(options):
    for model in options.models:
        if any(exporting.model_path(options.folder, model, e).exists() for e in options.exporters):
            yield model


def check(options):
    columns = ["model", "exporter", "device", "dtype", "batch", "length", "status", "max_error", "rmse", "limit"]
    columns += ["own_check", "launches", "milliseconds", "reason"]
    results, budget = Results(options.folder, "check", columns, options.redo), Budget(options.budget)
    for model in exported_models(options):
        if budget.is_spent():
            break
        case, peer = loaded(options, model)
        of_pytorch = {}
        for cell in cells(options, model, results, case.lengths):
            if budget.is_spent():
                break
            inputs = zoo.inputs(case, cell["batch"], cell["length"])
            for dtype in {"f32", cell["dtype"]}:
                key = (cell["batch"], cell["length"], dtype)
                if key not in of_pytorch:
                    of_pytorch[key] = peer.outputs(inputs, dtype)
            ideal = of_pytorch[cell["batch"], cell["length"], "f32"]
            low = of_pytorch[cell["batch"], cell["length"], cell["dtype"]]
            path = exporting.model_path(options.folder, model, cell["exporter"])
            seconds = budget.at_most(options.timeout)
            announce(results, checking.check_cell(options, path, case, cell, inputs, ideal, low, seconds))
    return results


def fusion(options):
    columns = ["model", "exporter", "device", "dtype", "batch", "length", "launches", "megabytes", "milliseconds"]
    columns += ["torch_launches", "torch_generated", "torch_extern", "torch_megabytes", "torch_milliseconds", "reason"]
    results, budget = Results(options.folder, "fusion", columns, options.redo), Budget(options.budget)
    for model in exported_models(options):
        if budget.is_spent():
            break
        case, peer = loaded(options, model)
        of_pytorch = {}
        for cell in cells(options, model, results, case.lengths[:1]):
            if budget.is_spent():
                break
            key = (cell["batch"], cell["length"], cell["dtype"])
            if key not in of_pytorch:
                of_pytorch[key] = fusing.torch_compiled(case, peer, zoo.inputs(case, *key[:2]), cell["dtype"])
            path = exporting.model_path(options.folder, model, cell["exporter"])
            seconds = budget.at_most(options.timeout)
            announce(results, fusing.fusion_cell(options, path, case, cell, of_pytorch[key], seconds))
    return results


def case_and_peer(folder, model):
    """For processes of their own."""
    return loaded(argparse.Namespace(folder=folder), model)


def torch_times(options):
    """A row for each cell of tcc: the best layout of torch.compile beside it."""
    columns = ["model", "dtype", "batch", "layout", "torch_milliseconds", "milliseconds", "ratio", "reason"]
    results = Results(options.folder, "torch", columns, options.redo)
    best = {}
    load = functools.partial(case_and_peer, options.folder)
    models = list(exported_models(options))
    for cell in compiled.times(load, models, options.dtypes, options.batches, options.mode, options.compile_seconds):
        print(", ".join(f"{key} {value}" for key, value in cell.items()), flush=True)
        key = (cell["model"], cell["dtype"], cell.get("batch"))
        if cell.get("milliseconds", math.inf) < best.get(key, {}).get("milliseconds", math.inf):
            best[key] = cell
    for model in models:
        case = zoo.build(model, is_small(options.folder))
        for cell in cells(options, model, results, case.lengths[:1]):
            torchs = best.get((model, cell["dtype"], cell["batch"]), {"reason": "torch.compile has no time"})
            path = exporting.model_path(options.folder, model, cell["exporter"])
            ours = fusing.fusion_cell(options, path, case, cell, {}, options.timeout)
            row = {**ours, "layout": torchs.get("layout"), "torch_milliseconds": torchs.get("milliseconds")}
            if row["torch_milliseconds"] and row.get("milliseconds"):
                row["ratio"] = row["torch_milliseconds"] / row["milliseconds"]
            elif "reason" not in row:
                row["reason"] = torchs.get("reason")
            announce(results, row)
    ratios = [cell["ratio"] for cell in results.cells.values() if cell.get("ratio")]
    if ratios:
        print(f"geometric mean of torch.compile / tcc: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, least {min(ratios):.2f}")
    return results


def main():
    options = arguments()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if options.command != "export":
        if not options.tcc_run.exists():
            sys.exit(f"{options.tcc_run} does not exist: build it, or name it with --tcc-run")
        if not next(exported_models(options), None):
            sys.exit(f"{options.folder} holds no model: run `onnx_models.py export {options.folder}` first")
    results = {"export": export, "check": check, "fusion": fusion, "torch": torch_times}[options.command](options)
    bad = [cell for cell in results.cells.values() if cell["status"] != "ok"]
    print(f"{len(results.cells) - len(bad)} of {len(results.cells)} ok; {results.path.with_suffix('.md')}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
