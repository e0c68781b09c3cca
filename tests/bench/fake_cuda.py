"""A stand-in for torch.cuda on the CPU: graphs are lists of calls, whose replay takes as long as they say."""

import contextlib


class Clock:
    now = 0.0  # ms


class Event:
    def __init__(self, enable_timing=False):
        self.time = None

    def record(self, stream):
        self.time = Clock.now

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return end.time - self.time


class Stream:
    cuda_stream = 0

    def __init__(self, device=0):
        pass

    def synchronize(self):
        pass


class CUDAGraph:
    capturing = None

    def __init__(self):
        self.calls = []

    def replay(self):
        for call in self.calls:
            call()


@contextlib.contextmanager
def graph(cuda_graph, stream=None, capture_error_mode="global"):
    CUDAGraph.capturing = cuda_graph
    yield
    CUDAGraph.capturing = None


def stream(_):
    return contextlib.nullcontext()


def synchronize(device=None):
    pass


def _sleep(cycles):
    Clock.now += 1.0


def launch(work):
    """Enqueues `work`: when captured, at every replay."""
    if CUDAGraph.capturing:
        CUDAGraph.capturing.calls.append(work)
    else:
        work()
