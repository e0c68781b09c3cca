"""The rule by which an output is right (section of the README); numpy only."""

import numpy as np

from .storage import widened

# Distance of neighbours over value, largest finite and smallest normal number.
FLOATS = {
    "f64": (2.0**-52, np.finfo(np.float64).max, np.finfo(np.float64).tiny),
    "f32": (2.0**-23, float(np.finfo(np.float32).max), 2.0**-126),
    "f16": (2.0**-10, 65504.0, 2.0**-14),
    "bf16": (2.0**-7, (2 - 2.0**-7) * 2.0**127, 2.0**-126),
}
ULPS = 4
STEPWISE = 2  # times PyTorch's own error
CONDITION = 8  # times what one ulp of the inputs changes


def rms(values):
    """Of the finite ones, without overflow."""
    values = np.abs(values[np.isfinite(values)])
    largest = float(values.max(initial=0.0))
    return largest * float(np.sqrt(np.mean((values / largest) ** 2))) if largest else 0.0


def difference(a, b):
    """RMS of a - b where both are finite."""
    both = np.isfinite(a) & np.isfinite(b)
    return rms(a[both] - b[both])


def allowed(eager, ideal, changed, dtype):
    """RMS error that an output of this type may have. `changed`: ideal of changed inputs, or None."""
    ulp, _, tiny = FLOATS[dtype]
    limit = STEPWISE * difference(eager, ideal) + ULPS * ulp * rms(ideal) + ULPS * ulp * tiny
    return limit + (CONDITION * difference(changed, ideal) if changed is not None else 0.0)


def kind(values, dtype):
    """0 finite, 1 and -1 infinities, 2 NaN, once rounded to the type."""
    ulp, largest, _ = FLOATS[dtype]
    edge = largest * (1 + ulp / 4)
    return np.where(np.isnan(values), 2, (values >= edge).astype(int) - (values <= -edge))


def compare_floats(ours, eager, ideal, limit, dtype):
    """None where right, else what is wrong. All are f64 arrays of one shape."""
    of_ours, of_eager = kind(ours, dtype), kind(eager, dtype)
    wrong = (of_ours != of_eager) & (of_ours != kind(ideal, dtype))
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        return f"{int(wrong.sum())} of {ours.size} elements: {ours.flat[at]} instead of {eager.flat[at]} at {at}"
    error = difference(ours, ideal)
    if error <= limit:
        return None
    at = int(np.nanargmax(np.where(np.isfinite(ours - ideal), np.abs(ours - ideal), -1.0)))
    return f"RMS error {error:.3g} of {limit:.3g} allowed; {ours.flat[at]:.9g} instead of {ideal.flat[at]:.9g} at {at}"


def compare_exactly(ours, expected):
    wrong = ours != expected
    if not wrong.any():
        return None
    at = int(np.flatnonzero(wrong)[0])
    return f"{int(wrong.sum())} of {ours.size} elements: {ours.flat[at]} instead of {expected.flat[at]} at {at}"


def what_is_wrong(outputs, results, found):
    """None, or how the first wrong output differs. `outputs`: name, dtype, shape and limit of each; `results`: arrays as
    they are stored; `found`: (dtype, array) by name."""
    for k, output in enumerate(outputs):
        name, dtype, expected = output["name"], output["dtype"], results[output["name"]]
        if name not in found:
            return f"{name}: missing"
        of, array = found[name]
        if of != dtype or list(array.shape) != output["shape"]:
            return f"{name}: {of}{list(array.shape)} instead of {dtype}{output['shape']}"
        if dtype in FLOATS:
            eager = widened(expected, dtype)
            ideal = results.get(f"ideal{k}", eager)
            wrong = compare_floats(widened(array, dtype), eager, ideal, output["allowed"], dtype)
        else:
            wrong = compare_exactly(array, expected)
        if wrong:
            return f"{name}: {wrong}"
    return None
