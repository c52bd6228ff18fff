"""Predictions against plain NumPy over stored draws: every family, every kind, every way that rows come in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, log_expit, logsumexp, softmax

import austerity as au
from austerity.engine import memory
from austerity.errors import InputError
from austerity.models.base import Family
from austerity.rows import new_rows, predictions

N, D, NEW = 400, 3, 1300
NAMES = ["age", "price", "size"]
RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((N, D)) * [1.0, 2.0, 0.5] + [0.0, 3.0, 40.0]
HELD_OUT = RANDOM.standard_normal((NEW, D)) * [1.0, 2.0, 0.5] + [0.0, 3.0, 40.0]
ETA = (X - [0, 3, 40]) @ [0.6, -0.3, 0.5]
QUICK = {"draws": 70, "warmup": 100, "chains": 2, "progress": False, "proposal": au.proposals.RandomWalk()}

models, Array = au.models, np.ndarray


def negative_binomial(y: Array, mean: Array, shape: Array) -> Array:
    return stats.nbinom.logpmf(y, shape, shape / (shape + mean))


# name: model, responses from a predictor and a generator, mean(eta), log density(y, eta, draws of extras)
CASES: dict[str, tuple[Any, Callable[..., Array], Callable[..., Array], Callable[..., Array]]] = {
    "Logistic": (
        models.Logistic(),
        lambda eta, r: 1.0 * (r.random(eta.size) < expit(eta)),
        expit,
        lambda y, eta, e: log_expit((2 * y - 1) * eta),
    ),
    "Probit": (
        models.Probit(),
        lambda eta, r: 1.0 * (r.random(eta.size) < stats.norm.cdf(eta)),
        stats.norm.cdf,
        lambda y, eta, e: stats.norm.logcdf((2 * y - 1) * eta),
    ),
    "Linear": (
        models.Linear(),
        lambda eta, r: 1e5 + eta + r.normal(size=eta.size),
        lambda eta: eta,
        lambda y, eta, e: stats.norm.logpdf(y, eta, e["sigma"]),
    ),
    "Linear, scale known": (
        models.Linear(sigma=1.5),
        lambda eta, r: eta + r.normal(size=eta.size),
        lambda eta: eta,
        lambda y, eta, e: stats.norm.logpdf(y, eta, 1.5),
    ),
    "StudentT": (
        models.StudentT(dof=None),
        lambda eta, r: eta + r.standard_t(4, eta.size),
        lambda eta: eta,
        lambda y, eta, e: stats.t.logpdf(y, e["dof"], eta, e["sigma"]),
    ),
    "LAD, Linear in eta": (
        models.LAD(),
        lambda eta, r: eta + r.laplace(0, 0.5, eta.size),
        lambda eta: eta,
        lambda y, eta, e: stats.laplace.logpdf(y, eta, e["scale"]),
    ),
    "Quantile, Linear in eta": (
        models.Quantile(0.8, scale=0.7),
        lambda eta, r: eta + r.normal(0, 0.5, eta.size),
        lambda eta: eta,
        lambda y, eta, e: np.log(0.16 / 0.7) - np.maximum(0.8 * (y - eta), -0.2 * (y - eta)) / 0.7,
    ),
    "Huber, Linear in eta": (
        models.Huber(delta=1.5),
        lambda eta, r: eta + r.standard_t(3, eta.size),
        lambda eta: eta,
        lambda y, eta, e: huber((y - eta) / e["scale"]) - np.log(e["scale"]),
    ),
    "Poisson": (
        models.Poisson(),
        lambda eta, r: 1.0 * r.poisson(np.exp(eta)),
        np.exp,
        lambda y, eta, e: stats.poisson.logpmf(y, np.exp(eta)),
    ),
    "Poisson, softplus": (
        models.Poisson(link="softplus"),
        lambda eta, r: 1.0 * r.poisson(np.log1p(np.exp(eta))),
        lambda eta: np.logaddexp(0, eta),
        lambda y, eta, e: stats.poisson.logpmf(y, np.logaddexp(0, eta)),
    ),
    "NegativeBinomial": (
        models.NegativeBinomial(),
        lambda eta, r: 1.0 * r.negative_binomial(2, 2 / (2 + np.exp(eta))),
        np.exp,
        lambda y, eta, e: negative_binomial(y, np.exp(eta), e["shape"]),
    ),
    "NegativeBinomial, shape known": (
        models.NegativeBinomial(shape=2.0),
        lambda eta, r: 1.0 * r.negative_binomial(2, 2 / (2 + np.exp(eta))),
        np.exp,
        lambda y, eta, e: negative_binomial(y, np.exp(eta), np.array(2.0)),
    ),
}
FORMS = [{}, {"intercept": True, "standardize": True}, {"intercept": True, "offset": True}]


def huber(z: Array) -> Array:
    """The log density of a standardised error, corner at 1.5."""
    mass = np.sqrt(2 * np.pi) * (2 * stats.norm.cdf(1.5) - 1) + 2 / 1.5 * np.exp(-0.5 * 1.5**2)
    return np.where(abs(z) <= 1.5, -0.5 * z * z, 1.5**2 / 2 - 1.5 * abs(z)) - np.log(mass)


def responses(name: str, eta: Array, seed: int) -> Array:
    return CASES[name][1](eta, np.random.default_rng(seed))


def fitted(name: str, form: dict[str, Any], **more: Any) -> Any:
    """A short run on 400 rows, whose third column lies far from zero."""
    given = {**form, "offset": np.linspace(-0.5, 0.5, N) if form.get("offset") else None}
    return au.sample(CASES[name][0], X, responses(name, ETA, 1), names=NAMES, **given, **QUICK, **more)


def predictors(post: Any, new: Array, offset: Array | float = 0.0) -> Array:
    """eta (S, N) in plain NumPy."""
    beta = post["posterior"]["beta"]
    flat = beta.to_numpy().reshape(-1, beta.sizes["coef"])
    ones = np.ones((len(new), 1)) if "intercept" in beta["coef"].values else np.ones((len(new), 0))
    return flat @ np.hstack([ones, new]).T + offset


@pytest.mark.parametrize("form", FORMS, ids=["plain", "standardised", "offset"])
@pytest.mark.parametrize("name", list(CASES))
def test_every_family_against_numpy(name: str, form: dict[str, Any]) -> None:
    """Means, draws, classes, log densities and accuracy; in float64 to rounding, in float32 to its seven digits."""
    _, _, mean, density = CASES[name]
    post = fitted(name, form)
    shift = np.linspace(1.0, -1.0, NEW) if form.get("offset") else None
    given = {"names": NAMES, "offset": shift}
    eta = predictors(post, HELD_OUT, 0.0 if shift is None else shift)
    expected = mean(eta)
    scale = np.maximum(1.0, np.abs(expected))
    for dtype, rtol in (("float64", 1e-12), ("float32", 3e-5)):
        drawn = au.predict(post, HELD_OUT, kind="draws", dtype=dtype, **given)
        assert drawn.shape == expected.shape and drawn.dtype == dtype
        assert np.max(np.abs(drawn - expected) / scale) < rtol
        found = au.predict(post, HELD_OUT, dtype=dtype, **given)
        assert found.shape == (NEW,)
        assert np.max(np.abs(found - expected.mean(axis=0)) / scale.mean(axis=0)) < rtol
        assert np.max(np.abs(found - drawn.astype(np.float64).mean(axis=0)) / scale.mean(axis=0)) < 1e-12
    extras = {k: v.to_numpy().reshape(-1, 1) for k, v in post["posterior"].data_vars.items() if k != "beta"}
    y = responses(name, np.clip(eta.mean(axis=0), -5, 5) if "Linear" not in name else eta.mean(axis=0), 2)
    truth = logsumexp(density(y, eta, extras), axis=0) - np.log(len(eta))
    for dtype, tolerance in (("float64", 1e-9), ("float32", 1e-4)):
        scored = au.score(post, HELD_OUT, y, dtype=dtype, **given)
        assert np.max(np.abs(scored.log_density - truth) / np.maximum(1.0, np.abs(truth))) < tolerance
    if name in ("Logistic", "Probit"):
        classes = au.predict(post, HELD_OUT, kind="class", dtype="float64", **given)
        assert np.array_equal(classes, expected.mean(axis=0) > 0.5) and classes.dtype == np.int64
        assert scored.accuracy == pytest.approx(np.mean(classes == y), abs=2 / NEW)
        assert f"{NEW:,} rows: log predictive density" in str(scored) and "accuracy" in str(scored)
    else:
        assert scored.accuracy is None and "accuracy" not in str(scored)
        with pytest.raises(InputError, match="kind='class' is for models of classes, but the posterior is one of"):
            au.predict(post, HELD_OUT, kind="class", **given)
    assert scored.mean == pytest.approx(scored.log_density.mean())
    assert scored.error == pytest.approx(scored.log_density.std(ddof=1) / np.sqrt(NEW))


@pytest.mark.parametrize("classes", [3, 12])
def test_multinomial_against_numpy(classes: int) -> None:
    """C chances a row, more classes than a batch of lines holds evenly."""
    random = np.random.default_rng(classes)
    beta = random.normal(size=(classes - 1, D)) * [0.5, 0.2, 0.02]
    y = np.concatenate([np.arange(classes), random.integers(0, classes, N - classes)])
    offset = np.linspace(-1, 1, NEW)
    settings = {**QUICK, "offset": np.linspace(-0.5, 0.5, N), "start": np.r_[beta.ravel()]}
    post = au.sample(models.Multinomial(prior=au.priors.Normal(0, 1)), X, y, **settings)
    flat = post["posterior"]["beta"].to_numpy().reshape(-1, classes - 1, D)
    eta = np.einsum("scd,nd->snc", flat, HELD_OUT) + offset[:, None]
    expected = softmax(np.concatenate([np.zeros((*eta.shape[:2], 1)), eta], axis=2), axis=2)
    drawn = au.predict(post, HELD_OUT, kind="draws", offset=offset, dtype="float64")
    assert drawn.shape == expected.shape and np.max(np.abs(drawn - expected)) < 1e-12
    found = au.predict(post, HELD_OUT, offset=offset)
    assert found.shape == (NEW, classes) and np.max(np.abs(found - expected.mean(axis=0))) < 1e-5
    assert np.allclose(found.sum(axis=1), 1.0, atol=1e-6)
    best = au.predict(post, HELD_OUT, kind="class", offset=offset, dtype="float64")
    assert np.array_equal(best, expected.mean(axis=0).argmax(axis=1))
    labels = random.integers(0, classes, NEW)
    scored = au.score(post, HELD_OUT, labels, offset=offset, dtype="float64")
    truth = np.log(expected.mean(axis=0)[np.arange(NEW), labels])
    assert np.max(np.abs(scored.log_density - truth)) < 1e-10 and scored.accuracy == np.mean(best == labels)
    labels[7] = classes
    with pytest.raises(InputError, match=rf"knows classes 0 to {classes - 1}, but y is {classes} at row 7 "):
        au.score(post, HELD_OUT, labels, offset=offset)


@pytest.fixture(scope="module")
def logistic() -> Any:
    return fitted("Logistic", {"intercept": True})


def test_far_tails_keep_their_digits(logistic: Any) -> None:
    """Chances of 1e-15 and log densities of -700 and of -10,000, where a sum of densities would be 0."""
    tree = logistic.copy(deep=True)
    beta = tree["posterior"]["beta"]
    beta.values[:] = np.array([0.0, 1.0, 0.0, 0.0]) * (1 + 0.1 * RANDOM.random((*beta.shape[:2], 1)))
    far = np.zeros((4, D))
    far[:, 0] = [-30.0, 30.0, 700.0, 10000.0]
    eta = predictors(tree, far)
    found = au.predict(tree, far, dtype="float64")
    assert np.allclose(found, expit(eta).mean(axis=0), rtol=1e-12) and found[0] < 1e-13
    scored = au.score(tree, far, np.array([1.0, 0.0, 0.0, 0.0]), dtype="float64")
    truth = logsumexp(log_expit(np.array([1, -1, -1, -1]) * eta), axis=0) - np.log(len(eta))
    assert np.allclose(scored.log_density, truth, rtol=1e-12) and scored.log_density[3] < -9000


def test_columns_are_matched_by_name(logistic: Any, tmp_path: Path) -> None:
    """Permuted, renamed, with the response beside them, from tables, files and open rows: the same numbers."""
    import pandas
    import polars

    expected = au.predict(logistic, HELD_OUT, names=NAMES, dtype="float64")
    permuted = pandas.DataFrame(HELD_OUT, columns=NAMES)[["size", "age", "price"]]
    given: list[Any] = [HELD_OUT, permuted, polars.from_pandas(permuted), np.asfortranarray(HELD_OUT)]
    given.append(au.rows.open(permuted, dtype="float64"))
    permuted.to_parquet(tmp_path / "new.parquet", index=False)
    permuted.to_csv(tmp_path / "new.csv", index=False)
    np.save(tmp_path / "new.npy", HELD_OUT)
    given += [tmp_path / "new.parquet", str(tmp_path / "new.csv"), tmp_path / "new.npy"]
    for source in given:
        options = {} if isinstance(source, type(given[4])) else {"dtype": "float64"}
        assert np.allclose(au.predict(logistic, source, **options), expected, rtol=1e-12), type(source)
    with_response = permuted.assign(y=np.arange(NEW) % 2, place=0.25)
    found = au.predict(logistic, with_response, columns=["price", "age", "size"], dtype="float64")
    assert np.array_equal(found, expected)
    assert np.array_equal(au.predict(logistic, with_response.drop(columns="place"), dtype="float64"), expected)
    by_name = au.score(logistic, with_response.drop(columns="place"))
    assert np.array_equal(by_name.log_density, au.score(logistic, permuted, np.arange(NEW) % 2).log_density)
    labelled = with_response.rename(columns={"y": "bought"}).drop(columns="place")
    assert np.array_equal(au.score(logistic, labelled, target="bought").log_density, by_name.log_density)
    shifted = au.predict(logistic, with_response.drop(columns="y"), offset="place", dtype="float64")
    assert np.allclose(shifted, expit(predictors(logistic, HELD_OUT) + 0.25).mean(axis=0), rtol=1e-12)


def test_open_rows_that_were_centred() -> None:
    """Float32 rows with a column of years, converted or used as they lie."""
    years = np.column_stack([X[:, 0], 2000 + 10 * X[:, 1]])
    y = responses("Logistic", X[:, 0], 3)
    post = au.sample(models.Logistic(), years, y, intercept=True, **QUICK)
    new = np.column_stack([HELD_OUT[:, 0], 2000 + 10 * HELD_OUT[:, 1]])
    expected = expit(predictors(post, new)).mean(axis=0)
    assert np.max(np.abs(au.predict(post, au.rows.open(new)) - expected)) < 1e-6
    assert np.max(np.abs(au.predict(post, new) - expected)) < 1e-5
    post = au.sample(models.Logistic(), years + [0, 1e5], y, intercept=True, **QUICK)
    single = (new + [0, 1e5]).astype(np.float32)
    expected = expit(predictors(post, single.astype(np.float64))).mean(axis=0)
    found = au.predict(post, single)
    assert np.max(np.abs(found - expected)) < 1e-5
    assert np.array_equal(au.predict(post, single[7:8]), found[7:8])  # a row's bits do not depend on its company


def test_bits_do_not_depend_on_cores_or_on_company(logistic: Any) -> None:
    """One core or two, a row alone or among others, all draws at once or in pieces to a file."""
    new = np.tile(HELD_OUT, (40, 1)).astype(np.float32)
    for kind in ("mean", "draws", "class"):
        one, two = (au.predict(logistic, new, kind=kind, cores=cores, max_draws=50) for cores in (1, 2))
        assert np.array_equal(one, two)
    labels = np.arange(len(new)) % 2
    one, two = (au.score(logistic, new, labels, cores=cores).log_density for cores in (1, 2))
    assert np.array_equal(one, two)
    means = au.predict(logistic, new)
    assert np.array_equal(au.predict(logistic, new[123:124]), means[123:124])
    assert np.array_equal(au.predict(logistic, new[7:5000]), means[7:5000])


def test_draws_are_thinned_evenly(logistic: Any) -> None:
    everything = au.predict(logistic, HELD_OUT[:5], kind="draws")
    some = au.predict(logistic, HELD_OUT[:5], kind="draws", max_draws=7)
    assert np.array_equal(some, everything[::20])
    assert np.array_equal(au.predict(logistic, HELD_OUT[:5], kind="draws", max_draws=10_000), everything)


def test_pieces_and_blocks_change_nothing(logistic: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The last partial block and piece are visited, whatever their sizes."""
    expected = {kind: au.predict(logistic, HELD_OUT, kind=kind) for kind in ("mean", "draws")}
    monkeypatch.setattr(new_rows, "PIECE_VALUES", 600 * D)
    monkeypatch.setattr(predictions, "WIDE", 1)
    for kind, values in expected.items():
        assert np.array_equal(au.predict(logistic, HELD_OUT, kind=kind), values)
        out = np.lib.format.open_memmap(tmp_path / f"{kind}.npy", mode="w+", dtype=values.dtype, shape=values.shape)
        assert au.predict(logistic, HELD_OUT, kind=kind, out=out) is out
        out.flush()
        assert np.array_equal(np.load(tmp_path / f"{kind}.npy"), values)
    read_only = HELD_OUT.astype(np.float32)
    read_only.flags.writeable = False
    assert np.array_equal(au.predict(logistic, read_only), au.predict(logistic, read_only.copy()))


