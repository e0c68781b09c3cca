"""What others make of an exported model: ONNX Runtime, and the reference evaluator of the package onnx."""

import numpy as np

from .comparing import FLOATS, allowed, what_is_wrong

NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "bool": "bool"}
NAMES |= {f"{word}{bits}": f"{word[0]}{bits}" for word in ("int", "uint") for bits in (8, 16, 32, 64)}


def bf16_names(values):
    """Of the graph inputs or outputs, those of type bf16."""
    import onnx

    return {v.name for v in values if v.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16}


def as_bf16(model, inputs):
    """The inputs, those of type bf16 as numbers instead of bits."""
    import ml_dtypes

    bits = bf16_names(model.graph.input)
    return {name: x.view(ml_dtypes.bfloat16) if name in bits else x for name, x in inputs.items()}


def widen(message):
    """Makes f32 of bf16 everywhere in a protobuf message: types of values, constants and attributes."""
    import onnx

    bf16, f32 = onnx.TensorProto.BFLOAT16, onnx.TensorProto.FLOAT
    if isinstance(message, onnx.TensorProto):
        if message.data_type == bf16:
            wide = onnx.numpy_helper.to_array(message).astype(np.float32)
            message.CopyFrom(onnx.numpy_helper.from_array(wide, message.name))
        return
    if isinstance(message, onnx.AttributeProto) and message.name in ("to", "dtype") and message.i == bf16:
        message.i = f32
    if isinstance(message, onnx.TypeProto.Tensor) and message.elem_type == bf16:
        message.elem_type = f32
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in value if field.is_repeated else [value]:
                widen(part)


def by_runtime(model, inputs):
    """In f32 where the model says bf16, for which ONNX Runtime lacks most operators; outputs are rounded to bf16."""
    import ml_dtypes
    import onnx
    import onnxruntime

    inputs, narrow = as_bf16(model, inputs), bf16_names(model.graph.output)
    inputs = {name: x.astype(np.float32) if x.dtype == ml_dtypes.bfloat16 else x for name, x in inputs.items()}
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    widen(wide)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(wide.SerializeToString(), options, ["CPUExecutionProvider"])
    found = session.run(None, {i.name: inputs[i.name] for i in session.get_inputs()})
    names = [o.name for o in session.get_outputs()]
    return [x.astype(ml_dtypes.bfloat16) if name in narrow else x for name, x in zip(names, found)]


def by_reference(model, inputs):
    import onnx.reference

    found = onnx.reference.ReferenceEvaluator(model).run(None, as_bf16(model, inputs))
    return [np.asarray(array) for array in found]


def stored(array):
    """As it is kept in the folder: bf16 as its bits."""
    return array.view(np.uint16) if NAMES[array.dtype.name] == "bf16" else array


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
        results[f"y{k}"] = stored(array)
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
    of = {o["name"]: (NAMES[array.dtype.name], stored(array)) for o, array in zip(described, found)}
    return what_is_wrong(described, results, of) or "right"
