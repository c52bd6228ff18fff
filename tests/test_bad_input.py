"""Whatever is wrong with a call is said in one sentence: the value, the place and the remedy, before any compute."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import austerity as au
from austerity.decisions import Exact, SequentialT
from austerity.engine import prepare
from austerity.errors import InputError, StoreError
from austerity.models import Linear, Logistic, Multinomial, NegativeBinomial, Poisson, Probit, StudentT
from austerity.priors import Cauchy, Flat, Laplace, Normal
from austerity.proposals import AdaptiveMetropolis, Mixture, RandomWalk

N = 200
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = (RNG.random(N) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)
FEW = (np.arange(N) < 5).astype(float)
ONE_EACH = "pass one value for each row of X"
LEAST = "give a whole number of at least"
SEPARATED = "the columns separate the responses perfectly) and its prior is flat, so there is no posterior: give it a proper"
COLLINEAR = "are collinear and their priors are flat, so there is no posterior: drop one or give a proper prior"
Case = tuple[Callable[[], Any], tuple[str, ...]]


def sample(model: Any = None, x: Any = None, y: Any = None, **settings: Any) -> Any:
    """A small run with a few settings changed."""
    given = {"draws": 5, "warmup": 5, "chains": 2, "progress": False, **settings}
    return au.sample(Logistic() if model is None else model, X if x is None else x, Y if y is None else y, **given)


def put(array: np.ndarray, place: Any, value: float) -> np.ndarray:
    copy = array.copy()
    copy[place] = value
    return copy


DATA: dict[str, Case] = {
    "NaN": (lambda: sample(x=put(X, (17, 1), np.nan)), ('1 in column "x1" (first in row 17)', 'pass missing="drop"')),
    "NaN in y": (lambda: sample(y=put(Y, 3, np.nan)), ("1 in y (first in row 3)", 'pass missing="drop"')),
    "infinity": (lambda: sample(x=put(X, (4, 2), -np.inf)), ('column "x2" holds -inf in row 4', "correct it or leave")),
    "NaN in a named column": (
        lambda: sample(x=pd.DataFrame(put(X, (9, 0), np.nan), columns=["age", "b", "c"])),
        ('1 in column "age" (first in row 9)', "fill them in"),
    ),
    "labels": (lambda: sample(y=put(Y, 5, 2)), ("Logistic needs responses 0 and 1, but y is 2 at row 5 (1 such", "code")),
    "labels -1 and 1": (lambda: sample(Probit(), y=2 * Y - 1), ("Probit needs", "y is -1 at row", "code the two classes")),
    "one class": (lambda: sample(y=np.zeros(N)), ("y is 0 in every row", "Logistic", "give rows of both classes")),
    "named one class": (lambda: sample(y=pd.Series(np.ones(N), name="died")), ("died is 1 in every row", "give rows")),
    "text": (lambda: sample(y=np.where(Y > 0, "yes", "no")), ("y does not hold real numbers", "'no' in row 0", "convert")),
    "objects": (lambda: sample(x=X.astype(object)), ('column "x0"', "dtype object", "convert it to numbers")),
    "empty": (lambda: sample(x=np.zeros((0, 3)), y=np.zeros(0)), ("X has no rows", "at least 2 rows are needed")),
    "one row": (lambda: sample(x=X[:1], y=Y[:1]), ("X has one row", "at least 2 rows are needed")),
    "no columns": (lambda: sample(x=X[:, :0]), ("X has 200 rows and no columns", "pass at least one column")),
    "zeros": (lambda: sample(x=np.c_[X, 0 * Y]), ("column 'x3' is zero in every row", "leave it out")),
    "constant and intercept": (lambda: sample(x=np.c_[X, 1 + 0 * Y], intercept=True), ("'x3' is constant", "drop the")),
    "two constants": (lambda: sample(x=np.c_[1 + 0 * Y, X, 2 + 0 * Y]), ("'x0' and 'x4' are both constant", "keep one")),
    "names twice": (lambda: sample(names=["a", "b", "a"]), ('"a" occurs twice (again at column 2)', "rename one")),
    "few names": (lambda: sample(names=["a"]), ("names has 1 entries and X has 3 columns", "pass one name for each")),
    "intercept twice": (lambda: sample(names=["intercept", "a", "b"], intercept=True), ("called 'intercept'", "rename")),
    "short y": (lambda: sample(y=Y[:-1]), ("y has 199 values and X has 200 rows", ONE_EACH)),
    "short weights": (lambda: sample(weights=np.ones(5)), ("weights has 5 values and X has 200 rows", ONE_EACH)),
    "long offset": (lambda: sample(offset=np.ones(201)), ("offset has 201 values and X has 200 rows", ONE_EACH)),
    "negative weight": (lambda: sample(weights=put(Y + 1, 8, -2)), ("negative value -2 in row 8", "zero or positive")),
    "no weight": (lambda: sample(weights=0 * Y), ("weights are zero in all 200 rows", "give at least one row")),
    "no response": (lambda: au.sample(Logistic(), X), ("Logistic needs a response", "pass y=, or target=")),
    "no counts": (lambda: au.sample(Poisson(), X), ("Poisson needs a response", "pass y=, or target=")),
    "unknown column": (lambda: sample(columns=["age"]), ("input 'age' is not a column", "choose one of x0, x1, x2")),
    "no such file": (lambda: au.sample(Logistic(), "t.csv", target="y"), ("t.csv does not exist", "check the path")),
    "too large": (lambda: sample(x=X * 1e39), ('column "x0" reaches', "divide it by")),
    "negative count": (lambda: sample(Poisson(), y=put(Y, 2, -3)), ("Poisson needs counts", "-3 at row 2", "give whole")),
    "part of a count": (lambda: sample(NegativeBinomial(), y=put(Y, 2, 0.5)), ("NegativeBinomial needs", "0.5 at row 2")),
    "no count": (lambda: sample(Poisson(), y=0 * Y), ("y is 0 in every row, so Poisson has nothing", "check the column")),
    "counts too large": (lambda: sample(Poisson(), y=Y * 2**25), ("y reaches 33554432", "pass dtype='float64'")),
    "class left out": (lambda: sample(Multinomial(), y=2 * Y), ("no row has class 1 of 0 to 2", "code the classes")),
    "one of many": (lambda: sample(Multinomial(), y=0 * Y), ("y is 0 in every row", "give two classes")),
    "constant response": (lambda: sample(Linear(), y=Y * 0 + 7), ("y is 7 in every row, so Linear has nothing", "check")),
}  # fmt: skip

SETTINGS: dict[str, Case] = {
    "negative epsilon": (lambda: SequentialT(-0.1), ("SequentialT(epsilon=-0.1)", "give 0 <= epsilon < 1")),
    "epsilon 1": (lambda: SequentialT(1.0), ("SequentialT(epsilon=1.0)", "give 0 <= epsilon < 1")),
    "epsilon NaN": (lambda: SequentialT(float("nan")), ("SequentialT(epsilon=nan)", "give 0 <= epsilon < 1")),
    "epsilon in words": (lambda: SequentialT("small"), ("SequentialT(epsilon='small')", "give 0 <= epsilon < 1")),
    "batch 1": (lambda: SequentialT(0.1, 1), ("SequentialT(batch=1)", "at least 2")),
    "batch 20.5": (lambda: SequentialT(0.1, 20.5), ("SequentialT(batch=20.5)", "a whole number of rows")),
    "batch > N": (lambda: sample(acceptance=SequentialT(0.1, 500)), ("batch=500", "than the 200", "at most 200, or use Ex")),
    "boundary": (lambda: SequentialT(0.1, 20, "pocock"), ("boundary='pocock'", "give Pocock(), OBrienFleming() or")),
    "alpha": (lambda: au.decisions.WangTsiatis(3), ("alpha=3 of WangTsiatis", "0.5 gives constant")),
    "alpha in words": (lambda: au.decisions.WangTsiatis("a"), ("alpha='a' of WangTsiatis", "0.5 gives constant")),
    "no chains": (lambda: sample(chains=0), ("chains=0: a run has at least one chain", f"{LEAST} 1")),
    "half a chain": (lambda: sample(chains=1.5), ("chains=1.5", f"{LEAST} 1")),
    "no draws": (lambda: sample(draws=0), ("draws=0: a run keeps at least one draw", f"{LEAST} 1")),
    "negative warm-up": (lambda: sample(warmup=-1), ("warmup=-1", f"{LEAST} 0")),
    "thin 0": (lambda: sample(thin=0), ("thin=0: every thin-th step is kept", f"{LEAST} 1")),
    "no cores": (lambda: sample(cores=0), ("cores=0", f"{LEAST} 1")),
    "all cores": (lambda: sample(cores="all"), ("cores='all'", f"{LEAST} 1")),
    "no time": (lambda: sample(time_limit=0), ("time_limit=0: a limit is in seconds", "give a positive number")),
    "time in words": (lambda: sample(time_limit="1h"), ("time_limit='1h'", "give a positive number")),
    "endless": (lambda: sample(time_limit=float("inf")), ("time_limit=inf", "None is no limit")),
    "rng -1": (lambda: sample(rng=-1), ("rng=-1", f"{LEAST} 0, or a numpy SeedSequence")),
    "rng in words": (lambda: sample(rng="seed"), ("rng='seed'", f"{LEAST} 0, or a numpy SeedSequence")),
    "rng a generator": (lambda: sample(rng=np.random.default_rng(0)), ("rng=Generator(PCG64)", "a numpy SeedSequence")),
    "temperature 0": (lambda: sample(temperature=0), ("temperature=0", "give a positive number")),
    "temperature rises": (lambda: sample(temperature=(1, 2)), ("temperature=(1, 2) rises", "it may stay or fall")),
    "three temperatures": (lambda: sample(temperature=(3, 2, 1)), ("temperature=(3, 2, 1)", "give one number, or (start,")),
    "no warm-up to fall": (lambda: sample(temperature=(2, 1), warmup=0), ("falls during warm-up", "give warmup > 0")),
    "dtype": (lambda: sample(dtype="float16"), ("dtype='float16'", 'pass "float32" or "float64"')),
    "missing": (lambda: sample(missing="keep"), ("missing='keep'", 'pass "error" or "drop"')),
    "intercept": (lambda: sample(intercept="yes"), ("intercept='yes'", "give True or False")),
    "standardize": (lambda: sample(standardize=1), ("standardize=1", "give True or False")),
    "progress": (lambda: sample(progress="bar"), ("progress='bar'", "give True or False")),
    "resume in words": (lambda: sample(resume="yes"), ("resume='yes'", "give True or False")),
    "resume what": (lambda: sample(resume=True), ("resume=True needs the store=", "give its path")),
    "store a number": (lambda: sample(store=5), ("store=5", "give the path of a directory")),
    "store blank": (lambda: sample(store=" "), ("store=' '", "give the path of a directory")),
    "keep nothing": (lambda: sample(keep=[]), ("keep=[]", "give a list of parameter names")),
    "keep a word": (lambda: sample(keep="beta"), ("keep='beta'", "give a list of parameter names")),
    "keep unknown": (lambda: sample(keep=["gamma"]), ("no parameter 'gamma'", "the model has beta")),
    "keep twice": (lambda: sample(keep=["beta", "beta"]), ("names a parameter twice", "name each once")),
    "keep no function": (lambda: sample(keep={"a": 3}), ("keep={...} holds something that is no function", "give name:")),
    "keep a bad name": (lambda: sample(keep={"a b": lambda p: p["beta"]}), ("'a b' cannot name", "use letters, digits")),
    "keep one number": (lambda: sample(keep={"a": lambda p: p["beta"].sum()}), ("keep['a'] returned shape ()", "first axis")),
    "keep a wrong axis": (lambda: sample(keep={"a": lambda p: p["beta"].sum(axis=0)}), ("shape (3,) for 2 draws", "axis")),
    "keep no value": (lambda: sample(keep={"a": lambda p: p["beta"][:, :0]}), ("keep['a'] returned no values", "at least")),
    "keep complex": (lambda: sample(keep={"a": lambda p: 1j * p["beta"]}), ("type complex128", "return real numbers")),
    "keep None": (lambda: sample(keep={"a": lambda p: None}), ("keep['a'] returned values of type object", "return real")),
    "keep raises": (lambda: sample(keep={"a": lambda p: p["b"]}), ("keep['a'] raised KeyError: 'b'", "correct that function")),
    "start in words": (lambda: sample(start="middle"), ("start='middle'", "give 'mode', 'prior', or numbers")),
    "start None": (lambda: sample(start=None), ("start=None", "give 'mode', 'prior', or numbers")),
    "start by name": (lambda: sample(start={"beta": [0, 0, 0]}), ("start={'beta'", "give 'mode', 'prior', or numbers")),
    "start short": (lambda: sample(start=[0, 0]), ("shape (2,)", "3 parameters (beta[x0]", "give (3,) or (2, 3)")),
    "start for three": (lambda: sample(start=np.zeros((3, 3))), ("shape (3, 3)", "2 chains", "give (3,) or (2, 3)")),
    "start NaN": (lambda: sample(start=[[0, 0, 0], [0, np.nan, 0]]), ("beta[x1] the value nan in chain 1", "give a finite")),
    "sigma <= 0": (lambda: sample(Linear(), start=[0, 0, 0, -1]), ("sigma the value -1 in chain 0", "positive value")),
    "start from a flat prior": (lambda: sample(Logistic(Flat()), start="prior"), ("prior of beta[x0] is flat", "'mode'")),
    "unknown setting": (lambda: au.start(Logistic(), X, Y, draw=3), ("there is no setting 'draw'", "the settings are")),
    "start nothing": (lambda: au.start(Logistic(), X, Y, draws=0), ("draws=0", f"{LEAST} 1")),
}  # fmt: skip

PARTS: dict[str, Case] = {
    "model a class": (lambda: sample(Logistic), ("model=Logistic is a class", "give an instance, Logistic(...)")),
    "model a word": (lambda: sample("logistic"), ("model='logistic' is no model", "austerity.models.Logistic()")),
    "model None": (lambda: au.sample(None, X, Y), ("model=None is no model", "austerity.models.Logistic()")),
    "acceptance a class": (lambda: sample(acceptance=Exact), ("acceptance=Exact is a class", "give an instance")),
    "acceptance unknown": (lambda: sample(acceptance="fast"), ("acceptance='fast' is no decision", "Exact(), or 'auto'")),
    "acceptance a move": (lambda: sample(acceptance=RandomWalk()), ("acceptance=RandomWalk", "is no decision", "Exact()")),
    "proposal a class": (lambda: sample(proposal=RandomWalk), ("proposal=RandomWalk is a class", "give an instance")),
    "proposal a number": (lambda: sample(proposal=0.1), ("proposal=0.1 is no proposal", "RandomWalk()")),
    "negative step": (lambda: RandomWalk(-1), ("RandomWalk(scale=...) holds -1", "give positive step sizes")),
    "step 0": (lambda: RandomWalk([1, 0]), ("RandomWalk(scale=...) holds 0 at place 1", "give positive step sizes")),
    "step NaN": (lambda: RandomWalk(np.nan), ("RandomWalk(scale=...) holds NaN", "give finite step sizes")),
    "step in words": (lambda: RandomWalk("small"), ("RandomWalk(scale='small')", "give a number, a vector or a matrix")),
    "step a tensor": (lambda: RandomWalk(np.ones((2, 2, 2))), ("shape (2, 2, 2)", "give a number, a vector or a square")),
    "not symmetric": (lambda: RandomWalk([[1, 0.5], [0, 1]]), ("not symmetric", "give a covariance matrix")),
    "not positive": (lambda: RandomWalk([[1, 2], [2, 1]]), ("smallest eigenvalue -1", "must be positive definite")),
    "steps for two": (lambda: sample(proposal=RandomWalk([0.1, 0.1])), ("for 2 parameters, but the model has 3", "give one")),
    "matrix for two": (lambda: sample(proposal=RandomWalk(np.eye(2))), ("for 2 parameters, but the model has 3", "give one")),
    "rate 1.5": (lambda: AdaptiveMetropolis(target=1.5), ("target=1.5", "give an acceptance rate between 0 and 1")),
    "rate in words": (lambda: AdaptiveMetropolis(target="a"), ("target='a'", "give an acceptance rate between 0 and 1")),
    "forever": (lambda: AdaptiveMetropolis(forever="yes"), ("forever='yes'", "give True or False")),
    "mixture of none": (lambda: Mixture(()), ("Mixture of 0 proposals", "give between 1 and 8")),
    "mixture of classes": (lambda: Mixture((RandomWalk,)), ("Mixture component 0 is <class", "such as RandomWalk()")),
    "no mixture": (lambda: Mixture(RandomWalk(1)), ("Mixture(RandomWalk(scale=1))", "give a list of proposals")),
    "mixture weights": (lambda: Mixture((RandomWalk(1),), (1, 2)), ("weights (1, 2)", "give 1 positive numbers")),
    "weights in words": (lambda: Mixture((RandomWalk(1),), ("a",)), ("weights ('a',)", "give 1 positive numbers")),
    "negative scale": (lambda: Normal(0, -1), ("Normal(0, -1): scale is -1", "give a positive number")),
    "scale 0": (lambda: Laplace(0, 0), ("Laplace(0, 0): scale is 0", "give a positive number")),
    "scale infinite": (lambda: Normal(0, np.inf), ("Normal(0, inf): scale is inf", "Flat() is the prior of no scale")),
    "location NaN": (lambda: Cauchy(np.nan), ("location is nan", "give a finite number")),
    "no freedom": (lambda: au.priors.StudentT(0), ("degrees of freedom is 0", "give a positive number")),
    "freedom in words": (lambda: au.priors.StudentT("a"), ("degrees of freedom is 'a'", "give a number")),
    "prior a class": (lambda: sample(Logistic(Normal)), ("prior=<class", "give one such as Normal(0, 1)")),
    "prior a number": (lambda: sample(Logistic(1.0)), ("prior=1.0 is no prior", "give one such as Normal(0, 1)")),
    "two priors": (lambda: sample(Logistic([Normal()] * 2)), ("prior has 2 entries for 3 coefficients", "one for each")),
    "prior for z": (
        lambda: sample(Logistic({"x0": Normal(), "x1": Normal(), "x2": Normal(), "z": Normal()})),
        ("prior names 'z'", "the coefficients are x0, x1, x2"),
    ),
    "prior left out": (lambda: sample(Logistic({"x0": Normal()})), ("prior has no entry for 'x1'", "one for each")),
    "a number among priors": (lambda: sample(Logistic([Normal(), 3, Normal()])), ("prior of 'x1' is 3", "give one such")),
    "prior of no intercept": (lambda: sample(Logistic(intercept_prior=Normal())), ("intercept_prior is given but", "ask")),
    "intercept prior": (lambda: sample(Logistic(intercept_prior=3), intercept=True), ("intercept_prior=3", "give one such")),
    "sigma -1": (lambda: Linear(sigma=-1), ("Linear(sigma=-1)", "give a positive number, or None to sample it")),
    "sigma in words": (lambda: Linear(sigma="1"), ("Linear(sigma='1')", "give a positive number, or None")),
    "prior of sigma": (lambda: sample(Linear(sigma_prior=3)), ("the prior of sigma is 3", "such as priors.StudentT")),
    "dof 0": (lambda: StudentT(dof=0), ("StudentT(dof=0)", "give a positive number, or None")),
    "dof without sigma": (lambda: StudentT(dof=None, sigma=1.0), ("StudentT(dof=None, sigma=...)", "sample sigma too")),
    "shape": (lambda: NegativeBinomial(shape=-2), ("NegativeBinomial(shape=-2)", "give a positive number, or None")),
    "link": (lambda: Poisson(link="identity"), ("Poisson(link='identity')", "give 'log' or 'softplus'")),
}  # fmt: skip

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
    "perfect fit": (lambda: sample(Linear(), y=X @ [1, 2, 3]), ("the columns reproduce y to within", "give sigma= a value")),
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
        ("the log prior density is -inf where chain 0 starts (beta[x0]=1e+300", "give start= points where it is finite"),
    ),
    "no likelihood": (
        lambda: sample(Poisson(), start=np.array([[0, 0, 0], [1e5, 0, 0]])),
        ("the log likelihood of row ", " is -inf where chain 1 starts (beta[x0]=100000", "give start= points"),
    ),
}  # fmt: skip


def check(call: Callable[[], Any], fragments: tuple[str, ...], kind: type[Exception] = InputError) -> None:
    with pytest.raises(kind) as caught:
        call()
    said = str(caught.value)
    for fragment in fragments:
        assert fragment in said, said
    assert "\n" not in said and len(said) < 400, said


@pytest.mark.parametrize("case", [*DATA, *SETTINGS, *PARTS])
def test_refused_in_one_sentence_before_any_compute(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("the mode was looked for")

    monkeypatch.setattr(prepare, "find_mode", never)
    monkeypatch.setattr(prepare, "first_values", never)
    check(*{**DATA, **SETTINGS, **PARTS}[case])


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
    "below a file": (lambda place: sample(store=place / "file" / "x"), ("file is not a directory", "give another path")),
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
    assert "nearly collinear, so only their prior tells them apart" in tree.attrs["notes"]
