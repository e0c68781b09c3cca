"""PyTorch's flex_attention as a peer: the graphs of bench/cases that it can express, by their names."""

import torch


def causal(b, h, q, k):
    return k <= q


def soft_cap(score, b, h, q, k):
    return 30.0 * torch.tanh(score / 30.0)


def function(graph, operands):
    """Takes the graph's operands, q, k and v first, and returns a tuple of the output; compiled at its first call.
    ValueError for a graph that has no such form here."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    q, k = operands[:2]
    score_mod, block_mask = None, None
    if graph.name == "attention-causal":
        block_mask = create_block_mask(causal, None, None, q.shape[-2], k.shape[-2], device=q.device)
    elif graph.name == "attention-soft-cap":
        score_mod = soft_cap
    elif graph.name not in ("attention", "attention-bias"):
        raise ValueError(f"no flex_attention for graph {graph.name}")
    compiled = torch.compile(flex_attention, dynamic=False, fullgraph=True)

    def run(q, k, v, *rest):
        modify = score_mod
        if graph.name == "attention-bias":
            (bias,) = rest
            modify = lambda score, b, h, i, j: score + bias[h, i, j]
        return (compiled(q, k, v, score_mod=modify, block_mask=block_mask, enable_gqa=True),)

    return run
