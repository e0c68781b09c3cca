"""One case: tcc's result is checked, then tcc, PyTorch and a copy are timed in alternation."""

import pathlib
import tempfile

import torch

from .c_api import Compiled, Context

from . import check, constants, graph, measure, peers, twin
from .buffers import Buffers, Slab, set_count
from .results import Result
from .stats import bootstrap


class Entry:
    """A case with its graph, compiled by tcc. `error` instead where that failed."""

    def __init__(self, case, library, device, tuning):
        self.case, self.error, self.compiled, self.constants = case, "", None, []
        try:
            self.graph = graph.read(case.path, case.dims, case.dtype, case.weights)
            self.constants = constants.draw(self.graph)
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "graph.yaml"
                constants.save(self.graph, self.constants, path.parent / "weights.safetensors")
                path.write_text(self.graph.to_yaml("weights.safetensors"))
                precision = case.matmul_precision
                self.compiled = Compiled(
                    library, str(path), device=device, precision=precision, tuning=tuning
                )
        except (ValueError, RuntimeError) as error:
            self.error = str(error)
        except KeyError as error:
            self.error = f"{case.path}: no {error}"

    def result(self):
        result = Result(self.case.name, self.case.group, error=self.error)
        if self.compiled:
            result.bytes = sum(size for *_, size in self.compiled.inputs + self.compiled.outputs)
            result.bytes += sum(c.numel() * c.element_size() for c in self.constants)
            result.flops = twin.flops(self.graph)
            result.launches = self.compiled.launches
            result.tiers = " ".join(dict.fromkeys(k["tier"] for k in self.compiled.kernels))
            result.configs = [f"{k['template']}: {k['config']}" for k in self.compiled.kernels]
        return result

    def output_specs(self):
        return [(twin.torch_dtype(dtype), shape) for _, dtype, shape, _ in self.compiled.outputs]

    def judge(self, operands, outputs, device):
        """Of outputs that tcc computed from the inputs; the operands are these and the constants."""
        torch.set_float32_matmul_precision(self.case.matmul_precision)
        torch.backends.cudnn.allow_tf32 = self.case.matmul_precision != "highest"
        stepwise = twin.function(self.graph, device=device)(*operands)
        wide = [x.double() if x.dtype.is_floating_point else x for x in operands]
        ideal = twin.function(self.graph, wide=True, device=device)(*wide)
        return check.judge_all(outputs, stepwise, ideal)


def addresses(tensors):
    return [t.data_ptr() for t in tensors]


def check_on_host(entry):
    """A Result without times, of a device whose memory PyTorch does not share."""
    result = entry.result()
    if result.error:
        return result
    buffers = Buffers(entry.graph, entry.output_specs(), 1, "cpu", entry.constants)
    as_bytes = lambda t: t.contiguous().view(-1).view(torch.uint8).numpy()
    raw = Context(entry.compiled).run_host([as_bytes(t) for t in buffers.inputs[0]])
    outputs = [
        torch.frombuffer(data, dtype=dtype).view(shape) if data else torch.empty(shape, dtype=dtype)
        for data, (dtype, shape) in zip(raw, entry.output_specs())
    ]
    verdict = entry.judge(buffers.operands[0], outputs, "cpu")
    result.check = verdict.error
    result.error = "" if verdict.ok else f"wrong result: {verdict.text}"
    return result


class Contest:
    """On one CUDA device. `recorded`: times of peers that need not run, by (case, peer)."""

    def __init__(self, device, peer_names, seconds, peer_limit, recorded, clocks):
        self.device, self.peer_names, self.seconds = device, peer_names, seconds
        self.peer_limit, self.recorded, self.clocks = peer_limit, recorded, clocks
        self.stream = torch.cuda.Stream(device)
        torch.backends.cudnn.benchmark = True  # its fastest algorithm, found at the first call
        self.l2_bytes = torch.cuda.get_device_properties(device).L2_cache_size

    def check(self, entry):
        """A Result without times."""
        return self.start(entry)[0]

    def run(self, entry):
        """A Result with the times of all contestants; a wrong result is timed as well, and says so."""
        result, buffers, launch = self.start(entry)
        if not launch:
            return result
        buffers.poison()
        torch.cuda.synchronize(self.device)  # what fills buffers is on another stream
        contestants = {"tcc": measure.Contestant(launch, buffers.count, self.stream)}
        self.add_peers(contestants, result, entry, buffers)
        contestants["copy"] = measure.Contestant(
            self.copy_launch(result.bytes, buffers.count), buffers.count, self.stream
        )
        before = self.clocks.read()
        samples = measure.measure(contestants, self.stream, self.seconds)
        after = self.clocks.read()
        result.clocks = {
            f"{k}_{when}": v for when, read in (("before", before), ("after", after)) for k, v in read.items()
        }
        result.times.update({name: bootstrap(values) for name, values in samples.items()})
        self.judge(entry, buffers, buffers.count - 1, result, "in a CUDA graph, ")
        return result

    def start(self, entry):
        """A Result of the first check, and what tcc's launches need; None for those where tcc failed."""
        result = entry.result()
        if result.error:
            return result, None, None
        buffers = Buffers(
            entry.graph,
            entry.output_specs(),
            set_count(result.bytes, self.l2_bytes),
            self.device,
            entry.constants,
        )
        context = Context(entry.compiled, self.stream.cuda_stream)
        pointers = [(addresses(i), addresses(o)) for i, o in zip(buffers.inputs, buffers.outputs)]
        launch = lambda i: context.run_device(*pointers[i])
        torch.cuda.synchronize(self.device)
        launch(0)
        self.stream.synchronize()
        self.judge(entry, buffers, 0, result)
        return result, buffers, launch

    def judge(self, entry, buffers, i, result, where=""):
        verdict = entry.judge(buffers.operands[i], buffers.outputs[i], self.device)
        result.check = max(result.check, verdict.error)
        if not verdict.ok and not result.error:
            result.error = f"wrong result: {where}{verdict.text}"

    def add_peers(self, contestants, result, entry, buffers):
        function = twin.function(entry.graph, device=self.device)
        peers.forget()
        for peer in entry.case.peers:
            known = self.recorded.get((result.name, peer))
            if peer != "eager" and known:
                result.times[peer] = known
            elif peer in self.peer_names:
                self.add_peer(contestants, result, peer, function, entry, buffers)

    def add_peer(self, contestants, result, peer, function, entry, buffers):
        try:
            prepared = peers.prepare(peer, function, entry.graph, buffers.operands[0])
            with peers.time_limit(self.peer_limit), torch.cuda.stream(self.stream):
                prepared(*buffers.operands[0])
            launch = lambda i: prepared(*buffers.operands[i])
            contestants[peer] = measure.Contestant(launch, buffers.count, self.stream)
        except peers.TimeLimit:
            result.notes.append(f"{peer} did not compile in {self.peer_limit:.0f} s")
        except Exception as error:  # whatever a compiler may raise; the others go on
            result.notes.append(f"{peer} failed: {type(error).__name__}: {str(error).partition(chr(10))[0]}")

    def copy_launch(self, size, sets):
        """Copies half of the bytes: as many are read and written together."""
        shape = (max(1, size // 2),)
        source, target = (Slab(torch.uint8, shape, sets, self.device) for _ in range(2))
        source.all.random_(0, 256)
        return lambda i: target.tensors[i].copy_(source.tensors[i])
