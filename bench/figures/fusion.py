"""The picture of what fusion does: the nodes of configs/models/transformer-encoder-layer.yaml, and its seven kernels on Vulkan.

What the picture says is checked by tests/unit/readme_test.cpp against the compiler.
"""

from .svg import Drawing

WIDTH, MARGIN, COLUMN, GAP, PILL = 720, 12, 128, 14, 22

# Each kernel has its name, the template that makes it, and the nodes in it. "~" marks a view, which costs nothing.
KERNELS = [
    ("matmul_add", "contraction", ["linear q", "linear k", "linear v", "~reshape x3", "~transpose x3"]),
    (
        "matmul_mul_add_amax_sub",
        "attention",
        ["q \N{MULTIPLICATION SIGN} k", "scale", "+ mask", "softmax", "\N{MULTIPLICATION SIGN} v", "~transpose", "~reshape"],
    ),
    ("matmul_add_add", "contraction", ["linear out", "+ x"]),
    ("sum_div_sub_mul_sum", "reduction", ["layer_norm"]),
    ("matmul_add_gelu", "contraction", ["linear 3072", "gelu"]),
    ("matmul_add_add", "contraction", ["linear 768", "+ residual"]),
    ("sum_div_sub_mul_sum", "reduction", ["layer_norm"]),
]
COLOUR_OF = {"contraction": 0, "reduction": 1, "attention": 2}


def pill(drawing, x, y, node):
    view = node.startswith("~")
    drawing.box(x, y, COLUMN - 20, PILL - 4, "faint", 0.0 if view else 0.08, 9, dashed=view)
    drawing.text(x + (COLUMN - 20) / 2, y + 13, node.lstrip("~"), 11.5, "faint" if view else "text", "middle")


def kernel(drawing, x, y, height, number, name, template, nodes):
    colour = COLOUR_OF[template]
    drawing.box(x, y, COLUMN, height, colour, 0.06, 8)
    for i, node in enumerate(nodes):
        pill(drawing, x + 10, y + 10 + i * PILL, node)
    drawing.text(x + 10, y + height - 26, f"{number}  {template}", 11.5, colour, weight="600")
    drawing.text(x + 10, y + height - 10, name, 10.5 if len(name) < 22 else 8, "faint")


def draw(theme):
    drawing = Drawing(theme, WIDTH, "A transformer layer's 20 graph nodes become seven fused kernels")
    drawing.text(MARGIN, 20, "A BERT layer: 20 nodes of a graph", 14, weight="600")
    drawing.text(WIDTH - MARGIN, 20, "7 kernels, as CUDA C++ or GLSL", 14, anchor="end", weight="600")
    y = 36
    for first, last in ((0, 4), (4, 7)):
        row = KERNELS[first:last]
        height = 10 + PILL * max(len(nodes) for _, _, nodes in row) + 44
        for i, (name, template, nodes) in enumerate(row):
            x = MARGIN + i * (COLUMN + GAP)
            kernel(drawing, x, y, height, first + i + 1, name, template, nodes)
            if i > 0:
                drawing.arrow([(x - GAP + 2, y + height / 2), (x - 3, y + height / 2)])
        if last < len(KERNELS):
            end, turn, below = MARGIN + (last - first - 1) * (COLUMN + GAP) + COLUMN / 2, y + height + 11, y + height + 22
            drawing.arrow([(end, y + height), (end, turn), (MARGIN + COLUMN / 2, turn), (MARGIN + COLUMN / 2, below - 2)])
            y = below
    x = MARGIN + 4 * (COLUMN + GAP) + 6
    for i, text in enumerate(("dashed: views, which", "cost nothing;", "solid: nodes computed", "inside the kernel")):
        drawing.text(x, y + 20 + 16 * i, text, 11.5, "faint")
    return drawing.finish(y + height + 12)