def test_a_stored_run_predicts_the_same(tmp_path: Path) -> None:
    post = fitted("NegativeBinomial", {"intercept": True, "standardize": True}, store=tmp_path / "run.zarr")
    again = au.load(tmp_path / "run.zarr")
    assert np.array_equal(au.predict(post, HELD_OUT), au.predict(again, HELD_OUT))
    with pytest.raises(InputError, match="column 'age', which the posterior was made from, is not among"):
        au.predict(again, HELD_OUT, names=["AGE", "price", "size"])


def test_large_results_are_refused(logistic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 5e5)
    with pytest.raises(InputError) as caught:
        au.predict(logistic, HELD_OUT, kind="draws")
    assert str(caught.value).startswith(
        "means of 1,300 rows at each of 140 draws needs about 728 kB of memory, but 500 kB are available: take fewer"
    )
    assert "pass out=, such as a numpy.memmap" in str(caught.value)
    assert au.predict(logistic, HELD_OUT, kind="draws", max_draws=20).shape == (20, NEW)
    out = np.empty((140, NEW), np.float32)
    assert np.isfinite(au.predict(logistic, HELD_OUT, kind="draws", out=out)).all()


def test_a_likelihood_of_your_own() -> None:
    """Means and densities by functions of points and rows; rows as they were given."""
    y = ETA + np.random.default_rng(4).normal(size=N)

    def block(points: Array, X: Array, y: Array) -> Array:
        return stats.norm.logpdf(y[:, None], X @ points[:, :D].T + points[:, D], points[:, D + 1])

    def mean(points: Array, X: Array) -> Array:
        return X @ points[:, :D].T + points[:, D]

    normal = au.priors.Normal(0, 10)
    model = au.Model(
        {"slopes": normal, "level": normal, "spread": normal}, block=block, positive=["spread"], shapes={"slopes": (D,)}
    )
    post = au.sample(model, X, y, names=NAMES, dtype="float64", **{**QUICK, "draws": 200})
    draws = np.concatenate([post["posterior"][name].to_numpy().reshape(400, -1) for name in model.parameters], axis=1)
    found = au.predict(post, HELD_OUT, predict=mean, dtype="float64")
    assert np.allclose(found, mean(draws, HELD_OUT).mean(axis=1), rtol=1e-12)
    every = au.predict(post, HELD_OUT, kind="draws", predict=mean, dtype="float64")
    assert np.allclose(every, mean(draws, HELD_OUT).T, rtol=1e-12)
    outcome = found + 0.5
    scored = au.score(post, HELD_OUT, outcome, density=block, dtype="float64")
    assert np.allclose(scored.log_density, logsumexp(block(draws, HELD_OUT, outcome), axis=1) - np.log(400))
    with pytest.raises(InputError, match=r"one of a likelihood of your own, .* pass predict=, a function of"):
        au.predict(post, HELD_OUT)
    with pytest.raises(InputError, match=r"predict= returned float64 of shape \(3, .*: return numbers of shape \(1300"):
        au.predict(post, HELD_OUT, predict=lambda points, X: points[:3])
    with pytest.raises(InputError, match="predict= raised ZeroDivisionError"):
        au.predict(post, HELD_OUT, predict=lambda points, X: 1 / 0)
    with pytest.raises(InputError, match="column 'size'"):
        au.predict(post, HELD_OUT, names=["age", "price", "weight"], predict=mean)


