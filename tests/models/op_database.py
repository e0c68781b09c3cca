"""PyTorch's op database through ONNX, against PyTorch's results.

    op_database.py export FOLDER                       the listed samples (op_database.txt) as models, with inputs and
                                                       expected outputs; needs torch, onnxscript and onnxruntime
    op_database.py check FOLDER --devices vulkan:0     runs them with tcc and compares; needs numpy alone

`export --new-list N` draws the list anew: N samples, evenly spaced over those that can be exported. What was exported
is kept in FOLDER/answers.jsonl, so that an export that is cut off goes on where it stopped. Both exit with 1 if anything
failed.
"""

import argparse
import base64
import collections
import dataclasses
import io
import json
import os
import pathlib
import re
import sys

import numpy as np

from opdb import storage, workers

LIST = pathlib.Path(__file__).with_suffix(".txt")
ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = ("build/release/lib/libtcc-core.so.0", "build/dev/lib/libtcc-core.so.0")
PLACES = (0, 4, 8)  # a new list is drawn from these of each 16 samples of the whole
SECONDS = 120  # of one sample


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    library = next((ROOT / p for p in LIBRARIES if (ROOT / p).exists()), ROOT / LIBRARIES[0])
    for name in ("export", "check"):
        p = commands.add_parser(name)
        p.add_argument("folder", type=pathlib.Path)
        p.add_argument("--jobs", type=int, default=os.cpu_count(), help="worker processes")
        p.add_argument("--only", default="", help="a regular expression of the samples' names")
        if name == "export":
            p.add_argument("--new-list", type=int, default=0, metavar="N")
        else:
            p.add_argument("--devices", default="cuda:0", help="with commas, as tcc-run names them (default cuda:0)")
            p.add_argument("--results", type=pathlib.Path, default=pathlib.Path("."), help="folder of check-DEVICE.jsonl")
            p.add_argument("--library", type=pathlib.Path, default=library, help="libtcc-core.so")
    commands.add_parser("export-worker")
    p = commands.add_parser("check-worker")
    p.add_argument("folder"), p.add_argument("library")
    return parser.parse_args()


def label(sample):
    name = sample["op"] + (f".{sample['variant']}" if sample["variant"] else "")
    return f"{name} {sample['kind']} {sample['dtype']} {sample['index']}"


def this(*words):
    return [sys.executable, str(pathlib.Path(__file__).resolve()), *map(str, words)]


def counted(title, results):
    """A line, and the reasons behind it, most frequent first."""
    print(f"{title}: {len(results)}")
    if title == "right":
        return
    groups = collections.defaultdict(list)
    for sample, reason in results:
        groups[re.sub(r"node \d+[^:]*: |'[^']*'|\d+", "_", reason)].append((sample, reason))
    for group in sorted(groups.values(), key=len, reverse=True):
        of = ", ".join(sorted({sample["op"] for sample, _ in group}))
        print(f"  {len(group)} x {group[0][1]} ({of if len(of) < 200 else of[:200] + ' ...'})")


def tasks_of_list(options):
    """(key, exporters, note) of each sample to export."""
    if not options.new_list:
        return [(key, [exporter], note) for key, exporter, note in storage.read_list(LIST)]
    from opdb import samples

    keys = list(samples.whole())
    keys = [key for i, key in enumerate(keys) if i % 16 in PLACES]
    print(f"{len(keys)} samples of the whole are exported")
    orders = (["script", "dynamo"], ["dynamo", "script"], ["script", "dynamo"])
    return [(key, orders[i % len(orders)], "") for i, key in enumerate(keys)]


