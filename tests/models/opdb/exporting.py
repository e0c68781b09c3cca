"""The exporting worker: a sample becomes an ONNX model, its inputs, and what PyTorch makes of them."""

import base64
import functools
import io
import logging
import unittest.mock
import warnings

import numpy as np
import onnx
import torch

from . import runtimes, samples, workers
from .comparing import FLOATS, allowed
from .storage import Key

OPSET = 20
ONNX_NAMES = {torch.float32: "FLOAT", torch.float64: "DOUBLE"}  # where it isn't PyTorch's in capitals
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


class Unfit(Exception):
    """No sample for a test: the text says why."""


def raw(tensor):
    """As it is stored: bf16 as its bits."""
    tensor = tensor.detach().contiguous()
    return tensor.view(torch.uint16).numpy() if tensor.dtype == torch.bfloat16 else tensor.numpy()


def as_f64(tensor):
    return tensor.detach().double().contiguous().numpy()


def same(a, b):
    return len(a) == len(b) and all(torch.equal(raw_bits(x), raw_bits(y)) for x, y in zip(a, b))


def raw_bits(tensor):
    """For comparing: NaNs are equal."""
    return torch.nan_to_num(tensor.double(), nan=1.5e300, posinf=1.6e300, neginf=-1.6e300)


def check_types(tensors, what):
    for tensor in tensors:
        if tensor.layout != torch.strided or tensor.is_quantized:
            raise Unfit(f"{what}: not a dense tensor")
        if tensor.dtype not in samples.NAMES:
            raise Unfit(f"{what} of type {tensor.dtype}")
    if sum(t.numel() for t in tensors) > samples.LARGEST:
        raise Unfit(f"{what}: too large")


def eager(case):
    """PyTorch's outputs in the sample's own types, which must not depend on a seed. The database seeds random ops."""
    check_types(case.tensors, "an input")
    runs = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        try:
            with unittest.mock.patch.object(torch, "manual_seed", lambda seed: None):
                runs.append(case.run())
        except Exception as error:
            raise Unfit(f"PyTorch: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}") from None
    if not runs[0]:
        raise Unfit("no output is a tensor")
    check_types(runs[0], "an output")
    if not same(*runs):
        raise Unfit("random")
    return runs[0]


def perturbed(tensors, dtype):
    """Floats moved by up to one ulp of the sample's type."""
    generator = torch.Generator().manual_seed(0)
    ulp = FLOATS.get(dtype, FLOATS["f32"])[0]
    move = lambda t: t * (1 + ulp * (2 * torch.rand(t.shape, generator=generator, dtype=torch.float64) - 1))
    return [move(t) if t.is_floating_point() else t for t in tensors]


def in_f64(case, expected, dtype):
    """Outputs in f64, of the inputs and of perturbed ones; None where PyTorch has none of the same shapes."""
    torch.set_default_dtype(torch.float64)
    try:
        wide, found = case.in_f64(), []
        for tensors in (wide.tensors, perturbed(wide.tensors, dtype)):
            outputs = wide.run(tensors)
            fits = [a.shape == b.shape and a.is_floating_point() == b.is_floating_point() for a, b in zip(outputs, expected)]
            if len(outputs) != len(expected) or not all(fits):
                return None
            found.append(outputs)
        return found
    except Exception:  # no kernel for f64, or a mix of types: PyTorch's own result remains
        return None
    finally:
        torch.set_default_dtype(torch.float32)


def describe_outputs(case, expected, dtype):
    """Per output a dict for the list, and the arrays to store."""
    wide, described, arrays = in_f64(case, expected, dtype), [], {}
    for k, tensor in enumerate(expected):
        name = samples.NAMES[tensor.dtype]
        entry = {"name": f"y{k}", "dtype": name, "shape": list(tensor.shape)}
        arrays[f"y{k}"] = raw(tensor)
        if name in FLOATS:
            ours = as_f64(tensor)
            ideal, changed = (as_f64(wide[0][k]), as_f64(wide[1][k])) if wide else (ours, None)
            entry["allowed"] = allowed(ours, ideal, changed, name)
            if wide:
                arrays[f"ideal{k}"] = ideal
        described.append(entry)
    return described, arrays


