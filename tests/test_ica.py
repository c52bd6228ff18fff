"""Independent components: the posterior of two columns by quadrature, its symmetries, whitening, the mode, bad input.

With two columns W is a rotation by an angle, or one with its second row turned about; both have the same likelihood, so
the angle of W's first row has one law on both halves of O(2), which a fine grid gives. That law repeats itself every
quarter turn (order and signs of the components); folded to a quarter, peaks lie on one another and a wrong shape shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from engine_drivers import dkw, settings
from proposal_dummies import Dummy

import austerity as au
from austerity.decisions import Exact, SequentialT
from austerity.engine.jit import engine
from austerity.engine.problem import copy_into
from austerity.engine.streams import normal
from austerity.errors import InputError
from austerity.models import ICA, Linear, amari_distance
from austerity.models.kernels.arithmetic import log_four_cosh_square
from austerity.models.orthogonal import departure, haar
from austerity.proposals import AdaptiveMetropolis, Mixture, RandomWalk, Stiefel
from austerity.proposals.base import Setting
from austerity.rows import open as open_rows
from austerity.standin.mode import find_mode

SEED = 0
CHAINS, STEPS, N = 2000, 25, 400
CELLS = 20_000


def mixed(n_rows: int, size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of mixed Laplace sources, columns far from zero and of different size; and the true unmixing matrix."""
    random = np.random.default_rng(seed)
    A = random.normal(size=(size, size)) * np.geomspace(0.1, 10, size)[:, None]
    return random.laplace(size=(n_rows, size)) @ A.T + 5.0, np.linalg.inv(A)


def white(X: np.ndarray) -> np.ndarray:
    """Columns of mean 0, variance 1 and no correlation, by another way than the package's."""
    centred = X - X.mean(axis=0)
    return np.asarray(np.sqrt(len(X)) * np.linalg.svd(centred, full_matrices=False)[0])


def log_likelihood(Z: np.ndarray, W: np.ndarray) -> np.ndarray:
    """sum_i sum_p -log(4 cosh^2(w_p . z_i / 2)) at matrices W (..., D, D)."""
    s = np.einsum("...pj,nj->...pn", W, Z)
    return np.asarray(-2 * np.logaddexp(s / 2, -s / 2).sum(axis=(-1, -2)))


