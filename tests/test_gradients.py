"""Derivatives of the log prior and of a batch in compiled code, against differences of the densities themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engine_drivers import row_order
from reading_moves import reader_of

import austerity as au
from austerity import rows
from austerity.decisions import SequentialT
from austerity.engine.prior import add_log_prior_gradient, log_prior
from austerity.models.priors import Cauchy, Flat, Laplace, Normal, StudentT, table
from austerity.rows.derivatives import derivatives, values
from austerity.rows.gradients import batch_gradient, block_of, block_size, draw_batch

RULE = SequentialT(0.1, 20)
N = 300


def differences(function: Any, theta: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Central differences of a function of theta (D,)."""
    out = np.empty(theta.size)
    for k in range(theta.size):
        ahead, behind = theta.copy(), theta.copy()
        ahead[k] += step
        behind[k] -= step
        out[k] = (function(ahead) - function(behind)) / (2.0 * step)
    return out


def test_gradient_of_every_prior() -> None:
    """Both scales; within 1e-7 of differences at points away from a kink."""
    priors = [Normal(0.3, 1.2), StudentT(4.0, 0.2, 0.6), Cauchy(-1.0, 0.5), Laplace(-0.3, 0.4), Flat()]
    for as_log in (False, True):
        held = table(priors, [as_log] * len(priors))
        for seed in range(20):
            theta = np.random.default_rng(seed).normal(size=len(priors))
            found = np.full(theta.size, 2.0)
            add_log_prior_gradient(held, theta, found)
            assert np.allclose(
                found - 2.0, differences(lambda point, held=held: log_prior(held, point), theta), atol=1e-7
            )


def test_the_kink_of_a_laplace_prior_is_a_sign() -> None:
    """-1/s above, 1/s below, 0 at the kink itself."""
    held = table([Laplace(0.5, 0.25)] * 3, [False] * 3)
    found = np.zeros(3)
    add_log_prior_gradient(held, np.array([0.5 + 1e-12, 0.5, 0.5 - 1e-12]), found)
    assert np.array_equal(found, [-4.0, 0.0, 4.0])


def responses(name: str, eta: np.ndarray, random: np.random.Generator) -> np.ndarray:
    if name in ("Logistic", "Probit"):
        return 1.0 * (eta + random.logistic(size=eta.size) > 0)
    if name in ("Poisson", "softplus", "NegativeBinomial"):
        return random.poisson(np.logaddexp(0.0, eta)).astype(float)
    if name == "Multinomial":
        return random.integers(0, 3, eta.size).astype(float)
    return eta + random.standard_t(4, eta.size)


MODELS = {
    "Logistic": au.models.Logistic(prior=Normal(0, 1)),
    "Probit": au.models.Probit(prior=Laplace(0, 1)),
    "Linear": au.models.Linear(prior=Normal(0, 1)),
    "known": au.models.Linear(prior=Laplace(0, 0.1), sigma=0.7),
    "StudentT": au.models.StudentT(prior=Normal(0, 1)),
    "freedom": au.models.StudentT(prior=Normal(0, 1), dof=None),
    "Poisson": au.models.Poisson(prior=Cauchy(0, 1)),
    "softplus": au.models.Poisson(prior=Normal(0, 1), link="softplus"),
    "NegativeBinomial": au.models.NegativeBinomial(prior=Normal(0, 1)),
    "Multinomial": au.models.Multinomial(prior=StudentT(3, 0, 1)),
    "LAD": au.models.LAD(prior=Normal(0, 1)),
    "Huber": au.models.Huber(prior=Normal(0, 1)),
    "Gaussian": au.models.Gaussian(prior=Normal(0, 1)),
    "mixture": au.models.GaussianMixture(prior=[Normal(0, 3), Normal(0, 2)]),
}
DENSITIES = ("Gaussian", "mixture")


