"""Langevin steps: the ratio, the posterior they keep, the bias of what keeps none, and what is refused."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from engine_drivers import dkw, settings
from grid_truth import Case, Grid, moved
from reading_moves import BatchAgain, Call, Estimate, WithoutDeterminants, WithoutRatio, call
from scipy import stats

import austerity as au
from austerity import rows
from austerity.decisions import Exact, SequentialT
from austerity.errors import InputError
from austerity.priors import Flat, Laplace, Normal, StudentT
from austerity.proposals import Langevin, Mixture, RandomWalk
from austerity.rows.derivatives import derivatives

SEED = 0
CHAINS, FEWER, STEPS = 3000, 800, 40
COVARIANCE = np.array([[0.5, -0.2], [-0.2, 0.3]])


@lru_cache(maxsize=4)
def logistic(prior: str = "normal") -> Case:
    """60 rows, two coefficients, skewed."""
    random = np.random.default_rng(2024)
    X = np.column_stack([np.ones(60), random.exponential(1.0, 60)])
    y = 1.0 * (random.random(60) < 1 / (1 + np.exp(1.5 - X[:, 1])))
    given, law = {
        "normal": (Normal(0.5, 1.2), stats.norm(0.5, 1.2)),
        "laplace": (Laplace(0.0, 0.25), stats.laplace(0.0, 0.25)),
    }[prior]

    def log_density(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        out = law.logpdf(first) + law.logpdf(second)
        for row, response in zip(X, y, strict=True):
            eta = first * row[0] + second * row[1]
            out = out + response * eta - np.logaddexp(0.0, eta)
        return np.asarray(out)

    box = ((-8.0, 8.0), (-8.0, 8.0))
    return Case(au.models.Logistic(prior=given), X, y, Grid(log_density, box, SEED), {})


@lru_cache(maxsize=1)
def unknown_scale() -> Case:
    """(beta, sigma) from 30 rows, with an intercept of its own column left out: sigma moves as a logarithm."""
    random = np.random.default_rng(5)
    x = random.normal(size=30)
    y = 0.8 * x + random.standard_t(3, 30)

    def log_density(beta: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        squares = sum((response - beta * value) ** 2 for value, response in zip(x, y, strict=True))
        prior = stats.norm.logpdf(beta, 0, 2) + stats.t.logpdf(sigma, 3, 0, 0.5)
        return np.asarray(-0.5 * squares / sigma**2 - 30 * np.log(sigma) + prior)

    model = au.models.Linear(prior=Normal(0, 2), sigma_prior=StudentT(3, 0, 0.5))
    return Case(model, x[:, None], y, Grid(log_density, ((-4.0, 4.0), (1e-2, 8.0)), SEED), {}, ("beta", "sigma"))


# The ratio


def gradient_by_hand(target: Any, numbers: np.ndarray, theta: np.ndarray, temperature: float) -> np.ndarray:
    """N/(n T) times the batch's derivatives in NumPy, plus the prior's."""
    problem = target.problem
    part = problem._replace(X=problem.X[numbers], y=problem.y[numbers])
    _, slope, _ = derivatives(part, target.kernels, theta)
    z = (theta - 0.5) / 1.2
    return np.asarray(slope * target.rows.n / (numbers.size * temperature) - z / 1.2)


def information_by_hand(target: Any, numbers: np.ndarray, theta: np.ndarray, temperature: float) -> np.ndarray:
    X, y = target.problem.X[numbers], target.problem.y[numbers]
    scores = (y - 1 / (1 + np.exp(-X @ theta)))[:, None] * X
    return np.asarray(scores.T @ scores * target.rows.n / (numbers.size * temperature) + np.eye(2) / 1.2**2)


@pytest.mark.parametrize("temperature", [1.0, 3.0])
@pytest.mark.parametrize(
    "preconditioner", [None, np.array([0.4, 0.2]), COVARIANCE, "fisher"], ids=["none", "diagonal", "full", "fisher"]
)
def test_the_ratio_is_that_of_two_normal_densities(preconditioner: Any, temperature: float) -> None:
    """log q(theta|theta', X_n) - log q(theta'|theta, X_n) with mean and covariance of each end, to 1e-9."""
    case = logistic()
    target = case.model.bind(rows.open(case.X, case.y, dtype="float64"), False, False)
    step = 0.03 if preconditioner is None else 0.7
    for seed in range(5):
        theta = case.grid.draw(1, np.random.default_rng(seed))[0]
        move = Langevin(step, batch=25, preconditioner=preconditioner)
        found = call(target, Exact(), move, theta, seed + 5, seed, temperature)
        assert np.unique(found.rows).size == 25 and found.step == step
        there, back = (
            _density(target, preconditioner, found, start, end, temperature)
            for start, end in ((theta, found.proposed), (found.proposed, theta))
        )
        assert abs(found.ratio - (back - there)) < 1e-9 * (1 + abs(back))


def _density(
    target: Any, preconditioner: Any, found: Call, start: np.ndarray, end: np.ndarray, temperature: float
) -> float:
    """log q(end | start, X_n)."""
    if isinstance(preconditioner, str):
        spread = np.linalg.inv(information_by_hand(target, found.rows, start, temperature))
    else:
        given = np.ones(2) if preconditioner is None else np.asarray(preconditioner)
        spread = np.diag(given) if given.ndim == 1 else given
    mean = start + 0.5 * found.step * spread @ gradient_by_hand(target, found.rows, start, temperature)
    return float(stats.multivariate_normal.logpdf(end, mean, found.step * spread))


def test_uncorrected_steps_are_normal_about_the_drift_with_a_falling_size() -> None:
    """Proposal by proposal: z = (theta' - mean) / sqrt(a) is what the chain's stream throws; a (b + t)^-c."""
    case = logistic()
    target = case.model.bind(rows.open(case.X, case.y, dtype="float64"), False, False)
    theta = np.array([-0.5, 0.4])
    move = Langevin((0.5, 10.0, 0.55), batch=25, corrected=False)
    found = call(target, Exact(), move, theta, 5, 1, 1.0)
    assert found.ratio == 0.0 and found.step == pytest.approx(0.5 * 10.0**-0.55)
    common = settings(draws=50, warmup=7, chains=2, start=theta, proposal=move)
    tree = au.sample(case.model, case.X, case.y, **common)
    sizes = tree["sample_stats"]["step_size"].values
    assert np.allclose(sizes, 0.5 * (10.0 + np.arange(7, 57)) ** -0.55)
    mean = theta + 0.5 * found.step * gradient_by_hand(target, found.rows, theta, 1.0)
    again = call(target, Exact(), Langevin(found.step, batch=25), theta, 5, 1, 1.0)
    assert np.allclose(again.proposed, found.proposed) and np.all(np.abs(found.proposed - mean) < 6 * found.step**0.5)


# The posterior is kept

MOVES = {
    "none": Langevin(0.15, batch=20),
    "diagonal": Langevin(0.5, batch=20, preconditioner="diagonal"),
    "full": Langevin(0.5, batch=20, preconditioner="full"),
    "fisher": Langevin(0.5, batch=20, preconditioner="fisher"),
    "covariance": Langevin(0.6, batch=7, preconditioner=COVARIANCE),
    "falling": Langevin((0.6, 1.0, 0.2), batch=20),
}


def assert_kept(case: Case, rule: Any, proposal: Any, chains: int) -> None:
    draws = moved(case, rule, proposal, chains, STEPS, SEED)
    assert case.grid.distance(draws) < case.grid.limit(chains)


def assert_caught(case: Case, rule: Any, proposal: Any, chains: int) -> None:
    draws = moved(case, rule, proposal, chains, STEPS, SEED)
    assert case.grid.distance(draws) > 1.5 * case.grid.limit(chains)


@pytest.mark.statistical
@pytest.mark.parametrize("move", MOVES)
def test_corrected_by_exact(move: str) -> None:
    """False-fail rate 3e-6; caught: distances above .055 (test_invariance.py says what that is)."""
    assert_kept(logistic(), Exact(), MOVES[move], CHAINS)


@pytest.mark.statistical
@pytest.mark.parametrize("move", ["full", "fisher"])
@pytest.mark.parametrize("epsilon", [0.0, 1e-6])
def test_corrected_by_the_sequential_test(move: str, epsilon: float) -> None:
    """False-fail rate 3e-6: at epsilon 0 and 1e-6 decisions hardly err, though the batch is read last."""
    assert_kept(logistic(), SequentialT(epsilon, 11), MOVES[move], FEWER)


@pytest.mark.statistical
@pytest.mark.parametrize("move", ["none", "fisher"])
def test_a_kink_and_a_scale(move: str) -> None:
    """False-fail rate 6e-6: a narrow Laplace prior, and sigma held as a logarithm."""
    assert_kept(logistic("laplace"), Exact(), MOVES[move], CHAINS)
    small = Langevin(0.02, batch=10, preconditioner=MOVES[move].preconditioner)
    assert_kept(unknown_scale(), Exact(), small if move == "none" else MOVES[move], CHAINS)


@pytest.mark.statistical
@pytest.mark.parametrize("rule", [Exact(), SequentialT(0.0, 11)])
def test_in_a_mixture(rule: Any) -> None:
    """False-fail rate 3e-6: two Langevin moves of different batches and a random walk."""
    parts = (RandomWalk(0.5), MOVES["full"], Langevin(0.2, batch=9))
    assert_kept(logistic(), rule, Mixture(parts), FEWER)


@pytest.mark.statistical
def test_conjugate_regression() -> None:
    """Exact draws of a normal posterior of four parameters stay such: false-fail rate 4e-6, by whitened coordinates."""
    random = np.random.default_rng(1)
    X = random.normal(size=(400, 4)) @ np.linalg.cholesky(0.4 + 0.6 * np.eye(4)).T
    y = X @ [1.0, -1.0, 0.5, 0.0] + 0.7 * random.normal(size=400)
    root = np.linalg.inv(np.linalg.cholesky(X.T @ X / 0.49 + np.eye(4) / 0.25)).T  # root root' = covariance
    mean = root @ root.T @ (X.T @ y / 0.49)
    start = mean + random.normal(size=(2000, 4)) @ root.T
    move = Langevin(preconditioner="full", batch=100)
    common = settings(draws=1, warmup=0, thin=STEPS, chains=2000, start=start, proposal=move)
    tree = au.sample(au.models.Linear(prior=Normal(0, 0.5), sigma=0.7), X, y, acceptance=Exact(), **common)
    z = np.linalg.solve(root, (tree["posterior"]["beta"].values[:, 0] - mean).T)
    assert 0.2 < tree["sample_stats"]["accepted"].values.mean() / STEPS < 0.98
    for line in z:
        assert stats.kstest(line, "norm").statistic < dkw(2000)


# Negative controls


@pytest.mark.statistical
def test_a_dropped_ratio_is_caught() -> None:
    """Most to be seen without the noise of a batch, which hides which way the step was meant to go."""
    assert_caught(logistic(), Exact(), WithoutRatio(0.5, batch=60, preconditioner="full"), 2 * CHAINS)
    assert_kept(logistic(), Exact(), Langevin(0.5, batch=60, preconditioner="full"), CHAINS)


@pytest.mark.statistical
def test_a_preconditioner_taken_for_constant_is_caught() -> None:
    """The ratio of Fisher scoring without its determinants."""
    assert_kept(unknown_scale(), Exact(), Langevin(0.5, batch=10, preconditioner="fisher"), CHAINS)
    assert_caught(unknown_scale(), Exact(), WithoutDeterminants(0.5, batch=10, preconditioner="fisher"), CHAINS)


@pytest.mark.statistical
def test_uncorrected_steps_are_biased_and_say_so() -> None:
    """The comparison that corrected ones pass catches them, and the results name the bias."""
    case = logistic()
    start = case.grid.draw(FEWER, np.random.default_rng(1))
    common = settings(draws=1, warmup=0, thin=STEPS, chains=FEWER, start=start)
    tree = au.sample(case.model, case.X, case.y, proposal=Langevin(0.3, batch=6, corrected=False), **common)
    assert case.grid.distance(tree["posterior"]["beta"].values[:, 0]) > 1.5 * case.grid.limit(FEWER)
    assert tree.attrs["exact"] == 0 and tree.attrs["guarantee"].startswith("biased")
    assert np.all(tree["sample_stats"]["accepted"].values == STEPS)
    assert np.all(tree["sample_stats"]["n_rows"].values == 6 * STEPS)


def line_of_rows(count: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(8)
    X = random.uniform(-1, 1, size=(count, 1))
    return X, 0.5 * X[:, 0] + random.normal(0, 3**-0.5, count)


@pytest.mark.statistical
@pytest.mark.parametrize("again", [False, True])
def test_the_batch_must_not_be_what_the_test_reads_first(again: bool) -> None:
    """What 500 rows say of the sum is right on average, unless they are the batch: then it is too high by

        (a/2) Var(N mean of 500 gradients),

    as derived from theta' = theta + (a/2) G + ..., and the proposals are the same, so that the sum of all is known.
    10,000 proposals; false-fail rate 6e-7 (five errors either way); the bias is more than forty errors.
    """
    X, y = line_of_rows(10_000)
    model, theta, step = au.models.Linear(prior=Normal(0, 1), sigma=3**-0.5), np.array([0.47]), 2e-4
    move = (BatchAgain if again else Langevin)(step, batch=500)
    common = settings(draws=2500, warmup=0, chains=4, start=theta, proposal=move, dtype="float64")
    some, whole = (
        au.sample(model, X, y, acceptance=Estimate(count), **common)["sample_stats"]["acceptance_rate"].values.ravel()
        for count in (500, 10_000)
    )
    gradients = 3.0 * (y - X[:, 0] * theta) * X[:, 0]
    expected = 0.5 * step * 1e8 * gradients.var() / 500 * (1 - 500 / 10_000)
    found, error = (some - whole).mean(), (some - whole).std() / 100
    assert expected > 40 * error
    if again:
        assert abs(found - expected) < 5 * error + 0.02 * expected
    else:  # the other rows are short of the batch: too low by what it has more, spread over them
        assert abs(found + expected * 500 / 9500) < 5 * error + 0.02 * expected


# Options


@pytest.mark.parametrize("rule", [Exact(), SequentialT(0.05, 60), None])
def test_the_same_draws_for_any_cores_and_resumed(rule: Any, tmp_path: Any) -> None:
    """Lockstep, chain by chain, and without decisions; Fisher scoring, a mixture, and a falling step."""
    X, y = line_of_rows(2000)
    X = np.column_stack([X, X**2 - 0.3, np.cos(9 * X)])
    model = au.models.Linear(prior=Laplace(0, 1), sigma=3**-0.5)
    fisher = Langevin(0.1, batch=200, preconditioner="fisher")
    move: Any = Mixture((fisher, Langevin(2e-4, batch=333), RandomWalk())) if rule else Langevin((3e-4, 1, 0.3), 100)
    if rule is None:
        move = Langevin((3e-4, 1, 0.3), 100, corrected=False)
    given: dict[str, Any] = {"proposal": move, "chains": 3, "warmup": 20, "progress": False, "rng": 4}
    if rule is not None:
        given["acceptance"] = rule
    one = au.sample(model, X, y, draws=90, cores=1, **given)
    two = au.sample(model, X, y, draws=90, cores=2, **given)
    au.sample(model, X, y, draws=40, store=tmp_path / "run.zarr", **given)
    resumed = au.sample(model, X, y, draws=90, store=tmp_path / "run.zarr", resume=True, **given)
    for other in (two, resumed):
        assert np.array_equal(one["posterior"]["beta"].values, other["posterior"]["beta"].values)
        assert np.array_equal(one["sample_stats"]["n_rows"].values, other["sample_stats"]["n_rows"].values)
    assert len(np.unique(one["posterior"]["beta"].values[0, :, 0])) > 20


def test_rows_read_are_those_of_batch_and_test() -> None:
    X, y = line_of_rows(1000)
    model = au.models.Linear(prior=Normal(0, 1), sigma=3**-0.5)
    common = settings(draws=30, warmup=0, chains=2, proposal=Langevin(1e-4, batch=100))
    first = au.sample(model, X, y, acceptance=SequentialT(0.5, 60), **common)["sample_stats"]
    assert np.all(first["n_rows"].values == 160) and np.all(first["n_looks"].values == 1)
    every = au.sample(model, X, y, acceptance=Exact(), **common)["sample_stats"]
    assert np.all(every["n_rows"].values == 1100) and "lp" in every


def test_the_whole_batch_may_be_all_rows() -> None:
    """batch = N: the order wraps around, and the test reads each of them once."""
    X, y = line_of_rows(100)
    model = au.models.Linear(prior=Normal(0, 1), sigma=3**-0.5)
    common = settings(draws=200, warmup=0, chains=2, proposal=Langevin(preconditioner="full", batch=100))
    one, other = (
        au.sample(model, X, y, acceptance=rule, dtype="float64", **common) for rule in (Exact(), SequentialT(0, 9))
    )
    assert np.array_equal(one["posterior"]["beta"].values, other["posterior"]["beta"].values)
    assert one["sample_stats"]["accepted"].values.mean() > 0.5


def test_a_proposal_that_overflows_is_refused() -> None:
    """Counts with a log link: from far out the gradient throws the proposal where exp overflows."""
    random = np.random.default_rng(3)
    X = random.normal(size=(200, 1))
    y = random.poisson(np.exp(X[:, 0]))
    common = settings(draws=20, warmup=0, chains=2, start=[4.0], proposal=Langevin(1.0, batch=50))
    for rule in (Exact(), SequentialT(0.05, 20)):
        tree = au.sample(au.models.Poisson(prior=Normal(0, 10)), X, y, acceptance=rule, **common)
        assert np.all(tree["posterior"]["beta"].values == 4.0)


@pytest.mark.parametrize("prior", [Normal(0, 1), Flat()])
def test_an_uncorrected_chain_that_runs_away_is_told_so(prior: Any) -> None:
    """With the draws made before it; a flat prior has a density at infinity too."""
    X, y = line_of_rows(1000)
    common = settings(draws=3000, warmup=0, chains=2, start=[0.5], proposal=Langevin(1.0, 100, corrected=False))
    with pytest.raises(InputError, match=r"ran away .* smaller step=, or corrected=True") as raised:
        au.sample(au.models.Linear(prior=prior, sigma=0.5), X, y, **common)
    assert np.all(np.isfinite(raised.value.partial["posterior"]["beta"]))


# Bad input


@pytest.mark.parametrize(
    ("settings_", "said"),
    [
        ({"step": -1.0}, r"step=-1.0\): give a positive number"),
        ({"step": 0}, "positive number"),
        ({"step": "long"}, "positive number"),
        ({"step": (1.0, 0.0, 0.5)}, "a and b positive"),
        ({"step": (1.0, 2.0)}, r"\(a, b, c\)"),
        ({"step": float("nan")}, "positive number"),
        ({}, "no step for parameters in units of their own"),
        ({"step": 1.0, "batch": 0}, r"batch=0\): give a whole number"),
        ({"step": 1.0, "batch": 2.5}, "whole number"),
        ({"step": 1.0, "corrected": "no"}, "True or False"),
        ({"step": 1.0, "preconditioner": "half"}, "'diagonal', 'full', 'fisher'"),
        ({"step": 1.0, "preconditioner": [1.0, -2.0]}, "holds -2 at place 1"),
        ({"step": 1.0, "preconditioner": [[1.0, 2.0], [2.0, 1.0]]}, "smallest eigenvalue -1"),
        ({"step": 1.0, "preconditioner": np.ones((2, 3))}, r"shape \(2, 3\)"),
        ({"step": 1.0, "preconditioner": np.array([1.0, np.inf])}, "NaN or infinity"),
    ],
)
def test_settings_refused(settings_: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Langevin(**settings_)


def row_function(theta: Any, x: Any, y: Any) -> Any:
    return -0.5 * (y - theta[0] * x[0]) ** 2


@pytest.mark.parametrize(
    ("move", "more", "said"),
    [
        (Langevin(1e-4, batch=101), {}, "more rows than the 100 there are"),
        (Langevin(1e-4, batch=3, preconditioner="fisher"), {}, "at least 4"),
        (Langevin(1e-4, batch=9, preconditioner=[1.0]), {}, "for 1 parameters, but the model has 2"),
        (Langevin(1e-4, 9, corrected=False), {"acceptance": Exact()}, "Exact would never be asked"),
        (Mixture((RandomWalk(), Langevin(1e-4, 9, corrected=False))), {}, "decides nothing"),
    ],
)
def test_runs_refused(move: Any, more: dict[str, Any], said: str) -> None:
    X, y = line_of_rows(100)
    with pytest.raises(InputError, match=said):
        au.sample(au.models.Linear(sigma=1.0), np.column_stack([X, X**2]), y, proposal=move, progress=False, **more)


def test_a_likelihood_without_compiled_derivatives_is_refused() -> None:
    X, y = line_of_rows(100)
    model = au.Model({"b": Normal(0, 1)}, row=row_function)
    with pytest.raises(InputError, match="Langevin needs derivatives in compiled code, which Model has not"):
        au.sample(model, X, y, proposal=Langevin(1e-4, 9), progress=False)