def by_script(case, names):
    file = io.BytesIO()
    with torch.no_grad():
        torch.onnx.export(
            case, tuple(case.tensors), file, dynamo=False, opset_version=OPSET, verbose=False, **names
        )
    return onnx.load_from_string(file.getvalue())


def by_dynamo(case, names):
    program = torch.export.export(case, tuple(case.tensors), strict=False)
    return torch.onnx.export(
        program, dynamo=True, opset_version=OPSET, external_data=False, verbose=False, **names
    ).model_proto


@functools.cache
def make_dynamo_fast():
    """It reads its table of operators again for every model, which takes most of the time."""
    from torch._export import utils
    from torch.onnx._internal.exporter import _registration

    utils._collect_all_valid_cia_ops = functools.cache(utils._collect_all_valid_cia_ops)
    registry = _registration.ONNXRegistry
    registry.from_torchlib = staticmethod(functools.cache(registry.from_torchlib))


def export(case, expected, exporter):
    """A model with the inputs x0, x1, ... and the outputs y0, y1, ..., and of no other kind."""
    make_dynamo_fast()
    names = {
        "input_names": [f"x{k}" for k in range(len(case.tensors))],
        "output_names": [f"y{k}" for k in range(len(expected))],
    }
    model = (by_dynamo if exporter == "dynamo" else by_script)(case, names)
    model.ClearField("metadata_props")
    model.graph.ClearField("metadata_props")
    for node in model.graph.node:
        node.ClearField("metadata_props")
        node.ClearField("doc_string")
    if [o.name for o in model.graph.output] != names["output_names"]:
        raise ValueError(f"outputs {[o.name for o in model.graph.output]}")
    for output, tensor in zip(model.graph.output, expected):
        found = onnx.TensorProto.DataType.Name(output.type.tensor_type.elem_type)
        if found != ONNX_NAMES.get(tensor.dtype, str(tensor.dtype).removeprefix("torch.").upper()):
            raise ValueError(f"{output.name} is {found} where PyTorch's is {tensor.dtype}")
    return model


def handle(task):
    """{"key", "exporters": those to try, in this order, "note"} -> {"status": "ok", ...} or "unfit" or "failed"."""
    key = Key(**task["key"])
    try:
        case = samples.module(key)
        expected = eager(case)
        if key.kind == "extremal" and any(t.dtype in INTEGERS for t in expected):
            raise Unfit("an integer of NaN or infinity, which the operator's text leaves open")
    except Unfit as reason:
        return {"status": "unfit", "reason": str(reason)}
    described, results = describe_outputs(case, expected, key.dtype)
    reasons = []
    for exporter in task["exporters"]:
        try:
            model = export(case, expected, exporter)
        except Exception as error:  # whatever the exporter throws is its answer
            reasons.append(f"{exporter}: {type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:200]}")
            continue
        inputs = {f"x{k}": raw(t) for k, t in enumerate(case.tensors)}
        if task["note"]:
            try:
                described, results = runtimes.describe_outputs(model, inputs, task["note"])
            except Exception as error:
                return {"status": "failed", "reason": f"onnx.reference: {str(error).strip().splitlines()[0][:200]}"}
        packed = io.BytesIO()
        np.savez(packed, **inputs, **results)
        return {
            "status": "ok",
            "exporter": exporter,
            "inputs": [
                {"name": f"x{k}", "dtype": samples.NAMES[t.dtype], "shape": list(t.shape)} for k, t in enumerate(case.tensors)
            ],
            "outputs": described,
            "runtime": runtimes.verdict(model, inputs, described, results),
            "model": base64.b64encode(model.SerializeToString()).decode(),
            "arrays": base64.b64encode(packed.getvalue()).decode(),
        }
    return {"status": "failed", "reason": "; ".join(reasons)}


def serve():
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    workers.serve(handle)
