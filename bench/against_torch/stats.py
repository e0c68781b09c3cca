"""Medians, their intervals, and means of ratios."""

import dataclasses

import numpy


@dataclasses.dataclass(frozen=True)
class Timing:
    """Milliseconds per launch: the median of `samples` replays and its 95% interval."""

    ms: float
    low: float
    high: float
    samples: int
    recorded: bool = False  # read from an earlier run's results


def bootstrap(values, resamples=2000, seed=0):
    """The Timing of samples, its interval by the percentile bootstrap of the median."""
    values = numpy.asarray(values, dtype=float)
    generator = numpy.random.default_rng(seed)
    medians = numpy.median(generator.choice(values, (resamples, len(values))), axis=1)
    low, high = numpy.percentile(medians, [2.5, 97.5])
    return Timing(float(numpy.median(values)), float(low), float(high), len(values))


def geometric_mean(values):
    return float(numpy.exp(numpy.mean(numpy.log(values))))
