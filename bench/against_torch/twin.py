"""A graph as a PyTorch function, by printing it as Python and compiling that.

Op and attribute names are PyTorch's, so that most nodes print as `f(operands, attributes)` with the function found by
its name; the rest stands in the tables here. The text is what torch.compile traces, and what a reader can check.
"""

import functools
import keyword
import re

import torch
import torch.nn.functional

INFIX = {
    "add": "+", "sub": "-", "mul": "*", "pow": "**", "remainder": "%",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
}  # fmt: skip

# Operand names where PyTorch has attributes between the operands.
OPERANDS = {
    "layer_norm": ("input", "weight", "bias"),
    "rms_norm": ("input", "weight"),
    "group_norm": ("input", "weight", "bias"),
    "instance_norm": ("input", "weight", "bias"),
    "gather": ("input", "index"),
    "index_select": ("input", "index"),
    "take_along_dim": ("input", "indices"),
    "scatter": ("input", "index", "src"),
    "scatter_add": ("input", "index", "src"),
}
METHODS = {"expand", "repeat", "masked_fill"}
LISTS = {"cat", "concat", "stack"}
CREATION = {"zeros", "ones", "full", "eye", "arange"}
DTYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "bool": "bool",
    "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
}  # fmt: skip
# These functions take a number as an operand.
TAKES_NUMBERS = {"div", "where", "fmod", "floor_divide", "lerp"}
# The generated text uses these names.
NAMES = {"F", "torch", "int_mm", "scaled_mm", "attention_in_blocks"}
# Random draws cannot be compared.
UNSUPPORTED = {"rand", "randn", "randint", "dropout"}


# PyTorch multiplies 8-bit integers, with 32-bit sums, only in matrices of 17 rows or more.
def int_mm(a, b):
    rows = a.shape[0]
    if rows > 16 or a.is_meta:
        return torch._int_mm(a, b)
    return torch._int_mm(torch.nn.functional.pad(a, (0, 0, 0, 32 - rows)), b)[:rows]


def int_mm_flops(a_shape, b_shape, *args, **kwargs):
    return 2 * a_shape[0] * a_shape[1] * b_shape[1]


@functools.cache
def unit_scale(device):
    return torch.ones((), device=device)


# PyTorch multiplies f8 with _scaled_mm. Sums stay in the tensor cores if f32 products may be
# inexact, too.
def scaled_mm(a, b, dtype):
    one, fast = unit_scale(a.device), torch.get_float32_matmul_precision() != "highest"
    return torch._scaled_mm(a, b, one, one, out_dtype=dtype, use_fast_accum=fast)


def attention_in_blocks(q, k, v, mask=None, is_causal=False, block=512, **attributes):
    """scaled_dot_product_attention, blocks of queries at a time: scores in f64 take more memory than there is."""
    blocks = []
    for first in range(0, q.shape[-2], block):
        rows = slice(first, min(first + block, q.shape[-2]))
        seen = None if mask is None else mask[..., rows if mask.shape[-2] > 1 else slice(None), :]
        if is_causal:
            row, key = (torch.arange(n, device=q.device) for n in (q.shape[-2], k.shape[-2]))
            seen = key <= row[rows, None]
        blocks.append(
            torch.nn.functional.scaled_dot_product_attention(q[..., rows, :], k, v, seen, **attributes)
        )
    return torch.cat(blocks, -2)


def torch_dtype(name):
    return getattr(torch, DTYPES[name])


def find(op):
    for module, prefix in ((torch.nn.functional, "F."), (torch, "torch."), (torch.special, "torch.special.")):
        if op not in UNSUPPORTED and callable(getattr(module, op, None)):
            return prefix + op
    raise ValueError(f"op '{op}' has no function of its name in PyTorch")


