"""Data far from zero, in any units, with offsets: what rounding, default priors and steps make of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import austerity as au
from austerity.decisions import Exact, SequentialT
from austerity.priors import Laplace, Normal, StudentT

QUIET: dict[str, Any] = {"progress": False, "chains": 2, "cores": 1, "rng": 0}


def test_a_float32_column_far_from_zero_is_centred() -> None:
    """Used as given, its products would lose what tells rows apart: the level would be twice too uncertain."""
    random = np.random.default_rng(0)
    near = random.normal(size=(2000, 1)).astype(np.float32)
    far = 2000.0 + 10.0 * near
    assert not au.rows.open(near, near[:, 0]).copied
    held = au.rows.open(far, near[:, 0])
    assert held.copied and abs(held.centre[0] - 2000.0) < 1.0
    np.testing.assert_allclose(held.X[:, 0] * held.scale[0] + held.centre[0], far[:, 0], rtol=1e-6)


@pytest.mark.parametrize("rule", [Exact(), SequentialT(0.0, 500)])
def test_a_run_that_rounding_spoils_is_not_called_exact(rule: Any) -> None:
    """A large offset is held in float32; in float64, or small, it does no harm."""
    random = np.random.default_rng(1)
    X = random.normal(size=(20_000, 1)).astype(np.float32)
    noise = 0.01 * random.normal(size=20_000)

    def run(offset: float, dtype: str) -> Any:
        y = X[:, 0] + offset + noise
        model = au.models.Linear(sigma=0.01, prior=Normal(0, 10))
        given = {"offset": np.full(20_000, offset), "dtype": dtype, "acceptance": rule, "intercept": True}
        return au.sample(model, X, y, draws=2, warmup=0, **given, **QUIET).attrs

    spoilt = run(12345.678, "float32")
    assert spoilt["exact"] == 0 and "rounding" in spoilt["guarantee"]
    assert run(12345.678, "float64")["exact"] == 1


def test_promises_name_temperature_and_endless_learning() -> None:
    random = np.random.default_rng(2)
    X, y = random.normal(size=(300, 2)), random.normal(size=300)
    hot = au.sample(au.models.Linear(), X, y, acceptance=Exact(), draws=2, warmup=0, temperature=3.0, **QUIET)
    assert "power 1/3" in hot.attrs["guarantee"]
    learning = au.proposals.AdaptiveMetropolis(forever=True)
    always = au.sample(au.models.Linear(), X, y, acceptance=Exact(), proposal=learning, draws=2, warmup=0, **QUIET)
    assert always.attrs["exact"] == 0 and "in the limit" in always.attrs["guarantee"]


def test_default_priors_of_a_large_softplus_mean() -> None:
    """eta is the mean itself there: a prior in units of eta = 1 would pull 5000 to 4200."""
    random = np.random.default_rng(3)
    X = random.normal(size=(200, 1))
    y = random.poisson(5000 + 200 * X[:, 0])
    tree = au.sample(au.models.Poisson(link="softplus"), X, y, intercept=True, acceptance=Exact(), draws=300, **QUIET)
    intercept, slope = tree["posterior"]["beta"].mean(("chain", "draw")).values
    assert abs(intercept - 5000) < 30 and abs(slope - 200) < 30  # five sds of the posterior and more


def test_default_priors_know_the_offset() -> None:
    """A response less its offset has the same posterior, whatever the offset is."""
    random = np.random.default_rng(4)
    X = random.normal(size=(200, 1))
    y = X[:, 0] + random.normal(size=200)
    given: dict[str, Any] = {"intercept": True, "acceptance": Exact(), "draws": 200, "dtype": "float64", **QUIET}
    plain = au.sample(au.models.Linear(), X, y, **given)["posterior"]["beta"].values
    moved = au.sample(au.models.Linear(), X, y + 1e4, offset=np.full(200, 1e4), **given)["posterior"]["beta"].values
    np.testing.assert_allclose(moved, plain, atol=1e-4)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e7])
def test_a_likelihood_of_ones_own_in_any_unit(unit: float) -> None:
    """Steps of the search for the mode have no unit of their own, so acceptance is that of a tuned walk."""
    random = np.random.default_rng(5)
    X = random.normal(size=(2000, 1))
    y = unit * (1 + 2 * X[:, 0] + 0.3 * random.normal(size=2000))

    def row(theta, x, y):  # type: ignore[no-untyped-def]
        return -np.log(theta[2]) - 0.5 * ((y - theta[0] - theta[1] * x[0]) / theta[2]) ** 2

    priors = {"a": Normal(0, 10 * unit), "b": Normal(0, 10 * unit), "s": StudentT(3, 0, unit)}
    model = au.Model(priors, row=row, positive=["s"], initial={"s": unit})
    tree = au.sample(model, X, y, acceptance=Exact(), draws=400, dtype="float64", **QUIET)
    assert 0.15 < float(tree["sample_stats"]["acceptance_rate"].mean()) < 0.5
    assert abs(float(tree["posterior"]["b"].mean()) / unit - 2.0) < 0.05


def test_a_kink_at_the_mode_does_not_shorten_steps() -> None:
    """Coefficients that a Laplace prior holds at zero move as far a step as the likelihood allows."""
    random = np.random.default_rng(6)
    X = random.normal(size=(5000, 3))
    y = (random.random(5000) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)
    tree = au.sample(au.models.Logistic(prior=Laplace(0, 0.1)), X, y, acceptance=Exact(), draws=2000, **QUIET)
    moves = np.abs(np.diff(tree["posterior"]["beta"].values, axis=1))
    typical = np.array([np.mean(moves[..., k][moves[..., k] > 0]) for k in range(3)])
    assert typical[1:].min() > 0.5 * typical[0]
