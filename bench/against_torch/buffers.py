"""Inputs and outputs in several sets, so that launches which go round them find nothing of theirs in the L2."""

import math

import torch

from .twin import torch_dtype

ALIGNMENT = 512  # bytes, as PyTorch's allocator gives
MOST_SETS = 1024  # graphs that need more, of under 0.1 MB, partly stay in the L2, for all contestants alike


def fill(tensor, spec):
    """Random numbers by a graph.Tensor's `fill`."""
    kind, value = spec.fill, None
    if isinstance(kind, dict):
        ((kind, value),) = kind.items()
    if kind == "integers":
        tensor.random_(*value)
    elif kind == "uniform":
        tensor.uniform_(*value)
    elif kind in ("zeros", "ones", "constant"):
        tensor.fill_({"zeros": 0, "ones": 1}.get(kind, value))
    elif tensor.dtype.is_floating_point and tensor.element_size() == 1:  # f8 has no draws of its own
        tensor.copy_(torch.randn(tensor.shape, device=tensor.device).mul_(1 if value is None else value))
    elif tensor.dtype.is_floating_point:
        tensor.normal_(0, 1 if value is None else value)
    elif tensor.dtype == torch.bool:
        tensor.bernoulli_(0.5)
    else:
        tensor.random_(0, 8)


class Slab:
    """`count` dense tensors of one type in one allocation."""

    def __init__(self, dtype, shape, count, device):
        numel = math.prod(shape)
        item = torch.empty((), dtype=dtype).element_size()
        stride = max(1, math.ceil(numel * item / ALIGNMENT)) * ALIGNMENT // item
        self.all = torch.empty(count * stride, dtype=dtype, device=device)
        self.tensors = [self.all[i * stride : i * stride + numel].view(shape) for i in range(count)]

    def poison(self):
        """All bits set: NaN in every floating-point type."""
        self.all.view(torch.uint8).fill_(0xFF)


class Buffers:
    """`inputs[i]` and `outputs[i]` are lists of tensors; random inputs, poisoned outputs.

    `output_specs`: (dtype, shape) each. `operands[i]` are the inputs with the constants behind them, which are the same
    tensors in each set.
    """

    def __init__(self, graph, output_specs, count, device, constants=()):
        self.count = count
        inputs = [Slab(torch_dtype(t.dtype), t.shape, count, device) for t in graph.inputs]
        self.output_slabs = [Slab(dtype, shape, count, device) for dtype, shape in output_specs]
        for slab, spec in zip(inputs, graph.inputs):
            fill(slab.all, spec)
        self.inputs = [[slab.tensors[i] for slab in inputs] for i in range(count)]
        constants = [c.to(device) for c in constants]
        self.operands = [[*tensors, *constants] for tensors in self.inputs]
        self.outputs = [[slab.tensors[i] for slab in self.output_slabs] for i in range(count)]
        self.poison()

    def poison(self):
        for slab in self.output_slabs:
            slab.poison()


def set_count(bytes_per_set, l2_bytes):
    """So many that going round them takes more than twice the L2; at least two."""
    return min(MOST_SETS, max(2, 2 * l2_bytes // max(1, bytes_per_set) + 1))
