"""PyTorch's ways to run a function, and a limit on the time that one may take to compile."""

import contextlib
import signal

import torch

MODES = {"compile": "default", "max-autotune": "max-autotune-no-cudagraphs"}


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


def prepare(peer, function):
    """The function as a peer runs it; compiled at its first call."""
    if peer == "eager":
        return function
    return torch.compile(function, mode=MODES[peer], dynamic=False, fullgraph=True)


def start_compiler(device):
    """Has torch.compile start its compiler processes, which takes seconds the first time. A failure is left to the
    cases, which report it."""
    with contextlib.suppress(Exception):
        torch.compile(lambda x: torch.relu(x * 2).sum(), dynamic=False)(torch.ones(4096, device=device))
