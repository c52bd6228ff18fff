"""Slice sampling: the posterior it keeps under rules that read all rows and few, its questions, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from engine_drivers import log_uniforms, settings
from grid_truth import Case, Grid, moved
from reading_moves import REDRAWN, RIGHT, WRONG_SIDE, SliceAgain
from scipy import stats
from test_langevin import line_of_rows, logistic, row_function, unknown_scale

import austerity as au
from austerity.decisions import Exact, SequentialT
from austerity.engine import streams
from austerity.errors import InputError
from austerity.priors import Laplace, Normal, StudentT
from austerity.proposals import Langevin, Mixture, RandomWalk, Slice

SEED = 0
CHAINS, FEWER, STEPS = 1000, 400, 12
MOVES = {
    "coordinates": Slice(),
    "random": Slice(directions="random"),
    "narrow": Slice(0.3, max_steps_out=3),
    "wide, no steps out": Slice([9.0, 5.0], directions="random", max_steps_out=0),
}


def assert_kept(case: Case, rule: Any, proposal: Any, chains: int) -> None:
    draws = moved(case, rule, proposal, chains, STEPS, SEED)
    assert case.grid.distance(draws) < case.grid.limit(chains)


def assert_caught(case: Case, rule: Any, proposal: Any, chains: int) -> None:
    draws = moved(case, rule, proposal, chains, STEPS, SEED)
    assert case.grid.distance(draws) > 1.5 * case.grid.limit(chains)


@lru_cache(maxsize=1)
def kink() -> Case:
    """Two coefficients of 40 rows under a Laplace prior that keeps them near its kink."""
    random = np.random.default_rng(6)
    X = random.normal(size=(40, 2))
    y = X @ [0.3, 0.0] + random.normal(size=40)

    def log_density(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        out = stats.laplace.logpdf(first, 0, 0.1) + stats.laplace.logpdf(second, 0, 0.1)
        for row, response in zip(X, y, strict=True):
            out = out - 0.5 * (response - first * row[0] - second * row[1]) ** 2
        return np.asarray(out)

    grid = Grid(log_density, ((-1.5, 1.5), (-1.5, 1.5)), SEED)
    return Case(au.models.Linear(prior=Laplace(0, 0.1), sigma=1.0), X, y, grid, {})


@pytest.mark.statistical
@pytest.mark.parametrize("move", MOVES)
def test_exact_slices(move: str) -> None:
    """False-fail rate 3e-6; caught: distances above .09 more often than not."""
    assert_kept(logistic(), Exact(), MOVES[move], CHAINS)


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.0, 1e-6])
@pytest.mark.parametrize("move", ["coordinates", "random"])
def test_slices_by_a_test_that_hardly_errs(move: str, epsilon: float) -> None:
    """False-fail rate 3e-6."""
    assert_kept(logistic(), SequentialT(epsilon, 11), MOVES[move], FEWER)


@pytest.mark.statistical
@pytest.mark.parametrize("make", [kink, unknown_scale])
def test_a_kink_and_a_scale(make: Any) -> None:
    """False-fail rate 3e-6: a Laplace prior, and sigma held as a logarithm."""
    assert_kept(make(), Exact(), Slice(), CHAINS)


@pytest.mark.statistical
def test_a_temperature() -> None:
    """False-fail rate 1.2e-5: T = 3, for slices, for Langevin's steps, and for both beside a random walk."""
    case = logistic()

    def log_density(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        out = stats.norm.logpdf(first, 0.5, 1.2) + stats.norm.logpdf(second, 0.5, 1.2)
        for row, response in zip(case.X, case.y, strict=True):
            eta = first * row[0] + second * row[1]
            out = out + (response * eta - np.logaddexp(0.0, eta)) / 3.0
        return np.asarray(out)

    hot = Case(case.model, case.X, case.y, Grid(log_density, ((-9.0, 9.0), (-9.0, 9.0)), SEED), {"temperature": 3.0})
    assert_kept(hot, Exact(), Slice(), CHAINS)
    assert_kept(hot, SequentialT(0.0, 11), Slice(), FEWER)
    steps = Langevin(0.5, batch=20, preconditioner="full")
    assert_kept(hot, SequentialT(0.0, 11), steps, FEWER)
    assert_kept(hot, Exact(), Mixture((Slice(), RandomWalk(0.5), steps)), FEWER)


@pytest.mark.statistical
@pytest.mark.parametrize("rule", [Exact(), SequentialT(0.0, 11)])
def test_in_a_mixture(rule: Any) -> None:
    """False-fail rate 3e-6: with a random walk and Langevin, whose sums under Exact each chain keeps by itself."""
    parts = (Slice(), RandomWalk(0.5), Langevin(0.5, batch=20, preconditioner="full"))
    assert_kept(logistic(), rule, Mixture(parts), FEWER)


# Negative controls


def test_written_twice_it_is_the_same_move() -> None:
    case = logistic()
    common = settings(draws=40, warmup=0, chains=3, start=[-1.0, 0.5])
    for rule in (Exact(), SequentialT(0.05, 11)):
        one, other = (
            au.sample(case.model, case.X, case.y, acceptance=rule, proposal=move, **common)
            for move in (Slice(0.8), SliceAgain(0.8))
        )
        assert np.array_equal(one["posterior"]["beta"].values, other["posterior"]["beta"].values)
        assert np.array_equal(one["sample_stats"]["n_rows"].values, other["sample_stats"]["n_rows"].values)


@pytest.mark.statistical
@pytest.mark.parametrize(("fault", "make", "width"), [(REDRAWN, unknown_scale, 0.03), (WRONG_SIDE, logistic, None)])
def test_u_redrawn_and_shrinking_to_the_wrong_side_are_caught(fault: int, make: Any, width: float | None) -> None:
    """The first is worst with short intervals: stepping out then ends early from where the density is high."""
    assert_kept(make(), Exact(), SliceAgain(width, max_steps_out=80, fault=RIGHT), FEWER)
    assert_caught(make(), Exact(), SliceAgain(width, max_steps_out=80, fault=fault), 2500)


@pytest.mark.parametrize("fault", [RIGHT, REDRAWN])
def test_all_questions_of_a_move_share_u(fault: int) -> None:
    """Where a move ends the density is at least u times that where it began, with the u of that step's stream."""
    case = logistic()
    common = settings(draws=300, warmup=0, chains=2, start=[-1.0, 0.5], proposal=SliceAgain(fault=fault))
    tree = au.sample(case.model, case.X, case.y, acceptance=Exact(), **common)
    thrown = streams.new_streams(np.random.SeedSequence(0).spawn(2)[0], 2)
    for chain in range(2):
        log_u = log_uniforms(thrown[chain, streams.DECISION].copy(), 300)[1:]
        above = np.diff(tree["sample_stats"]["lp"].values[chain]) - log_u
        assert np.all(above > -1e-9) if fault == RIGHT else np.mean(above < 0) > 0.1


# Its questions


@dataclass(frozen=True)
class _OtherRule:
    """Stands for a rule that decides no given threshold."""

    reads_all, exact, given_threshold, reference_law = False, False, False, "1/(1 + exp(-L))"

    def check(self, n_rows: int) -> None:
        pass

    def settings(self) -> dict[str, Any]:
        return {}


def test_rows_and_looks_are_summed_over_the_questions() -> None:
    """Exact reads all rows a question, at least one question a move; epsilon .5 reads one batch a question."""
    X, y = line_of_rows(1000)
    model = au.models.Linear(prior=Normal(0, 1), sigma=3**-0.5)
    common = settings(draws=100, warmup=0, chains=2, proposal=Slice())
    every = au.sample(model, X, y, acceptance=Exact(), **common)
    stat = every["sample_stats"]
    assert np.array_equal(stat["n_rows"].values, 1000 * stat["n_looks"].values)
    assert np.array_equal(stat["n_looks"].values, stat["exhausted"].values)
    assert 3 <= stat["n_looks"].values.mean() < 8 and np.all(stat["accepted"].values == 1)
    beta = every["posterior"]["beta"].values[..., 0]
    expected = -0.5 * 3 * (np.sum(y**2) - 2 * beta * (X[:, 0] @ y) + beta**2 * (X[:, 0] @ X[:, 0]))
    expected += 1000 * 0.5 * np.log(3) + stats.norm.logpdf(beta)
    assert np.allclose(stat["lp"].values, expected, rtol=1e-5)
    few = au.sample(model, X, y, acceptance=SequentialT(0.5, 60), **common)["sample_stats"]
    assert np.array_equal(few["n_rows"].values, 60 * few["n_looks"].values)


@pytest.mark.parametrize("rule", [Exact(), SequentialT(0.05, 60)])
def test_the_same_draws_for_any_cores_and_resumed(rule: Any, tmp_path: Any) -> None:
    X, y = line_of_rows(1500)
    X = np.column_stack([X, X**2 - 0.3])
    model = au.models.Linear(prior=Laplace(0, 1), sigma=3**-0.5)
    move = Mixture((Slice(), Slice(directions="random"), RandomWalk()))
    given: dict[str, Any] = {"proposal": move, "chains": 3, "warmup": 20, "progress": False, "rng": 4}
    one = au.sample(model, X, y, acceptance=rule, draws=90, cores=1, **given)
    two = au.sample(model, X, y, acceptance=rule, draws=90, cores=2, **given)
    au.sample(model, X, y, acceptance=rule, draws=40, store=tmp_path / "run.zarr", **given)
    path = tmp_path / "run.zarr"
    resumed = au.sample(model, X, y, acceptance=rule, draws=90, store=path, resume=True, **given)
    for other in (two, resumed):
        assert np.array_equal(one["posterior"]["beta"].values, other["posterior"]["beta"].values)


def slope_block(points: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(-0.5 * (y[:, None] - X @ points.T) ** 2)


@pytest.mark.parametrize("rule", [Exact(), SequentialT(0.05, 60)])
def test_a_likelihood_of_ones_own(rule: Any) -> None:
    """A compiled row function, a NumPy block and the family give the same moves."""
    X, y = line_of_rows(500)
    models = [
        au.models.Linear(prior=Normal(0, 1), sigma=1.0),
        au.Model({"b": Normal(0, 1)}, row=row_function),
        au.Model({"b": Normal(0, 1)}, block=slope_block),
    ]
    common = settings(draws=40, warmup=0, chains=2, start=[0.5], dtype="float64", proposal=Slice(0.2))
    trees = [au.sample(model, X, y, acceptance=rule, **common) for model in models]
    values = [next(iter(tree["posterior"].data_vars.values())).values.reshape(2, 40) for tree in trees]
    assert np.allclose(values[0], values[1], rtol=1e-9) and np.allclose(values[0], values[2], rtol=1e-9)


def test_a_prior_that_is_nearly_flat_ends_stepping_out() -> None:
    """A narrow first interval grows by at most so many steps."""
    X, y = line_of_rows(200)
    model = au.models.Linear(prior=StudentT(1.0, 0, 100.0), sigma=50.0)
    common = settings(draws=20, warmup=0, chains=2, start=[0.5], proposal=Slice(1e-3, max_steps_out=5))
    tree = au.sample(model, X, y, acceptance=Exact(), **common)
    beta = np.concatenate([np.full((2, 1), 0.5), tree["posterior"]["beta"].values[..., 0]], axis=1)
    assert np.all(np.abs(np.diff(beta, axis=1)) <= 6e-3) and tree["sample_stats"]["n_looks"].values.max() <= 12


# Bad input


@pytest.mark.parametrize(
    ("settings_", "said"),
    [
        ({"width": 0.0}, "holds 0: give positive widths"),
        ({"width": [1.0, -2.0]}, "holds -2 at place 1"),
        ({"width": [1.0, np.nan]}, "holds nan at place 1"),
        ({"width": "wide"}, "give a number"),
        ({"width": np.ones((2, 2))}, r"shape \(2, 2\)"),
        ({"directions": "up"}, "'coordinates' or 'random'"),
        ({"max_steps_out": -1}, "at least 0"),
        ({"max_steps_out": 1.5}, "whole number"),
    ],
)
def test_settings_refused(settings_: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Slice(**settings_)


@pytest.mark.parametrize(
    ("rule", "move", "said"),
    [
        (_OtherRule(), Slice(), "_OtherRule does not decide: take"),
        (Exact(), Slice([1.0, 2.0]), "for 2 parameters, but the model has 1"),
    ],
)
def test_runs_refused(rule: Any, move: Any, said: str) -> None:
    X, y = line_of_rows(100)
    with pytest.raises(InputError, match=said):
        au.sample(au.models.Linear(sigma=1.0), X, y, acceptance=rule, proposal=move, progress=False)
