"""Decodes with a cache as state, and compares with PyTorch: python3 -m bench.decode MODEL [OPTIONS]

Draws the weights of a model of transformers on the device, writes the model as ONNX, feeds drawn tokens to
examples/decode_onnx one by one, and compares the most probable next token after each with PyTorch's, of one
pass over all tokens. They may differ where PyTorch's two best logits are closer than the tolerance. Then the
time per token is set against the time that a copy takes to read the bytes that a step must read: the weights
and the cache.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import torch

from . import models

ROOT = pathlib.Path(__file__).resolve().parents[2]
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "i64": torch.int64}
# Of the largest logit: what f32 differs by over a model's layers; bf16 has 8 bits of mantissa.
TOLERANCE = {"f32": 1e-3, "bf16": 4e-2}


def default_program():
    found = (ROOT / f"build/{preset}/bin/decode_onnx" for preset in ("release", "dev"))
    return next((path for path in found if path.exists()), "decode_onnx")


def arguments():
    parser = argparse.ArgumentParser(
        prog="bench.decode", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", choices=list(models.SIZES))
    parser.add_argument("--dtype", choices=["f32", "bf16"], default="f32")
    parser.add_argument(
        "--cache",
        nargs="+",
        choices=["concat", "slots"],
        default=["concat"],
        help="as exporters write it, or of a fixed size",
    )
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda:0", help="tcc's")
    parser.add_argument("--torch-device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--folder", type=pathlib.Path, help="keeps the model there (default: a folder that goes)")
    parser.add_argument("--program", default=default_program(), help="decode_onnx")
    return parser.parse_args()


def module(name, dtype, device):
    """The model of transformers with drawn weights."""
    import transformers

    sizes = models.SIZES[name]
    if name.startswith("gpt2"):
        config = transformers.GPT2Config(
            vocab_size=sizes.vocabulary,
            n_embd=sizes.width,
            n_layer=sizes.layers,
            n_head=sizes.heads,
            n_positions=sizes.positions,
        )
        kind = transformers.GPT2LMHeadModel
    else:
        config = transformers.LlamaConfig(
            vocab_size=sizes.vocabulary,
            hidden_size=sizes.width,
            intermediate_size=sizes.inner,
            num_hidden_layers=sizes.layers,
            num_attention_heads=sizes.heads,
            num_key_value_heads=sizes.kv_heads,
            max_position_embeddings=sizes.positions,
            tie_word_embeddings=sizes.tied,
        )
        for parameters in (getattr(config, "rope_parameters", None), config):  # by version of transformers
            if isinstance(parameters, dict):
                parameters["rope_theta"] = sizes.theta
            elif parameters is config:
                config.rope_theta = sizes.theta
        kind = transformers.LlamaForCausalLM
    with torch.device(device):
        return kind(config).to(TYPES[dtype]).eval()


def write_weights(module, graph, folder):
    tensors = module.state_dict()
    with open(folder / models.WEIGHTS_FILE, "wb") as file:
        for name, (dtype, shape, offset) in graph.weights.items():
            tensor = tensors[name]
            if list(tensor.shape) != shape or tensor.dtype != TYPES[dtype]:
                sys.exit(f"bench.decode: {name} is {tensor.dtype} {list(tensor.shape)}, not {dtype} {shape}")
            file.seek(offset)
            file.write(tensor.contiguous().view(torch.uint8).cpu().numpy().tobytes())
        file.truncate(graph.weights_bytes)


def best_tokens(module, tokens):
    """After each token: the most probable next one, and by how much of the largest logit it is ahead."""
    with torch.no_grad():
        logits = module(input_ids=tokens[None]).logits[0].float()
    best = logits.topk(2, dim=-1)
    return best.indices[:, 0].tolist(), ((best.values[:, 0] - best.values[:, 1]) / logits.abs().max()).tolist()


def copy_rate(device):
    """Bytes a second that a copy on the device reads and writes."""
    torch.cuda.empty_cache()
    source = torch.empty(1 << 30, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    times = []
    for _ in range(20):
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        events[0].record()
        target.copy_(source)
        events[1].record()
        torch.cuda.synchronize()
        times.append(events[0].elapsed_time(events[1]) / 1000)
    return 2 * source.numel() / sorted(times)[len(times) // 2]


def bytes_of_step(graph, sizes, dtype, tokens):
    """The mean of what a step must read: weights (of embeddings that nothing else reads one row) and the cache."""
    element = 4 if dtype == "f32" else 2
    total = 0
    for name, (_, shape, _) in graph.weights.items():
        is_looked_up = "wpe" in name or ("embed_tokens" in name and not sizes.tied)
        count = shape[-1] if is_looked_up else 1
        if not is_looked_up:
            for dim in shape:
                count *= dim
        total += count * element
    row = 2 * sizes.layers * (sizes.kv_heads or sizes.heads) * sizes.head * element
    return total + row * tokens / 2


def main():
    given = arguments()
    sys.stdout.reconfigure(line_buffering=True)
    torch.manual_seed(given.seed)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    sizes = models.SIZES[given.model]
    if given.tokens > sizes.positions:
        sys.exit(f"bench.decode: {given.model} has {sizes.positions} positions")
    peer = module(given.model, given.dtype, given.torch_device)
    is_wrong = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        graphs = {cache: models.build(given.model, given.dtype, cache) for cache in given.cache}
        for cache, graph in graphs.items():  # all with the same weights at the same places
            (folder / f"{cache}.onnx").write_bytes(graph.to_bytes())
        write_weights(peer, graph, folder)
        tokens = torch.randint(0, sizes.vocabulary, (given.tokens,), device=given.torch_device)
        (folder / "tokens.txt").write_text("\n".join(map(str, tokens.tolist())) + "\n")
        wanted = best_tokens(peer, tokens)
        del peer
        rate = copy_rate(given.torch_device) if given.torch_device.startswith("cuda") else 0
        for cache, graph in graphs.items():
            program = [str(given.program), folder / f"{cache}.onnx", folder / "tokens.txt", given.device]
            ran = subprocess.run(program, capture_output=True, text=True)
            print(f"{given.model} {given.dtype} {cache}")
            sys.stderr.write(ran.stderr)
            if ran.returncode != 0:
                sys.exit(f"bench.decode: {given.program} ended with {ran.returncode}")
            is_wrong |= compare([int(line) for line in ran.stdout.split()], *wanted, TOLERANCE[given.dtype])
            if found := re.search(r"([0-9.]+) ms a token", ran.stderr):
                size = bytes_of_step(graph, sizes, given.dtype, given.tokens)
                tell_times(given, cache, float(found[1]) / 1000, size, rate)
    sys.exit(1 if is_wrong else 0)


def compare(got, wanted, margins, tolerance):
    """Prints how many tokens are the wanted ones; whether others are wrong."""
    differ = [i for i in range(len(wanted)) if got[i] != wanted[i]]
    wrong = [i for i in differ if margins[i] > tolerance]
    print(f"{len(wanted) - len(differ)} of {len(wanted)} tokens are PyTorch's", end="; ")
    others = f"{len(differ) - len(wrong)} others are as good within {tolerance:g} of the largest logit"
    print(f"{others}, {len(wrong)} are wrong")
    for i in wrong[:10]:
        print(f"  after token {i}: {got[i]}, not {wanted[i]}, which is ahead by {margins[i]:.3g}")
    return bool(wrong)


def tell_times(given, cache, seconds, size, rate):
    line = {"model": given.model, "dtype": given.dtype, "cache": cache, "ms": seconds * 1000, "bytes": size}
    if rate:
        line |= {"copy_bytes_per_s": rate, "ms_of_a_copy": 1000 * size / rate, "ratio": seconds * rate / size}
    print(json.dumps(line))


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    main()
