"""tcc against PyTorch on one GPU: python3 -m bench.against_torch [--cases FILE...]; bench/README.md tells more.

Exit codes: 0 every result is right, 1 some are wrong or a case failed, 2 bad usage, 4 the device was lost.
"""

import argparse
import concurrent.futures
import datetime
import gc
import os
import pathlib
import sys
import time

import torch

from .c_api import Library

from . import cases, contest, results
from .clocks import Clocks
from .peers import start_compiler

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITES = [ROOT / "bench/suites" / f"{name}.yaml" for name in ("bandwidth", "gemm", "gemm-epilogue")]


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="python3 -m bench.against_torch", description=__doc__.split("\n")[0]
    )
    add = parser.add_argument
    add(
        "--cases",
        nargs="+",
        default=SUITES,
        metavar="FILE",
        help="suites and graphs (default: the limits' three suites)",
    )
    add(
        "--filter",
        nargs="+",
        default=[],
        metavar="PATTERN",
        help="only cases whose name holds one of these; * and ?",
    )
    add("--dim", action="append", default=[], metavar="N=8", help="in every case whose graph has that dim")
    add("--peers", default=",".join(cases.KNOWN_PEERS), help="of those that a suite names; '' for none")
    add(
        "--peer-times",
        action="append",
        default=[],
        metavar="FILE",
        help="compiled peers' times: an earlier results.json",
    )
    add(
        "--peer-limit",
        type=float,
        default=120,
        metavar="SECONDS",
        help="for compiling one case (default 120)",
    )
    add("--tuning", action="append", default=[], metavar="PATH", help="tuning records for tcc")
    add("--seconds", type=float, default=0.8, help="of timing per case (default 0.8)")
    add("--quick", action="store_true", help="eager only, 0.2 s per case")
    add("--check", action="store_true", help="check results, time nothing")
    add("--device", default="cuda:0", help="other than cuda:N: --check only, through host memory")
    add("--library", help="libtcc-core.so (default: $TCC_LIBRARY, build/release/lib, the loader's path)")
    add(
        "--output",
        type=pathlib.Path,
        default="build/against-torch",
        metavar="DIR",
        help="of results.json, table.md",
    )
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.peers, arguments.seconds = "eager", 0.2
    arguments.peers = [peer for peer in arguments.peers.split(",") if peer]
    if unknown := set(arguments.peers) - set(cases.KNOWN_PEERS):
        parser.error(f"--peers: {', '.join(unknown)}; there are {', '.join(cases.KNOWN_PEERS)}")
    if not arguments.device.startswith("cuda:") and not arguments.check:
        parser.error(f"--device {arguments.device}: only with --check, PyTorch does not run there")
    try:
        arguments.dims = {name: int(value) for name, value in (d.split("=") for d in arguments.dim)}
        found = [case for path in arguments.cases for case in cases.read(path, arguments.dims)]
        arguments.found = cases.select(found, arguments.filter)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    if not arguments.found:
        parser.error("no such case; names are " + ", ".join(case.name for case in found))
    return arguments


def find_library(given):
    built = ROOT / "build/release/lib/libtcc-core.so"
    return given or os.environ.get("TCC_LIBRARY") or (str(built) if built.exists() else "libtcc-core.so.0")


def context_of(library, device):
    on_gpu = device.startswith("cuda:")
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "executable": "bench/against_torch",
        "num_cpus": os.cpu_count(),
        "device": torch.cuda.get_device_name(device) if on_gpu else device,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "tcc": library.lib.tcc_version().decode(),
        "caches": [],
        "library_build_type": "release",
    }


def progress(i, count, result, seconds):
    if "tcc" in result.times:
        text = f"tcc {result.times['tcc'].ms:.4f} ms, {result.rate()}"
        if peer := result.best_peer():
            text += f", {peer} {result.times[peer].ms:.4f} ms, {result.ratio():.3f}x"
    else:
        text = f"error {result.check:.2f} of its bound"
    if result.error:
        text = f"FAILED: {result.error}; {text}"
    print(f"[{i:3}/{count}] {result.name}: {text} ({result.tiers}, {seconds:.1f} s)", flush=True)
    for note in result.notes:
        print(f"          {note}", flush=True)


def device_is_lost(device):
    """After a fault of a kernel, every CUDA call fails."""
    try:
        torch.cuda.synchronize(device)
        return False
    except RuntimeError:
        return True


def runner(arguments, context):
    """A function of a contest.Entry that gives its Result."""
    if not arguments.device.startswith("cuda:"):
        return contest.check_on_host
    recorded = {}
    for path in arguments.peer_times:
        recorded.update(results.read_peer_times(path, context))
    clocks = Clocks(arguments.device)
    game = contest.Contest(
        arguments.device, arguments.peers, arguments.seconds, arguments.peer_limit, recorded, clocks
    )
    return game.check if arguments.check else game.run


def run_cases(arguments, context, entries, run):
    """Writes the results after every case, so that a run which is cut off leaves what it has."""
    done = []
    for i, (case, future) in enumerate(zip(arguments.found, entries), 1):
        begin = time.monotonic()
        try:
            result = run(future.result())
        except Exception as error:  # of one case, whatever it is: the others still run
            text = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            result = results.Result(case.name, case.group, error=text)
        progress(i, len(entries), result, time.monotonic() - begin)
        done.append(result)
        results.write_json(arguments.output / "results.json", context, done)
        results.write_atomically(arguments.output / "table.md", results.markdown(context, done))
        if arguments.device.startswith("cuda:"):
            if device_is_lost(arguments.device):
                print("the device is lost; the cases that are left were not run", file=sys.stderr)
                return done, 4
            torch.cuda.empty_cache()
    return done, int(any(result.error for result in done))


def main():
    arguments = parse_arguments()
    torch.set_grad_enabled(False)
    torch.manual_seed(0)
    on_gpu = arguments.device.startswith("cuda:")
    if on_gpu:
        torch.cuda.set_device(arguments.device)
    try:
        library = Library(find_library(arguments.library))
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 2
    context = context_of(library, arguments.device)
    try:
        run = runner(arguments, context)
    except (OSError, KeyError, ValueError) as error:
        print(f"--peer-times: {error}", file=sys.stderr)
        return 2
    arguments.output.mkdir(parents=True, exist_ok=True)
    print(
        f"{context['device']}, {len(arguments.found)} cases; tcc {context['tcc']}, PyTorch {context['torch']}",
        flush=True,
    )
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        compiling = lambda case: contest.Entry(case, library, arguments.device, arguments.tuning)
        entries = [pool.submit(compiling, case) for case in arguments.found]
        if on_gpu and not arguments.check and set(arguments.peers) - {"eager"}:
            start_compiler(arguments.device)
    gc.freeze()  # or every capture walks all that PyTorch has loaded
    print(f"compiled by tcc in {time.monotonic() - begin:.1f} s", flush=True)
    done, status = run_cases(arguments, context, entries, run)
    print(
        f"\n{results.markdown(context, done)}\n{time.monotonic() - begin:.0f} s, {arguments.output}",
        flush=True,
    )
    return status


if __name__ == "__main__":
    sys.exit(main())
