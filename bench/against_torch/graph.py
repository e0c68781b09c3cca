"""Graph files as both contestants get them: dims are numbers, functions are expanded, weights are inputs or constants.

tcc draws a graph's weights itself and keeps them on the device as constants, where PyTorch could not read them and
nothing could rotate them; so they become inputs like the others, or constants that both read from one file.
"""

import ast
import dataclasses
import operator

from . import yaml12

FLOATS = ("f64", "f32", "f16", "bf16")
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


@dataclasses.dataclass
class Tensor:
    """`fill` is a weight's `init` or {"integers": [lo, hi]}; None: normal, or tcc-run's default of the type."""

    name: str
    dtype: str
    shape: list
    fill: object = None


@dataclasses.dataclass
class Node:
    """Operands are names of values, numbers, or None where one is omitted."""

    results: list
    op: str
    operands: list
    attributes: dict


@dataclasses.dataclass
class Graph:
    name: str
    inputs: list
    nodes: list
    outputs: list
    constants: list = dataclasses.field(default_factory=list)  # weights that are no inputs

    @property
    def operands(self):
        """What the graph's function takes: inputs, then constants."""
        return self.inputs + self.constants

    def to_yaml(self, constants_file=None):
        """The graph with its constants in a .safetensors file, by name, relative to the graph's folder."""
        weights = {t.name: {"file": constants_file, "key": t.name} for t in self.constants}
        return yaml12.write(
            {
                "tcc": 1,
                "name": self.name,
                "inputs": {t.name: {"dtype": t.dtype, "shape": t.shape} for t in self.inputs},
                **({"weights": weights} if weights else {}),
                "nodes": [
                    {"out": n.results, "op": n.op, "in": n.operands, **n.attributes} for n in self.nodes
                ],
                "outputs": self.outputs,
            }
        )


def evaluate(expression, dims):
    """A dim: a number or an expression (+ - * // %, parentheses) of the symbols in `dims`."""

    def value(node):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.Name) and node.id in dims:
            return dims[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        raise ValueError(f"'{expression}' is no expression of the dims {sorted(dims)}")

    if isinstance(expression, int):
        return expression
    return value(ast.parse(expression, mode="eval").body)


def as_list(value):
    return value if isinstance(value, list) else [value]


class Expansion:
    """Nodes and weights of a document, flat, as they come up. A scope maps the names of a body to flat ones."""

    def __init__(self, document, dims, inputs):
        self.functions, self.dims, self.taken = document.get("functions", {}), dims, set(inputs)
        self.weights, self.nodes = [], []

    def define(self, scope, prefix, name):
        """A new flat name: two uses may make the same one."""
        flat = prefix + name
        while flat in self.taken:
            flat += "_"
        self.taken.add(flat)
        scope[name] = flat
        return flat

    def add_weights(self, weights, scope, prefix):
        for name, weight in weights.items():
            if "dtype" not in weight or "shape" not in weight:
                raise ValueError(f"weight '{name}' must state dtype and shape to be drawn")
            shape = [evaluate(d, self.dims) for d in weight["shape"]]
            flat = self.define(scope, prefix, name)
            self.weights.append(Tensor(flat, weight["dtype"], shape, weight.get("init")))

    def add_nodes(self, nodes, scope, prefix):
        for node in nodes:
            node = dict(node)
            results, op, operands = as_list(node.pop("out")), node.pop("op"), as_list(node.pop("in", []))
            operands = [scope[o] if isinstance(o, str) else o for o in operands]
            if op in self.functions:
                values = self.call(op, operands, prefix + results[0], node.pop("repeat", None))
                scope.update(zip(results, values))
                continue
            results = [self.define(scope, prefix, r) for r in results]
            self.nodes.append(Node(results, op, operands, self.bound(node)))

    def call(self, name, operands, label, repeat):
        """The flat names of the last use's results."""
        function = self.functions[name]
        for use in range(1 if repeat is None else repeat):
            prefix = f"{label}." if repeat is None else f"{label}.{use}."
            scope = dict(zip(function["inputs"], operands))
            self.add_weights(function.get("weights", {}), scope, prefix)
            self.add_nodes(function["nodes"], scope, prefix)
            results = [scope[output] for output in function["outputs"]]
            operands = [results[0], *operands[1:]]
        return results

    def bound(self, attributes):
        """Attributes with numbers in place of dim expressions; other text stays."""

        def entry(value):
            try:
                return evaluate(value, self.dims) if isinstance(value, str) else value
            except (SyntaxError, ValueError):
                return value

        return {k: [entry(v) for v in a] if isinstance(a, list) else entry(a) for k, a in attributes.items()}


def read(path, dims=None, dtype=None, weights="inputs"):
    """A graph file with `dims` over its defaults; `dtype` takes the place of its floating-point types; its weights
    become "inputs" or stay "constants".

    Raises ValueError for what cannot be benched, among it dims that the graph does not have.
    """
    document = yaml12.read(path)
    defaults = document.get("dims") or {}
    if unknown := set(dims or {}) - set(defaults):
        raise ValueError(f"{path}: no dim {', '.join(sorted(unknown))}")
    dims = {**defaults, **(dims or {})}
    inputs = []
    for name, spec in document["inputs"].items():
        fill = {"integers": spec["range"]} if "range" in spec else None
        inputs.append(Tensor(name, spec["dtype"], [evaluate(d, dims) for d in spec["shape"]], fill))
    expansion = Expansion(document, dims, document["inputs"])
    scope = {t.name: t.name for t in inputs}
    expansion.add_weights(document.get("weights") or {}, scope, "")
    expansion.add_nodes(document["nodes"], scope, "")
    graph = Graph(
        document.get("name", "graph"),
        inputs + (expansion.weights if weights == "inputs" else []),
        expansion.nodes,
        [scope[output] for output in document["outputs"]],
        expansion.weights if weights == "constants" else [],
    )
    if dtype:
        convert(graph, dtype)
    return graph


def convert(graph, dtype):
    """Every floating-point type becomes `dtype`."""
    for tensor in graph.operands:
        if tensor.dtype in FLOATS:
            tensor.dtype = dtype
    for node in graph.nodes:
        if node.attributes.get("dtype") in FLOATS:
            node.attributes["dtype"] = dtype