def changed(place: tuple[int, int], value: float) -> Array:
    new = HELD_OUT.copy()
    new[place] = value
    return new


def without(name: str) -> Callable[[Any], Any]:
    def change(post: Any) -> Any:
        tree = post.copy()
        tree["posterior"] = tree["posterior"].to_dataset().drop_vars(name)
        return tree

    return change


SENTENCES: list[tuple[dict[str, Any], str]] = [
    ({"names": ["age", "price", "weight"]}, "column 'size', which the posterior was made from, is not among"),
    ({"X": np.ones((4, 4)), "names": [*NAMES, "extra"]}, "column 'extra' of the new rows is none that the posterior"),
    ({"X": np.ones((4, 2))}, "the new rows have 2 columns, but the posterior was made from 3"),
    ({"X": np.ones((0, 3))}, "the new rows are none: pass at least one row"),
    ({"X": changed((700, 1), np.nan)}, r'column "x1" of the new rows is missing \(NaN\) in row 700'),
    ({"X": changed((1299, 2), -np.inf)}, r'column "x2" of the new rows is -inf in row 1299'),
    ({"X": changed((5, 0), 1e39)}, r'is 1e\+39 in row 5, too large for float32: pass dtype="float64"'),
    ({"X": [["a", 1, 2]]}, "'a'"),
    ({"kind": "median"}, "kind='median' is not known: give one of mean, draws, class"),
    ({"max_draws": 0}, "max_draws=0: give a whole number of at least 1"),
    ({"cores": 0}, "cores=0"),
    ({"offset": np.ones(7)}, "offset has 7 values and there are 1300 new rows"),
    ({"offset": np.full(NEW, np.nan)}, r"offset is missing \(NaN\) in row 0"),
    ({"columns": ["x9"]}, "'x9' is not a column"),
    ({"out": np.empty(3)}, r"out= has shape \(3,\), but the predictions have shape \(1300,\)"),
    ({"dtype": "int8"}, "dtype='int8' is unknown"),
    ({"predict": 3}, "predict=3 is no function"),
]


