"""Writes the backend tests of the installed onnx package as folders, as distributions ship them.

usage: python make_cases.py FOLDER

FOLDER/SUITE/CASE holds model.onnx and test_data_set_K/{input,output}_J.pb. Numbers that the package draws come from one
seed, so that two runs write the same. Nothing is left behind when it fails: the folder appears whole.
"""

import os
import shutil
import sys
import warnings

import numpy
import onnx
from onnx import numpy_helper
from onnx.backend.test.case import model as model_cases
from onnx.backend.test.loader import load_model_tests

SUITES = ("simple", "pytorch-operator", "pytorch-converted")  # the package has these as files


def serialized(value, info):
    """A value as the message that the declared type asks for."""
    if isinstance(value, onnx.TensorProto):
        return value
    kind = info.type.WhichOneof("value")
    writers = {
        "map_type": numpy_helper.from_dict,
        "sequence_type": numpy_helper.from_list,
        "optional_type": numpy_helper.from_optional,
    }
    return writers.get(kind, numpy_helper.from_array)(value, info.name)


def write_case(folder, case):
    os.makedirs(folder)
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        file.write(case.model.SerializeToString())
    for k, (inputs, outputs) in enumerate(case.data_sets):
        data = os.path.join(folder, f"test_data_set_{k}")
        os.makedirs(data)
        for prefix, values, infos in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
            for j, value in enumerate(values):
                with open(os.path.join(data, f"{prefix}_{j}.pb"), "wb") as file:
                    file.write(serialized(value, infos[j]).SerializeToString())


def write_all(folder):
    data = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
    for suite in SUITES:
        shutil.copytree(os.path.join(data, suite), os.path.join(folder, suite))
    numpy.random.seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numpy: the cases overflow on purpose
        cases = load_model_tests(kind="node") + [c for c in model_cases.collect_testcases() if c.model]
        for case in cases:
            path = os.path.join(folder, case.kind, case.name)
            if not os.path.exists(path):
                write_case(path, case)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    target = os.path.abspath(sys.argv[1])
    partial = target + ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    write_all(partial)
    os.rename(partial, target)
    for suite in sorted(os.listdir(target)):
        print(f"onnx {onnx.__version__}, {suite}: {len(os.listdir(os.path.join(target, suite)))} cases")


if __name__ == "__main__":
    main()
