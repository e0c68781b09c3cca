#!/usr/bin/env python3
"""tcc from Python through its C ABI, with nothing but ctypes.

    python_ctypes.py [--library PATH] [GRAPH [DEVICE]]

On CUDA, `Context(compiled, stream=torch.cuda.current_stream().cuda_stream)` and `run_device` with `tensor.data_ptr()`s
run on PyTorch's tensors and stream, asynchronously, and can be captured in a torch.cuda.CUDAGraph.
"""

import argparse
import array
import ctypes
import json
import pathlib
import sys


class TensorInfo(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_char_p),
        ("shape_text", ctypes.c_char_p),
        ("rank", ctypes.c_size_t),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("bytes", ctypes.c_int64),
    ]


class CompileOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("num_dims", ctypes.c_size_t),
        ("dim_names", ctypes.POINTER(ctypes.c_char_p)),
        ("dim_values", ctypes.POINTER(ctypes.c_int64)),
        ("dtype", ctypes.c_char_p),
        ("matmul_precision", ctypes.c_char_p),
        ("num_tuning", ctypes.c_size_t),
        ("tuning", ctypes.POINTER(ctypes.c_char_p)),
        ("cache_dir", ctypes.c_char_p),
        ("no_cache", ctypes.c_int32),
        ("strict_rounding", ctypes.c_int32),
    ]


class Error(RuntimeError):
    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def library_path():
    """The library of the prefix that this file is installed in (share/tcc/examples), else the system's."""
    prefix = pathlib.Path(__file__).resolve().parents[3]
    for folder in ("lib", "lib64", "lib/*-linux-gnu"):
        for path in sorted(prefix.glob(f"{folder}/libtcc-core.so.0")):
            return str(path)
    return "libtcc-core.so.0"


class Library:
    def __init__(self, path=None):
        path = path or library_path()
        handle, pointers = ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)
        try:
            lib = ctypes.CDLL(path)
        except OSError as error:
            raise Error(
                None,
                f"cannot load tcc's library: {error}; build it (`PRESET=release ./dev build tcc-core` makes "
                "build/release/lib/libtcc-core.so) and name it with --library",
            ) from None
        results = {
            "tcc_version": ctypes.c_char_p,
            "tcc_last_error": ctypes.c_char_p,
            "tcc_device": ctypes.c_char_p,
            "tcc_kernel_report": ctypes.c_char_p,
            "tcc_launches": ctypes.c_int64,
            "tcc_arena_bytes": ctypes.c_int64,
            "tcc_compiled_num_inputs": ctypes.c_size_t,
            "tcc_compiled_num_outputs": ctypes.c_size_t,
            "tcc_graph_destroy": None,
            "tcc_compiled_destroy": None,
            "tcc_context_destroy": None,
        }
        for name, result in results.items():
            function = getattr(lib, name)
            function.restype = result
            function.argtypes = [] if name in ("tcc_version", "tcc_last_error") else [handle]
        info, out, size = ctypes.POINTER(TensorInfo), ctypes.POINTER(handle), ctypes.c_size_t
        lib.tcc_graph_load.argtypes = [ctypes.c_char_p, out]
        lib.tcc_graph_from_yaml.argtypes = [ctypes.c_char_p, ctypes.c_char_p, out]
        lib.tcc_compile.argtypes = [handle, ctypes.c_char_p, ctypes.POINTER(CompileOptions), out]
        lib.tcc_compiled_input.argtypes = lib.tcc_compiled_output.argtypes = [handle, size, info]
        lib.tcc_context_create.argtypes = [handle, out]
        lib.tcc_context_create_on_stream.argtypes = [handle, handle, out]
        lib.tcc_context_run.argtypes = [handle, pointers, size, pointers, size]
        lib.tcc_context_run_host.argtypes = lib.tcc_context_run.argtypes
        lib.tcc_context_synchronize.argtypes = [handle]
        self.lib = lib

    def check(self, status):
        if status != 0:
            raise Error(status, self.lib.tcc_last_error().decode())