class Printer:
    def __init__(self, graph, wide, device):
        self.graph, self.wide, self.device, self.names = graph, wide, device, {}

    def name(self, value):
        if value not in self.names:
            name = re.sub(r"\W", "_", value)
            while name in self.names.values() or keyword.iskeyword(name) or name in NAMES:
                name += "_"
            self.names[value] = name
        return self.names[value]

    def operand(self, value):
        return self.name(value) if isinstance(value, str) else repr(value)

    def dtype(self, name):
        name = "f64" if self.wide and torch_dtype(name).is_floating_point else name
        return f"torch.{DTYPES[name]}"

    def attributes(self, attributes):
        print_one = lambda k, v: self.dtype(v) if k == "dtype" else number(v)
        return [f"{k}={print_one(k, v)}" for k, v in attributes.items()]

    def expression(self, node):
        op, operands = node.op, [self.operand(o) for o in node.operands]
        attributes = dict(node.attributes)
        if op in INFIX and not attributes:
            return f"{operands[0]} {INFIX[op]} {operands[1]}"
        if op in ("cast", "to"):
            return f"{operands[0]}.to({self.dtype(attributes['dtype'])})"
        if op == "identity":
            return operands[0]
        if op == "embedding":  # the indices may come second, as in ATen
            first, second = operands
            return f"F.embedding({second}, {first}) if {first}.is_floating_point() else F.embedding({first}, {second})"
        if op == "slice":
            return self.slice(operands[0], **attributes)
        if op == "causal_mask":
            size, diagonal = attributes["size"], attributes.get("diagonal", 0)
            return f"torch.ones({size}, dtype=torch.bool, device='{self.device}').tril({diagonal})"
        if op in CREATION:
            return f"torch.{op}({', '.join(self.creation(op, attributes))})"
        if any(isinstance(o, (int, float)) for o in node.operands) and op not in TAKES_NUMBERS:
            raise ValueError(f"op '{op}' takes no number as an operand in PyTorch")
        if "out_dtype" in attributes:
            dtype, b = attributes["out_dtype"], operands[1] + (".t()" if op == "linear" else "")
            is_float = torch_dtype(dtype).is_floating_point
            if op not in ("linear", "matmul") or len(operands) != 2 or not (is_float or dtype == "i32"):
                raise ValueError(f"op '{op}' with an out_dtype has no twin but _int_mm's and _scaled_mm's")
            if is_float:
                return f"{operands[0]} @ {b}" if self.wide else f"scaled_mm({operands[0]}, {b}, {self.dtype(dtype)})"
            return f"int_mm({operands[0]}, {b})"
        if op in METHODS:
            return f"{operands[0]}.{op}({', '.join(operands[1:] + [number(v) for v in attributes.values()])})"
        if op in LISTS:
            operands = [f"[{', '.join(operands)}]"]
        if op == "einsum":
            operands = [repr(attributes.pop("equation")), *operands]
        if op == "scaled_dot_product_attention" and self.wide:
            return f"attention_in_blocks({', '.join(operands + self.attributes(attributes))})"
        if op in OPERANDS:
            operands = [f"{n}={o}" for n, o in zip(OPERANDS[op], operands)]
        call = f"{find(op)}({', '.join(operands + self.attributes(attributes))})"
        takes_first = op in ("max", "min") and "dim" in attributes and len(node.results) == 1
        return f"{call}[0]" if takes_first else call

    def slice(self, x, dim=0, start=(0,), end=(2**63 - 1,), step=1):
        bounds = [v[0] if isinstance(v, (list, tuple)) else v for v in (start, end)]
        return f"{x}.movedim({dim}, 0)[{bounds[0]}:{bounds[1]}:{step}].movedim(0, {dim})"

    def creation(self, op, attributes):
        defaults = {"arange": "i64"}
        dtype = self.dtype(attributes.pop("dtype", defaults.get(op, "f32")))
        if op == "arange":
            attributes = {
                "start": attributes.get("start", 0),
                "end": attributes["end"],
                "step": attributes.get("step", 1),
            }
        return [f"{k}={number(v)}" for k, v in attributes.items()] + [
            f"dtype={dtype}",
            f"device='{self.device}'",
        ]

    def source(self):
        inputs = ", ".join(self.name(t.name) for t in self.graph.operands)
        lines = [f"def twin({inputs}):"]
        for node in self.graph.nodes:
            expression = self.expression(node)
            splits = node.op in ("split", "chunk") and len(node.results) == 1
            results = ", ".join(self.name(r) for r in node.results) + ("," if splits else "")
            lines.append(f"    {results} = {expression}")
        outputs = "".join(f"{self.name(o)}, " for o in self.graph.outputs)
        return "\n".join([*lines, f"    return ({outputs.rstrip()})", ""])


def number(value):
    """An attribute as Python text; infinities and NaN have no literal."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f"float('{value}')"
    return repr(value)


def source(graph, wide=False, device="cuda"):
    """The text; `wide` replaces every floating-point type by f64. ValueError for an op without a twin."""
    return Printer(graph, wide, device).source()


def function(graph, wide=False, device="cuda"):
    """Takes the inputs and constants in the graph's order and returns a tuple of the outputs."""
    helpers = {"int_mm": int_mm, "scaled_mm": scaled_mm, "attention_in_blocks": attention_in_blocks}
    namespace = {"torch": torch, "F": torch.nn.functional, **helpers}
    exec(compile(source(graph, wide, device), f"<twin of {graph.name}>", "exec"), namespace)
    return namespace["twin"]


def flops(graph):
    """Of the products, convolutions and attention in it: 2 per multiply-add."""
    from torch.utils.flop_counter import FlopCounterMode

    inputs = [torch.empty(t.shape, dtype=torch_dtype(t.dtype), device="meta") for t in graph.operands]
    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten._int_mm: int_mm_flops}) as counter:
        function(graph, device="meta")(*inputs)
    return counter.get_total_flops()