def exported_answers(options, sent):
    """Of each task, those of an earlier call included."""
    options.folder.mkdir(parents=True, exist_ok=True)
    path, known = options.folder / "answers.jsonl", {}
    name = lambda task, exporters: json.dumps([task["key"], exporters, task["note"]])

    def learn(task, answer):
        known[name(task, task["exporters"])] = answer
        if answer["status"] == "ok":
            known[name(task, [answer["exporter"]])] = answer

    if path.exists():
        for line in path.open():
            learn(*json.loads(line))
    left = [task for task in sent if name(task, task["exporters"]) not in known]
    with path.open("a", buffering=1) as file:
        for count, (task, answer) in enumerate(workers.run_all(this("export-worker"), left, options.jobs, SECONDS), 1):
            learn(task, answer)
            file.write(json.dumps([task, answer]) + "\n")
            if count % 100 == 0:
                print(f"{count} of {len(left)}", flush=True)
    return [known[name(task, task["exporters"])] for task in sent]


def export(options):
    tasks = [(k, e, n) for k, e, n in tasks_of_list(options) if re.search(options.only, label(dataclasses.asdict(k)))]
    sent = [{"number": i, "key": dataclasses.asdict(k), "exporters": e, "note": n} for i, (k, e, n) in enumerate(tasks)]
    answers = exported_answers(options, sent)
    chosen = [i for i, answer in enumerate(answers) if answer["status"] == "ok"]
    exported = len(chosen)
    if options.new_list:
        count = min(options.new_list, exported)
        chosen = [chosen[i * exported // count] for i in range(count)]
        comment = [
            "Samples of torch.testing's op database: see README.md. Made by `op_database.py export FOLDER --new-list "
            f"{options.new_list}`:",
            f"{count}, evenly spaced over {exported} that could be exported.",
        ]
        storage.write_list(LIST, comment, [(tasks[i][0], answers[i]["exporter"], tasks[i][2]) for i in chosen])
    writer = storage.Writer(options.folder)
    for i in chosen:
        answer, (key, _, note) = answers[i], tasks[i]
        with np.load(io.BytesIO(base64.b64decode(answer["arrays"]))) as file:
            arrays = {name: file[name] for name in file.files}
        kept = {name: answer[name] for name in ("exporter", "inputs", "outputs", "runtime")}
        writer.add({**dataclasses.asdict(key), "note": note, **kept}, base64.b64decode(answer["model"]), arrays)
    writer.close()
    print(f"{writer.path}: {len(chosen)} samples, {writer.path.stat().st_size / 2**20:.1f} MiB")
    for status in ("ok", "failed", "unfit", "crashed", "hung"):
        found = [(dataclasses.asdict(tasks[i][0]), a.get("reason", "")) for i, a in enumerate(answers) if a["status"] == status]
        counted("right" if status == "ok" else status, found)
    return all(a["status"] == "ok" for a in answers) or bool(options.new_list)


def check(options):
    if not options.library.exists():
        sys.exit(f"op_database.py: no {options.library}; --library names tcc's libtcc-core.so")
    samples = [s for s in storage.Reader(options.folder).samples if re.search(options.only, label(s))]
    fine = True
    for device in options.devices.split(","):
        tasks = [{"sample": s["id"], "device": device} for s in samples]
        by_id, results = {s["id"]: s for s in samples}, {}
        command = this("check-worker", options.folder, options.library)
        with (options.results / f"check-{device.replace(':', '')}.jsonl").open("w", buffering=1) as file:
            for task, answer in workers.run_all(command, tasks, options.jobs, SECONDS):
                results[task["sample"]] = answer
                file.write(json.dumps({"sample": label(by_id[task["sample"]]), **answer}) + "\n")
        print(f"== {device}: {len(samples)} samples")
        for status in ("right", "refused", "wrong", "failed", "crashed", "hung"):
            found = [(by_id[i], a.get("reason", "")) for i, a in sorted(results.items()) if a["status"] == status]
            counted(status, found)
            if status not in ("right", "refused"):
                fine = fine and not found
                for sample, reason in found:
                    print(f"    {label(sample)} ({sample['exporter']}; ONNX Runtime: {sample['runtime']}): {reason}")
    return fine


def main():
    options = arguments()
    if options.command == "export-worker":
        from opdb import exporting

        return exporting.serve()
    if options.command == "check-worker":
        from opdb import checking

        return checking.serve(options.folder, options.library)
    sys.exit(0 if {"export": export, "check": check}[options.command](options) else 1)


if __name__ == "__main__":
    main()