def turned(angle: np.ndarray, half: np.ndarray | float = 1.0) -> np.ndarray:
    """Rows (c, s) and half * (-s, c)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.moveaxis(np.array([[c, s], [-half * s, half * c]]), (0, 1), (-2, -1))


class Angles:
    """The law of the angle on a quarter turn, and exact draws of W."""

    def __init__(self, Z: np.ndarray) -> None:
        self.edges = np.linspace(0, np.pi / 2, CELLS + 1)
        middle = 0.5 * (self.edges[1:] + self.edges[:-1])
        values = np.concatenate([log_likelihood(Z, turned(part)) for part in np.array_split(middle, 20)])
        mass = np.exp(values - values.max())
        self.lowest = float(middle[np.argmin(values)])  # the quarter is cut where there is least
        order = (np.arange(CELLS) + int(np.argmin(values))) % CELLS
        self.cumulative = np.concatenate([[0.0], np.cumsum(mass[order] / mass.sum())])
        self.peak = float(mass.max() / mass.mean())

    def cdf(self, folded: np.ndarray) -> np.ndarray:
        return np.interp(folded, self.edges, self.cumulative)

    def fold(self, W: np.ndarray) -> np.ndarray:
        return np.asarray((np.arctan2(W[:, 0, 1], W[:, 0, 0]) - self.lowest) % (np.pi / 2))

    def draw(self, count: int, random: np.random.Generator) -> np.ndarray:
        folded = np.interp(random.random(count), self.cumulative, self.edges)
        angle = folded + self.lowest + np.pi / 2 * random.integers(0, 4, count)
        return turned(angle, np.where(random.random(count) < 0.5, 1.0, -1.0))

    def distance(self, W: np.ndarray) -> float:
        folded, count = np.sort(self.cdf(self.fold(W))), len(W)
        steps = np.arange(count + 1) / count
        return float(max(np.max(steps[1:] - folded), np.max(folded - steps[:-1])))


@lru_cache(maxsize=1)
def two_columns() -> tuple[np.ndarray, Angles]:
    """Skewed data, so that the law is not symmetric about its peak."""
    random = np.random.default_rng(11)
    sources = np.column_stack([random.exponential(size=N) ** 1.3, random.laplace(size=N)])
    Z = white(sources @ turned(np.array(0.7)))
    return Z, Angles(Z)


def moved(rule: Any, proposal: Any = None, model: Any = None, chains: int = CHAINS) -> float:
    """How far from the truth exact draws are after some steps; both halves of O(2) keep their shares."""
    Z, angles = two_columns()
    start = angles.draw(chains, np.random.default_rng([SEED, 1]))
    common = settings(draws=1, warmup=0, thin=STEPS, chains=chains, start=start, rng=SEED, dtype="float64")
    model = model or ICA(whiten=False)
    post = au.sample(model, Z, acceptance=rule, proposal=proposal or Stiefel(0.6), **common)
    assert 0.1 < float(post["sample_stats"]["accepted"].values.mean()) / STEPS < 0.9
    W = post["posterior"]["W"].values[:, 0]
    np.testing.assert_allclose(np.linalg.det(W), np.linalg.det(start), atol=1e-10)
    return angles.distance(W)


# ---- the posterior ----


def test_the_truth_has_a_peak() -> None:
    assert 2 < two_columns()[1].peak < 10


@pytest.mark.statistical
@pytest.mark.parametrize("rule", [Exact(), SequentialT(0.0, 37), SequentialT(1e-6, 50)])
def test_exact_draws_stay_so(rule: Any) -> None:
    """False-fail rate 1e-6; a distance of .12 is caught for certain. At 1e-6 a look hardly a decision is wrong."""
    chains = CHAINS if rule.reads_all else 800
    assert moved(rule, chains=chains) < dkw(chains)


@pytest.mark.statistical
def test_long_chains_find_the_law() -> None:
    """From the mode, by the learnt scale. Every 60th step; the limit is for a third of the draws. False-fail 1e-6."""
    Z, angles = two_columns()
    common = settings(draws=40, warmup=200, thin=60, chains=50, rng=SEED, dtype="float64")
    post = au.sample(ICA(whiten=False), Z, acceptance=Exact(), **common)
    W = post["posterior"]["W"].values.reshape(-1, 2, 2)
    assert angles.distance(W) < dkw(len(W) // 3)
    assert departure(W).max() < 1e-12


@pytest.mark.statistical
def test_whitening_by_the_model_changes_nothing() -> None:
    """Raw columns, whitened by the model: W unmixes them as given, and W V^-1 has the same law. False-fail 1e-6."""
    Z, angles = two_columns()
    raw = Z @ np.array([[3.0, 1.0], [0.0, 0.1]]) + [7.0, -2.0]
    target = ICA().bind(open_rows(raw, dtype="float64"), False, False)
    V = target.to_natural[:2, :2].T
    np.testing.assert_allclose(np.cov(target.rows.X.T, ddof=0), np.eye(2), atol=1e-10)
    turn = V @ np.array([[3.0, 0.0], [1.0, 0.1]])  # z_model = turn z
    start = angles.draw(CHAINS, np.random.default_rng([SEED, 2])) @ turn.T @ V
    common = settings(draws=1, warmup=0, thin=STEPS, chains=CHAINS, start=start, rng=SEED, dtype="float64")
    W = au.sample(ICA(), raw, acceptance=Exact(), proposal=Stiefel(0.6), **common)["posterior"]["W"].values[:, 0]
    back = W @ np.linalg.inv(V) @ turn
    assert departure(back).max() < 1e-9
    assert angles.distance(back) < dkw(CHAINS)


def test_the_likelihood_knows_no_signs_and_no_order() -> None:
    """Sums over rows at W and at D W P for signs D and orders P, by the package and by NumPy."""
    from austerity.rows import passes

    Z = white(mixed(400, 4, 5)[0])
    target = ICA(whiten=False).bind(open_rows(Z, dtype="float64"), False, False)
    W = haar(np.random.default_rng(1), 3, 4)
    same = np.diag([1.0, -1.0, -1.0, 1.0])[[3, 1, 0, 2]] @ W
    values, status = passes.sums(target.problem, np.concatenate([W, same]).reshape(6, 16))
    assert status == 0
    np.testing.assert_allclose(values[:3], values[3:], rtol=1e-13)
    np.testing.assert_allclose(values[:3], log_likelihood(Z, W), rtol=1e-12)


# ---- negative controls ----


@engine
def value_without_half(eta, y, extras, out):
    for i in range(out.size):
        out[i] = 0.0
    for p in range(eta.shape[0]):
        for i in range(out.size):
            out[i] -= log_four_cosh_square(2.0 * eta[p, i])


@engine
def value_with_a_sign(eta, y, extras, out):
    for i in range(out.size):
        out[i] = log_four_cosh_square(eta[0, i]) - log_four_cosh_square(eta[1, i])


@dataclass(frozen=True, eq=False)
class Wrong(ICA):
    """A kernel that forgets the 1/2, or has one component's sign reversed."""

    value: Any = None

    def kernels(self) -> tuple[Any, Any]:
        return self.value, super().kernels()[1]


