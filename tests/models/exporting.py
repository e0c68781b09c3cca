"""Writes models as ONNX with both of PyTorch's exporters, and what each of them did."""

import contextlib
import os
import pathlib
import sys
import time
import traceback

import onnx
import torch

import zoo

EXPORTERS = ("dynamo", "script")  # torch.onnx.export with dynamo=True and dynamo=False
EXAMPLE_BATCH = 2  # torch.export takes sizes of 0 and 1 for constants
EXTERNAL_ABOVE = 2_000_000_000  # bytes of weights: protobuf holds less than 2 GiB


def model_path(folder, name, exporter):
    return pathlib.Path(folder) / f"{name}-{exporter}.onnx"


def weights_path(folder, name):
    return pathlib.Path(folder) / f"{name}.pt"


def weight_bytes(module):
    return sum(p.numel() * p.element_size() for p in module.parameters())


def export(case, path, exporter):
    example = zoo.inputs(case, EXAMPLE_BATCH, case.lengths[0])
    settings = {"input_names": list(example), "output_names": case.outputs}
    if exporter == "script":
        with torch.no_grad():
            torch.onnx.export(
                case.module, case.arguments(example.values()), path, dynamo=False, opset_version=18, dynamic_axes=case.axes, **settings
            )
        return
    symbols = {}  # one object for each name: equal names are equal sizes
    for axes in case.axes.values():
        for symbol in axes.values():
            symbols.setdefault(symbol, torch.export.Dim(symbol))
    shapes = [{d: symbols[symbol] for d, symbol in case.axes.get(name, {}).items()} for name in example]
    shapes = case.arguments(shapes)
    program = torch.onnx.export(
        case.module, case.arguments(example.values()), dynamo=True, dynamic_shapes=shapes, external_data=False, verbose=False, **settings
    )
    program.save(path, external_data=weight_bytes(case.module) > EXTERNAL_ABOVE)


def describe(path):
    """What is in the file."""
    model = onnx.load(path, load_external_data=False)
    return {
        "opset": max(o.version for o in model.opset_import if o.domain in ("", "ai.onnx")),
        "nodes": len(model.graph.node),
        "functions": len(model.functions),
        "operators": len({node.op_type for node in model.graph.node}),
        "megabytes": round(path.stat().st_size / 1e6, 1),
    }


@contextlib.contextmanager
def silence():
    """The exporters print progress, warnings and whole graphs, some of it from C++."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [(fd, os.dup(fd)) for fd in (1, 2)]
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        for fd, _ in kept:
            os.dup2(nothing, fd)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for fd, copy in kept:
            os.dup2(copy, fd)
            os.close(copy)
        os.close(nothing)


def export_one(case, name, exporter, folder):
    """A result: how the export went. Its output is kept where it failed."""
    path = model_path(folder, name, exporter)
    start = time.time()
    try:
        with silence():
            export(case, path, exporter)
        result = {"status": "ok", **describe(path)}
    except Exception as error:  # whatever the exporter throws is its answer
        path.unlink(missing_ok=True)
        lines = str(error).strip().splitlines() or [""]
        result = {"status": "failed", "reason": f"{type(error).__name__}: {lines[0]}", "trace": traceback.format_exc()[-4000:]}
    return {"model": name, "exporter": exporter, **result, "seconds": round(time.time() - start, 1)}