class Compiled:
    """A graph, a file's or the YAML given as `text`, on a device. `inputs` and `outputs` are (name, dtype, shape, bytes)
    each."""

    def __init__(
        self, library, path=None, device="auto", dims=None, dtype=None, precision=None, tuning=(), text=None
    ):
        self.library, self.handle = library, ctypes.c_void_p()
        lib, dims = library.lib, dims or {}
        encoded = lambda value: value.encode() if value else None
        options = CompileOptions(
            size=ctypes.sizeof(CompileOptions),
            num_dims=len(dims),
            dim_names=(ctypes.c_char_p * len(dims))(*[name.encode() for name in dims]),
            dim_values=(ctypes.c_int64 * len(dims))(*dims.values()),
            dtype=encoded(dtype),
            matmul_precision=encoded(precision),
            num_tuning=len(tuning),
            tuning=(ctypes.c_char_p * len(tuning))(*[path.encode() for path in tuning]),
        )
        graph = ctypes.c_void_p()
        if text is None:
            library.check(lib.tcc_graph_load(path.encode(), ctypes.byref(graph)))
        else:
            library.check(lib.tcc_graph_from_yaml(text.encode(), None, ctypes.byref(graph)))
        try:
            out = ctypes.byref(self.handle)
            library.check(lib.tcc_compile(graph, device.encode(), ctypes.byref(options), out))
        finally:
            lib.tcc_graph_destroy(graph)
        self.inputs = self._tensors(lib.tcc_compiled_num_inputs, lib.tcc_compiled_input)
        self.outputs = self._tensors(lib.tcc_compiled_num_outputs, lib.tcc_compiled_output)
        self.device = lib.tcc_device(self.handle).decode()
        self.launches = lib.tcc_launches(self.handle)
        self.arena_bytes = lib.tcc_arena_bytes(self.handle)
        self.kernels = json.loads(lib.tcc_kernel_report(self.handle))

    def _tensors(self, count, get):
        tensors = []
        for i in range(count(self.handle)):
            info = TensorInfo(size=ctypes.sizeof(TensorInfo))
            self.library.check(get(self.handle, i, ctypes.byref(info)))
            shape = tuple(info.shape[k] for k in range(info.rank))
            tensors.append((info.name.decode(), info.dtype.decode(), shape, info.bytes))
        return tensors

    def __del__(self):
        if self.handle:
            self.library.lib.tcc_compiled_destroy(self.handle)


class Context:
    """One per thread. `stream`: None for one of its own, else a CUDA stream's handle (0: the default stream)."""

    def __init__(self, compiled, stream=None):
        self.compiled, self.library, self.handle = compiled, compiled.library, ctypes.c_void_p()
        lib, out = self.library.lib, ctypes.byref(self.handle)
        if stream is None:
            self.library.check(lib.tcc_context_create(compiled.handle, out))
        else:
            self.library.check(lib.tcc_context_create_on_stream(compiled.handle, stream, out))

    def _run(self, function, inputs, outputs):
        pointers = lambda list: (ctypes.c_void_p * len(list))(*list)
        self.library.check(
            function(self.handle, pointers(inputs), len(inputs), pointers(outputs), len(outputs))
        )

    def run_device(self, inputs, outputs):
        """On device pointers (ints), asynchronously."""
        self._run(self.library.lib.tcc_context_run, inputs, outputs)

    def run_host(self, inputs):
        """On bytes-like objects; returns a list of bytearrays."""
        for (name, _, _, size), given in zip(self.compiled.inputs, inputs):
            if memoryview(given).nbytes != size:
                raise ValueError(f"input '{name}' has {size} bytes, not {memoryview(given).nbytes}")
        sources = [ctypes.create_string_buffer(bytes(given), len(bytes(given))) for given in inputs]
        results = [bytearray(size) for _, _, _, size in self.compiled.outputs]
        targets = [(ctypes.c_char * len(result)).from_buffer(result) for result in results]
        address = lambda list: [ctypes.addressof(item) for item in list]
        self._run(self.library.lib.tcc_context_run_host, address(sources), address(targets))
        return results

    def synchronize(self):
        self.library.check(self.library.lib.tcc_context_synchronize(self.handle))

    def __del__(self):
        if self.handle:
            self.library.lib.tcc_context_destroy(self.handle)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("graph", nargs="?", default="examples/demo.yaml")
    parser.add_argument("device", nargs="?", default="auto")
    parser.add_argument("--library", help="by default that of this file's prefix, else the system's")
    arguments = parser.parse_args()

    compiled = Compiled(Library(arguments.library), arguments.graph, arguments.device)
    print(f"{compiled.device}: {compiled.launches} launches, arena of {compiled.arena_bytes} bytes")
    for kernel in compiled.kernels:
        print(f"  {kernel['template']}: {kernel['region']}")
    ones = [array.array("f", [1.0]) * (size // 4) for _, _, _, size in compiled.inputs]
    outputs = Context(compiled).run_host(ones)
    for (name, dtype, shape, _), output in zip(compiled.outputs, outputs):
        print(f"{name} {dtype}{list(shape)}: {array.array('f', bytes(output[:16])).tolist()} ...")


if __name__ == "__main__":
    try:
        main()
    except Error as error:
        sys.exit(f"python_ctypes.py: {error}")