def bound(name: str, dtype: str, full: bool, n_rows: int = N) -> Any:
    """A family on rows far from zero, with all options or with none."""
    random = np.random.default_rng([7, len(name)])
    X = random.normal(size=(n_rows, 3)) * [1.0, 2.0, 0.5] + ([0.0, 5.0, -1.0] if full else [0.0, 0.0, 0.0])
    if name in DENSITIES:
        weights = random.exponential(1.0, n_rows) if full else None
        return MODELS[name].bind(rows.open(X[:, 1], weights=weights, dtype=dtype), False, False)
    y = responses(name, (X - X.mean(0)) @ [0.5, -0.3, 0.8], random)
    options: dict[str, Any] = {"dtype": dtype, "centre_response": True} if name in ("Linear", "known") else {}
    options["dtype"] = dtype
    if full:
        options["weights"] = random.exponential(1.0, n_rows)
        options["offset"] = 0.3 * random.normal(size=n_rows)
    return MODELS[name].bind(rows.open(X, y, **options), full, full)


def gradient_of(target: Any, batch: int, theta: np.ndarray, information: bool) -> Any:
    """Rows of the batch of key 99, its gradient at theta (temperature 1) and its information."""
    reader = reader_of(target, RULE, batch, information)
    work, room = reader.questions.source.work, reader.room
    draw_batch(work, target.rows.n, np.uint64(99), room.numbers)
    out, matrix = np.zeros(target.size), reader.matrices[0]
    factor = target.rows.n / batch
    batch_gradient(target.problem, work, room, reader.slopes, room.numbers, target.prior, theta, factor, out, matrix)
    return np.array(room.numbers), out, np.array(matrix)


def of_batch(target: Any, numbers: np.ndarray) -> Any:
    """The problem on the rows of a batch alone."""
    problem = target.problem
    parts = {name: getattr(problem, name) for name in ("X", "y", "offset", "weights")}
    return problem._replace(**{name: np.ascontiguousarray(v[numbers]) if v.size else v for name, v in parts.items()})


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("full", [False, True], ids=["plain", "every option"])
@pytest.mark.parametrize("name", MODELS)
def test_gradient_of_every_family(name: str, full: bool, dtype: str) -> None:
    """N/n times the batch's differences plus the prior's, for states 0.2 from the start of the search for a mode."""
    target = bound(name, dtype, full)
    theta = target.initial + 0.2 * np.random.default_rng(3).normal(size=target.size)
    numbers, found, _ = gradient_of(target, 70, theta, False)
    assert np.array_equal(numbers, row_order(99, N, 70))
    assert target.kernels is not None
    part, kernels = of_batch(target, numbers), (target.rounded or target.kernels[0], target.kernels[1])

    def density(point: np.ndarray) -> float:
        return float(log_prior(target.prior, point) + N / 70 * values(part, kernels, point[None, :])[0])

    expected = differences(density, theta)
    tolerance = 1e-6 if dtype == "float64" else 2e-4
    assert np.allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("batch", [1, 511, 512, 513, 1100])
def test_batches_of_any_size_are_cut_into_even_blocks(batch: int) -> None:
    target = bound("Multinomial", "float64", True, 1100)
    theta = 0.3 * np.random.default_rng(4).normal(size=target.size)
    numbers, found, _ = gradient_of(target, batch, theta, False)
    assert np.unique(numbers).size == batch and block_of(batch) == block_size(batch) <= 512
    _, slope, _ = derivatives(of_batch(target, numbers), target.kernels, theta)
    expected = slope * 1100 / batch
    add_log_prior_gradient(target.prior, theta, expected)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["Logistic", "Linear", "Multinomial", "Gaussian", "mixture"])
@pytest.mark.parametrize("full", [False, True])
def test_information_is_the_weighted_square_of_scores(name: str, full: bool) -> None:
    """N/n sum w s s', with s by differences row by row."""
    target = bound(name, "float64", full)
    theta = target.initial + 0.2 * np.random.default_rng(3).normal(size=target.size)
    numbers, _, found = gradient_of(target, 40, theta, True)
    expected = np.zeros((target.size, target.size))
    for row in numbers:
        part = of_batch(target, np.array([row]))
        weight = 1.0 if not target.problem.weights.size else float(target.problem.weights[row])
        bare = part._replace(weights=np.zeros(0))
        score = differences(lambda point, bare=bare: float(values(bare, target.kernels, point[None, :])[0]), theta)
        expected += N / 40 * weight * np.outer(score, score)
    assert np.allclose(np.tril(found), np.tril(expected), rtol=1e-5, atol=1e-6 * np.abs(expected).max())