@pytest.mark.parametrize(("given", "sentence"), SENTENCES, ids=[s[:30] for _, s in SENTENCES])
def test_bad_input_gets_a_sentence(logistic: Any, given: dict[str, Any], sentence: str) -> None:
    given = {"X": HELD_OUT, **given}
    with pytest.raises(InputError, match=sentence) as caught:
        au.predict(logistic, **given)
    assert str(caught.value).count(". ") == 0 and "\n" not in str(caught.value)


def test_posteriors_that_cannot_predict(logistic: Any) -> None:
    with pytest.raises(InputError, match="the posterior holds no beta, which Logistic predicts from: sample without"):
        au.predict(without("beta")(logistic), HELD_OUT)
    with pytest.raises(InputError, match="holds no sigma: sample without keep="):
        au.predict(without("sigma")(fitted("Linear", {})), HELD_OUT)
    nameless = logistic.copy()
    nameless.attrs, nameless["posterior"].attrs = {}, {}
    with pytest.raises(InputError, match="does not say which model it is of"):
        au.predict(nameless, HELD_OUT)
    with pytest.raises(InputError, match="made with an offset and the new rows have none: pass offset="):
        au.predict(fitted("Poisson", FORMS[2]), HELD_OUT)
    with pytest.raises(InputError, match="needs responses 0 and 1, but y is 2 at row 3"):
        au.score(logistic, HELD_OUT[:4], [0, 1, 1, 2])
    with pytest.raises(InputError, match="a score needs responses: pass y="):
        au.score(logistic, HELD_OUT)
    with pytest.raises(InputError, match="y has 2 values and there are 1300 new rows"):
        au.score(logistic, HELD_OUT, [0, 1])


