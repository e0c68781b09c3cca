"""Launches and bytes of a model: tcc's against those of torch.compile, on the same GPU."""

import re

import torch

import checking


def launched_kernels(call):
    """Kernels, copies and fills that one call puts on the GPU."""
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        call()
        torch.cuda.synchronize()
    return sum(event.device_type == torch.autograd.DeviceType.CUDA for event in profile.events())


def recorded(call):
    """A CUDA graph of the call."""
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph


def milliseconds(graph, repeat=20):
    """The median of replays."""
    times = []
    for _ in range(repeat + 3):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return sorted(times[3:])[repeat // 2]


def torch_compiled(case, peer, inputs, dtype):
    """What torch.compile makes of the case: a part of a cell, with `reason` where something did not work."""
    if not torch.cuda.is_available():
        return {"reason": "PyTorch has no CUDA device here: its counts are missing"}
    from torch._inductor import metrics
    from torch._inductor.utils import run_and_get_code

    module, arguments = peer.module(dtype), peer.arguments(inputs, dtype)
    torch._dynamo.reset()
    metrics.reset()
    found = {}
    try:
        with torch.no_grad():
            compiled = torch.compile(module, dynamic=False)
            _, codes = run_and_get_code(compiled, *arguments)
            found["torch_generated"] = metrics.generated_kernel_count
            found["torch_extern"] = sum(extern_calls(code) for code in codes)
            if metrics.num_bytes_accessed:
                found["torch_megabytes"] = metrics.num_bytes_accessed / 1e6
            found["torch_launches"] = launched_kernels(lambda: compiled(*arguments))
            found["torch_milliseconds"] = milliseconds(recorded(lambda: compiled(*arguments)))
    except Exception as error:  # whatever the compiler throws is its answer
        found["reason"] = f"torch.compile: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    return found


def extern_calls(code):
    """Calls of libraries' kernels in Inductor's output."""
    return len(re.findall(r"^\s+(?:\w+ = )?(?:extern_kernels\.|torch\.ops\.aten\.)", code, re.MULTILINE))


def fusion_cell(options, path, case, cell, of_pytorch, seconds):
    dims = checking.dims_of_file(path, case.dims(cell["batch"], cell["length"]))
    flags = ["--dtype", cell["dtype"]] if cell["dtype"] != "f32" else []
    flags += ["--bench", str(options.bench or 20)] if cell["device"] != "null" else []
    flags += [part for path_ in options.tuning for part in ("--tuning", path_)]
    try:
        report = checking.tcc_run(options.tcc_run, path, cell["device"], dims, flags, seconds)
    except checking.Failed as error:
        return {**cell, "status": "error", **of_pytorch, "reason": str(error)}
    found = {**cell, "status": "ok", **checking.measurements(report), **of_pytorch}
    if "bench" in report:
        found["regions"] = [[row["region"], row["launches"], 1e6 * row["seconds"]] for row in report["bench"]]
    return found
