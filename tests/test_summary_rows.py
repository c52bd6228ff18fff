"""Rows that do not exist: the law of their batches against a population that does, and the decisions made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engine_drivers import FALSE_FAIL, dkw
from scipy import stats

import austerity as au
from austerity.decisions import Exact, SequentialT
from austerity.design import error
from austerity.engine import streams
from austerity.engine.jit import bare
from austerity.errors import InputError
from austerity.rows.summary import LEFT, LEFT_SQUARES, draw_batch

SEED = 0
COUNT = 20_000
SIZES = (5, 2, 1, 4)  # batches of a population of 12
Z_LIMIT = -float(stats.norm.ppf(FALSE_FAIL / 2))


@bare
def _batches(stream, state, population, sizes, replaced, out):
    """out (R, batches, 2): mean about the population's and M2 of every batch, R times over."""
    for r in range(out.shape[0]):
        streams.start(stream, r)
        state[0], state[1], state[2] = population[0], 0.0, population[1]
        for j in range(sizes.size):
            if replaced:
                state[0], state[1], state[2] = population[0], 0.0, population[1]
            out[r, j, 0], out[r, j, 1] = draw_batch(state, stream, sizes[j])


def batches(replaced: bool = False) -> np.ndarray:
    """What the source draws, from a population of 12 with sd 1."""
    stream = streams.new_streams(np.random.SeedSequence(SEED), 1)[0, 0]
    out = np.zeros((COUNT, len(SIZES), 2))
    _batches(stream, np.zeros(5), np.array([12.0, 12.0]), np.array(SIZES, float), replaced, out)
    return out


def real_batches() -> np.ndarray:
    """The same of 12 normal numbers that exist, brought to mean 0 and sd 1."""
    values = np.random.default_rng([SEED, 1]).standard_normal((COUNT, 12))
    values -= values.mean(axis=1, keepdims=True)
    values /= values.std(axis=1, keepdims=True)
    parts = np.split(values, np.cumsum(SIZES)[:-1], axis=1)
    return np.stack([[p.mean(axis=1), p.var(axis=1) * p.shape[1]] for p in parts]).transpose(2, 0, 1)


def features(drawn: np.ndarray) -> list[np.ndarray]:
    """Means, M2s and what ties batches to each other (COUNT,) each."""
    means, squares = drawn[..., 0], drawn[..., 1]
    return [*means.T, *squares.T[[0, 1, 3]], means[:, 0] * means[:, 3], squares[:, 0] - squares[:, 3]]


def worst_distance(drawn: np.ndarray) -> float:
    real = features(real_batches())
    return max(float(stats.ks_2samp(a, b).statistic) for a, b in zip(features(drawn), real, strict=True))


@pytest.mark.statistical
def test_batches_follow_the_law_of_a_real_population() -> None:
    """False-fail rate 1e-6 over nine features: distances of two samples of 20,000."""
    assert worst_distance(batches()) < np.sqrt(2) * dkw(COUNT, FALSE_FAIL / 9)


@pytest.mark.statistical
def test_batches_put_back_are_caught() -> None:
    assert worst_distance(batches(replaced=True)) > 2 * np.sqrt(2) * dkw(COUNT)


def test_all_batches_together_are_the_population() -> None:
    drawn, sizes = batches(), np.array(SIZES)
    means = drawn[..., 0]
    assert np.allclose(means @ sizes, 0.0, atol=1e-12)
    assert np.allclose((drawn[..., 1] + sizes * means**2).sum(axis=1), 12.0, rtol=1e-12)


def test_nothing_is_left_after_the_last_batch() -> None:
    state, stream = np.array([7.0, 0.3, 2.5, 0.0, 0.0]), streams.new_streams(np.random.SeedSequence(1), 1)[0, 0]
    assert draw_batch(state, stream, 7.0) == (0.3, 2.5)
    assert state[LEFT] == 0.0 and state[LEFT_SQUARES] == 0.0


