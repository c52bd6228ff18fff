"""The same settings give the same bits: for any cores, number of chains, piece length, process or time limit."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_drivers import settings

import austerity as au
from austerity.decisions import Exact, SequentialT
from austerity.engine import lockstep, run
from austerity.priors import Normal
from austerity.proposals import AdaptiveMetropolis, Mixture, RandomWalk
from austerity.rows.blocks import SLAB_ROWS
from austerity.rows.passes import slab_count

SEED = 0
N, D = 70_000, 4
RULES = {"exact": Exact(), "sequential": SequentialT(0.05, 500)}
CHAIN_COUNTS = (1, 2, 3, 5, 16, 64)


def rows(n_rows: int = N, d: int = D) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng([SEED, n_rows, d])
    X = random.normal(size=(n_rows, d)).astype(np.float32)
    return X, (random.random(n_rows) < 1 / (1 + np.exp(-X[:, 0]))).astype(np.float32)


def sampled(rule: Any, X: np.ndarray, y: np.ndarray, **more: Any) -> Any:
    """A short run of logistic regression."""
    given = settings(
        model=au.models.Logistic(prior=Normal(0, 1)), proposal=RandomWalk(0.01), draws=8, warmup=4, chains=2,
        start=np.zeros(X.shape[1]), rng=SEED,
    )  # fmt: skip
    return au.sample(X=X, y=y, acceptance=rule, **{**given, **more})


def arrays(tree: Any) -> dict[str, np.ndarray]:
    """All draws and statistics by name."""
    groups = ("posterior", "sample_stats")
    return {
        f"{group}.{name}": np.asarray(tree[group][name].values) for group in groups for name in tree[group].data_vars
    }


def assert_same(one: Any, other: Any) -> None:
    first, second = arrays(one), arrays(other)
    assert first.keys() == second.keys()
    for name, values in first.items():
        assert values.tobytes() == second[name].tobytes(), name


def digest(tree: Any) -> str:
    state = hashlib.sha256()
    for name, values in sorted(arrays(tree).items()):
        state.update(name.encode() + np.ascontiguousarray(values).tobytes())
    return state.hexdigest()


def test_the_rows_are_many_enough_to_be_shared() -> None:
    """Several slabs, and with 16 chains more products than make threads worth their while."""
    assert slab_count(N) >= 4 and N % SLAB_ROWS != 0
    assert N * D * 16 > lockstep.WORTH_THREADS > N * D * 2


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("chains", CHAIN_COUNTS)
def test_cores_change_no_bit(rule: str, chains: int) -> None:
    X, y = rows()
    one, two = (sampled(RULES[rule], X, y, chains=chains, cores=cores) for cores in (1, 2))
    assert_same(one, two)
    moved = np.diff(arrays(one)["posterior.beta"][..., 0], axis=1) != 0
    assert moved.any() and not moved.all()


def test_two_threads_really_share_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    plain = lockstep.sums

    def counted(problem: Any, points: Any, indices: Any, pool: Any, threads: int) -> Any:
        calls.append(threads if pool is not None else 1)
        return plain(problem, points, indices, pool, threads)

    monkeypatch.setattr(lockstep, "sums", counted)
    X, y = rows()
    sampled(Exact(), X, y, chains=16, cores=2)
    assert calls and set(calls) == {2}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "options",
    [
        {"proposal": None, "start": "mode"},
        {"proposal": AdaptiveMetropolis(), "warmup": 30},
        {"dtype": "float64", "chains": 16},
        {"proposal": Mixture((RandomWalk(0.01), AdaptiveMetropolis())), "chains": 3},
        {"temperature": (5.0, 1.0)},
        {"start": "prior", "chains": 16, "thin": 3},
        {"intercept": True, "standardize": True, "start": np.zeros(D + 1)},
    ],
    ids=["default move", "adaptive", "float64", "mixture", "falling temperature", "from the prior", "standardised"],
)  # fmt: skip
def test_cores_change_no_bit_whatever_the_options(rule: str, options: dict[str, Any]) -> None:
    X, y = rows()
    assert_same(*(sampled(RULES[rule], X, y, cores=cores, **options) for cores in (1, 2)))


def test_one_chain_over_wide_rows() -> None:
    """A single point is a product of its own kind; 64 columns make it large enough for threads."""
    X, y = rows(N, 64)
    assert X.size > lockstep.WORTH_THREADS
    assert_same(*(sampled(Exact(), X, y, chains=1, cores=cores, dtype="float32") for cores in (1, 2)))


def linear_row(theta: Any, x: Any, y: Any) -> Any:
    residual = y - theta[0] * x[0]
    return -0.5 * residual * residual


def linear_block(points: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(-0.5 * (y[:, None] - X[:, :1] * points[:, 0]) ** 2)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "model",
    [au.models.Multinomial(prior=Normal(0, 1)), au.Model({"slope": Normal(0, 1)}, row=linear_row),
     au.Model({"slope": Normal(0, 1)}, block=linear_block)],
    ids=["multinomial", "row", "block"],
)  # fmt: skip
def test_cores_change_no_bit_for_other_models(rule: str, model: Any) -> None:
    X, y = rows()
    three = y + (X[:, 1] > 1)
    size = 2 * D if isinstance(model, au.models.Multinomial) else 1
    given = {"model": model, "start": np.zeros(size), "chains": 6, "draws": 4}
    assert_same(*(sampled(RULES[rule], X, three, cores=cores, **given) for cores in (1, 2)))


def test_a_chain_of_the_sequential_test_is_the_same_among_any_number() -> None:
    X, y = rows()
    many = arrays(sampled(RULES["sequential"], X, y, chains=64))
    for chains in CHAIN_COUNTS[:-1]:
        for name, values in arrays(sampled(RULES["sequential"], X, y, chains=chains)).items():
            assert np.array_equal(values, many[name][:chains], equal_nan=True), name


def test_a_chain_of_exact_is_the_same_among_any_number_above_one() -> None:
    """A point's sum does not depend on how many share the pass; alone it is another product, equal up to rounding."""
    X, y = rows()
    many = arrays(sampled(Exact(), X, y, chains=64))
    for chains in CHAIN_COUNTS[1:-1]:
        for name, values in arrays(sampled(Exact(), X, y, chains=chains)).items():
            assert np.array_equal(values, many[name][:chains]), name
    alone, first = (arrays(sampled(Exact(), X, y, chains=chains, dtype="float64")) for chains in (1, 2))
    assert np.array_equal(alone["posterior.beta"], first["posterior.beta"][:1])
    assert np.allclose(alone["sample_stats.lp"], first["sample_stats.lp"][:1], rtol=1e-12)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("standardize", [False, True])
