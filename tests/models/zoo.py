"""The models: what builds each one, its inputs, which of their dims are symbols, and which sizes are checked.

Weights are random and seeded; nothing is downloaded. A model whose package is missing raises Missing.
"""

import dataclasses
import importlib
from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from unet import UNet


class Missing(Exception):
    """The package that a model comes from is not installed."""


def package(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Missing(f"needs the Python package {name.split('.')[0]}: {error}") from None


@dataclasses.dataclass
class Case:
    """A module with random weights and how to feed it."""

    module: nn.Module
    inputs: Callable  # (batch, length, generator) -> {name: tensor}, in the order of forward's parameters
    outputs: list  # names
    axes: dict  # input or output -> {dim: symbol}
    lengths: tuple = (None,)  # of sequences, where the model has a symbol for it
    # Arguments of tcc-run's --dim: (batch, length) -> {symbol: number}
    dims: Callable = lambda batch, length: {"batch": batch}
    plain: int | None = None  # after so many parameters, forward takes the other inputs as one tuple

    def arguments(self, values):
        """Those of forward, of a value for each input."""
        values = tuple(values)
        return values if self.plain is None else (*values[: self.plain], values[self.plain :])


@dataclasses.dataclass
class Model:
    name: str
    build: Callable  # (small) -> Case


def integers(shape, high, generator):
    return torch.randint(0, high, shape, generator=generator)


def randomize(module, generator):
    """Noise for parameters that are initialised to one number: zeros, ones and tiny scales would hide what follows them."""
    with torch.no_grad():
        for owner in module.modules():
            # Scales and shifts of channels (norms, layer scales) show; weights and biases stay small.
            spread = 0.02 if isinstance(owner, (nn.Linear, nn.modules.conv._ConvNd)) else 0.2
            for parameter in owner.parameters(recurse=False):
                first = parameter.flatten()[0]
                if parameter.numel() > 1 and bool((parameter == first).all()):
                    noise = torch.randn(parameter.shape, generator=generator)
                    parameter.copy_((1 if first == 1 else 0) + spread * noise)


def settle_batch_norm(module, inputs):
    """Gives batch norms the statistics of a batch, so that activations neither vanish nor explode over the layers."""
    norms = [m for m in module.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    if not norms:
        return
    for norm in norms:
        norm.train()
        norm.momentum = 1.0
    with torch.no_grad():
        module(*inputs)
    module.eval()


# ---- images


def image_module(name, small, **settings):
    try:
        models = package("torchvision.models")
        return getattr(models, name)(weights=None, **settings)
    except Missing:
        timm = package("timm")  # initialises the last norm of a branch to zero, too
        names = {
            "mobilenet_v3_large": "mobilenetv3_large_100",
            "vit_b_16": "vit_base_patch16_224",
            "swin_t": "swin_tiny_patch4_window7_224",
        }
        sizes = {"img_size": settings["image_size"]} if "image_size" in settings else {}
        return timm.create_model(names.get(name, name), pretrained=False, **sizes)


def image_model(name, torchvision_name=None, **settings):
    def build(small):
        size = 64 if small else 224
        chosen = {key: size if value == "size" else value for key, value in settings.items()}
        module = image_module(torchvision_name or name, small, **chosen).eval()

        def inputs(batch, length, generator):
            return {"image": torch.randn((batch, 3, size, size), generator=generator)}

        return Case(module, inputs, ["scores"], {"image": {0: "batch"}, "scores": {0: "batch"}})

    return Model(name, build)


def unet(small):
    module = UNet(width=16 if small else 64, levels=3 if small else 4).eval()
    size = 16 if small else 64

    def inputs(batch, length, generator):
        image = torch.randn((batch, 3, size, size), generator=generator)
        return {"image": image, "time": torch.rand((batch,), generator=generator) * 1000}

    axes = {"image": {0: "batch"}, "time": {0: "batch"}, "noise": {0: "batch"}}
    return Case(module, inputs, ["noise"], axes)


# ---- text


class Call(nn.Module):
    """A model of transformers with tensors by name, in and out."""

    def __init__(self, module, names, results, **fixed):
        super().__init__()
        self.module, self.names, self.results, self.fixed = module, names, results, fixed

    def forward(self, tensors):
        result = self.module(**dict(zip(self.names, tensors)), **self.fixed, return_dict=True)
        values = tuple(getattr(result, name) for name in self.results)
        return values if len(values) > 1 else values[0]


def sequence_dims(batch, length):
    return {"batch": batch, "length": length}


def bert_base(small):
    transformers = package("transformers")
    sizes = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, vocab_size=500)
    config = transformers.BertConfig(**(sizes if small else {}))
    names, results = ["input_ids", "attention_mask", "token_type_ids"], ["last_hidden_state", "pooler_output"]
    module = Call(transformers.BertModel(config).eval(), names, results)

    def inputs(batch, length, generator):
        mask = torch.ones((batch, length), dtype=torch.int64)
        if batch > 1:
            mask[-1, length // 2 :] = 0  # a padded sequence
        return {
            "input_ids": integers((batch, length), config.vocab_size, generator),
            "attention_mask": mask,
            "token_type_ids": integers((batch, length), 2, generator),
        }

    axes = {name: {0: "batch", 1: "length"} for name in [*names, "last_hidden_state"]}
    axes["pooler_output"] = {0: "batch"}
    return Case(module, inputs, results, axes, (16, 23) if small else (128, 77), sequence_dims, plain=0)


def gpt2(small):
    transformers = package("transformers")
    sizes = dict(n_embd=64, n_layer=2, n_head=4, vocab_size=500)
    config, names = transformers.GPT2Config(**(sizes if small else {})), ["input_ids", "attention_mask"]
    module = Call(transformers.GPT2LMHeadModel(config).eval(), names, ["logits"], use_cache=False)

    def inputs(batch, length, generator):
        ids = integers((batch, length), config.vocab_size, generator)
        return {"input_ids": ids, "attention_mask": torch.ones((batch, length), dtype=torch.int64)}

    axes = {name: {0: "batch", 1: "length"} for name in [*names, "logits"]}
    return Case(module, inputs, ["logits"], axes, (16, 23) if small else (128, 77), sequence_dims, plain=0)


class LlamaWithCache(nn.Module):
    """Keys and values of the past are inputs, those of the past and the new tokens are outputs: two per layer."""

    def __init__(self, module, cache):
        super().__init__()
        self.module, self.cache = module, cache

    def forward(self, input_ids, attention_mask, position_ids, past):
        cache = self.cache(past)
        result = self.module(
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            past_key_values=cache,
            use_cache=True,
            return_dict=True,
        )
        return (result.logits, *cache.tensors())


def cache_class(transformers):
    class PresentCache(transformers.DynamicCache):
        """A cache that is filled at once, in every version of transformers."""

        def __init__(self, past):
            super().__init__()
            self.pairs = [(past[k], past[k + 1]) for k in range(0, len(past), 2)]
            self.is_past = True

        def update(self, keys, values, layer_idx, *args, **kwargs):
            past_keys, past_values = self.pairs[layer_idx]
            pair = torch.cat([past_keys, keys], dim=2), torch.cat([past_values, values], dim=2)
            self.pairs[layer_idx] = pair
            return pair

        def get_seq_length(self, layer_idx=0, *args, **kwargs):
            return self.pairs[layer_idx or 0][0].shape[2]

        def get_mask_sizes(self, query, layer_idx=0):
            # By version of transformers a length (a scalar, when traced) or the positions.
            new = query.shape[0] if isinstance(query, torch.Tensor) and query.dim() > 0 else query
            return self.get_seq_length(layer_idx) + new, 0

        def tensors(self):
            return [tensor for pair in self.pairs for tensor in pair]

    return PresentCache


def llama(small):
    transformers = package("transformers")
    width, layers, heads, kv_heads = (64, 2, 4, 2) if small else (1024, 8, 16, 4)
    config = transformers.LlamaConfig(
        hidden_size=width,
        intermediate_size=width * 11 // 4,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        vocab_size=500 if small else 32000,
        max_position_embeddings=2048,
    )
    module = LlamaWithCache(transformers.LlamaForCausalLM(config).eval(), cache_class(transformers))
    past_length = 8 if small else 100
    past = [f"past_{kind}_{k}" for k in range(layers) for kind in ("key", "value")]
    present = [name.replace("past", "present") for name in past]

    def inputs(batch, length, generator):
        total = past_length + length
        named = {
            "input_ids": integers((batch, length), config.vocab_size, generator),
            "attention_mask": torch.ones((batch, total), dtype=torch.int64),
            "position_ids": torch.arange(past_length, total)[None].repeat(batch, 1),
        }
        shape = (batch, kv_heads, past_length, width // heads)
        return {**named, **{name: torch.randn(shape, generator=generator) for name in past}}

    axes = {name: {0: "batch", 1: "length"} for name in ["input_ids", "position_ids", "logits"]}
    axes["attention_mask"] = {0: "batch", 1: "total"}
    axes |= {name: {0: "batch", 2: "past"} for name in past}
    axes |= {name: {0: "batch", 2: "total"} for name in present}

    def dims(batch, length):
        return {"batch": batch, "length": length, "past": past_length, "total": past_length + length}

    return Case(module, inputs, ["logits", *present], axes, (5, 1) if small else (64, 1), dims, plain=3)


def whisper_encoder(small):
    transformers = package("transformers")
    sizes = dict(d_model=64, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=128, max_source_positions=50)
    tiny = dict(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536)
    config = transformers.WhisperConfig(**(sizes if small else tiny))
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    module = Call(WhisperEncoder(config).eval(), ["input_features"], ["last_hidden_state"])

    def inputs(batch, length, generator):
        shape = (batch, config.num_mel_bins, 2 * config.max_source_positions)
        return {"input_features": torch.randn(shape, generator=generator)}

    axes = {name: {0: "batch"} for name in ["input_features", "last_hidden_state"]}
    return Case(module, inputs, ["last_hidden_state"], axes, plain=0)


MODELS = [
    image_model("resnet50", zero_init_residual=True),  # small branches, as trained ones: errors do not grow over the layers
    image_model("mobilenetv3_large", "mobilenet_v3_large"),
    image_model("efficientnet_b0"),
    image_model("convnext_tiny"),
    image_model("swin_t"),
    image_model("vit_b_16", image_size="size"),
    Model("unet", unet),
    Model("bert_base", bert_base),
    Model("gpt2", gpt2),
    Model("llama", llama),
    Model("whisper_encoder", whisper_encoder),
]


def build(name, small):
    """The case of a model; the same weights for the same name, size and versions of the packages."""
    model = next(m for m in MODELS if m.name == name)
    torch.manual_seed(0)
    torch.backends.mha.set_fastpath_enabled(False)  # one operator that no exporter knows
    generator = torch.Generator().manual_seed(1)
    case = model.build(small)
    randomize(case.module, generator)
    settle_batch_norm(case.module, case.arguments(case.inputs(8, case.lengths[0], generator).values()))
    return case


def inputs(case, batch, length):
    """Tensors by name, the same for the same sizes."""
    return case.inputs(batch, length, torch.Generator().manual_seed(1000 * batch + (length or 0)))


def arrays(tensors):
    return {name: np.ascontiguousarray(tensor.detach().cpu().numpy()) for name, tensor in tensors.items()}
