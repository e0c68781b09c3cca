"""The samples of PyTorch's op database (torch.testing), each a module of one op and its tensors."""

import functools
import itertools
import random

import numpy as np
import torch
from torch.testing._internal import common_methods_invocations as database
from torch.testing._internal.opinfo import core
from torch.utils import _pytree as pytree

from .storage import Key

TYPES = {
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "u8": torch.uint8,
    "bool": torch.bool,
}
NAMES = {
    **{kind: name for name, kind in TYPES.items()},
    torch.float64: "f64",
    torch.int8: "i8",
    torch.int16: "i16",
}
# So many samples of one op, variant and dtype at most, evenly spaced: some ops have over a thousand.
MOST = {"f32": 10}
MOST_OTHERS = 3
MOST_EXTREMAL = 2
EXTREMAL_TYPES = ("f32", "f16", "bf16")
LARGEST = 1 << 16  # elements of all tensors of a sample
UNDEFINED = "empty"  # ops with this in their name return memory as it was


def ops():
    """By (name, variant), in the order of the database."""
    return {(op.name, op.variant_test_name): op for op in database.op_db}


@functools.lru_cache(maxsize=4)
def all_samples(name, variant, kind, dtype):
    """The database's list, which is the same in every process."""
    op = ops()[name, variant]
    random.seed(0), np.random.seed(0), torch.manual_seed(0)
    if kind == "sample":
        return list(op.sample_inputs("cpu", TYPES[dtype], requires_grad=False))
    if isinstance(op, core.UnaryUfuncInfo):
        generators = (
            core.generate_elementwise_unary_extremal_value_tensors,
            core.generate_elementwise_unary_small_value_tensors,
        )
    elif isinstance(op, core.BinaryUfuncInfo):
        generators = (core.generate_elementwise_binary_extremal_value_tensors,)
    else:
        return []
    return list(itertools.chain(*(make(op, device="cpu", dtype=TYPES[dtype], requires_grad=False) for make in generators)))


def evenly(count, most):
    """Indices of at most `most` of `count`."""
    return [i * count // min(count, most) for i in range(min(count, most))]


def whole():
    """The keys of all samples that are considered."""
    for (name, variant), op in ops().items():
        if UNDEFINED in name:
            continue
        for dtype in TYPES:
            if TYPES[dtype] not in op.dtypes:
                continue
            kinds = {"sample": MOST.get(dtype, MOST_OTHERS)}
            if dtype in EXTREMAL_TYPES:
                kinds["extremal"] = MOST_EXTREMAL
            for kind, most in kinds.items():
                for index in evenly(len(all_samples(name, variant, kind, dtype)), most):
                    yield Key(name, variant, kind, dtype, index)


class OneOp(torch.nn.Module):
    """The op with all but its tensors filled in. Its outputs are those that are tensors."""

    def __init__(self, op, sample):
        super().__init__()
        self.op = op
        leaves, self.spec = pytree.tree_flatten((sample.input, tuple(sample.args), dict(sample.kwargs)))
        self.tensors = [leaf.detach().clone() for leaf in leaves if isinstance(leaf, torch.Tensor)]
        self.leaves = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        self.places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        self.output = sample.output_process_fn_grad

    def forward(self, *tensors):
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors):
            leaves[place] = tensor
        first, args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        found = pytree.tree_leaves(self.op(first, *args, **kwargs))
        return tuple(t for t in found if isinstance(t, torch.Tensor))

    def in_f64(self):
        """The same in f64, its dtype arguments included."""
        wider = lambda kind: torch.float64 if isinstance(kind, torch.dtype) and kind.is_floating_point else kind
        other = OneOp.__new__(OneOp)
        torch.nn.Module.__init__(other)
        other.op, other.spec, other.places = self.op, self.spec, self.places
        other.leaves = [wider(leaf) for leaf in self.leaves]
        other.tensors = [t.double() if t.is_floating_point() else t for t in self.tensors]
        return other

    def run(self, tensors=None):
        with torch.no_grad():
            return self(*(t.clone() for t in (self.tensors if tensors is None else tensors)))


def module(key):
    sample = all_samples(key.op, key.variant, key.kind, key.dtype)[key.index]
    return OneOp(ops()[key.op, key.variant].op, sample)
