"""Times of several contestants: each is a CUDA graph of many launches, and their replays alternate."""

import collections
import math
import time

import numpy
import torch

REPLAY_MS = 4.0  # what a graph should take: the start of a replay is then lost in it
SHORTEST_MS = 1e-3  # no launch takes less
IDLE_CYCLES = 2_000_000  # about a millisecond in which the host enqueues a round
STABLE = 0.01  # warm-up ends when no median of three rounds differs more from the one before


class Contestant:
    """`launch(i)` enqueues one launch on buffer set `i` and returns what must stay alive for it, as outputs that
    PyTorch allocates: as many stay alive as there are sets, so that they rotate as well."""

    def __init__(self, launch, sets, stream):
        self.launch, self.sets, self.stream = launch, sets, stream
        with torch.cuda.stream(stream):
            for i in range(2):
                launch(i % sets)
        stream.synchronize()
        self.capture(sets)
        self.replay_ms()  # the first uploads the graph
        rounds = math.ceil(REPLAY_MS / max(self.replay_ms(), sets * SHORTEST_MS))
        if rounds > 1:
            self.capture(rounds * sets)

    def capture(self, launches):
        self.launches, self.graph = launches, torch.cuda.CUDAGraph()
        self.alive = collections.deque(maxlen=self.sets)
        with torch.cuda.graph(self.graph, stream=self.stream, capture_error_mode="thread_local"):
            for i in range(launches):
                self.alive.append(self.launch(i % self.sets))

    def enqueue(self):
        """One replay; returns the events around it."""
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        events[0].record(self.stream)
        with torch.cuda.stream(self.stream):
            self.graph.replay()
        events[1].record(self.stream)
        return events

    def replay_ms(self):
        begin, end = self.enqueue()
        end.synchronize()
        return begin.elapsed_time(end)


def play_round(contestants, stream, first):
    """Milliseconds per launch of each, beginning with number `first`. The device is kept busy while the host enqueues,
    so that no replay waits for it."""
    names = list(contestants)
    order = names[first % len(names) :] + names[: first % len(names)]
    with torch.cuda.stream(stream):
        torch.cuda._sleep(IDLE_CYCLES)
    events = {name: contestants[name].enqueue() for name in order}
    stream.synchronize()
    return [events[n][0].elapsed_time(events[n][1]) / contestants[n].launches for n in names]


def warm_up(contestants, stream, seconds):
    """Rounds until the medians stand still, for `seconds` at most."""
    end, previous = time.monotonic() + seconds, None
    while time.monotonic() < end:
        medians = numpy.median([play_round(contestants, stream, i) for i in range(3)], axis=0)
        if previous is not None and numpy.all(numpy.abs(medians / previous - 1) < STABLE):
            return
        previous = medians


def measure(contestants, stream, seconds, least_rounds=15):
    """Samples in milliseconds per launch, by contestant."""
    warm_up(contestants, stream, seconds)
    end, rounds = time.monotonic() + seconds, []
    while len(rounds) < least_rounds or time.monotonic() < end:
        rounds.append(play_round(contestants, stream, len(rounds)))
    return dict(zip(contestants, numpy.array(rounds).T))