def test_extras_are_named_in_the_kernels_order() -> None:
    """What predictions take from the posterior is what the sampler's kernels are given."""
    rows = au.rows.open(X, responses("Poisson", ETA, 1))
    for name in models.__all__:
        kind: Any = getattr(models, name)
        if not isinstance(kind, type) or not issubclass(kind, Family) or kind.mean_kernel is Family.mean_kernel:
            continue  # predicts nothing
        family = kind(0.3) if name == "Quantile" else kind()
        assert tuple(extra.name for extra in family.extras(rows)) == family.extra_names, name


def test_variables_chosen_by_the_draws() -> None:
    """Logistic regression with zeros where a variable is not in use."""
    y = responses("Logistic", ETA, 1)
    model = models.VariableSelection(slab=au.priors.Normal(0, 1), inclusion=0.5)
    moves = au.proposals.ReversibleJump(update=0.1, birth=0.3)
    post = au.sample(model, X, y, names=NAMES, **{**QUICK, "intercept": True, "proposal": moves})
    expected = 1 / (1 + np.exp(-predictors(post, HELD_OUT)))
    found = au.predict(post, HELD_OUT, names=NAMES, dtype="float64")
    assert np.max(np.abs(found - expected.mean(axis=0))) < 1e-12
    scored = au.score(post, HELD_OUT, (np.arange(NEW) % 2) * 1.0, names=NAMES)
    assert np.all(scored.log_density < 0)


def test_numbers_that_are_none_do_not_come_through() -> None:
    """From a function of the user's own, from an offset, or into an array that cannot hold them."""
    post = fitted("Logistic", {})
    for wrong in (np.nan, np.inf):
        with pytest.raises(InputError, match="predict= returned"):
            au.predict(post, HELD_OUT, names=NAMES, predict=lambda p, X, v=wrong: np.full((len(X), len(p)), v))
    with pytest.raises(InputError, match="density= returned nan"):
        density = lambda p, X, y: np.full((len(X), len(p)), np.nan)  # noqa: E731
        au.score(post, HELD_OUT, np.zeros(NEW), names=NAMES, density=density)
    shifted = fitted("Logistic", FORMS[2])
    with pytest.raises(InputError, match=r"offset is 1e\+39 in row 0, too large for float32"):
        au.predict(shifted, HELD_OUT, names=NAMES, offset=np.full(NEW, 1e39))
    with pytest.raises(InputError, match="out= holds int64"):
        au.predict(post, HELD_OUT, names=NAMES, out=np.zeros(NEW, np.int64))
