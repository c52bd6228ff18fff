"""The random walk on the orthogonal matrices: its exponential, uniformity, orthogonality, learning, any square matrix.

Without data the chain must be uniform on the half of O(D) that it begins in: entries have a known law, and so has the
angle of a rotation of space. Distances of distribution functions are held to the bound of Dvoretzky, Kiefer and
Wolfowitz at a false-fail rate of 1e-6 for a whole test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from engine_drivers import dkw, settings
from proposal_dummies import Dummy
from scipy import stats

import austerity as au
from austerity.decisions import Exact, SequentialT
from austerity.engine.jit import engine
from austerity.engine.problem import copy_into
from austerity.engine.streams import normal
from austerity.errors import InputError
from austerity.models.orthogonal import departure, haar
from austerity.priors import Flat, Normal
from austerity.proposals import Mixture, RandomWalk, Stiefel
from austerity.proposals.base import Setting
from austerity.proposals.stiefel import exponential_of, straighten

SEED = 0
CHAINS = 2000
COLD = 1e12  # a temperature at which the likelihood says nothing


# ---- the exponential ----


@pytest.mark.parametrize("size", [2, 3, 4, 7])
@pytest.mark.parametrize("scale", [1e-6, 1e-2, 0.3, 3.0])
def test_exponential(size: int, scale: float) -> None:
    """Good to 1e-14 in every entry, against V e^(-i L) V* of the Hermitian i S = V L V*."""
    random = np.random.default_rng([SEED, size])
    for _ in range(20):
        skew = scale * np.tril(random.normal(size=(size, size)), -1)
        skew -= skew.T
        out, power, room = (np.empty((size, size)) for _ in range(3))
        exponential_of(skew.copy(), out, power, room)
        turns, vectors = np.linalg.eigh(1j * skew)
        truth = ((vectors * np.exp(-1j * turns)) @ vectors.conj().T).real
        np.testing.assert_allclose(out, truth, rtol=0, atol=1e-14)


def test_straighten_squares_what_is_off() -> None:
    W = haar(np.random.default_rng(SEED), 1, 4)[0]
    bent = W + 1e-6 * np.random.default_rng(1).normal(size=(4, 4))
    off = departure(bent)
    straighten(bent, np.empty((2, 4, 4)))
    assert off > 1e-6 and departure(bent) < 10 * off**2


# ---- uniform without data ----


@engine
def _turn_by_place(theta, indices, parameters, state, stream, proposed, proposed_indices, report):
    """D = 3: a turn in the plane of the first two columns, then one in that of the last two, longer for large W_00."""
    for plane in range(2):
        angle = parameters[0] * (1.0 + 2.0 * theta[0] * theta[0]) * normal(stream)
        cosine, sine = np.cos(angle), np.sin(angle)
        for i in range(3):
            from_ = theta if plane == 0 else proposed
            one, other = from_[3 * i + plane], from_[3 * i + plane + 1]
            if plane == 0:
                proposed[3 * i + 2] = theta[3 * i + 2]
            proposed[3 * i + plane] = cosine * one - sine * other
            proposed[3 * i + plane + 1] = sine * one + cosine * other
    copy_into(proposed_indices, indices)
    return 0.0


@dataclass(frozen=True)
class TurnByPlace(Dummy):
    """Not symmetric: how far it turns depends on where it is."""

    scale: float
    on_orthogonal = True

    def parameters(self, setting: Setting) -> np.ndarray:
        return np.array([self.scale])

    def propose(self) -> Any:
        return _turn_by_place


@lru_cache(maxsize=4)
def nothing_known(size: int) -> np.ndarray:
    return np.random.default_rng(size).normal(size=(64, size))


def walked(size: int, proposal: Any, start: Any, steps: int, rule: Any) -> np.ndarray:
    """Where chains are after so many steps without data, (CHAINS, D, D)."""
    common = settings(draws=1, warmup=0, thin=steps, chains=CHAINS, start=start, rng=SEED, temperature=COLD)
    X = np.linalg.qr(nothing_known(size) - nothing_known(size).mean(0))[0] * np.sqrt(64)
    post = au.sample(au.models.ICA(whiten=False), X, acceptance=rule, proposal=proposal, **common)
    assert float(post["sample_stats"]["accepted"].values.mean()) == steps
    return post["posterior"]["W"].values[:, 0]


def entry_law(size: int) -> Callable[[np.ndarray], np.ndarray]:
    """An entry of a uniform matrix is that of a uniform unit vector: (1 + w) / 2 is Beta((D - 1) / 2, (D - 1) / 2)."""
    half = (size - 1) / 2
    return lambda w: stats.beta.cdf((1 + np.asarray(w)) / 2, half, half)


def distances(W: np.ndarray) -> list[float]:
    """Of every entry, and for rotations of space also of their angle: density (1 - cos a) / pi on (0, pi)."""
    size = W.shape[1]
    out = [stats.kstest(W[:, i, j], entry_law(size)).statistic for i in range(size) for j in range(size)]
    if size == 3:
        half = np.linalg.det(W)
        angle = np.arccos(np.clip((half * np.trace(W, axis1=1, axis2=2) - 1) / 2, -1, 1))
        out.append(stats.kstest(angle, lambda a: (a - np.sin(a)) / np.pi).statistic)
    return [float(d) for d in out]


@pytest.mark.statistical
@pytest.mark.parametrize("size", [2, 3, 4])
def test_uniform_from_one_point(size: int) -> None:
    """From the identity, in 40 steps of a radian. False-fail rate 1e-6; a distance of .06 is caught."""
    W = walked(size, Stiefel(1.0), np.eye(size), 40, Exact())
    assert max(distances(W)) < dkw(CHAINS, 1e-6 / (size * size + 1))
    np.testing.assert_allclose(np.linalg.det(W), 1.0, atol=1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize("rule", [Exact(), SequentialT(0.0, 30)])
def test_uniform_draws_stay_so(rule: Any) -> None:
    """From start='prior', which is uniform on both halves, by short steps. False-fail rate 1e-6."""
    W = walked(3, Stiefel(0.2), "prior", 20, rule)
    assert max(distances(W)) < dkw(CHAINS, 1e-7)
    half = np.count_nonzero(np.linalg.det(W) > 0)
    assert abs(half - CHAINS / 2) < 5 * np.sqrt(CHAINS) / 2


@pytest.mark.statistical
def test_a_step_that_is_not_symmetric_is_caught() -> None:
    """The same comparison, from the same uniform draws."""
    assert max(distances(walked(3, TurnByPlace(0.3), "prior", 100, Exact()))) > 1.5 * dkw(CHAINS, 1e-7)


# ---- orthogonal for ever ----


def test_orthogonal_after_many_steps() -> None:
    """100,000 accepted steps: every kept matrix is orthogonal to 1e-14."""
    common = settings(draws=100, warmup=0, thin=1000, chains=1, start="prior", temperature=COLD)
    post = au.sample(
        au.models.ICA(whiten=False),
        np.linalg.qr(nothing_known(4) - nothing_known(4).mean(0))[0] * 8,
        acceptance=SequentialT(0.5, 2),
        proposal=Stiefel(0.5),
        **common,
    )
    assert float(post["sample_stats"]["accepted"].values.sum()) > 99_000
    assert departure(post["posterior"]["W"].values).max() < 1e-14


# ---- learning the scale ----


def laplace_rows(n_rows: int, size: int, seed: int = 3) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.laplace(size=(n_rows, size)) @ random.normal(size=(size, size))


@pytest.mark.parametrize("start", ["mode", "prior"])
def test_scale_is_learnt_in_warm_up(start: str) -> None:
    """Acceptance near a half, one scale after warm-up, of the order of 1 / sqrt(N)."""
    common = settings(draws=400, warmup=600, chains=4, start=start, acceptance=Exact())
    post = au.sample(au.models.ICA(), laplace_rows(4000, 3), **common)
    rate = float(post["sample_stats"]["acceptance_rate"].values.mean())
    size = post["sample_stats"]["step_size"].values
    assert 0.35 < rate < 0.65
    assert np.all(size == size[:, :1]) and np.all((size > 0.2 / np.sqrt(4000)) & (size < 5 / np.sqrt(4000)))


def test_a_given_scale_stays() -> None:
    post = au.sample(
        au.models.ICA(),
        laplace_rows(500, 2),
        acceptance=Exact(),
        proposal=Stiefel(0.07),
        **settings(draws=50, warmup=50, chains=2),
    )
    np.testing.assert_allclose(post["sample_stats"]["step_size"].values, 0.07, rtol=1e-12)


# ---- any model whose state is a square matrix ----


def trace_row(theta: Any, x: Any, y: Any) -> Any:
    """x_1' W x_2 row by row: sum_i = tr(F' W), the von Mises-Fisher law of W."""
    return x[0] * (theta[0] * x[2] + theta[1] * x[3]) + x[1] * (theta[2] * x[2] + theta[3] * x[3])


@pytest.mark.statistical
@pytest.mark.parametrize("rule", [Exact(), SequentialT(0.0, 7)])
@pytest.mark.parametrize("start", [np.eye(2), np.diag([1.0, -1.0])])
def test_von_mises_by_a_model_of_ones_own(rule: Any, start: np.ndarray) -> None:
    """W = (c, -s; s, c) has the angle's law exp(a c + b s), von Mises; reflections likewise. False-fail rate 1e-6."""
    X = np.random.default_rng(8).normal(size=(30, 4)) * 0.45
    F = np.einsum("ni,nj->ij", X[:, :2], X[:, 2:])
    sign = np.linalg.det(start)
    a, b = F[0, 0] + sign * F[1, 1], F[1, 0] - sign * F[0, 1]
    chains, model = 800, au.Model({"W": Flat()}, shapes={"W": (2, 2)}, row=trace_row)
    common = settings(draws=1, warmup=0, thin=60, chains=chains, start=start, dtype="float64")
    post = au.sample(model, X, np.zeros(30), acceptance=rule, proposal=Stiefel(1.0), **common)
    W = post["posterior"]["W"].values[:, 0]
    angle = np.arctan2(W[:, 1, 0], W[:, 0, 0])
    concentration = np.hypot(a, b)
    assert concentration > 1.0 and 0.1 < float(post["sample_stats"]["accepted"].values.mean()) / 60 < 0.9
    law = stats.vonmises(concentration, loc=0)
    turned = np.angle(np.exp(1j * (angle - np.arctan2(b, a))))
    assert stats.kstest(turned, law.cdf).statistic < dkw(chains)
    assert stats.kstest(turned + 0.35, law.cdf).statistic > dkw(chains)  # what would be caught


