"""tcc's C ABI: examples/python_ctypes.py, found by its place, since other packages are called `examples` as well."""

import importlib.util
import pathlib

_path = pathlib.Path(__file__).resolve().parents[2] / "examples/python_ctypes.py"
_spec = importlib.util.spec_from_file_location("python_ctypes", _path)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)

Library, Compiled, Context = _module.Library, _module.Compiled, _module.Context
