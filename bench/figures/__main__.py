"""Draws the README's figures into docs/images: python3 -m bench.figures

`speed` is drawn from bench/results/*.json, `fusion` shows configs/models/transformer-encoder-layer.yaml. Each is written
for a light and for a dark page. Nothing but Python's standard library is needed.
"""

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
    for path, text in draw().items():
        (ROOT / path).write_text(text)
        print(path)


if __name__ == "__main__":
    main()
