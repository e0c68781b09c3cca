"""The plot of what was recorded: a row for each model or kind of kernel, a dot for each series."""

import math

from . import recorded
from .svg import Drawing

WIDTH, LEFT, RIGHT, STEP = 720, 250, 40, 21
LOW, HIGH = 0.125, 4.0
TICKS = [(0.125, "1/8"), (0.25, "1/4"), (0.5, "1/2"), (1, "1"), (2, "2"), (4, "4")]


def place(ratio):
    """The x of a ratio, on a logarithmic axis; what is beyond its ends lies on them."""
    share = math.log(min(max(ratio, LOW), HIGH) / LOW) / math.log(HIGH / LOW)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def unique(values):
    return list(dict.fromkeys(values))


def label(rows):
    count = rows[0].count
    return rows[0].name + (f" ({count})" if count > 1 else "")


def draw_row(drawing, y, rows, series):
    drawing.text(LEFT - 14, y + 4, label(rows), anchor="end")
    for row in rows:
        colour = series.index(row.series)
        if row.best > row.worst:
            drawing.line(place(row.worst), y, place(row.best), y, colour, 2)
        drawing.dot(place(row.ratio), y, colour)
    if len(rows) == 1:
        drawing.text(place(max(rows[0].best, rows[0].ratio)) + 10, y + 4, f"{rows[0].ratio:.2f}", 12, "faint")


def draw(theme, rows=None):
    rows = recorded.read() if rows is None else rows
    series = unique(row.series for row in rows)
    drawing = Drawing(theme, WIDTH, "tcc's speed over the best peer's, by model and kind of kernel")
    x = 20
    for i, name in enumerate(series):
        drawing.dot(x, 16, i)
        drawing.text(x + 12, 20, name)
        x += 12 + 8 * len(name) + 22
    drawing.text(place(1) - 10, 46, "\N{LEFTWARDS ARROW} peer faster", 12, "faint", "end")
    drawing.text(place(1) + 10, 46, "tcc faster \N{RIGHTWARDS ARROW}", 12, "faint")
    top = y = 58
    marks = []
    for panel in unique(row.panel for row in rows):
        y += STEP + 4
        marks.append((y, panel))
        for name in unique(row.name for row in rows if row.panel == panel):
            y += STEP
            marks.append((y, [row for row in rows if (row.panel, row.name) == (panel, name)]))
    bottom = y + 14
    for ratio, text in TICKS:
        drawing.line(place(ratio), top, place(ratio), bottom, "faint" if ratio == 1 else "line")
        drawing.text(place(ratio), bottom + 17, text, 12, "faint", "middle")
    for y, mark in marks:
        if isinstance(mark, str):
            drawing.text(20, y + 2, mark, 13, weight="600")
        else:
            draw_row(drawing, y, mark, series)
    drawing.text(place(1), bottom + 36, "the best peer's time over tcc's", 12, "faint", "middle")
    return drawing.finish(bottom + 46)