def test_pieces_change_no_bit(rule: str, standardize: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """However short the pieces are, and however few draws are buffered; also where draws are turned back to natural."""
    X, y = rows(3000, 5)
    options = {"intercept": standardize, "standardize": standardize, "start": "prior"}
    given = {"draws": 150, "thin": 2, "chains": 3, **options}
    whole = sampled(RULES[rule], X + 1, y, **given)
    monkeypatch.setattr(run, "PIECE_SECONDS", 1e-9)
    assert_same(whole, sampled(RULES[rule], X + 1, y, **given))
    monkeypatch.setattr(run, "PIECE_SECONDS", 10.0)
    monkeypatch.setattr(run, "MOST_BUFFERED", 7)
    assert_same(whole, sampled(RULES[rule], X + 1, y, **given))


SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
from test_reproducible import RULES, digest, rows, sampled
X, y = rows()
print([digest(sampled(RULES[rule], X, y, chains=16, cores=2)) for rule in RULES])
"""


def test_another_process_gives_the_same_bits() -> None:
    X, y = rows()
    here = [digest(sampled(RULES[rule], X, y, chains=16)) for rule in RULES]
    script = SCRIPT.format(folder=str(Path(__file__).parent))
    there = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=200)
    assert there.stdout.strip().splitlines()[-1] == str(here)


@pytest.mark.parametrize("rule", RULES)
def test_a_run_cut_by_its_time_limit_is_a_prefix(rule: str) -> None:
    X, y = rows(20_000, 3)
    cut = sampled(RULES[rule], X, y, draws=100_000, time_limit=0.3, cores=2)
    assert cut.attrs["ended"] == "time limit"
    count = cut["posterior"].sizes["draw"]
    assert 0 < count < 100_000
    whole = arrays(sampled(RULES[rule], X, y, draws=count + 20))
    for name, values in arrays(cut).items():
        assert np.array_equal(values, whole[name][:, :count], equal_nan=True), name


@pytest.mark.parametrize("rule", RULES)
def test_fewer_draws_and_warm_up_are_parts_of_the_same_chain(rule: str) -> None:
    X, y = rows(3000, 3)
    whole = arrays(sampled(RULES[rule], X, y, draws=60, warmup=0))
    for warmup, draws in ((0, 25), (17, 43), (59, 1)):
        part = arrays(sampled(RULES[rule], X, y, draws=draws, warmup=warmup))
        for name, values in part.items():
            assert np.array_equal(values, whole[name][:, warmup : warmup + draws], equal_nan=True), name


@pytest.mark.parametrize("rule", RULES)
def test_thinned_draws_carry_the_rows_of_the_steps_between(rule: str) -> None:
    X, y = rows(3000, 3)
    whole, thinned = (arrays(sampled(RULES[rule], X, y, draws=60 // thin, thin=thin)) for thin in (1, 3))
    assert np.array_equal(thinned["posterior.beta"], whole["posterior.beta"][:, 2::3])
    for name in ("n_rows", "n_looks", "accepted", "exhausted"):
        by_three = whole[f"sample_stats.{name}"].reshape(2, 20, 3)
        assert np.array_equal(thinned[f"sample_stats.{name}"], by_three.sum(axis=2)), name
    rates = whole["sample_stats.acceptance_rate"].reshape(2, 20, 3).mean(axis=2)
    assert np.allclose(thinned["sample_stats.acceptance_rate"], rates, rtol=1e-12)
    assert np.all(whole["sample_stats.n_rows"] <= 3000) and np.all(whole["sample_stats.n_rows"] >= 500)


def test_kept_parts_and_functions_are_those_of_the_whole_run() -> None:
    X, _ = rows(2000, 3)
    y = X @ np.array([1.0, -1.0, 0.5]) + np.random.default_rng([SEED, 1]).normal(size=2000)
    given = {"model": au.models.Linear(prior=Normal(0, 1)), "start": np.array([1.0, -1.0, 0.5, 1.0]), "draws": 50}
    whole = arrays(sampled(Exact(), X, y, **given))
    sigma = arrays(sampled(Exact(), X, y, keep=["sigma"], **given))
    swapped = arrays(sampled(Exact(), X, y, keep=["sigma", "beta"], **given))
    functions = {
        "ratio": lambda p: p["beta"][:, 0] / p["sigma"],
        "outer": lambda p: p["beta"][:, :, None] * p["beta"][:, None],
    }
    derived = arrays(sampled(Exact(), X, y, keep=functions, **given))
    beta, scale = whole["posterior.beta"], whole["posterior.sigma"]
    assert [name for name in sigma if name.startswith("posterior")] == ["posterior.sigma"]
    assert np.array_equal(sigma["posterior.sigma"], scale)
    assert np.array_equal(swapped["posterior.sigma"], scale) and np.array_equal(swapped["posterior.beta"], beta)
    assert np.array_equal(derived["posterior.ratio"], beta[..., 0] / scale)
    assert np.array_equal(derived["posterior.outer"], beta[..., :, None] * beta[..., None, :])
    for other in (sigma, swapped, derived):
        assert np.array_equal(other["sample_stats.lp"], whole["sample_stats.lp"])


def test_seeds_are_numbers_or_sequences() -> None:
    X, y = rows(3000, 3)
    number = sampled(Exact(), X, y, rng=SEED + 5)
    sequence = np.random.SeedSequence(SEED + 5)
    sequence.spawn(3)  # what was spawned before does not matter
    assert_same(number, sampled(Exact(), X, y, rng=sequence))
    assert digest(number) != digest(sampled(Exact(), X, y, rng=SEED + 6))
    child = np.random.SeedSequence(SEED + 5).spawn(1)[0]
    assert digest(number) != digest(sampled(Exact(), X, y, rng=child))
