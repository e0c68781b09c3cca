"""Writes ONNX files with nothing but Python: the messages of onnx.proto that a decoder needs."""

import struct

TYPES = {"f32": 1, "i64": 7, "bool": 9, "f16": 10, "bf16": 16}
BYTES = {"f32": 4, "i64": 8, "bool": 1, "f16": 2, "bf16": 2}
ALIGNMENT = 4096  # of a weight in the file of weights


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    """One field: an int, a float, text, bytes or a message that is bytes already."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def tensor(name, dtype, shape, raw=None, external=()):
    message = b"".join(field(1, dim) for dim in shape) + field(2, TYPES[dtype]) + field(8, name)
    if raw is not None:
        return message + field(9, raw)
    for key, value in external:
        message += field(13, field(1, key) + field(2, str(value)))
    return message + field(14, 1)


def attribute(name, value):
    message = field(1, name)
    if isinstance(value, bool):
        value = int(value)
    if isinstance(value, int):
        return message + field(3, value) + field(20, 2)
    if isinstance(value, float):
        return message + field(2, value) + field(20, 1)
    if isinstance(value, str):
        return message + field(4, value) + field(20, 3)
    if isinstance(value, bytes):  # a tensor
        return message + field(5, value) + field(20, 4)
    return message + b"".join(field(8, number) for number in value) + field(20, 7)


def value_info(name, dtype, shape):
    dims = b"".join(field(1, field(2 if isinstance(d, str) else 1, d)) for d in shape)
    return field(1, name) + field(2, field(1, field(1, TYPES[dtype]) + field(2, dims)))


class Model:
    """A graph that grows node by node. Weights lie in a file of their own, at the offsets of `weights`."""

    def __init__(self, name, opset, weights_file):
        self.name, self.opset, self.weights_file = name, opset, weights_file
        self.nodes, self.initializers, self.inputs, self.outputs = [], [], [], []
        self.weights = {}  # name: (dtype, shape, offset)
        self.weights_bytes = 0
        self.constants = {}
        self.count = 0

    def input(self, name, dtype, shape):
        self.inputs.append(value_info(name, dtype, shape))
        return name

    def output(self, name, dtype, shape):
        self.outputs.append(value_info(name, dtype, shape))

    def weight(self, name, dtype, shape):
        if name not in self.weights:
            size = BYTES[dtype]
            for dim in shape:
                size *= dim
            offset = self.weights_bytes
            where = (("location", self.weights_file), ("offset", offset), ("length", size))
            self.initializers.append(tensor(name, dtype, shape, external=where))
            self.weights[name] = (dtype, shape, offset)
            self.weights_bytes += -(-size // ALIGNMENT) * ALIGNMENT
        return name

    def constant(self, dtype, values, shape=None):
        """`values`: a number or a list; bf16 is not among its types."""
        flat = values if isinstance(values, list) else [values]
        shape = shape if shape is not None else ([len(values)] if isinstance(values, list) else [])
        key = (dtype, tuple(flat), tuple(shape))
        if key not in self.constants:
            raw = struct.pack(f"<{len(flat)}{'f' if dtype == 'f32' else 'q'}", *flat)
            name = f"constant_{len(self.constants)}"
            self.initializers.append(tensor(name, dtype, shape, raw))
            self.constants[key] = name
        return self.constants[key]

    def node(self, op, inputs, outputs=1, **attributes):
        """Returns the name of the result, or names; `outputs` may be their names instead of their count."""
        if isinstance(outputs, int):
            self.count += 1
            outputs = [f"{op.lower()}_{self.count}" + (f"_{k}" if k else "") for k in range(outputs)]
        message = b"".join(field(1, name) for name in inputs) + b"".join(field(2, name) for name in outputs)
        message += field(3, f"node_{outputs[0]}") + field(4, op)
        message += b"".join(field(5, attribute(name, value)) for name, value in attributes.items())
        self.nodes.append(message)
        return outputs[0] if len(outputs) == 1 else outputs

    def to_bytes(self):
        graph = b"".join(field(1, node) for node in self.nodes) + field(2, self.name)
        for number, messages in ((5, self.initializers), (11, self.inputs), (12, self.outputs)):
            graph += b"".join(field(number, message) for message in messages)
        version = 8 if self.opset < 23 else 11
        return field(1, version) + field(2, "tcc") + field(7, graph) + field(8, field(1, "") + field(2, self.opset))
