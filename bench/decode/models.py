"""gpt2 and llama as ONNX decoders, with the names of transformers' weights.

The cache has one of two forms. "concat" is what exporters write: past_key_values.N.key and .value of
`past_sequence_length` rows go in, and present.N.key and .value of `past_sequence_length + sequence_length` rows,
their Concat with the new ones, come out. "slots" is ONNX's in-place cache of opset 24: TensorScatter writes the
rows at `position` of a cache of fixed size, and Attention is told how many of its rows count.
"""

import dataclasses

from .onnx_file import TYPES, Model

WEIGHTS_FILE = "weights.bin"


@dataclasses.dataclass
class Sizes:
    """Of both models; `kv_heads`, `head` and `inner` are gpt2's own where they are 0."""

    vocabulary: int
    width: int
    layers: int
    heads: int
    kv_heads: int = 0
    inner: int = 0
    positions: int = 2048
    theta: float = 10000.0
    tied: bool = True

    @property
    def head(self):
        return self.width // self.heads


SIZES = {
    "gpt2": Sizes(50257, 768, 12, 12, positions=1024),
    "gpt2-small": Sizes(500, 64, 2, 4, positions=128),
    "llama": Sizes(32000, 1024, 8, 16, 4, 2816, tied=False),
    "llama-small": Sizes(500, 64, 2, 4, 2, 176, tied=False),
    "llama-1b": Sizes(128256, 2048, 16, 32, 8, 8192, theta=500000.0),
}


