"""Results of a command: kept after every cell, so that a command that is cut off goes on where it stopped."""

import json
import os
import pathlib
import time


class Results:
    """Cells by key, in FOLDER/NAME.json, and a Markdown table of them in FOLDER/NAME.md."""

    def __init__(self, folder, name, columns, redo):
        self.path, self.columns, self.cells = pathlib.Path(folder) / f"{name}.json", columns, {}
        if self.path.exists() and not redo:
            for cell in json.loads(self.path.read_text()):
                self.cells[self.key(cell)] = cell

    @staticmethod
    def key(cell):
        return tuple(cell.get(k) for k in ("model", "exporter", "device", "dtype", "batch", "length"))

    def has(self, cell):
        """It was tried and passed; what failed is tried again."""
        return self.cells.get(self.key(cell), {}).get("status") == "ok"

    def add(self, cell):
        self.cells[self.key(cell)] = cell
        write(self.path, json.dumps(list(self.cells.values()), indent=1) + "\n")
        write(self.path.with_suffix(".md"), self.table())

    def table(self):
        rows = [self.columns, ["---"] * len(self.columns)]
        rows += [[text(cell.get(column)) for column in self.columns] for cell in self.cells.values()]
        return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def write(path, content):
    new = path.with_suffix(path.suffix + ".new")
    new.write_text(content)
    os.replace(new, path)


def text(value):
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3g}"
    return str(value).replace("|", "\\|").replace("\n", " ")


class Budget:
    """Seconds that a command may take before it starts nothing more."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds if seconds else None

    def is_spent(self):
        return self.end is not None and time.monotonic() >= self.end

    def at_most(self, seconds):
        """What one step may take of what is left."""
        return seconds if self.end is None else max(1.0, min(seconds, self.end - time.monotonic()))