# ---- bad input ----

MATRIX = au.Model({"W": Normal(0, 1)}, shapes={"W": (2, 2)}, row=trace_row)
FOUR = np.random.default_rng(9).normal(size=(20, 4))
TWO_NAMES = au.Model({"a": Flat(), "b": Flat()}, shapes={"a": (2,), "b": (2,)}, row=trace_row)
BAD = {
    "one parameter": (au.models.Logistic(), {"X": FOUR[:, :1]}, "Stiefel moves one square matrix of at least 2 x 2"),
    "a vector of four": (au.models.Logistic(), {"X": FOUR}, "parameters of Logistic are beta[x0], beta[x1]"),
    "two vectors": (TWO_NAMES, {}, "Stiefel moves one square matrix"),
    "no start": (MATRIX, {}, "start='mode' gives Stiefel no orthogonal matrix to begin at"),
    "a word": (MATRIX, {"start": "prior"}, "start='prior' gives Stiefel no orthogonal matrix to begin at"),
    "off": (MATRIX, {"start": [1, 0, 0, 2]}, "start gives chain 0 a matrix W that is not orthogonal, W W' being off"),
    "beside a walk": (
        MATRIX,
        {"start": np.eye(2), "proposal": Mixture([Stiefel(), RandomWalk(0.1)])},
        "Stiefel keeps a matrix orthogonal, which RandomWalk beside it does not",
    ),
    "positive": (
        au.Model({"W": Normal(0, 1)}, shapes={"W": (2, 2)}, row=trace_row, positive=["W"]),
        {"start": np.full((2, 2), 0.5)},
        "which positive entries cannot be",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_models_that_it_does_not_fit(case: str) -> None:
    model, more, said = BAD[case]
    given = {"X": FOUR, "y": np.arange(20) % 2.0, "proposal": Stiefel(), "acceptance": Exact(), **more}
    with pytest.raises(InputError) as raised:
        au.sample(model, **given, **settings(draws=5, warmup=0, chains=2))
    assert said in str(raised.value)


@pytest.mark.parametrize("scale", [0, -1.0, 11, np.nan, np.inf, True, "wide", [0.1]])
def test_bad_scales(scale: Any) -> None:
    with pytest.raises(InputError, match=r"Stiefel\(scale=.*give the size of a step in radians"):
        Stiefel(scale)
