"""The best time of torch.compile for a model: weights as constants, each layout of images, replayed as a CUDA graph.

A process compiles and records all cells of one model in one type; many do so side by side. Timing starts when all have, and
one process at a time has the GPU.
"""

import copy
import multiprocessing
import os
import time

import torch

import checking
import fusing
import zoo


def layouts(arguments):
    """Images may lie in the order of channels, which is faster for most convolutions."""
    return ["contiguous", "channels_last"] if any(a.dim() == 4 for a in tensors(arguments)) else ["contiguous"]


def tensors(values):
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from tensors(value)


def in_layout(module, arguments, layout):
    """Images only: keys and values of attention have four dims, too, and stay."""
    has_images = any(isinstance(m, torch.nn.Conv2d) for m in module.modules())
    if layout == "contiguous" or not has_images:
        return module, arguments
    order = torch.channels_last
    moved = [a.contiguous(memory_format=order) if isinstance(a, torch.Tensor) and a.dim() == 4 else a for a in arguments]
    return copy.deepcopy(module).to(memory_format=order), moved


def prepared(peer, inputs, dtype, layout, mode):
    """A CUDA graph of the compiled module, with what it reads. Inductor takes the weights as constants ("freezing").

    It is recorded at once: Dynamo forgets compiled code when it is reset before the next cell.
    """
    import torch._inductor.config as inductor

    module, arguments = in_layout(peer.module(dtype), peer.arguments(inputs, dtype), layout)
    with inductor.patch(freezing=True, max_autotune=mode == "max-autotune"):
        compiled = torch.compile(module, dynamic=False)
        graph = fusing.recorded(lambda: compiled(*arguments))
    return graph, (module, arguments, compiled)


def process(load, model, dtype, batches, mode, compiled, everyone, turn, results):
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # the processes are parallel
    torch.set_num_threads(1)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    cells = []
    try:
        case, peer = load(model)
        torch._dynamo.config.recompile_limit = 64
        with torch.no_grad():
            for batch in batches:
                inputs = zoo.inputs(case, batch, case.lengths[0])
                for layout in layouts(peer.arguments(inputs, dtype)):
                    cell = {"model": model, "dtype": dtype, "batch": batch, "layout": layout}
                    try:
                        torch._dynamo.reset()
                        cells.append((cell, prepared(peer, inputs, dtype, layout, mode)))
                    except Exception as error:  # whatever the compiler throws is its answer
                        first = (str(error).splitlines() or [""])[0]
                        results.put({**cell, "reason": f"{type(error).__name__}: {first}"})
    except Exception as error:
        results.put({"model": model, "dtype": dtype, "reason": f"{type(error).__name__}: {error}"})
    with compiled.get_lock():
        compiled.value += 1
    everyone.wait()
    for cell, (graph, _) in cells:
        with turn:
            try:
                results.put({**cell, "milliseconds": fusing.milliseconds(graph, 40)})
            except Exception as error:
                results.put({**cell, "reason": f"{type(error).__name__}: {error}"})
    results.put(None)


def times(load, models, dtypes, batches, mode, seconds):
    """Cells of every model, type, batch and layout, as they come; a process that has not compiled after `seconds` is left out."""
    context = multiprocessing.get_context("spawn")
    compiled, everyone, turn, results = context.Value("i", 0), context.Event(), context.Lock(), context.Queue()
    jobs = [(model, dtype) for model in models for dtype in dtypes]
    processes = [
        context.Process(target=process, args=(load, *job, batches, mode, compiled, everyone, turn, results), daemon=True) for job in jobs
    ]
    for p in processes:
        p.start()
    end = time.monotonic() + seconds
    while compiled.value < len(jobs) and time.monotonic() < end and any(p.is_alive() for p in processes):
        time.sleep(0.2)
    for p, job in zip(processes, jobs):
        if not p.is_alive():
            yield {"model": job[0], "dtype": job[1], "reason": f"the process ended with {p.exitcode}"}
    left = compiled.value
    everyone.set()
    while left:
        cell = results.get()
        if cell is None:
            left -= 1
        else:
            yield cell
    for p in processes:
        p.kill()
