"""Whatever is wrong with a call is said in one sentence: the value, the place and the remedy, before any compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import austerity as au
from austerity.decisions import Exact, SequentialT
from austerity.engine import prepare
from austerity.errors import InputError
from austerity.models import Linear, Logistic, Multinomial, NegativeBinomial, Poisson, Probit, StudentT
from austerity.priors import Cauchy, Flat, Laplace, Normal
from austerity.proposals import AdaptiveMetropolis, Mixture, RandomWalk

N = 200
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = (RNG.random(N) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)
ONE_EACH = "pass one value for each row of X"
LEAST = "give a whole number of at least"
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
    "labels": (lambda: sample(y=put(Y, 5, 2)), ("Logistic needs responses 0 and 1, but y is 2 at row 5 (1 such", "co")),
    "labels -1 and 1": (lambda: sample(Probit(), y=2 * Y - 1), ("Probit needs", "y is -1 at row", "code the two clas")),
    "one class": (lambda: sample(y=np.zeros(N)), ("y is 0 in every row", "Logistic", "give rows of both classes")),
    "named one class": (lambda: sample(y=pd.Series(np.ones(N), name="died")), ("died is 1 in every row", "give rows")),
    "text": (lambda: sample(y=np.where(Y > 0, "yes", "no")), ("y does not hold real numbers", "'no' in row 0", "conv")),
    "objects": (lambda: sample(x=X.astype(object)), ('column "x0"', "dtype object", "convert it to numbers")),
    "empty": (lambda: sample(x=np.zeros((0, 3)), y=np.zeros(0)), ("X has no rows", "at least 2 rows are needed")),
    "one row": (lambda: sample(x=X[:1], y=Y[:1]), ("X has one row", "at least 2 rows are needed")),
    "no columns": (lambda: sample(x=X[:, :0]), ("X has 200 rows and no columns", "pass at least one column")),
    "zeros": (lambda: sample(x=np.c_[X, 0 * Y]), ("column 'x3' is zero in every row", "leave it out")),
    "constant and intercept": (lambda: sample(x=np.c_[X, 1 + 0 * Y], intercept=True), ("'x3' is constant", "drop the")),
    "two constants": (lambda: sample(x=np.c_[1 + 0 * Y, X, 2 + 0 * Y]), ("'x0' and 'x4' are both constant", "keep on")),
    "names twice": (lambda: sample(names=["a", "b", "a"]), ('"a" occurs twice (again at column 2)', "rename one")),
    "few names": (lambda: sample(names=["a"]), ("names has 1 entries and X has 3 columns", "pass one name for each")),
    "intercept twice": (lambda: sample(names=["intercept", "a", "b"], intercept=True), ("called 'intercept'", "renam")),
    "short y": (lambda: sample(y=Y[:-1]), ("y has 199 values and X has 200 rows", ONE_EACH)),
    "short weights": (lambda: sample(weights=np.ones(5)), ("weights has 5 values and X has 200 rows", ONE_EACH)),
    "long offset": (lambda: sample(offset=np.ones(201)), ("offset has 201 values and X has 200 rows", ONE_EACH)),
    "negative weight": (lambda: sample(weights=put(Y + 1, 8, -2)), ("negative value -2 in row 8", "zero or positive")),
    "no weight": (lambda: sample(weights=0 * Y), ("weights are zero in all 200 rows", "give at least one row")),
    "no response": (lambda: au.sample(Logistic(), X), ("Logistic needs a response", "pass y=, or target=")),
    "no counts": (lambda: au.sample(Poisson(), X), ("Poisson needs a response", "pass y=, or target=")),
    "unknown column": (lambda: sample(columns=["age"]), ("input 'age' is not a column", "choose one of x0, x1, x2")),
    "no such file": (lambda: au.sample(Logistic(), "t.csv", target="y"), ("t.csv does not exist", "check the path")),
    "too large": (lambda: sample(x=np.c_[X, np.full(N, 1e39)]), ('column "x3" reaches 1e+39', "divide it by")),
    "negative count": (lambda: sample(Poisson(), y=put(Y, 2, -3)), ("Poisson needs counts", "-3 at row 2", "give who")),
    "part of a count": (lambda: sample(NegativeBinomial(), y=put(Y, 2, 0.5)), ("NegativeBinomial needs", "0.5 at row")),
    "no count": (lambda: sample(Poisson(), y=0 * Y), ("y is 0 in every row, so Poisson has nothing", "check the colu")),
    "counts too large": (lambda: sample(Poisson(), y=Y * 2**25), ("y reaches 33554432", "pass dtype='float64'")),
    "class left out": (lambda: sample(Multinomial(), y=2 * Y), ("no row has class 1 of 0 to 2", "code the classes")),
    "one of many": (lambda: sample(Multinomial(), y=0 * Y), ("y is 0 in every row", "give two classes")),
    "constant response": (lambda: sample(Linear(), y=Y * 0 + 7), ("y is 7 in every row, so Linear has nothing", "che")),
}  # fmt: skip

SETTINGS: dict[str, Case] = {
    "negative epsilon": (lambda: SequentialT(-0.1), ("SequentialT(epsilon=-0.1)", "give 0 <= epsilon < 1")),
    "epsilon 1": (lambda: SequentialT(1.0), ("SequentialT(epsilon=1.0)", "give 0 <= epsilon < 1")),
    "epsilon NaN": (lambda: SequentialT(float("nan")), ("SequentialT(epsilon=nan)", "give 0 <= epsilon < 1")),
    "epsilon in words": (lambda: SequentialT("small"), ("SequentialT(epsilon='small')", "give 0 <= epsilon < 1")),
    "batch 1": (lambda: SequentialT(0.1, 1), ("SequentialT(batch=1)", "at least 2")),
    "batch 20.5": (lambda: SequentialT(0.1, 20.5), ("SequentialT(batch=20.5)", "a whole number of rows")),
    "batch > N": (lambda: sample(acceptance=SequentialT(0.1, 500)), ("batch=500", "than the 200", "at most 200, or u")),
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
    "three temperatures": (lambda: sample(temperature=(3, 2, 1)), ("temperature=(3, 2, 1)", "give one number, or (st")),
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
    "keep no function": (lambda: sample(keep={"a": 3}), ("keep={...} holds something that is no function", "give nam")),
    "keep a bad name": (lambda: sample(keep={"a b": lambda p: p["beta"]}), ("'a b' cannot name", "use letters, digit")),
    "keep one number": (lambda: sample(keep={"a": lambda p: p["beta"].sum()}), ("keep['a'] returned shape ()", "firs")),
    "keep a wrong axis": (lambda: sample(keep={"a": lambda p: p["beta"].sum(axis=0)}), ("shape (3,) for 2 draws", "a")),
    "keep no value": (lambda: sample(keep={"a": lambda p: p["beta"][:, :0]}), ("keep['a'] returned no values", "at l")),
    "keep complex": (lambda: sample(keep={"a": lambda p: 1j * p["beta"]}), ("type complex128", "return real numbers")),
    "keep None": (lambda: sample(keep={"a": lambda p: None}), ("keep['a'] returned values of type object", "return r")),
    "keep raises": (lambda: sample(keep={"a": lambda p: p["b"]}), ("keep['a'] raised KeyError: 'b'", "correct that f")),
    "start in words": (lambda: sample(start="middle"), ("start='middle'", "give 'mode', 'prior', or numbers")),
    "start None": (lambda: sample(start=None), ("start=None", "give 'mode', 'prior', or numbers")),
    "start by name": (lambda: sample(start={"beta": [0, 0, 0]}), ("start={'beta'", "give 'mode', 'prior', or numbers")),
    "start short": (lambda: sample(start=[0, 0]), ("shape (2,)", "3 parameters (beta[x0]", "give (3,) or (2, 3)")),
    "start for three": (lambda: sample(start=np.zeros((3, 3))), ("shape (3, 3)", "2 chains", "give (3,) or (2, 3)")),
    "start NaN": (lambda: sample(start=[[0, 0, 0], [0, np.nan, 0]]), ("beta[x1] the value nan in chain 1", "give a f")),
    "sigma <= 0": (lambda: sample(Linear(), start=[0, 0, 0, -1]), ("sigma the value -1 in chain 0", "positive value")),
    "start from a flat prior": (lambda: sample(Logistic(Flat()), start="prior"), ("prior of beta[x0] is flat", "'mod")),
    "unknown setting": (lambda: au.start(Logistic(), X, Y, draw=3), ("there is no setting 'draw'", "the settings are")),
    "start nothing": (lambda: au.start(Logistic(), X, Y, draws=0), ("draws=0", f"{LEAST} 1")),
}  # fmt: skip

PARTS: dict[str, Case] = {
    "model a class": (lambda: sample(Logistic), ("model=Logistic is a class", "give an instance, Logistic(...)")),
    "model a word": (lambda: sample("logistic"), ("model='logistic' is no model", "austerity.models.Logistic()")),
    "model None": (lambda: au.sample(None, X, Y), ("model=None is no model", "austerity.models.Logistic()")),
    "acceptance a class": (lambda: sample(acceptance=Exact), ("acceptance=Exact is a class", "give an instance")),
    "acceptance unknown": (lambda: sample(acceptance="fast"), ("acceptance='fast' is no decision", "Exact(), or 'aut")),
    "acceptance a move": (lambda: sample(acceptance=RandomWalk()), ("acceptance=RandomWalk", "is no decision", "Exac")),
    "proposal a class": (lambda: sample(proposal=RandomWalk), ("proposal=RandomWalk is a class", "give an instance")),
    "proposal a number": (lambda: sample(proposal=0.1), ("proposal=0.1 is no proposal", "RandomWalk()")),
    "negative step": (lambda: RandomWalk(-1), ("RandomWalk(scale=...) holds -1", "give positive step sizes")),
    "step 0": (lambda: RandomWalk([1, 0]), ("RandomWalk(scale=...) holds 0 at place 1", "give positive step sizes")),
    "step NaN": (lambda: RandomWalk(np.nan), ("RandomWalk(scale=...) holds NaN", "give finite step sizes")),
    "step in words": (lambda: RandomWalk("small"), ("RandomWalk(scale='small')", "give a number, a vector or a matri")),
    "step a tensor": (lambda: RandomWalk(np.ones((2, 2, 2))), ("shape (2, 2, 2)", "give a number, a vector or a squa")),
    "not symmetric": (lambda: RandomWalk([[1, 0.5], [0, 1]]), ("not symmetric", "give a covariance matrix")),
    "not positive": (lambda: RandomWalk([[1, 2], [2, 1]]), ("smallest eigenvalue -1", "must be positive definite")),
    "steps for two": (lambda: sample(proposal=RandomWalk([0.1, 0.1])), ("for 2 parameters, but the model has 3", "gi")),
    "matrix for two": (lambda: sample(proposal=RandomWalk(np.eye(2))), ("for 2 parameters, but the model has 3", "gi")),
    "rate 1.5": (lambda: AdaptiveMetropolis(target=1.5), ("target=1.5", "give an acceptance rate between 0 and 1")),
    "rate in words": (lambda: AdaptiveMetropolis(target="a"), ("target='a'", "give an acceptance rate between 0 and")),
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
    "two priors": (lambda: sample(Logistic([Normal()] * 2)), ("prior has 2 entries for 3 coefficients", "one for eac")),
    "prior for z": (
        lambda: sample(Logistic({"x0": Normal(), "x1": Normal(), "x2": Normal(), "z": Normal()})),
        ("prior names 'z'", "the coefficients are x0, x1, x2"),
    ),
    "prior left out": (lambda: sample(Logistic({"x0": Normal()})), ("prior has no entry for 'x1'", "one for each")),
    "a number among priors": (lambda: sample(Logistic([Normal(), 3, Normal()])), ("prior of 'x1' is 3", "give one su")),
    "prior of no intercept": (lambda: sample(Logistic(intercept_prior=Normal())), ("intercept_prior is given but", "")),
    "intercept prior": (lambda: sample(Logistic(intercept_prior=3), intercept=True), ("intercept_prior=3", "give one")),
    "sigma -1": (lambda: Linear(sigma=-1), ("Linear(sigma=-1)", "give a positive number, or None to sample it")),
    "sigma in words": (lambda: Linear(sigma="1"), ("Linear(sigma='1')", "give a positive number, or None")),
    "prior of sigma": (lambda: sample(Linear(sigma_prior=3)), ("the prior of sigma is 3", "such as priors.StudentT")),
    "dof 0": (lambda: StudentT(dof=0), ("StudentT(dof=0)", "give a positive number, or None")),
    "dof without sigma": (lambda: StudentT(dof=None, sigma=1.0), ("StudentT(dof=None, sigma=...)", "sample sigma too")),
    "shape": (lambda: NegativeBinomial(shape=-2), ("NegativeBinomial(shape=-2)", "give a positive number, or None")),
    "link": (lambda: Poisson(link="identity"), ("Poisson(link='identity')", "give 'log' or 'softplus'")),
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


def test_more_rows_than_an_order_can_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused for rules and moves that draw rows, not for passes."""
    monkeypatch.setattr("austerity.rows.order.MOST_ROWS", 100)
    X = np.random.default_rng(0).normal(size=(120, 2))
    y, settings = np.arange(120) % 2, {"draws": 5, "warmup": 5, "chains": 1, "progress": False}
    sentence = r"draws rows from at most 100, but there are 120: use Exact\(\)"
    for chosen in ({"acceptance": au.decisions.SequentialT(0.1, 20)}, {"proposal": au.proposals.Langevin(0.1, 20)}):
        with pytest.raises(InputError, match=sentence):
            au.sample(au.models.Logistic(), X, y, **chosen, **settings)
    assert au.sample(au.models.Logistic(), X, y, acceptance=au.decisions.Exact(), **settings).attrs["exact"] == 1
