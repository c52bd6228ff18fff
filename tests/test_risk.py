"""Risk where bias and variance are known: chains fed in, and a posterior whose moments are algebra."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_predict import QUICK

import austerity as au
from austerity.decisions import Exact
from austerity.decisions.base import EXHAUSTED, LOOKS, NOT_A_NUMBER, RATE, ROWS_READ, STATUS
from austerity.engine.jit import engine
from austerity.engine.problem import BLOCK
from austerity.engine.streams import exponential
from austerity.errors import InputError
from austerity.report.quantities import OfParameters, OfTestRows, long_run, running
from austerity.report.results import build_tree
from austerity.report.risk import Chain, Risk, _chain, _dataset, decompose
from austerity.report.variables import Variable
from austerity.rows.draws import read_block

PERSISTENCE = 0.8


def autoregressive(generator: np.random.Generator, chains: int, n: int, entries: int) -> np.ndarray:
    """Stationary AR(1) with unit variance (chains, n, entries)."""
    from scipy.signal import lfilter

    noise = generator.standard_normal((chains, n, entries)) * np.sqrt(1 - PERSISTENCE**2)
    noise[:, 0] /= np.sqrt(1 - PERSISTENCE**2)
    return np.asarray(lfilter([1.0], [1.0, -PERSISTENCE], noise, axis=1))


def variance_of_mean(n: int) -> float:
    """Var of the mean of n values: (1/n) (1 + 2 sum_k (1 - k/n) rho^k)."""
    k = np.arange(1, n)
    return float((1 + 2 * np.sum((1 - k / n) * PERSISTENCE**k)) / n)


def tree_of(draws: np.ndarray, rows: int = 100) -> Any:
    """A posterior of one parameter vector `a`, every draw having read so many rows."""
    width = draws.shape[2]
    statistics = np.zeros((*draws.shape[:2], 6))
    statistics[..., 2] = rows
    return build_tree(draws, statistics, [Variable("a", ("k",), {"k": list(range(width))}, 0, width)])


@pytest.mark.statistical
@pytest.mark.parametrize("bias", [0.0, 0.1])
def test_bias_and_variance_of_chains_fed_in(bias: float) -> None:
    """500 AR(1) chains, 3 entries, a shifted target: each figure within 7 of its errors at five moments.

    A figure is a mean over 500 chains of squares, slightly skewed: 40 comparisons fail by chance in 1e-7 of all seeds.
    """
    chains, n, entries = 500, 400, 3
    draws = autoregressive(np.random.default_rng([0, int(10 * bias)]), chains, n, entries)
    ticks = np.array([(0.0, 0.0, 0.0), (1.0, 100.0, 100.0), (2.0, n, n)])  # three times as fast in the second half
    grid = np.array([0.1, 0.5, 1.0, 1.5, 2.0])
    counts = np.array([10, 50, 100, 250, 400])
    made = [_chain(tree_of(chain[None]), ticks, grid, OfParameters(None)) for chain in draws]
    assert np.array_equal(made[0].steps, counts) and np.array_equal(made[0].rows, 100 * counts)
    for moment, count in enumerate(counts):
        assert np.allclose(made[7].estimates[moment], draws[7, :count].mean(axis=0), rtol=1e-12, atol=1e-14)
    found = decompose(np.stack([chain.estimates for chain in made]) + bias, 0.0)
    variance = np.array([variance_of_mean(int(count)) for count in counts])
    assert np.all(np.abs(found["risk"] - variance - bias**2) < 7 * found["risk_error"])
    assert np.all(np.abs(found["squared_bias"] - bias**2) < 7 * found["squared_bias_error"])
    spread = np.sqrt(found["risk_error"] ** 2 + found["squared_bias_error"] ** 2)
    assert np.all(np.abs(found["variance"] - variance) < 7 * spread)
    assert np.allclose(found["risk"], found["squared_bias"] + found["variance"], rtol=1e-12)
    if bias:  # negative control: 0.1 is seen, and a bias of twice that would be refused
        assert found["squared_bias"][-1] > 7 * found["squared_bias_error"][-1]
        assert np.abs(found["squared_bias"] - 4 * bias**2)[-1] > 7 * found["squared_bias_error"][-1]


def test_decomposition_against_plain_formulas() -> None:
    """The means over pairs are those of the textbook, and the jackknife is what leaving out each chain gives."""
    errors = np.random.default_rng(0).normal(size=(6, 3, 4)) + 0.5
    found = decompose(errors, 0.01)
    assert np.allclose(found["variance"], errors.var(axis=0, ddof=1).mean(axis=1))
    assert np.allclose(found["squared_bias"] + found["variance"], found["risk"])
    plain = (errors.mean(axis=0) ** 2).mean(axis=1) - found["variance"] / 6 - 0.01
    assert np.allclose(found["squared_bias"], plain)
    left_out = [decompose(np.delete(errors, c, axis=0), 0.01)["squared_bias"] for c in range(6)]
    assert np.allclose(found["squared_bias_error"], np.sqrt(5 * np.var(left_out, axis=0)))


@pytest.mark.statistical
def test_the_truths_own_error_is_known_and_taken_off() -> None:
    """400 quantities: the error of a long run within 15% of its formula, and the risk right although the truth is not.

    The error is a mean of 400 chi-squares of 15 degrees (sd 1.8%, short batches cost 1%). What the truth's error does
    to the squared bias, which is 0, is told from nothing by five standard errors and more: false fails below 1e-6.
    """
    generator, n = np.random.default_rng(1), 2000
    value, error2 = long_run(OfParameters(None), tree_of(autoregressive(generator, 4, n, 400)))
    expected = variance_of_mean(n) / 4
    assert error2.mean() == pytest.approx(expected, rel=0.15)
    assert np.mean(value**2) == pytest.approx(expected, rel=0.5)
    estimates = autoregressive(generator, 50, 500, 400).mean(axis=1)[:, None, :]
    truth = variance_of_mean(500)
    found = decompose(estimates - value, float(error2.mean()))
    assert found["risk"][0] == pytest.approx(truth, rel=0.06)
    assert abs(found["squared_bias"][0]) < 0.5 * expected < decompose(estimates - value, 0.0)["squared_bias"][0]


def test_running_means_begin_when_draws_do() -> None:
    draws = np.arange(12.0).reshape(1, 6, 2)
    counts = np.array([0, 2, 2, 6])
    means = OfParameters(None).stretches(tree_of(draws), 0, np.concatenate([[0], counts]))
    found = running(means, counts)
    assert np.isnan(found[0]).all()
    assert np.array_equal(found[1:], [draws[0, :2].mean(0), draws[0, :2].mean(0), draws[0].mean(0)])


def test_predictive_means_of_test_rows() -> None:
    """Means over stretches of a chain are those of the draws there, for one class and for several."""
    random = np.random.default_rng(2)
    X, new = random.standard_normal((200, 2)), random.standard_normal((30, 2))
    for model, y in ((au.models.Logistic(), random.random(200) < 0.5), (au.models.Multinomial(), np.arange(200) % 3)):
        post = au.sample(model, X, y, **QUICK)
        quantities = OfTestRows(post, new, None)
        every = au.predict(post, new, kind="draws").astype(np.float64)[70:]
        flat = every if every.ndim == 2 else np.moveaxis(every, 2, 1).reshape(70, -1)
        found = quantities.stretches(post, 1, np.array([0, 5, 5, 69]))
        assert np.allclose(found[[0, 2]], [flat[:5].mean(0), flat[5:69].mean(0)], atol=1e-7)
        assert np.all(found[1] == 0) and "30 test rows" in quantities.said


@engine
def believe(source, log_a0, temperature, bound, stream, parameters, state, report):
    n_rows = source.problem.X.shape[0]
    threshold = temperature * (-exponential(stream) - log_a0) / n_rows
    size, total = min(BLOCK, np.int64(parameters[0])), 0.0
    report[STATUS] = read_block(source, size)
    if report[STATUS] != 0:
        return 0
    for i in range(size):
        total += source.work.terms[i]
    if np.isnan(total):
        report[STATUS] = NOT_A_NUMBER
        return 0
    accept = np.int64(total / size > threshold)
    report[ROWS_READ], report[LOOKS], report[EXHAUSTED], report[RATE] = size, 1.0, 0.0, accept
    return accept


@dataclass(frozen=True)
class Believe:
    """Believe the first `rows` rows, whatever they say: a posterior that is too wide."""

    rows: int
    reads_all, exact, given_threshold, reference_law = False, False, True, "min(1, exp(L))"

    def check(self, n_rows: int) -> None:
        pass

    def parameters(self, n_rows: int) -> np.ndarray:
        return np.array([float(self.rows)])

    def compiled(self) -> Any:
        return believe

    def state_size(self) -> int:
        return 1

    def guarantee(self, n_rows: int) -> str:
        return "none"

    def settings(self) -> dict[str, Any]:
        return {"rule": "Believe", "rows": self.rows}


def known_target() -> tuple[np.ndarray, np.ndarray, float, float]:
    """y = theta x + e: rows, and mean and variance of theta by algebra."""
    random = np.random.default_rng(3)
    x = random.standard_normal(200)
    y = 0.7 * x + random.standard_normal(200)
    variance = 1 / (1 + x @ x)
    return x[:, None], y, variance * (x @ y), variance


@pytest.mark.statistical
def test_a_biased_rule_is_told_from_an_exact_one(tmp_path: Path) -> None:
    """Second moments of a normal posterior: the exact rule's bias is nothing, the biased one's is what its sd says.

    Within 14 jackknife errors over 8 chains: a Student variable of 7 degrees passes that in 2e-6 of all runs.
    """
    X, y, mean, variance = known_target()
    found = au.risk(
        au.models.Linear(prior=au.priors.Normal(0, 1), sigma=1.0), X, y,
        rules={"exact": Exact(), "believes 20 rows": Believe(20)},
        function=lambda p: (p["beta"][:, 0] - mean) ** 2 / variance,
        chains=8, seconds=0.2, truth=[1.0], progress=False, dtype="float64", proposal=au.proposals.RandomWalk(0.15),
    )  # fmt: skip
    data = found.data
    assert dict(data.sizes) == {"rule": 2, "time": 25} and data.attrs["truth_error"] == 0.0
    end = data.isel(time=-1)
    exact, wrong = (end.sel(rule=name) for name in data["rule"].values)
    assert abs(exact["squared_bias"]) < 14 * exact["squared_bias_error"]
    assert wrong["squared_bias"] > 14 * wrong["squared_bias_error"] and wrong["squared_bias"] > 1
    assert float(wrong["risk"]) > 10 * float(exact["risk"]) > 0
    assert float(exact["rows"]) == pytest.approx(200 * float(exact["steps"]), rel=1e-3)
    assert float(wrong["rows"]) == pytest.approx(20 * float(wrong["steps"]), rel=0.1)
    assert np.all(np.diff(data["steps"], axis=1) > 0)
    assert np.allclose(data["risk"], data["squared_bias"] + data["variance"])
    printed = str(found)
    assert "risk of posterior means of the function, 8 chains a rule" in printed and "true values as given" in printed
    assert len({len(line) for line in printed.splitlines()[3:6]}) <= 3 and "believes 20 rows" in printed
    found.plot(tmp_path / "risk.png")
    assert (tmp_path / "risk.png").read_bytes().startswith(b"\x89PNG")


def test_a_truth_is_made_where_none_is_given() -> None:
    X, y, _, variance = known_target()
    model = au.models.Linear(prior=au.priors.Normal(0, 1), sigma=1.0)
    settings: dict[str, Any] = {"chains": 3, "seconds": 0.1, "truth_seconds": 0.3, "times": [0.05, 0.1]}
    for asked in ({"test_rows": np.linspace(-2, 2, 9)[:, None]}, {}):
        data = au.risk(model, X, y, rules={"exact": Exact()}, progress=False, **asked, **settings).data
        assert data.attrs["quantities"] == (9 if asked else 1) and data.attrs["truth_error"] > 0
        assert data.attrs["truth"].startswith("16 chains of ")
        assert np.all(data["risk"].isel(time=-1) < 0.2 * variance * 2)


def test_progress_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    X, y, mean, _ = known_target()
    au.risk(
        au.models.Linear(sigma=1.0), X, y, rules={"exact": Exact()}, truth=[mean], chains=3, seconds=0.05,
    )  # fmt: skip
    assert "risk: round 3 of 3, 0.05 s for each of exact" in capsys.readouterr().err


BAD: list[tuple[dict[str, Any], str]] = [
    ({"rules": {}}, r"rules=\{\}: give decisions by name"),
    ({"rules": {"a": Exact}}, r"rules\['a'\] is <class .*, which is no decision"),
    ({"chains": 2}, "chains=2: bias and variance need a whole number of at least 3"),
    ({"seconds": 0}, "seconds=0: give the seconds that each chain samples"),
    ({"times": [2.0, 1.0]}, "give rising positive numbers of seconds"),
    ({"times": [1.0, 20.0]}, r"times reach 20 s, but chains sample for seconds=1"),
    ({"draws": 100}, "draws is set by risk itself"),
    ({"function": 3}, "function=3: give a function"),
    ({"function": len, "test_rows": np.ones((3, 1))}, "function= and test_rows= are both given"),
    ({"truth": [1.0, 2.0]}, "truth has 2 values, but there are 1 posterior means of the parameters"),
    ({"function": lambda p: 1.0}, r"function= returned float64 of shape \(\) for"),
    ({"rng": -1}, "rng=-1"),
]


@pytest.mark.parametrize(("given", "sentence"), BAD, ids=[s[:30] for _, s in BAD])
def test_bad_input_gets_a_sentence(given: dict[str, Any], sentence: str) -> None:
    X, y, mean, _ = known_target()
    settings = {"rules": {"exact": Exact()}, "truth": [mean], "chains": 3, "seconds": 1.0, "progress": False}
    if "truth" in given or callable(given.get("function")):
        settings["seconds"] = 0.02
    with pytest.raises(InputError, match=sentence):
        au.risk(au.models.Linear(sigma=1.0), X, y, **{**settings, **given})


def test_a_table_of_times_without_draws() -> None:
    """Moments before a chain's first draw have no risk, and are shown as such."""
    estimates = np.array([[np.nan], [1.0]])
    chains = [Chain(estimates, np.array([0.0, 5.0]), np.array([0.0, 50.0])) for _ in range(3)]
    data = _dataset({"exact": chains}, np.zeros(1), None, np.array([0.1, 1.0]), "a mean", 10, None)
    assert "-" in str(Risk(data)).splitlines()[4] and "10 (100%)" in str(Risk(data))
