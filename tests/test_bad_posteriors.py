"""No posterior, no density at the start, no run on disk: refused in one sentence; and what looks bad but works."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_bad_input import Case, N, X, Y, check, sample

import austerity as au
from austerity.decisions import Exact, SequentialT
from austerity.errors import StoreError
from austerity.models import Linear, Logistic, Multinomial, Poisson, Probit
from austerity.priors import Cauchy, Flat
from austerity.proposals import RandomWalk

COVERS = np.c_[np.arange(N) % 2, np.arange(N) // 2 % 2]
ONE_SIDED = np.where((COVERS[:, 0] == 1) & (COVERS[:, 1] == 0), 1, Y)
FEW = (np.arange(N) < 5).astype(float)
SEPARATED = (
    "the columns separate the responses perfectly) and its prior is flat, so there is no posterior: give a proper"
)
COLLINEAR = "are collinear and their priors are flat, so there is no posterior: drop one or give a proper prior"

# These take a search for the mode, or the density at the start, to be found out.
FOUND_LATER: dict[str, Case] = {
    "separation by one column": (
        lambda: sample(Logistic(Flat()), x=X[:, :1], y=X[:, 0] > 0),
        ("rises for ever along beta[x0]", SEPARATED),
    ),
    "by a column and an intercept": (
        lambda: sample(Logistic(Flat(), Flat()), x=X[:, :1], y=X[:, 0] > 0.3, intercept=True),
        ("rises for ever along beta[", SEPARATED),
    ),
    "by several columns": (lambda: sample(Probit(Flat()), y=X @ [1, 2, -1] > 0), ("rises for ever along", SEPARATED)),
    "by a few rows": (
        lambda: sample(Logistic(Flat()), x=np.c_[X, FEW], y=np.where(FEW > 0, 1, Y)),
        ("rises for ever along beta[x3]", SEPARATED),
    ),
    "by a combination of columns": (  # rows with the first and without the second are all of class 1
        lambda: sample(Logistic(Flat()), x=np.c_[COVERS, COVERS[:, 0] * COVERS[:, 1], X], y=ONE_SIDED),
        ("rises for ever along beta[x", SEPARATED),
    ),
    "of tiny columns": (
        lambda: sample(Logistic(Flat()), x=X / 1e6, y=X @ [1, 1, 0] > 0),
        ("rises for ever along beta[x", SEPARATED),
    ),
    "of counts": (
        lambda: sample(Poisson(Flat()), x=np.c_[X, FEW], y=np.where(FEW > 0, 0, 1 + Y), intercept=True),
        ("rises for ever along beta[x3]", SEPARATED),
    ),
    "of classes": (
        lambda: sample(Multinomial(Flat(), Flat()), y=np.digitize(X[:, 0], [-0.5, 0.5]), intercept=True),
        ("rises for ever along beta[", SEPARATED),
    ),
    "separation, start given": (
        lambda: sample(Logistic(Flat()), y=X[:, 0] > 0, start=[0, 0, 0], acceptance=Exact(), proposal=RandomWalk(0.1)),
        ("rises for ever along beta[x0]", SEPARATED),
    ),
    "duplicate columns": (lambda: sample(Logistic(Flat()), x=np.c_[X, X[:, 1]]), ("beta[x3]", "beta[x1]", COLLINEAR)),
    "collinear columns": (
        lambda: sample(Linear(Flat()), x=np.c_[X, X[:, 0] + X[:, 1]], y=Y + X[:, 2], dtype="float64"),
        ("beta[x3]", "beta[x1]", "beta[x0]", COLLINEAR),
    ),
    "perfect fit": (lambda: sample(Linear(), y=X @ [1, 2, 3]), ("the columns reproduce y to within", "give sigma= a")),
    "perfect fit in float64": (
        lambda: sample(Linear(Flat()), y=X @ [1, 2, 3], dtype="float64"),
        ("the columns reproduce y to within rounding", "leave out columns"),
    ),
    "more columns than rows": (
        lambda: sample(Linear(Flat()), x=np.random.default_rng(1).normal(size=(10, 20)), y=X[:10, 0]),
        ("the columns reproduce y", "give sigma= a value"),
    ),
    "no prior density": (
        lambda: sample(start=[1e300, 0, 0]),
        ("the log prior density is -inf where chain 0 starts (beta[x0]=1e+300", "give start= points where it is finit"),
    ),
    "no likelihood": (
        lambda: sample(Poisson(), start=np.array([[0, 0, 0], [1e5, 0, 0]])),
        ("the log likelihood of row ", " is -inf where chain 1 starts (beta[x0]=100000", "give start= points"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FOUND_LATER)
def test_refused_in_one_sentence_before_the_first_step(case: str) -> None:
    check(*FOUND_LATER[case])


STORES: dict[str, tuple[Callable[[Path], Any], tuple[str, ...]]] = {
    "no run": (lambda place: au.load(place / "none"), ("There is no austerity run at", "give the path of a run's")),
    "a file": (lambda place: au.load(place / "file"), ("There is no austerity run at", "give the path of a run's")),
    "a run is there": (lambda place: sample(store=place / "run.zarr"), ("holds a run already", "pass resume=True")),
    "a file is there": (lambda place: sample(store=place / "file"), ("exists and is no austerity run", "another path")),
    "a folder is there": (lambda place: sample(store=place), ("exists and is no austerity run", "another path")),
    "resume a folder": (lambda place: sample(store=place, resume=True), ("no austerity run at", "give the path")),
    "below a file": (lambda place: sample(store=place / "file" / "x"), ("file is not a directory", "give another pat")),
    "damaged": (lambda place: au.load(place / "bad.zarr"), ("zarr.json cannot be read", "restore the run from a copy")),
    "resume damaged": (lambda place: sample(store=place / "bad.zarr", resume=True), ("zarr.json cannot be", "restore")),
}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stores")
    for name in ("run.zarr", "bad.zarr"):
        sample(store=folder / name)
    (folder / "bad.zarr" / "zarr.json").write_text('{"zarr_format":')
    (folder / "file").write_text("text")
    return folder


@pytest.mark.parametrize("case", STORES)
def test_stores_are_refused_in_one_sentence(case: str, place: Path) -> None:
    call, fragments = STORES[case]
    check(lambda: call(place), (*fragments, str(place)), StoreError)


def test_what_is_no_result_is_refused() -> None:
    tree = sample()
    check(lambda: au.load(5), ("load(5)", "give the path of a run's directory"))
    check(lambda: au.load(""), ("load('')", "give the path of a run's directory"))
    for wrong in (None, {}, 5, tree["posterior"].to_dataset()):
        check(lambda wrong=wrong: au.summary(wrong), ("no group 'posterior'", "pass what au.sample gave back"))
    check(lambda: au.summary(tree, "short"), ("kind='short' is not known", "use one of all, stats, diagnostics"))


@pytest.mark.parametrize("kind", ["float16", "float64", "int8", "uint16", "int64", "bool"])
def test_every_kind_of_number_works(kind: str) -> None:
    """The draws are those of the same numbers in float64."""
    values = X > 0 if kind == "bool" else np.clip(np.round(8 * X), 0, None).astype(kind)
    tree = sample(x=values, y=Y.astype(kind), acceptance=SequentialT(np.float32(0.05), np.int64(20)))
    same = sample(x=values.astype(np.float64), y=Y, acceptance=SequentialT(float(np.float32(0.05)), 20))
    np.testing.assert_array_equal(tree["posterior"]["beta"], same["posterior"]["beta"])


@pytest.mark.parametrize(
    "model",
    [Logistic(), Logistic(Cauchy(0, np.float32(2.5))), Linear(sigma=np.float32(0.5)), Probit(), Poisson()],
    ids=["default", "cauchy", "linear", "probit", "poisson"],
)
def test_separated_or_repeated_columns_with_a_proper_prior_work(model: Any) -> None:
    """Only a flat prior leaves no posterior; a proper one is sampled, and collinearity is noted."""
    tree = sample(model, x=np.c_[X, X[:, 0]], y=X[:, 0] > 0)
    assert np.isfinite(tree["posterior"]["beta"]).all()
    assert "beta[x0], beta[x3] are collinear, so only their priors tell them apart" in tree.attrs["notes"]


@pytest.mark.parametrize("seed", range(20))
def test_flat_priors_work_where_the_rows_say_little(seed: int) -> None:
    """Labels that have nothing to do with tiny columns, rare labels, rare columns: there is a posterior."""
    rng = np.random.default_rng(seed)
    x, rare = rng.normal(size=(N, 3)) * [1e-3, 1.0, 1e3], np.arange(N) < 12
    for columns, labels in (
        (x, rng.random(N) < 0.5),
        (x + [1.0, 100.0, 0.0], np.arange(N) % 50 == 7),
        (np.c_[x, rare], np.where(rare, np.arange(N) % 6 == 1, rng.random(N) < 0.5)),
    ):
        tree = sample(Logistic(Flat(), Flat()), x=columns, y=labels, intercept=True, chains=1, draws=2, warmup=0)
        assert np.isfinite(tree["posterior"]["beta"]).all()
