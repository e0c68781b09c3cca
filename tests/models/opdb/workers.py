"""Worker processes that take one task at a time: a crash or a hang costs the task alone."""

import json
import os
import queue
import select
import subprocess
import sys
import tempfile
import threading
import time


def serve(handle):
    """The worker's side: answers each task of standard input with what `handle` makes of it. What libraries print
    goes to standard error."""
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        replies.write(json.dumps(handle(json.loads(line))) + "\n")


class Worker:
    """One process, started with its first task and again after each that it did not survive."""

    def __init__(self, command):
        self.command, self.process = command, None

    def start(self):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, bufsize=0
        )
        self.buffer = b""

    def read_line(self, seconds):
        """A line, or None where the time is over, or "" where the process has ended."""
        end, pipe = time.monotonic() + seconds, self.process.stdout
        while b"\n" not in self.buffer:
            if not select.select([pipe], [], [], max(0.0, end - time.monotonic()))[0]:
                return None
            part = os.read(pipe.fileno(), 1 << 16)
            if not part:
                return ""
            self.buffer += part
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()

    def last_words(self):
        self.log.seek(max(0, self.log.seek(0, os.SEEK_END) - 2000))
        lines = self.log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def call(self, task, seconds):
        """The worker's answer, else {"status": "crashed" or "hung", "reason"}."""
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write((json.dumps(task) + "\n").encode())
            line = self.read_line(seconds)
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        if line is None:
            result = {"status": "hung", "reason": f"no answer after {seconds:.0f} s"}
        else:
            result = {"status": "crashed", "reason": f"exit code {self.process.wait()}: {self.last_words()}"}
        self.stop()
        return result

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.log.close()
        self.process = None


def run_all(command, tasks, jobs, seconds):
    """(task, answer) of every task, as they come, from so many workers."""
    todo, done = queue.SimpleQueue(), queue.SimpleQueue()
    for task in tasks:
        todo.put(task)

    def work():
        worker = Worker(command)
        try:
            while True:
                task = todo.get_nowait()
                done.put((task, worker.call(task, seconds)))
        except queue.Empty:
            worker.stop()

    for _ in range(jobs):
        threading.Thread(target=work, daemon=True).start()
    for _ in tasks:
        yield done.get()
