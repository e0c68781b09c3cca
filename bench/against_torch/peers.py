"""PyTorch's ways to run a function, and a limit on the time that one may take to compile."""

import contextlib
import signal

import torch

from . import flex

MODES = {"compile": "default", "max-autotune": "max-autotune-no-cudagraphs"}
# Peers of attention: eager PyTorch with this backend of scaled_dot_product_attention and no other.
ATTENTION = {"cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION"}


class TimeLimit(BaseException):
    """Not an Exception: torch.compile wraps those of what it calls."""


@contextlib.contextmanager
def time_limit(seconds):
    """Raises TimeLimit in the block when it takes longer. Of the main thread only."""

    def stop(*_):
        raise TimeLimit()

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def forget():
    """Drops what torch.compile made so far: the shapes of a suite would count as recompilations of one function."""
    torch.compiler.reset()


def with_attention(backend, function):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def run(*operands):
        with sdpa_kernel(getattr(SDPBackend, backend)):
            return function(*operands)

    return run


def prepare(peer, function, graph=None, operands=()):
    """The function as a peer runs it; compiled at its first call. ValueError where the peer cannot run the graph."""
    if peer == "eager":
        return function
    if peer in ATTENTION:
        return with_attention(ATTENTION[peer], function)
    if peer == "flex":
        return flex.function(graph, operands)
    return torch.compile(function, mode=MODES[peer], dynamic=False, fullgraph=True)


def start_compiler(device):
    """Has torch.compile start its compiler processes, which takes seconds the first time. A failure is left to the
    cases, which report it."""
    with contextlib.suppress(Exception):
        torch.compile(lambda x: torch.relu(x * 2).sum(), dynamic=False)(torch.ones(4096, device=device))
