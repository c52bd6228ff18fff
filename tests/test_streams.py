"""Random streams: NumPy's Philox bit for bit, normal quantiles, and streams that never shift one another."""

from __future__ import annotations

import numpy as np
import pytest
from engine_drivers import FALSE_FAIL, dkw, settings
from scipy import special, stats

import austerity as au
from austerity.engine import streams

SEED = 0
ALL_BITS = 2**64 - 1


def one_stream(key: tuple[int, int]) -> np.ndarray:
    """A stream (8,) with this key, before its first step."""
    stream = np.zeros(streams.STREAM_SIZE, np.uint64)
    stream[:2] = key
    return stream


def philox_bits(key: tuple[int, int], step: int, count: int) -> np.ndarray:
    """NumPy's output at counter (0, step, 0, 0); its generator adds one to the counter before every block."""
    before = ((step << 64) - 1) % (1 << 256)
    generator = np.random.Philox(key=key[0] | key[1] << 64, counter=before)
    return np.asarray(generator.random_raw(count), np.uint64)


def numbers(count: int, *name: int) -> list[int]:
    return [int(x) for x in np.random.default_rng([SEED, *name]).integers(0, 2**64, count, dtype=np.uint64)]


@pytest.mark.parametrize("step", [0, 1, 2, 12345, 2**31, 2**32 + 1, 2**62])
def test_bits_are_those_of_numpy(step: int) -> None:
    for first, second in zip(numbers(5, 1), numbers(5, 2), strict=True):
        stream = one_stream((first, second))
        streams.start(stream, step)
        found = np.array([streams.next_bits(stream) for _ in range(41)], np.uint64)
        assert np.array_equal(found, philox_bits((first, second), step, 41))


@pytest.mark.parametrize("key", [(0, 0), (ALL_BITS, ALL_BITS), (0, ALL_BITS)])
def test_bits_at_extreme_keys(key: tuple[int, int]) -> None:
    stream = one_stream(key)
    streams.start(stream, 7)
    assert np.array_equal([streams.next_bits(stream) for _ in range(9)], philox_bits(key, 7, 9))


def test_a_step_does_not_remember_the_one_before() -> None:
    stream = one_stream((3, 4))
    for used in range(10):
        streams.start(stream, 5)
        for _ in range(used):
            streams.next_bits(stream)
        streams.start(stream, 6)
        assert streams.next_bits(stream) == philox_bits((3, 4), 6, 1)[0]


def test_uniform_is_the_middle_of_a_cell_and_never_0_or_1() -> None:
    stream = one_stream((1, 2))
    streams.start(stream, 0)
    expected = np.minimum(((philox_bits((1, 2), 0, 1000) >> np.uint64(11)).astype(float) + 0.5) / 2**53, 1 - 2.0**-53)
    assert np.array_equal([streams.uniform(stream) for _ in range(1000)], expected)
    for bits, value in ((0, 2.0**-54), (ALL_BITS, 1.0 - 2.0**-53)):
        stream[3], stream[5] = 1, bits  # the second number of a block is next
        assert streams.uniform(stream) == value
        stream[3], stream[5] = 1, bits
        assert np.isfinite(streams.exponential(stream)) and streams.exponential(stream) > 0
        stream[3], stream[5] = 1, bits
        assert np.isfinite(streams.normal(stream))


@pytest.mark.statistical
def test_uniform_exponential_and_normal_follow_their_laws() -> None:
    """False-fail rate 3e-6 by DKW: a distance of .006 from the law is caught with 200,000 numbers."""
    laws = {streams.uniform: stats.uniform.cdf, streams.exponential: stats.expon.cdf, streams.normal: stats.norm.cdf}
    for place, (draw, law) in enumerate(laws.items()):
        stream = one_stream((numbers(1, place)[0], 9))
        values = np.empty(200_000)
        for i in range(values.size):
            if i % 1000 == 0:
                streams.start(stream, i)
            values[i] = draw(stream)
        distance = stats.ks_1samp(values, law).statistic
        assert distance < dkw(values.size, FALSE_FAIL)


def test_normal_quantiles_against_scipy() -> None:
    """AS 241 is good to 1e-16 before rounding; SciPy's own values are off by a unit or two in the last place."""
    centre = np.random.default_rng(SEED).uniform(0, 1, 20_000)
    tails = 10.0 ** -np.linspace(0.1, 16.2, 3000)
    edges = np.array([0.075, 0.925, np.exp(-25.0), 2.0**-54, 0.5 - 2.0**-40, 0.5 + 2.0**-40])
    probabilities = np.concatenate([centre, tails, 1.0 - tails[tails > 1e-15], edges])
    found = np.array([streams.normal_quantile(p) for p in probabilities])
    expected = special.ndtri(probabilities)
    assert np.max(np.abs(found - expected) / np.abs(expected)) < 2e-15
    assert streams.normal_quantile(0.5) == 0.0


def test_quantiles_are_symmetric_and_rise() -> None:
    grid = np.sort(np.random.default_rng(SEED).uniform(0, 1, 5000))
    values = np.array([streams.normal_quantile(p) for p in grid])
    assert np.all(np.diff(values) >= 0)
    exact = np.arange(1, 512) / 1024  # 1 - p is exact for these
    assert all(streams.normal_quantile(1 - p) == -streams.normal_quantile(p) for p in exact)


def test_fill_normal_takes_the_numbers_in_order() -> None:
    one, other, out = one_stream((5, 6)), one_stream((5, 6)), np.zeros(9)
    streams.fill_normal(one, out)
    assert np.array_equal(out, [streams.normal(other) for _ in range(9)])


def test_a_chain_has_the_same_streams_whatever_the_number_of_chains() -> None:
    many = streams.new_streams(np.random.SeedSequence(SEED), 64)
    for chains in (1, 2, 3, 5, 16):
        assert np.array_equal(streams.new_streams(np.random.SeedSequence(SEED), chains), many[:chains])


def test_all_keys_differ() -> None:
    two_seeds = [streams.new_streams(np.random.SeedSequence(seed), 64)[..., :2].reshape(-1, 2) for seed in (0, 1)]
    keys = np.concatenate(two_seeds)
    assert keys.shape == (2 * 64 * streams.STREAMS, 2)
    assert np.unique(keys, axis=0).shape == keys.shape


def test_a_long_look_shifts_no_other_stream() -> None:
    """Decisions that need 12 looks or one take nothing from proposals or from the next decision."""
    random = np.random.default_rng(SEED)
    X = random.normal(size=(600, 2))
    y = (random.random(600) < 0.5).astype(float)

    def draws(batch: int) -> np.ndarray:
        rule, move = au.decisions.SequentialT(0.0, batch), au.proposals.RandomWalk(0.1)
        model = au.models.Logistic(prior=au.priors.Normal(0, 1))
        common = settings(draws=200, warmup=0, chains=2, start=np.zeros(2), rng=SEED)
        tree = au.sample(model, X, y, acceptance=rule, proposal=move, **common)
        assert np.all(tree["sample_stats"]["n_rows"].values == 600)
        return np.asarray(tree["posterior"]["beta"].values)

    assert np.array_equal(draws(50), draws(600))
