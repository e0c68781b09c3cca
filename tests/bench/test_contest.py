"""How contestants are captured, rotated and timed; on a stand-in for CUDA."""

import ctypes
import os
import pathlib
import types
import unittest
from unittest import mock

try:
    import torch
except ImportError:
    raise unittest.SkipTest("no PyTorch")

from bench.against_torch import contest, measure, twin
from bench.against_torch.cases import Case
from bench.against_torch.stats import Timing
from bench.against_torch.c_api import Library
import fake_cuda

ROOT = pathlib.Path(__file__).resolve().parents[2]


def with_fake_cuda():
    names = ("Event", "Stream", "CUDAGraph", "graph", "stream", "synchronize", "_sleep")
    return mock.patch.multiple(torch.cuda, **{name: getattr(fake_cuda, name) for name in names})


def launcher(ms, log, name):
    def run(i):
        fake_cuda.Clock.now += ms
        log.append((name, i))

    return lambda i: fake_cuda.launch(lambda: run(i))


class MeasureTest(unittest.TestCase):
    def setUp(self):
        patch = with_fake_cuda()
        patch.start()
        self.addCleanup(patch.stop)
        self.log, self.stream = [], fake_cuda.Stream()

    def test_a_graph_goes_round_all_sets_and_takes_its_time(self):
        contestant = measure.Contestant(launcher(0.01, self.log, "a"), 3, self.stream)
        self.log.clear()
        self.assertAlmostEqual(contestant.replay_ms(), contestant.launches * 0.01)
        self.assertGreaterEqual(contestant.replay_ms(), measure.REPLAY_MS)
        self.assertEqual([i for _, i in self.log[:7]], [0, 1, 2, 0, 1, 2, 0])
        self.assertEqual(contestant.launches % 3, 0)

    def test_long_launches_still_visit_every_set(self):
        self.assertEqual(measure.Contestant(launcher(50.0, self.log, "a"), 4, self.stream).launches, 4)

    def test_contestants_alternate_and_take_turns_at_the_front(self):
        make = lambda name, ms: measure.Contestant(launcher(ms, self.log, name), 2, self.stream)
        contestants = {"a": make("a", 2.0), "b": make("b", 3.0)}
        self.log.clear()
        samples = measure.measure(contestants, self.stream, 0, least_rounds=4)
        order = [name for name, i in self.log if i == 0]
        self.assertEqual(order, ["a", "b", "b", "a", "a", "b", "b", "a"])
        for name, ms in (("a", 2.0), ("b", 3.0)):
            torch.testing.assert_close(torch.tensor(samples[name]), torch.full((4,), ms, dtype=torch.float64))


class FakeContext:
    """Runs a graph with its twin, on host memory; `result` is what it computes."""

    def __init__(self, entry, result):
        self.entry, self.result = entry, result

    def run_device(self, inputs, outputs):
        specs = [(twin.torch_dtype(t.dtype), t.shape) for t in self.entry.graph.inputs]
        tensors = [self.tensor(p, *spec) for p, spec in zip(inputs, specs)]
        fake_cuda.launch(lambda: self.compute(tensors, outputs))

    def tensor(self, pointer, dtype, shape):
        size = torch.empty(shape, dtype=dtype).nbytes
        return torch.frombuffer((ctypes.c_char * size).from_address(pointer), dtype=dtype).view(shape)

    def compute(self, inputs, outputs):
        fake_cuda.Clock.now += 0.5
        for found, pointer, spec in zip(self.result(*inputs), outputs, self.entry.output_specs()):
            self.tensor(pointer, *spec).copy_(found)


@unittest.skipUnless("TCC_LIBRARY" in os.environ, "$TCC_LIBRARY names no libtcc-core.so")
class ContestTest(unittest.TestCase):
    def play(self, result=None, recorded=None):
        case = Case(
            ROOT / "bench/cases/linear-gelu.yaml",
            {"M": 16, "N": 64, "K": 32},
            "bf16",
            peers=("eager", "compile"),
        )
        entry = contest.Entry(case, Library(os.environ["TCC_LIBRARY"]), "null", [])
        game = contest.Contest.__new__(contest.Contest)
        game.device, game.peer_names, game.seconds, game.peer_limit = "cpu", ["eager"], 0, 60
        game.recorded, game.l2_bytes, game.stream = recorded or {}, 1 << 12, fake_cuda.Stream()
        game.clocks = types.SimpleNamespace(read=lambda: {"sm_mhz": 1980})
        context = FakeContext(entry, result or twin.function(entry.graph, device="cpu"))
        eager = lambda peer, *_: lambda *inputs: launcher(1.0, [], peer)(0)
        with (
            with_fake_cuda(),
            mock.patch.object(contest, "Context", lambda *_: context),
            mock.patch.object(contest.peers, "prepare", eager),
        ):
            return game.run(entry)

    def test_all_are_timed(self):
        result = self.play(
            recorded={("cases/linear-gelu/M:16/N:64/K:32/bf16", "compile"): Timing(9, 8, 10, 5, True)}
        )
        self.assertEqual(result.error, "")
        self.assertEqual(set(result.times), {"tcc", "eager", "compile", "copy"})
        self.assertAlmostEqual(result.times["tcc"].ms, 0.5)
        self.assertAlmostEqual(result.times["eager"].ms, 1.0)
        self.assertEqual(round(result.ratio(), 6), 2.0)
        self.assertEqual(result.times["compile"].ms, 9)
        self.assertEqual(result.clocks, {"sm_mhz_before": 1980, "sm_mhz_after": 1980})

    def test_a_wrong_result_is_told(self):
        self.assertIn("wrong result: RMSE", self.play(lambda x, w, b: (torch.zeros(16, 64),)).error)

    def test_a_result_that_is_wrong_in_the_graph_alone_is_told(self):
        right = lambda x, w, b: (torch.nn.functional.gelu(torch.nn.functional.linear(x, w, b)),)
        calls = []

        def result(*inputs):
            calls.append(1)
            return right(*inputs) if len(calls) < 4 else (torch.zeros(16, 64),)

        self.assertIn("wrong result: in a CUDA graph", self.play(result).error)


if __name__ == "__main__":
    unittest.main()