def drawn(n: int, rule: Any, sigma: float = 1.0, **more: Any) -> Any:
    settings = {"draws": 2000, "warmup": 200, "progress": False, **more}
    return au.sample(
        au.models.GaussianMean(sigma=sigma), au.rows.Summary(n=n, mean=0.5, sd=0.1), acceptance=rule, **settings
    )


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "sigma"), [(10**5, 1.0), (10**15, 1.0), (10**5, 0.1), (10**15, 3.0)])
def test_exact_draws_follow_the_posterior(n: int, sigma: float) -> None:
    """N(mean, sigma^2/N) up to the digits of float64 at .5; 2000 draws 40 steps apart, false-fail rate 1e-6."""
    post = drawn(n, Exact(), sigma, thin=40, chains=1)
    scaled = (post["posterior"]["mu"].values.ravel() - 0.5) * np.sqrt(n) / sigma
    assert stats.kstest(scaled, "norm").statistic < 1.1 * dkw(2000)
    assert np.all(post["sample_stats"]["n_rows"] == 40 * n)


@pytest.mark.parametrize(("n", "sigma"), [(10**5, 1.0), (10**15, 1.0), (10**5, 0.1)])
def test_reading_on_to_the_end_is_the_exact_decision(n: int, sigma: float) -> None:
    exact, test = drawn(n, Exact(), sigma, draws=300), drawn(n, SequentialT(0.0, n // 10), sigma, draws=300)
    assert np.array_equal(exact["posterior"]["mu"], test["posterior"]["mu"])
    assert np.all(test["sample_stats"]["n_looks"] == 10) and test.attrs["exact"] == 1


@pytest.mark.statistical
def test_rows_read_are_as_designed() -> None:
    """N = 10^15: shares of rows read at the pairs and u that the chain met, within 1e-6 of the design's mean."""
    n, rule = 10**15, SequentialT(0.05, 10**12)
    post = drawn(n, rule, draws=1, warmup=0, chains=3000, start=[[0.5]] * 3000, proposal=au.proposals.RandomWalk(1e-9))
    share = post["sample_stats"]["n_rows"].values.ravel() / n
    # From the mean itself a step of 3e-9 changes little: log u decides, mu_std = -log u / (sd of the sum).
    assert 0.0 < share.mean() < 0.5
    designed = _designed_share(n, rule)
    assert abs(share.mean() - designed) < Z_LIMIT * share.std() / np.sqrt(share.size) + 0.01 * designed


def _designed_share(n: int, rule: SequentialT) -> float:
    """E over the step z and u of the share read, the step being 1e-9 z from the mean."""
    random = np.random.default_rng([SEED, 5])
    step, log_u = 1e-9 * random.standard_normal(4000), -random.exponential(size=4000)
    mean = -0.5 * step**2
    mu_std = (mean - log_u / n) * np.sqrt(n - 1.0) / (np.abs(step) * 0.1)
    found = error(n, rule.batch, rule.epsilon, np.minimum(np.abs(mu_std), 60.0), rule.boundary)
    return float(np.mean(found.data_share))


def test_auto_takes_exact() -> None:
    post = drawn(10**12, "auto", draws=10)
    assert post.attrs["exact"] == 1 and "Exact" in post.attrs["settings"]


def test_bad_input() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"n": 1}, "give a whole number of rows"),
        ({"n": 2.5}, "give a whole number of rows"),
        ({"n": 10**17}, "give a whole number of rows"),
        ({"mean": np.nan}, "give a finite number"),
        ({"sd": 0.0}, "give a positive number"),
        ({"sd": "wide"}, "give a positive number"),
    ]
    for wrong, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            au.rows.Summary(**{"n": 100, "mean": 0.0, "sd": 1.0, **wrong})
    rows = au.rows.Summary(n=10**15, mean=0.5, sd=0.1)
    with pytest.raises(InputError, match="Linear reads rows"):
        au.sample(au.models.Linear(sigma=1.0), rows, progress=False)
    with pytest.raises(InputError, match=r"give rows\.Summary"):
        au.sample(au.models.GaussianMean(), np.zeros((5, 1)), progress=False)
    with pytest.raises(InputError, match="may look 2,000,000,000,000 times"):
        au.sample(au.models.GaussianMean(), rows, acceptance=SequentialT(0.05), progress=False)
    for move in (au.proposals.Slice(), au.proposals.Langevin(0.1, 100)):
        with pytest.raises(InputError, match="has none: give RandomWalk"):
            au.sample(au.models.GaussianMean(), rows, proposal=move, progress=False)
    with pytest.raises(InputError, match="sigma=-1"):
        au.models.GaussianMean(sigma=-1)
    with pytest.raises(InputError, match="prior=3"):
        au.models.GaussianMean(prior=3)
    with pytest.raises(InputError, match="leave them out"):
        au.sample(au.models.GaussianMean(), rows, intercept=True, progress=False)