@pytest.mark.statistical
@pytest.mark.parametrize("value", [value_without_half, value_with_a_sign])
def test_a_wrong_kernel_is_caught(value: Any) -> None:
    assert moved(Exact(), model=Wrong(whiten=False, value=value)) > 1.5 * dkw(CHAINS)


@engine
def _drifting(theta, indices, parameters, state, stream, proposed, proposed_indices, report):
    """D = 2: a turn by N(drift, scale), whose ratio is left out."""
    angle = parameters[0] + parameters[1] * normal(stream)
    cosine, sine = np.cos(angle), np.sin(angle)
    for i in range(2):
        proposed[2 * i] = cosine * theta[2 * i] - sine * theta[2 * i + 1]
        proposed[2 * i + 1] = sine * theta[2 * i] + cosine * theta[2 * i + 1]
    copy_into(proposed_indices, indices)
    return 0.0


@dataclass(frozen=True)
class Drifting(Dummy):
    """A Stiefel step whose skew matrix has a mean."""

    drift: float
    scale: float
    on_orthogonal = True

    def parameters(self, setting: Setting) -> np.ndarray:
        return np.array([self.drift, self.scale])

    def propose(self) -> Any:
        return _drifting


@pytest.mark.statistical
def test_a_drifting_step_is_caught() -> None:
    """The same move without its drift passes."""
    assert moved(Exact(), Drifting(0.0, 0.4)) < dkw(CHAINS)
    assert moved(Exact(), Drifting(0.35, 0.3)) > 1.5 * dkw(CHAINS)


# ---- data of known sources ----


@pytest.mark.parametrize("rule", ["auto", Exact(), SequentialT(0.1, 300)])
def test_sources_are_recovered(rule: Any) -> None:
    """Four Laplace sources, raw columns: the Amari distance to the truth is a few hundredths, as N = 5000 allows."""
    X, truth = mixed(5000, 4, 6)
    common = settings(draws=100, warmup=200, chains=2, keep={"amari": amari_distance(truth)})
    post = au.sample(ICA(), X, acceptance=rule, **common)
    assert 0.001 < float(post["posterior"]["amari"].values.mean()) < 0.06


def test_results_have_names() -> None:
    X, _ = mixed(500, 3, 7)
    post = au.sample(ICA(), X, names=["a", "b", "c"], acceptance=Exact(), **settings(draws=20, warmup=20, chains=2))
    assert post["posterior"]["W"].dims == ("chain", "draw", "component", "feature")
    assert list(post["posterior"]["feature"].values) == ["a", "b", "c"]
    assert "W[2, a]" in str(au.summary(post))


