"""The exported samples: one zip of models, inputs and expected outputs, and the text list of which samples they are."""

import dataclasses
import io
import json
import zipfile

import numpy as np

FILE = "samples.zip"
COLUMNS = ("op", "variant", "kind", "dtype", "index", "exporter")


@dataclasses.dataclass(frozen=True)
class Key:
    """What names a sample of the op database. `kind`: "sample" (sample_inputs) or "extremal" (those of elementwise ops)."""

    op: str
    variant: str
    kind: str
    dtype: str
    index: int


def read_list(path):
    """[(key, exporter, note)] of the text list; `note` is "" but where the sample's expected outputs are not PyTorch's."""
    rows = []
    for line in path.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        words, _, note = line.partition(" ! ")
        op, variant, kind, dtype, index, exporter = words.split()
        rows.append((Key(op, "" if variant == "-" else variant, kind, dtype, int(index)), exporter, note))
    return rows


def write_list(path, comment, rows):
    lines = ["# " + line for line in comment] + ["# " + " ".join(COLUMNS)]
    for key, exporter, note in rows:
        line = f"{key.op} {key.variant or '-'} {key.kind} {key.dtype} {key.index} {exporter}"
        lines.append(line + (f" ! {note}" if note else ""))
    path.write_text("\n".join(lines) + "\n")


def widened(array, dtype):
    """f64 values of a stored array; bf16 is stored as its bits."""
    if dtype == "bf16":
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float64)


class Writer:
    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self.samples = folder / FILE, []
        self.zip = zipfile.ZipFile(self.path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)

    def add(self, sample, model, arrays):
        """`sample`: a dict of JSON; `arrays`: of numpy, by name."""
        sample = {"id": len(self.samples), **sample}
        packed = io.BytesIO()
        np.savez(packed, **arrays)
        self.zip.writestr(f"{sample['id']}.onnx", model)
        self.zip.writestr(f"{sample['id']}.npz", packed.getvalue())
        self.samples.append(sample)

    def close(self):
        self.zip.writestr("samples.json", json.dumps(self.samples))
        self.zip.close()


class Reader:
    def __init__(self, folder):
        self.zip = zipfile.ZipFile(folder / FILE)
        self.samples = json.loads(self.zip.read("samples.json"))

    def model(self, number):
        return self.zip.read(f"{number}.onnx")

    def arrays(self, number):
        with np.load(io.BytesIO(self.zip.read(f"{number}.npz"))) as file:
            return {name: file[name] for name in file.files}
