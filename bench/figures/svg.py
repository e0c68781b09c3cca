"""A drawing: shapes and text in the colours of a theme, as SVG."""

from xml.sax.saxutils import escape

THEMES = {
    "light": {
        "text": "#1f2328",
        "faint": "#59636e",
        "line": "#d1d9e0",
        "page": "#ffffff",
        "colours": ["#0969da", "#bc4c00", "#1a7f37", "#8250df", "#bf3989"],
    },
    "dark": {
        "text": "#f0f6fc",
        "faint": "#9198a1",
        "line": "#3d444d",
        "page": "#0d1117",
        "colours": ["#4493f8", "#db6d28", "#3fb950", "#ab7df8", "#db61a2"],
    },
}
FONT = "-apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif"


class Drawing:
    def __init__(self, theme, width, title):
        self.theme = THEMES[theme]
        self.width, self.height = width, 0
        self.title = title
        self.parts = []

    def colour(self, name):
        """Of the theme by name, or by number for what must differ."""
        return self.theme["colours"][name % 5] if isinstance(name, int) else self.theme[name]

    def text(self, x, y, text, size=13, colour="text", anchor="start", weight="normal"):
        bold = "" if weight == "normal" else f' font-weight="{weight}"'
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{self.colour(colour)}" '
            f'text-anchor="{anchor}"{bold}>{escape(text)}</text>'
        )

    def box(self, x, y, width, height, colour, fill=0.0, radius=6, dashed=False):
        """Its border is of the colour; `fill` is the share of the colour inside."""
        dash = ' stroke-dasharray="3 3"' if dashed else ""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}" '
            f'fill="{self.colour(colour)}" fill-opacity="{fill:g}" stroke="{self.colour(colour)}"{dash}/>'
        )

    def line(self, x1, y1, x2, y2, colour="line", width=1.0, dashed=False):
        dash = ' stroke-dasharray="3 3"' if dashed else ""
        self.parts.append(
            f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" '
            f'stroke="{self.colour(colour)}" stroke-width="{width:g}"{dash}/>'
        )

    def path(self, points, colour="faint", width=1.5):
        data = "M" + " L".join(f"{x:g},{y:g}" for x, y in points)
        self.parts.append(
            f'<path d="{data}" fill="none" stroke="{self.colour(colour)}" stroke-width="{width:g}" '
            'stroke-linejoin="round" stroke-linecap="round"/>'
        )

    def arrow(self, points, colour="faint"):
        """Through the points; its head is at the last one, along the last part."""
        (x1, y1), (x2, y2) = points[-2:]
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
        dx, dy = (x2 - x1) / length * 5, (y2 - y1) / length * 5
        self.path(points, colour)
        self.path([(x2 - dx - dy, y2 - dy + dx), (x2, y2), (x2 - dx + dy, y2 - dy - dx)], colour)

    def dot(self, x, y, colour, radius=5.0, hollow=False):
        fill = self.colour("page") if hollow else self.colour(colour)
        self.parts.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{fill}" '
            f'stroke="{self.colour(colour)}" stroke-width="2"/>'
        )

    def finish(self, height):
        body = "\n".join("  " + part for part in self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {height:g}" '
            f'width="{self.width:g}" height="{height:g}" font-family="{FONT}" role="img">\n'
            f"  <title>{escape(self.title)}</title>\n{body}\n</svg>\n"
        )