def test_rows_in_float32_are_used_where_they_lie() -> None:
    Z = white(mixed(5000, 3, 8)[0]).astype(np.float32)
    target = ICA(whiten=False).bind(open_rows(Z), False, False)
    assert np.shares_memory(target.problem.X, Z)
    assert target.problem.y.size == 0


def test_weights_repeat_rows() -> None:
    """In whitening and in the terms: draw for draw."""
    X, _ = mixed(200, 3, 9)
    weights = np.random.default_rng(1).integers(0, 4, 200)
    common = settings(draws=40, warmup=40, chains=2, dtype="float64", start="mode", acceptance=Exact())
    one = au.sample(ICA(), X, weights=weights.astype(float), **common)["posterior"]["W"].values
    two = au.sample(ICA(), np.repeat(X, weights, axis=0), **common)["posterior"]["W"].values
    np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-8)


# ---- the mode ----


@pytest.mark.parametrize("seed", range(4))
def test_mode(seed: int) -> None:
    """Higher than 3000 random matrices and than turns about it, and flat there: turning it either way loses alike."""
    X, truth = mixed(2000, 3, seed)
    target = ICA().bind(open_rows(X, dtype="float64"), False, False)
    mode = find_mode(target)
    W, Z = mode.theta.reshape(3, 3), target.rows.X
    assert departure(W) < 1e-12 and mode.converged
    top = log_likelihood(Z, W)
    assert mode.value == pytest.approx(top, rel=1e-12)
    assert np.all(log_likelihood(Z[:, :], haar(np.random.default_rng(seed), 3000, 3)) < top + 1e-6)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        turn = np.eye(3)
        turn[np.ix_([i, j], [i, j])] = turned(np.array(1e-3))
        up, down = log_likelihood(Z, W @ turn) - top, log_likelihood(Z, W @ turn.T) - top
        assert up < 0 and down < 0 and abs(up - down) < 0.02 * abs(up + down)
    assert float(amari_distance(truth)(target.natural(mode.theta[None]).reshape(3, 3))) < 0.1


def test_mode_gives_the_spread() -> None:
    """sd of a turn by the curvature, against second differences."""
    target = ICA().bind(open_rows(mixed(2000, 2, 3)[0], dtype="float64"), False, False)
    mode = find_mode(target)
    W, Z, step = mode.theta.reshape(2, 2), target.rows.X, 1e-3
    values = [float(log_likelihood(Z, W @ turned(np.array(a)))) for a in (-step, 0.0, step)]
    curvature = -(values[0] - 2 * values[1] + values[2]) / step**2
    covariance = mode.root @ mode.root.T
    assert np.trace(covariance) == pytest.approx(2 / curvature, rel=1e-3)  # a turn by a moves W by a sqrt(2)


# ---- bits ----


def test_cores_and_resuming_change_no_bit(tmp_path: Any) -> None:
    X, _ = mixed(20_000, 3, 10)
    for rule in (Exact(), SequentialT(0.05, 300)):
        common = {"progress": False, "chains": 3, "warmup": 30, "acceptance": rule, "rng": 4}
        one = au.sample(ICA(), X, draws=60, cores=1, **common)["posterior"]["W"].values
        two = au.sample(ICA(), X, draws=60, cores=2, **common)["posterior"]["W"].values
        store = tmp_path / f"{type(rule).__name__}.zarr"
        au.sample(ICA(), X, draws=25, cores=1, store=store, **common)
        resumed = au.sample(ICA(), X, draws=60, cores=1, store=store, resume=True, **common)["posterior"]["W"].values
        assert np.array_equal(one, two) and np.array_equal(one, resumed)


# ---- bad input ----