class Decoder:
    """What both models share: inputs, the mask, attention with its cache, outputs."""

    def __init__(self, name, dtype, cache):
        self.sizes, self.dtype, self.cache = SIZES[name], dtype, cache
        self.is_slots = cache == "slots"
        self.m = Model(name, 24 if self.is_slots else 18, WEIGHTS_FILE)
        self.kv_heads = self.sizes.kv_heads or self.sizes.heads

    # ---- short forms

    def ints(self, *values):
        return self.m.constant("i64", list(values))

    def number(self, value):
        """A scalar of the model's type."""
        return self.cast(self.m.constant("f32", float(value)), self.dtype)

    def cast(self, x, dtype):
        return self.m.node("Cast", [x], to=TYPES[dtype])

    def linear(self, x, name, inputs, outputs):
        """A weight of nn.Linear: [outputs, inputs]."""
        weight = self.m.weight(name, self.dtype, [outputs, inputs])
        return self.m.node("MatMul", [x, self.m.node("Transpose", [weight], perm=[1, 0])])

    # ---- inputs

    def begin(self):
        m, sizes = self.m, self.sizes
        self.ids = m.input("input_ids", "i64", ["batch_size", "sequence_length"])
        if self.is_slots:
            self.position = m.input("position", "i64", ["batch_size"])
            self.positions = m.node("Unsqueeze", [self.position, self.ints(1)])
            self.seen = m.node("Add", [self.position, self.ints(1)])
            length = "cache_length"
        else:
            length, total = "past_sequence_length", "past_sequence_length + sequence_length"
            mask = m.input("attention_mask", "i64", ["batch_size", total])
            self.positions = m.input("position_ids", "i64", ["batch_size", "sequence_length"])
        self.past = []
        for layer in range(sizes.layers):
            for kind in ("key", "value"):
                shape = ["batch_size", self.kv_heads, length, sizes.head]
                self.past.append(m.input(f"past_key_values.{layer}.{kind}", self.dtype, shape))
        if not self.is_slots:
            self.bias = self.mask_bias(mask)

    def dim_of(self, x, axis):
        return self.m.node("Gather", [self.m.node("Shape", [x]), self.m.constant("i64", axis)], axis=0)

    def mask_bias(self, mask):
        """0 where a query sees a key, and a large negative number where not: [batch, 1, sequence, total]."""
        m, zero, one = self.m, self.m.constant("i64", 0), self.m.constant("i64", 1)
        past, sequence = self.dim_of(self.past[0], 2), self.dim_of(self.ids, 1)
        total = m.node("Add", [past, sequence])
        keys = m.node("Unsqueeze", [m.node("Range", [zero, total, one]), self.ints(0)])
        queries = m.node("Unsqueeze", [m.node("Range", [past, total, one]), self.ints(1)])
        causal = m.node("LessOrEqual", [keys, queries])
        causal = m.node("Unsqueeze", [causal, self.ints(0, 1)])
        given = m.node("Unsqueeze", [self.cast(mask, "bool"), self.ints(1, 2)])
        seen = m.node("And", [causal, given])
        return m.node("Where", [seen, self.number(0), self.number(-3.0e38 if self.dtype == "f32" else -1.0e38)])

    # ---- attention

    def heads_of(self, x, heads):
        """[batch, sequence, heads * head] as [batch, heads, sequence, head]."""
        split = self.m.node("Reshape", [x, self.ints(0, 0, heads, self.sizes.head)])
        return self.m.node("Transpose", [split], perm=[0, 2, 1, 3])

    def repeat(self, x):
        """The heads of keys and values once for each head of queries."""
        m, times = self.m, self.sizes.heads // self.kv_heads
        if times == 1:
            return x
        batch = m.node("Unsqueeze", [self.dim_of(x, 0), self.ints(0)])
        rows = m.node("Unsqueeze", [self.dim_of(x, 2), self.ints(0)])
        wide = m.node("Concat", [batch, self.ints(self.kv_heads, times), rows, self.ints(self.sizes.head)], axis=0)
        x = m.node("Expand", [m.node("Unsqueeze", [x, self.ints(2)]), wide])
        flat = m.node("Concat", [batch, self.ints(self.sizes.heads), rows, self.ints(self.sizes.head)], axis=0)
        return m.node("Reshape", [x, flat])

    def attention(self, layer, q, k, v):
        m, sizes = self.m, self.sizes
        present = [f"present.{layer}.key", f"present.{layer}.value"]
        for new, name, past in zip((k, v), present, self.past[2 * layer :]):
            if self.is_slots:
                m.node("TensorScatter", [past, new, self.position], [name], axis=2)
            else:
                m.node("Concat", [past, new], [name], axis=2)
        if self.is_slots:
            out = m.node("Attention", [q, *present, "", "", "", self.seen])
        else:
            scale = self.number(sizes.head**-0.25)
            turned = m.node("Transpose", [self.repeat(present[0])], perm=[0, 1, 3, 2])
            scores = m.node("MatMul", [m.node("Mul", [q, scale]), m.node("Mul", [turned, scale])])
            weights = m.node("Softmax", [m.node("Add", [scores, self.bias])], axis=-1)
            out = m.node("MatMul", [weights, self.repeat(present[1])])
        out = m.node("Transpose", [out], perm=[0, 2, 1, 3])
        return m.node("Reshape", [out, self.ints(0, 0, sizes.width)])

    def end(self, logits):
        m, sizes = self.m, self.sizes
        m.node("Identity", [logits], ["logits"])
        m.output("logits", self.dtype, ["batch_size", "sequence_length", sizes.vocabulary])
        length = "cache_length" if self.is_slots else "past_sequence_length + sequence_length"
        for layer in range(sizes.layers):
            for kind in ("key", "value"):
                m.output(f"present.{layer}.{kind}", self.dtype, ["batch_size", self.kv_heads, length, sizes.head])
        return m


def gpt2(name, dtype, cache):
    d = Decoder(name, dtype, cache)
    m, sizes, width = d.m, d.sizes, d.sizes.width
    d.begin()

    def weight(key, *shape):
        return m.weight(f"transformer.{key}", dtype, list(shape))

    def norm(x, key):
        scale, shift = weight(f"{key}.weight", width), weight(f"{key}.bias", width)
        return m.node("LayerNormalization", [x, scale, shift], axis=-1, epsilon=1e-5)

    def conv1d(x, key, inputs, outputs):
        product = m.node("MatMul", [x, weight(f"{key}.weight", inputs, outputs)])
        return m.node("Add", [product, weight(f"{key}.bias", outputs)])

    tokens = m.node("Gather", [weight("wte.weight", sizes.vocabulary, width), d.ids])
    x = m.node("Add", [tokens, m.node("Gather", [weight("wpe.weight", sizes.positions, width), d.positions])])
    for layer in range(sizes.layers):
        at = f"h.{layer}"
        qkv = conv1d(norm(x, f"{at}.ln_1"), f"{at}.attn.c_attn", width, 3 * width)
        q, k, v = m.node("Split", [qkv, d.ints(width, width, width)], 3, axis=-1)
        out = d.attention(layer, *(d.heads_of(part, sizes.heads) for part in (q, k, v)))
        x = m.node("Add", [conv1d(out, f"{at}.attn.c_proj", width, width), x])
        h = conv1d(norm(x, f"{at}.ln_2"), f"{at}.mlp.c_fc", width, 4 * width)
        cubic = m.node("Mul", [m.node("Pow", [h, d.number(3)]), d.number(0.044715)])
        inner = m.node("Mul", [m.node("Add", [h, cubic]), d.number(0.7978845608028654)])
        gate = m.node("Add", [m.node("Tanh", [inner]), d.number(1)])
        h = m.node("Mul", [m.node("Mul", [h, d.number(0.5)]), gate])
        x = m.node("Add", [x, conv1d(h, f"{at}.mlp.c_proj", 4 * width, width)])
    return d.end(d.linear(norm(x, "ln_f"), "transformer.wte.weight", width, sizes.vocabulary))


