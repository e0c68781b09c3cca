"""The checking worker: a sample runs on a device through tcc's C ABI; needs numpy alone."""

import pathlib
import sys
import tempfile

import numpy as np

from . import workers
from .comparing import what_is_wrong
from .storage import Reader

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "examples"))
import python_ctypes as tcc  # noqa: E402

BITS = {"bf16": np.uint16, "f16": np.float16, "f32": np.float32, "f64": np.float64, "bool": np.bool_}
BITS |= {f"{sign}{bits}": np.dtype(f"{sign}{bits // 8}") for sign in "iu" for bits in (8, 16, 32, 64)}


def run(library, path, device, arrays):
    """The outputs by name: (dtype, array as stored)."""
    compiled = tcc.Compiled(library, str(path), device)
    given = [np.ascontiguousarray(arrays[name]).tobytes() for name, _, _, _ in compiled.inputs]
    found = tcc.Context(compiled).run_host(given)
    return {
        name: (dtype, np.frombuffer(bytes(data), BITS[dtype]).reshape(shape))
        for (name, dtype, shape, _), data in zip(compiled.outputs, found)
    }


def serve(folder, library):
    reader, loaded = Reader(pathlib.Path(folder)), tcc.Library(library)

    def handle(task):
        """{"sample": its number, "device"} -> {"status": "right", "wrong", "refused" or "failed", "reason"}."""
        sample = reader.samples[task["sample"]]
        arrays = reader.arrays(sample["id"])
        with tempfile.TemporaryDirectory() as place:
            path = pathlib.Path(place) / "model.onnx"
            path.write_bytes(reader.model(sample["id"]))
            try:
                found = run(loaded, path, task["device"], arrays)
            except tcc.Error as error:
                text = str(error).replace(f"{path}: ", "").splitlines()[0]
                return {"status": "refused" if error.status == 2 else "failed", "reason": text}
        wrong = what_is_wrong(sample["outputs"], arrays, found)
        return {"status": "wrong", "reason": wrong} if wrong else {"status": "right"}

    workers.serve(handle)
