"""Draws the README's figures into docs/images: python3 -m bench.figures [--list]

`speed` is drawn from bench/results/*.json, `fusion` shows configs/models/transformer-encoder-layer.yaml. Each is written
for a light and for a dark page. Nothing but Python's standard library is needed.
"""

import argparse
import pathlib

from . import fusion, speed
from .svg import THEMES

ROOT = pathlib.Path(__file__).resolve().parents[2]


def draw():
    """{path from the root: text} of all figures."""
    return {
        f"docs/images/{name}-{theme}.svg": figure(theme)
        for name, figure in (("fusion", fusion.draw), ("speed", speed.draw))
        for theme in THEMES
    }


def main():
    parser = argparse.ArgumentParser(prog="python3 -m bench.figures", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the files' names, and write none")
    only_listed = parser.parse_args().list
    for path, text in draw().items():
        if not only_listed:
            (ROOT / path).write_text(text)
        print(path)


if __name__ == "__main__":
    main()