def llama(name, dtype, cache):
    d = Decoder(name, dtype, cache)
    m, sizes, width = d.m, d.sizes, d.sizes.width
    d.begin()

    def norm(x, key):
        """In f32, as transformers has it."""
        x = d.cast(x, "f32") if dtype != "f32" else x
        mean = m.node("ReduceMean", [m.node("Pow", [x, m.constant("f32", 2.0)]), d.ints(-1)], keepdims=1)
        root = m.node("Sqrt", [m.node("Add", [mean, m.constant("f32", 1e-6)])])
        x = m.node("Mul", [x, m.node("Reciprocal", [root])])
        x = d.cast(x, dtype) if dtype != "f32" else x
        return m.node("Mul", [m.weight(f"{key}.weight", dtype, [width]), x])

    half = sizes.head // 2
    speeds = m.constant("f32", [sizes.theta ** (-i / half) for i in range(half)], [1, 1, half])
    places = m.node("Unsqueeze", [d.cast(d.positions, "f32"), d.ints(2)])
    angles = m.node("Mul", [places, speeds])
    angles = m.node("Concat", [angles, angles], axis=-1)
    cos, sin = (m.node("Unsqueeze", [d.cast(m.node(f, [angles]), dtype), d.ints(1)]) for f in ("Cos", "Sin"))

    def rotate(x):
        low = m.node("Slice", [x, d.ints(0), d.ints(half), d.ints(3)])
        high = m.node("Slice", [x, d.ints(half), d.ints(2**63 - 1), d.ints(3)])
        turned = m.node("Concat", [m.node("Neg", [high]), low], axis=-1)
        return m.node("Add", [m.node("Mul", [x, cos]), m.node("Mul", [turned, sin])])

    embeddings = "model.embed_tokens.weight"
    x = m.node("Gather", [m.weight(embeddings, dtype, [sizes.vocabulary, width]), d.ids])
    shared = sizes.kv_heads * sizes.head
    for layer in range(sizes.layers):
        at = f"model.layers.{layer}"
        n = norm(x, f"{at}.input_layernorm")
        q = rotate(d.heads_of(d.linear(n, f"{at}.self_attn.q_proj.weight", width, width), sizes.heads))
        k = rotate(d.heads_of(d.linear(n, f"{at}.self_attn.k_proj.weight", width, shared), sizes.kv_heads))
        v = d.heads_of(d.linear(n, f"{at}.self_attn.v_proj.weight", width, shared), sizes.kv_heads)
        x = m.node("Add", [x, d.linear(d.attention(layer, q, k, v), f"{at}.self_attn.o_proj.weight", width, width)])
        n = norm(x, f"{at}.post_attention_layernorm")
        gate = d.linear(n, f"{at}.mlp.gate_proj.weight", width, sizes.inner)
        gate = m.node("Mul", [gate, m.node("Sigmoid", [gate])])
        up = d.linear(n, f"{at}.mlp.up_proj.weight", width, sizes.inner)
        down = d.linear(m.node("Mul", [gate, up]), f"{at}.mlp.down_proj.weight", sizes.inner, width)
        x = m.node("Add", [x, down])
    head = embeddings if sizes.tied else "lm_head.weight"
    return d.end(d.linear(norm(x, "model.norm"), head, width, sizes.vocabulary))


def build(name, dtype="f32", cache="concat"):
    return (gpt2 if name.startswith("gpt2") else llama)(name, dtype, cache)