GOOD = mixed(400, 3, 12)[0]
WHITE = white(GOOD)
SCALED = WHITE * [1.0, 2.0, 1.0]
SAME = np.column_stack([GOOD, GOOD[:, 0] - 2 * GOOD[:, 2]])
CONSTANT = np.column_stack([GOOD, np.full(400, 3.0)])
NO_MOVES = "lives on the orthogonal matrices, which {} would leave: use Stiefel()"
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "a response": (lambda: run(y=np.zeros(400)), "ICA has no response, but y was given as one: pass X alone"),
    "an intercept": (lambda: run(intercept=True), "leave out intercept=True"),
    "standardised": (lambda: run(standardize=True), "leave out standardize=True"),
    "an offset": (lambda: run(offset=np.zeros(400)), "ICA has no offset: leave out offset="),
    "one column": (lambda: run(GOOD[:, :1]), "ICA needs at least 2 columns, but there is 'x0' alone: give more"),
    "a constant column": (lambda: run(CONSTANT), "column 'x3' is constant, so there is nothing in it to unmix"),
    "a column of zeros": (lambda: run(CONSTANT * [1, 1, 1, 0]), "column 'x3' is zero in every row"),
    "columns that repeat one another": (lambda: run(SAME), "the same in every row, so the rows cannot be whitened"),
    "not centred": (lambda: run(WHITE + 1.0, model=ICA(whiten=False)), "column 'x0' has mean 1: centre and whiten"),
    "not scaled": (lambda: run(SCALED, model=ICA(whiten=False)), "column 'x1' has variance 4: whiten the columns"),
    "not white": (
        lambda: run(WHITE @ [[1, 0.6, 0], [0, 0.8, 0], [0, 0, 1]], model=ICA(whiten=False)),
        "column 'x0' has covariance 0.6 with 'x1': whiten the columns",
    ),
    "a walk": (lambda: run(proposal=RandomWalk(0.1)), "ICA " + NO_MOVES.format("RandomWalk")),
    "a walk from the mode": (lambda: run(proposal=RandomWalk()), "ICA " + NO_MOVES.format("RandomWalk")),
    "an adaptive walk": (lambda: run(proposal=AdaptiveMetropolis()), NO_MOVES.format("AdaptiveMetropolis")),
    "a walk in a mixture": (
        lambda: run(proposal=Mixture([Stiefel(0.1), RandomWalk(0.1)])),
        NO_MOVES.format("RandomWalk"),
    ),
    "a start off the manifold": (
        lambda: run(WHITE, model=ICA(whiten=False), start=np.diag([1.0, 1.0, 1.1])),
        "start gives chain 0 a matrix W that is not orthogonal, W W' being off the identity by 0.21: give an",
    ),
    "that of one chain": (
        lambda: run(WHITE, model=ICA(whiten=False), start=np.array([np.eye(3), np.ones((3, 3))])),
        "start gives chain 1 a matrix W that is not orthogonal",
    ),
    "a start that is orthogonal on raw rows": (
        lambda: run(start=np.eye(3)),
        "a matrix W that is not orthogonal on the whitened rows",
    ),
    "a start of another shape": (lambda: run(start=np.eye(2)), "start has shape (2, 2), but the model has 9"),
    "a start that is no number": (lambda: run(start=np.diag([1.0, np.nan, 1.0])), "start gives W[1, x1] the value nan"),
    "a prior": (lambda: ICA(prior=au.priors.Normal(0, 1)), "ICA takes no prior=: its prior is uniform"),
    "a word for whiten": (lambda: ICA(whiten="yes"), "ICA(whiten='yes'): give True or False"),  # type: ignore[arg-type]
    "no response elsewhere": (lambda: run(model=Linear()), "Linear needs a response"),
}


def run(X: Any = GOOD, model: Any = None, **more: Any) -> Any:
    given = {"acceptance": Exact(), **settings(draws=5, warmup=0, chains=2), **more}
    return au.sample(model or ICA(), X, **given)


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str) -> None:
    call, said = BAD[case]
    with pytest.raises(InputError) as raised:
        call()
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_start_is_put_on_the_manifold_by_its_last_digits() -> None:
    """Numbers rounded to seven digits are taken, and the chain is orthogonal all the same."""
    W = np.round(haar(np.random.default_rng(3), 1, 3)[0], 7)
    post = run(WHITE, model=ICA(whiten=False), start=W, proposal=Stiefel(1e-4))
    assert departure(post["posterior"]["W"].values).max() < 1e-12
    assert np.abs(post["posterior"]["W"].values - W).max() < 0.01
    assert replace(ICA(), whiten=False).whiten is False
