"""Weights that both contestants hold as constants: drawn once, and given to tcc in a .safetensors file."""

import json
import struct

import torch

from .buffers import fill
from .twin import torch_dtype

# Names of types in .safetensors files.
NAMES = {
    "f64": "F64", "f32": "F32", "f16": "F16", "bf16": "BF16", "f8e4m3": "F8_E4M3", "f8e5m2": "F8_E5M2", "bool": "BOOL",
    "i8": "I8", "i16": "I16", "i32": "I32", "i64": "I64", "u8": "U8", "u16": "U16", "u32": "U32", "u64": "U64",
}  # fmt: skip


def draw(graph):
    """A tensor on the host for each of the graph's constants."""
    tensors = []
    for spec in graph.constants:
        tensor = torch.empty(spec.shape, dtype=torch_dtype(spec.dtype))
        fill(tensor, spec)
        tensors.append(tensor)
    return tensors


def save(graph, tensors, path):
    """Writes nothing where there are none."""
    if not tensors:
        return
    header, offset = {}, 0
    for spec, tensor in zip(graph.constants, tensors):
        end = offset + tensor.numel() * tensor.element_size()
        header[spec.name] = {"dtype": NAMES[spec.dtype], "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors:
            file.write(tensor.contiguous().view(-1).view(torch.uint8).numpy().tobytes())
