"""Variable selection at the front door: starts, results, summaries, and one sentence for everything that cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_drivers import settings

import austerity as au
from austerity.decisions import Exact, SequentialT
from austerity.errors import InputError
from austerity.models import Logistic, VariableSelection
from austerity.priors import Beta, Flat, Normal
from austerity.proposals import AdaptiveMetropolis, Mixture, RandomWalk, ReversibleJump

NAMES = ["age", "price", "size", "noise"]


def data(n: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(5)
    X = random.normal(size=(n, 4))
    return X, random.random(n) < 1 / (1 + np.exp(-(X @ [1.0, -0.5, 0.15, 0.0] + 0.5)))


def run(model: Any = None, **more: Any) -> Any:
    X, y = data()
    common = {"acceptance": Exact(), "draws": 60, "warmup": 0, "chains": 2, "names": NAMES, **settings()}
    return au.sample(model or VariableSelection(), X, y, **{**common, **more})


def first(post: Any) -> np.ndarray:
    """Which variables the first draws use (chains, D)."""
    return np.asarray(post["posterior"]["included"].values[:, 0])


# Results


def test_what_a_draw_reports() -> None:
    post = run(draws=400, proposal=ReversibleJump(0.05, 0.3))
    posterior = post["posterior"]
    assert list(posterior["included"].coords["coef"].values) == NAMES and posterior["size"].dims == ("chain", "draw")
    assert np.array_equal(posterior["included"], posterior["beta"] != 0)
    assert np.array_equal(posterior["size"], posterior["included"].sum("coef"))
    assert set(np.unique(post["sample_stats"]["move"])) == {0, 1, 2}
    steps = posterior["size"].diff("draw").values
    moved, kinds = post["sample_stats"]["accepted"].values[:, 1:], post["sample_stats"]["move"].values[:, 1:]
    assert np.array_equal(steps, np.choose(kinds, [0, 1, -1]) * moved)
    assert post.attrs["exact"] == 1 and "no integral" in post.attrs["notes"]


def test_lp_is_likelihood_and_prior_of_the_set() -> None:
    X, y = data()
    post = run(VariableSelection(slab=Normal(0, 2), inclusion=0.3), dtype="float64", proposal=ReversibleJump(0.1, 0.5))
    for beta, lp in zip(post["posterior"]["beta"].values[0, ::20], post["sample_stats"]["lp"].values[0, ::20]):
        used, eta = beta[beta != 0], X @ beta
        prior = np.sum(-0.5 * (used / 2) ** 2 - np.log(2 * np.sqrt(2 * np.pi)))
        prior += used.size * np.log(0.3) + (4 - used.size) * np.log(0.7)
        assert lp == pytest.approx(y @ eta - np.logaddexp(0, eta).sum() + prior, abs=1e-6)


def test_the_summary_tells_coefficients_given_inclusion() -> None:
    """Against the draws themselves; variables always or never in use are no fault."""
    post = run(VariableSelection(rate=0.5), draws=1500, proposal=ReversibleJump(0.05, 0.3), warmup=300, chains=4)
    table = au.summary(post)
    rows = {row.name: row for row in table.rows}
    beta, used = post["posterior"]["beta"].values[..., 2], post["posterior"]["included"].values[..., 2]
    assert 0 < used.mean() < 1 and rows["included[size]"].mean == pytest.approx(used.mean())
    assert rows["beta[size]"].mean == pytest.approx(beta[used == 1].mean())
    assert rows["beta[size]"].sd == pytest.approx(beta[used == 1].std(ddof=1))
    assert 0 < rows["beta[size]"].mcse < rows["beta[size]"].sd and rows["beta[size]"].ess_bulk <= used.sum()
    always = post["posterior"]["beta"].values[..., 0]
    assert rows["beta[age]"].r_hat == pytest.approx(float(au.report.diagnostics.r_hat(always[..., None])[0]))
    assert rows["included[age]"].mean == 1 and np.isnan(rows["included[age]"].ess_bulk)
    assert "given inclusion" in str(table) and "unknown" not in str(table) and "-" in str(table)
    never = post.copy(deep=True)
    never["posterior"]["beta"][..., 3], never["posterior"]["included"][..., 3] = 0.0, 0.0
    lone = {row.name: row for row in au.summary(never).rows}
    assert np.isnan(lone["beta[noise]"].mean) and lone["included[noise]"].mean == 0
    assert "unknown" not in str(au.summary(never))


def test_keep_knows_what_is_included() -> None:
    post = run(keep=["size", "included"])
    assert set(post["posterior"].data_vars) == {"size", "included"}
    both = run(keep={"pair": lambda p: p["included"][:, 0] * p["included"][:, 1], "size": lambda p: p["size"]})
    assert np.array_equal(both["posterior"]["size"], post["posterior"]["size"])
    assert set(np.unique(both["posterior"]["pair"])) <= {0.0, 1.0}


@pytest.mark.parametrize("rule", [Exact(), SequentialT(0.1, 200)])
def test_bits_for_any_cores_and_after_a_stop(rule: Any, tmp_path: Path) -> None:
    """Sets are state: a run that goes on from its store makes the draws of one never stopped."""
    common = {"acceptance": rule, "proposal": ReversibleJump(0.05, 0.3), "chains": 3, "start": "one"}
    whole = run(draws=300, **common)
    shared = run(draws=300, **{**common, "cores": 2})
    run(draws=120, store=tmp_path / "run.zarr", **common)
    resumed = run(draws=300, store=tmp_path / "run.zarr", resume=True, **common)
    for other in (shared, resumed, au.load(tmp_path / "run.zarr")):
        for name in ("beta", "included", "size"):
            assert np.array_equal(whole["posterior"][name], other["posterior"][name])


def test_the_intercept_is_a_variable_like_the_others() -> None:
    post = run(intercept=True, draws=600, proposal=ReversibleJump(0.05, 0.3))
    assert list(post["posterior"].coords["coef"].values) == ["intercept", *NAMES]
    assert float(post["posterior"]["included"].sel(coef="intercept").mean()) > 0.9
    assert float(post["posterior"]["beta"].sel(coef="intercept")[:, -100:].mean()) == pytest.approx(0.5, abs=0.2)


def test_standardised_coefficients_come_back_on_the_original_scale() -> None:
    X, y = data()
    post = au.sample(
        VariableSelection(),
        X * [100.0, 1, 1, 1],
        y,
        standardize=True,
        acceptance=Exact(),
        proposal=ReversibleJump(0.05, 0.3),
        draws=500,
        **settings(),
    )
    beta = post["posterior"]["beta"].values
    assert np.median(beta[..., 0]) == pytest.approx(0.01, rel=0.2)
    assert np.array_equal(post["posterior"]["included"].values, beta != 0) and np.any(beta[..., 3] == 0)


# Starts


def test_where_chains_begin() -> None:
    lazy = {"proposal": ReversibleJump(1e-9, 50.0, (1e9, 1.0, 1.0)), "draws": 1}
    assert np.all(first(run(**lazy)) == 1) and np.all(first(run(**lazy, start="all")) == 1)
    one = run(**lazy, start="one")
    assert np.array_equal(first(one), [[1, 0, 0, 0]] * 2)
    assert float(one["posterior"]["beta"][0, 0, 0]) == pytest.approx(0.9, abs=0.15)
    assert np.array_equal(first(run(**lazy, start={"included": ["price", 0]})), [[1, 1, 0, 0]] * 2)
    apart = run(**lazy, start={"included": [[2], ["age", "noise"]]})
    assert np.array_equal(first(apart), [[0, 0, 1, 0], [1, 0, 0, 1]])
    given = run(**lazy, start=[0.0, -0.5, 0.0, 0.1])
    assert np.allclose(given["posterior"]["beta"][0, 0], [0, -0.5, 0, 0.1], atol=1e-6)
    both = run(**lazy, start={"beta": [0.0, -0.5, 0.0, 0.1], "included": ["noise", "price"]})
    assert np.array_equal(both["posterior"]["beta"], given["posterior"]["beta"])
    slab = VariableSelection(slab=Normal(0, 0.5), inclusion=0.5)
    sizes = run(slab, **lazy, start="prior", chains=60)["posterior"]["size"].values
    assert set(np.unique(sizes)) >= {1, 2, 3} and abs(sizes.mean() - 2) < 0.7
    assert np.all(first(run(slab, **lazy, start=np.zeros(4))) == 0)


def test_the_default_proposal_and_decision() -> None:
    post = run(acceptance="auto", start="one")
    assert '"ReversibleJump"' in post.attrs["settings"] and "decision chosen" in post.attrs["notes"]


# Bad input: one sentence each


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ({"beta": [1.0, 0, 0.2, 0], "included": [0]}, r"beta\[size\] is 0.2 in chain 0 but .* include it"),
        ({"beta": [1.0, 0, 0, 0], "included": [0, 1]}, r"beta\[price\] is 0 in chain 0 but .* is included"),
        ({"included": []}, "chain 0 has no variable in use"),
        (np.zeros(4), "chain 0 has no variable in use"),
        ([[1.0, 0, 0, 0], [0, 0, 0, 0]], "chain 1 has no variable in use"),
        ({"included": [0, 4]}, "holds 4, which is no column.*0 to 3"),
        ({"included": [-1]}, "holds -1, which is no column"),
        ({"included": [0.5]}, "holds 0.5, which is no column"),
        ({"included": [True]}, "holds True, which is no column"),
        ({"included": ["age", "weight"]}, "'weight', which is no column"),
        ({"included": [0, "age"]}, "'age' more than once"),
        ({"included": [[0], [1], [2]]}, "3 sets for 2 chains"),
        ({"included": "age"}, "included='age', give a list"),
        ({"gamma": [0]}, "give 'included', 'beta'"),
        ({}, "give 'included', 'beta'"),
        ([1.0, 2.0], r"start has shape \(2,\)"),
        ([np.nan, 0, 0, 0], "finite"),
        ("prior", "improper, so there is nothing to draw"),
        ("two", "start='two'"),
    ],
)
def test_starts_that_cannot_be(start: Any, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        run(start=start)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rate": 0.0}, "rate=0.0.*positive"),
        ({"rate": float("inf")}, "rate=inf.*positive"),
        ({"rate": "high"}, "rate='high'"),
        ({"least_norm": -0.1}, "least_norm=-0.1"),
        ({"inclusion": 0.5}, "inclusion=0.5.*needs a slab"),
        ({"slab": Flat()}, "proper prior"),
        ({"slab": 2.0}, "slab=2.0"),
        ({"slab": Normal(), "inclusion": 1.0}, "inclusion=1.0.*between 0 and 1"),
        ({"slab": Normal(), "inclusion": Normal()}, "between 0 and 1, or Beta"),
        ({"slab": Normal(), "rate": 1.0}, "rate=.*belongs to the prior that a slab replaces"),
        ({"slab": Normal(), "least_norm": 1.0}, "least_norm=.*belongs to"),
    ],
)
def test_priors_that_cannot_be(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        VariableSelection(**options)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ReversibleJump(update=0.0), "update=0.0.*positive"),
        (lambda: ReversibleJump(birth=-1.0), "birth=-1.0.*positive"),
        (lambda: ReversibleJump(update=float("nan")), "update=nan"),
        (lambda: ReversibleJump(weights=(1, 0, 1)), "weights=.*three positive"),
        (lambda: ReversibleJump(weights=(1, 1)), "weights=.*three positive"),
        (lambda: ReversibleJump(weights="even"), "weights='even'"),
        (lambda: Beta(0, 1), r"Beta\(0, 1\): give two positive"),
        (lambda: run(proposal=RandomWalk(0.1)), "RandomWalk would move coefficients.*ReversibleJump"),
        (lambda: run(proposal=Mixture((ReversibleJump(), AdaptiveMetropolis()))), "AdaptiveMetropolis would move"),
        (lambda: run(Logistic(), proposal=ReversibleJump()), "ReversibleJump moves between sets"),
        (lambda: run(Logistic(), start="one"), "start='one': give 'mode'.* for models that choose"),
        (lambda: run(Logistic(), start={"included": [0]}), "are for models that choose"),
        (lambda: run(intercept=True, standardize=True), "leave out one of them"),
        (lambda: run(VariableSelection(slab={"age": Normal()})), "slab has no entry for 'price'"),
        (lambda: run(VariableSelection(least_norm=100.0)), "log prior density is -inf where chain 0 starts"),
    ],
)
def test_moves_and_models_that_do_not_fit(make: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make()


def test_a_prior_without_integral_needs_rows_that_speak() -> None:
    random = np.random.default_rng(1)
    X, y = random.normal(size=(50, 3)), random.random(50) < 0.5
    with pytest.raises(InputError, match=r"say too little.*least_norm="):
        au.sample(VariableSelection(), X, y, acceptance=Exact(), draws=10, **settings())
    post = au.sample(VariableSelection(least_norm=0.01), X, y, acceptance=Exact(), draws=10, **settings())
    assert "no integral" not in post.attrs["notes"]


def test_responses_are_those_of_a_logistic_regression() -> None:
    X, y = data(100)
    with pytest.raises(InputError, match="needs a response"):
        au.sample(VariableSelection(), X, **settings())
    with pytest.raises(InputError, match="0 and 1"):
        au.sample(VariableSelection(), X, y * 2.0, **settings())
