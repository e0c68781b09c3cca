"""Whether a result is right: RMSE(out, ideal) <= 2 x RMSE(stepwise, ideal) + 4 ulp x RMS(ideal).

`ideal` is the graph in f64, `stepwise` what PyTorch computes op by op in the working type. Integers and booleans are
exact.
"""

import dataclasses

import torch


@dataclasses.dataclass(frozen=True)
class Verdict:
    ok: bool
    error: float  # RMSE over its bound; of exact types, the share of elements that differ
    text: str


def root_mean_square(tensor):
    return float(tensor.double().square().mean().sqrt())


def judge(out, stepwise, ideal):
    """Of one output; three tensors of one shape on one device."""
    if not (out.shape == stepwise.shape == ideal.shape):
        return Verdict(False, float("inf"), f"shape {list(out.shape)}, not {list(stepwise.shape)}")
    if out.numel() == 0:
        return Verdict(True, 0.0, "empty")
    if not out.dtype.is_floating_point:
        differing = float((out != ideal.to(out.dtype)).double().mean())
        return Verdict(differing == 0, differing, f"{differing:.2%} of the elements differ")
    error = root_mean_square(out.double() - ideal)
    stepwise_error = root_mean_square(stepwise.double() - ideal)
    bound = 2 * stepwise_error + 4 * torch.finfo(out.dtype).eps * root_mean_square(ideal)
    text = f"RMSE {error:.3g}, bound {bound:.3g}"
    if bound == 0:
        return Verdict(error == 0, error, text)
    return Verdict(error <= bound, error / bound, text)  # NaN is above every bound


def judge_all(outputs, stepwise, ideal):
    """The worst verdict of a graph's outputs."""
    verdicts = [judge(*three) for three in zip(outputs, stepwise, ideal, strict=True)]
    return min(verdicts, key=lambda v: (v.ok, -v.error))
