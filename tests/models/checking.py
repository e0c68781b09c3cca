"""Runs an exported model through tcc-run and compares its outputs with PyTorch's."""

import copy
import json
import math
import subprocess
import tempfile

import numpy as np
import torch

MANTISSA_BITS = {"f32": 23, "f16": 10, "bf16": 7}
TORCH_TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
F32_LIMIT = 1e-3  # of the largest error, over the largest absolute value of the output


class Failed(Exception):
    """tcc-run found an error; the text is its last line."""


def tcc_run(program, model, device, dims, options, seconds):
    """What tcc-run prints as JSON."""
    command = [str(program), str(model), "--device", device, "--json", *options]
    command += [part for name, value in dims.items() for part in ("--dim", f"{name}={value}")]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Failed(f"longer than {seconds:.0f} seconds") from None
    if done.returncode not in (0, 1):  # 1: --check found a mismatch, which the JSON tells
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
        raise Failed(lines[-1])
    return json.loads(done.stdout)


def dims_of_file(path, dims):
    """Those of `dims` that the file's inputs name: an exporter may rename or drop symbols."""
    import onnx

    model = onnx.load(path, load_external_data=False)
    named = {d.dim_param for i in model.graph.input for d in i.type.tensor_type.shape.dim if d.dim_param}
    return {name: value for name, value in dims.items() if name in named}


def in_type(module, kind):
    """A copy with parameters and saved buffers in `kind`. Others (rotary frequencies) stay, as when a model is loaded."""
    copied = copy.deepcopy(module)
    saved = set(copied.state_dict())
    others = [(name, buffer) for name, buffer in copied.named_buffers() if name not in saved]
    copied.to(kind)
    for name, buffer in others:
        owner, _, leaf = name.rpartition(".")
        setattr(copied.get_submodule(owner), leaf, buffer)
    return copied


class Peer:
    """PyTorch's outputs of a case, on a GPU where PyTorch has one."""

    def __init__(self, case):
        self.case, self.device = case, "cuda" if torch.cuda.is_available() else "cpu"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        self.modules = {"f32": case.module.to(self.device)}

    def module(self, dtype):
        if dtype not in self.modules:
            self.modules[dtype] = in_type(self.modules["f32"], TORCH_TYPES[dtype])
        return self.modules[dtype]

    def arguments(self, inputs, dtype):
        kind = TORCH_TYPES[dtype]
        moved = (t.to(self.device) for t in inputs.values())
        return self.case.arguments(t.to(kind) if t.is_floating_point() else t for t in moved)

    def outputs(self, inputs, dtype):
        """f64 arrays in the order of the case's outputs, of a run in `dtype`."""
        with torch.no_grad():
            results = self.module(dtype)(*self.arguments(inputs, dtype))
        results = results if isinstance(results, (tuple, list)) else (results,)
        return [t.detach().to(torch.float64).cpu().numpy() for t in results]


def rmse(a, b):
    return float(np.sqrt(np.mean((a - b) ** 2))) if a.size else 0.0


def compare(ours, ideal, low, dtype):
    """Of one output. f32 is judged by its largest error; others against PyTorch's own run in that type."""
    scale = float(np.abs(ideal).max(initial=0.0)) or 1.0
    result = {"max_error": float(np.abs(ours - ideal).max(initial=0.0)) / scale, "rmse": rmse(ours, ideal)}
    if not np.isfinite(ours).all():
        return {**result, "pass": not np.isfinite(ideal).all(), "reason": "not finite"}
    if dtype == "f32":
        result["pass"] = result["max_error"] <= F32_LIMIT
        return result
    rms = math.sqrt(float(np.mean(ideal**2))) if ideal.size else 0.0
    result["rmse_torch"] = rmse(low, ideal)
    result["limit"] = 2 * result["rmse_torch"] + 4 * 2.0 ** -MANTISSA_BITS[dtype] * rms
    result["pass"] = result["rmse"] <= result["limit"]
    return result


def check_cell(options, path, case, cell, inputs, ideal, low, seconds):
    """The cell with what was found, in no more than so many seconds."""
    named = {name: tensor.numpy() for name, tensor in inputs.items()}
    dims = dims_of_file(path, case.dims(cell["batch"], cell["length"]))
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/inputs.npz", **named)
        flags = ["--inputs", f"{folder}/inputs.npz", "--outputs", f"{folder}/outputs.npz"]
        flags += ["--dtype", cell["dtype"]] if cell["dtype"] != "f32" else []
        flags += ["--check"] if options.own_check else []
        flags += ["--bench", str(options.bench)] if options.bench and cell["device"] != "reference" else []
        flags += [part for path_ in options.tuning for part in ("--tuning", path_)]
        try:
            report = tcc_run(options.tcc_run, path, cell["device"], dims, flags, seconds)
        except Failed as error:
            return {**cell, "status": "error", "reason": str(error)}
        with np.load(f"{folder}/outputs.npz") as file:
            ours = {name: file[name].astype(np.float64) for name in file.files}
    outputs = []
    for k, name in enumerate(case.outputs):
        if ours[name].shape != ideal[k].shape:
            return {**cell, "status": "wrong", "reason": f"{name}: shape {ours[name].shape}, not {ideal[k].shape}"}
        outputs.append({"name": name, **compare(ours[name], ideal[k], low[k] if low else None, cell["dtype"])})
    return {**cell, **verdict(outputs, report), **measurements(report), "outputs": outputs}


def verdict(outputs, report):
    worst = max(outputs, key=lambda o: (not o["pass"], o["max_error"]))
    found = {"status": "ok", "max_error": worst["max_error"], "rmse": worst["rmse"]}
    for key in ("rmse_torch", "limit"):
        if key in worst:
            found[key] = worst[key]
    if "pass" in report:
        found["own_check"] = "ok" if report["pass"] else "MISMATCH"
    reasons = []
    if not all(o["pass"] for o in outputs):
        reasons.append(f"differs from PyTorch: output {worst['name']}")
    if report.get("pass") is False:
        reasons.append("tcc-run --check: " + next(o.get("reason", "") for o in report["outputs"] if not o["pass"]))
    if reasons:
        found.update(status="wrong", reason="; ".join(reasons))
    return found


def measurements(report):
    found = {key: report[key] for key in ("launches", "kernels", "arena_bytes") if key in report}
    if "seconds_compile" in report:
        found["compile_seconds"] = report["seconds_compile"]
    if "seconds_replay" in report:
        found["milliseconds"] = 1e3 * report["seconds_replay"]
        found["megabytes"] = sum(row["bytes"] * row["launches"] for row in report["bench"]) / 1e6
    return found
