"""What others make of an exported model: ONNX Runtime, and the reference evaluator of the package onnx."""

import numpy as np

from .comparing import FLOATS, allowed, what_is_wrong

NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "bool": "bool"}
NAMES |= {f"{word}{bits}": f"{word[0]}{bits}" for word in ("int", "uint") for bits in (8, 16, 32, 64)}


def by_runtime(model, inputs):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return session.run(None, {i.name: inputs[i.name] for i in session.get_inputs()})


def by_reference(model, inputs):
    import ml_dtypes
    import onnx.reference

    is_bf16 = {i.name: i.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16 for i in model.graph.input}
    inputs = {name: x.view(ml_dtypes.bfloat16) if is_bf16[name] else x for name, x in inputs.items()}
    found = onnx.reference.ReferenceEvaluator(model).run(None, inputs)
    return [np.asarray(array) for array in found]


def moved(array):
    """Floats to their neighbours."""
    return np.nextafter(array, array.dtype.type(0)) if array.dtype in (np.float16, np.float32, np.float64) else array


def describe_outputs(model, inputs, note):
    """Where an exporter or PyTorch departs from the operators' text: what ONNX Runtime gives, else the reference."""
    changed = {name: moved(array) for name, array in inputs.items()}
    try:
        if note.startswith("reference:"):
            raise LookupError("ONNX Runtime departs from it, too")
        found, others = by_runtime(model, inputs), by_runtime(model, changed)
    except Exception:  # it lacks the operator for the type
        found, others = by_reference(model, inputs), by_reference(model, changed)
    described, results = [], {}
    for k, (array, other) in enumerate(zip(found, others)):
        dtype = NAMES[array.dtype.name]
        entry = {"name": f"y{k}", "dtype": dtype, "shape": list(array.shape)}
        results[f"y{k}"] = array.view(np.uint16) if dtype == "bf16" else array
        if dtype in FLOATS:
            wide = array.astype(np.float64)
            entry["allowed"] = 4 * allowed(wide, wide, other.astype(np.float64), dtype)  # both have errors of their own
        described.append(entry)
    return described, results


def verdict(model, inputs, described, results):
    """What ONNX Runtime makes of it: "right", or what is wrong, or why it does not run."""
    try:
        found = by_runtime(model, inputs)
    except Exception as error:
        return f"does not run: {str(error).splitlines()[0][:200]}"
    of = {o["name"]: (NAMES[array.dtype.name], array) for o, array in zip(described, found)}
    return what_is_wrong(described, results, of) or "right"
