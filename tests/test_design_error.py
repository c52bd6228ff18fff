"""The error of a sequential test, against known values, limits and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from austerity import design
from austerity.decisions.boundaries import OBrienFleming, Pocock, WangTsiatis, critical_normal, look_sizes
from austerity.design import acceptance_error, error, expected_data_share, looks
from austerity.design.error import error_curve
from austerity.errors import InputError

N, M = 12214, 500
FALSE_FAIL = 1e-6  # of each comparison with a simulation
Z_LIMIT = -float(special.ndtri(FALSE_FAIL / 2.0))


def simulate(mu_std, n_total, batch, epsilon, boundary, seed):
    """One decision for each mu_std (R,) by the normal process: last look reached (R,), and whether it says positive."""
    rng = np.random.default_rng(seed)
    sizes = look_sizes(n_total, batch)
    levels = critical_normal(epsilon, sizes / n_total, boundary)
    odds = sizes[:-1] / (n_total - sizes[:-1])
    place, positive = np.full(mu_std.size, sizes.size - 1), mu_std > 0
    active, path, before = np.arange(mu_std.size), np.zeros(mu_std.size), 0.0
    for j, w in enumerate(odds):
        step = w - before
        path = path + mu_std[active] * step + math.sqrt(step) * rng.standard_normal(active.size)
        stopped = np.abs(path) > levels[j] * math.sqrt(w)
        place[active[stopped]], positive[active[stopped]] = j, path[stopped] > 0
        active, path, before = active[~stopped], path[~stopped], w
    return place, positive


def assert_mean(draws, expected):
    """The mean of the draws is `expected`, within an interval of false-fail rate 1e-6."""
    standard_error = draws.std(ddof=1) / math.sqrt(draws.size)
    assert abs(draws.mean() - expected) < Z_LIMIT * standard_error


# Printed digits of the usual table, N = 12214, m = 500, constant boundary; three of them (E(0) and share at .05, E(0)
# at .2) are the converged .309, .63 and .496 where a coarse grid gives .310, .62 and .497; see the test below.
TABLE = {
    0.01: ((0.096, 0.016, 0.002), (0.90, 0.71, 0.34)),
    0.05: ((0.309, 0.085, 0.018), (0.63, 0.47, 0.22)),
    0.10: ((0.433, 0.166, 0.043), (0.40, 0.31, 0.16)),
    0.20: ((0.496, 0.293, 0.105), (0.17, 0.15, 0.10)),
}


@pytest.mark.parametrize("epsilon", TABLE)
def test_check_table_to_the_printed_digits(epsilon):
    errors, shares = TABLE[epsilon]
    found = error(N, M, epsilon, [0.0, 1.0, 3.0])
    assert np.round(found.error, 3).tolist() == list(errors)
    assert np.round(found.data_share, 2).tolist() == list(shares)


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.05, 0.2])
def test_table_at_zero_drift_against_simulation(epsilon):
    """False-fail rate 4e-6. Half of the decisions that stop early are wrong: antithetic, so half the spread."""
    place, _ = simulate(np.zeros(1_000_000), N, M, epsilon, Pocock(), seed=11)
    found = error(N, M, epsilon, 0.0)
    early = place < found.looks.size - 1
    assert_mean(0.5 * early, found.error)
    assert_mean(found.looks[place] / N, found.data_share)


@pytest.mark.parametrize("boundary", [Pocock(), OBrienFleming(), WangTsiatis(0.0), WangTsiatis(2.0)])
@pytest.mark.parametrize("critical", ["normal", "t"])
def test_worst_case_is_half_the_early_stops(boundary, critical):
    for n_total in (N, 12001, 100_000):
        found = error(n_total, M, 0.05, 0.0, boundary, critical=critical)
        assert found.error == pytest.approx((1.0 - found.stop[-1]) / 2.0, abs=1e-11)


def test_symmetry_shape_and_sums():
    drifts = np.array([[0.3, -0.3, 2.0], [-2.0, 40.0, -1e6]])
    found = error(N, M, 0.05, drifts)
    assert found.error.shape == found.data_share.shape == (2, 3)
    assert found.stop.shape == (2, 3, found.looks.size)
    assert found.error[0, 0] == found.error[0, 1] and found.error[0, 2] == found.error[1, 0]
    np.testing.assert_allclose(found.stop.sum(axis=-1), 1.0, atol=1e-12)
    np.testing.assert_allclose(found.stop @ found.looks / N, found.data_share, atol=1e-12)
    assert found.data_share[1, 2] == pytest.approx(M / N)
    single = error(N, M, 0.05, 2.0)
    assert isinstance(single.error, float) and isinstance(single.data_share, float)
    assert single.error == pytest.approx(found.error[0, 2], abs=1e-12)
    assert single.uncertainty == 0.0


def test_error_falls_with_the_drift_and_with_epsilon():
    drifts = np.linspace(0.0, 30.0, 61)
    curves = [error(N, M, epsilon, drifts).error for epsilon in (0.01, 0.05, 0.2)]
    for curve in curves:
        assert np.all(np.diff(curve) < 0)
    assert np.all(curves[0] < curves[1]) and np.all(curves[1] < curves[2])


def test_epsilon_zero_reads_everything_and_is_never_wrong():
    for critical in ("normal", "t"):
        found = error(N, M, 0.0, [0.0, 5.0], critical=critical)
        assert found.error.tolist() == [0.0, 0.0] and found.data_share.tolist() == [1.0, 1.0]
        assert found.stop[:, -1].tolist() == [1.0, 1.0]
    pair = acceptance_error(N, M, 0.0, -1.0 / N, 2.0 / math.sqrt(N))
    assert (pair.delta, pair.wrong) == (0.0, 0.0) and pair.data_share == pytest.approx(1.0)


@pytest.mark.parametrize("epsilon", [0.5, 0.7, 1.0])
def test_large_epsilon_decides_at_the_first_look(epsilon):
    for critical in ("normal", "t"):
        found = error(N, M, epsilon, [0.0, 1.0], critical=critical)
        expected = special.ndtr(-np.array([0.0, 1.0]) * math.sqrt(M / (N - M)))
        np.testing.assert_allclose(found.error, expected, rtol=1e-12)
        np.testing.assert_allclose(found.data_share, M / N)


def test_a_single_look_is_exact():
    found = error(500, 500, 0.05, 0.0)
    assert (found.error, found.data_share, found.looks.tolist()) == (0.0, 1.0, [500])
    assert acceptance_error(500, 500, 0.05, 0.001, 0.1).wrong == 0.0


@pytest.mark.parametrize("boundary", [Pocock(), OBrienFleming(), WangTsiatis(2.0)])
def test_the_grid_has_converged(boundary):
    drifts = np.array([0.0, 0.2, 1.0, 6.0])
    usual, fine = error(N, M, 0.05, drifts, boundary), error(N, M, 0.05, drifts, boundary, cells=400)
    np.testing.assert_allclose(usual.error, fine.error, atol=1e-10)
    np.testing.assert_allclose(usual.stop, fine.stop, atol=1e-10)


def test_tiny_epsilon_and_huge_boundaries_stay_in_range():
    for boundary in (Pocock(), OBrienFleming(), WangTsiatis(2.0)):
        for critical in ("normal", "t"):
            found = error(N, 20, 1e-30, np.array([0.0, 1.0, 1e2, 1e4]), boundary, critical=critical)
            assert np.all((found.error >= 0) & (found.error < 1e-25))
            assert np.all((found.data_share > 0) & (found.data_share <= 1 + 1e-12))
            assert np.all(np.diff(found.data_share) <= 1e-12)


@pytest.mark.statistical
def test_rows_without_replacement_agree():
    """The t-test itself on 12,214 normal terms, 20,000 decisions, each in a fresh order; false-fail rate 2e-6."""
    rng = np.random.default_rng(5)
    terms = rng.standard_normal(N)
    terms += 1.0 * terms.std() / math.sqrt(N - 1) - terms.mean()
    sizes = look_sizes(N, M)
    limits = stats.t.ppf(0.95, sizes - 1)
    limits[-1] = -1.0
    wrong, share = np.empty(20_000), np.empty(20_000)
    for i in range(wrong.size):
        batches = terms[rng.permutation(N)]
        starts = sizes - np.diff(sizes, prepend=0)
        total, squares = (np.cumsum(np.add.reduceat(x, starts)) for x in (batches, batches * batches))
        mean = total / sizes
        spread = np.sqrt((squares - sizes * mean**2) / (sizes - 1) / sizes * (1 - (sizes - 1) / (N - 1)))
        j = int(np.argmax(np.abs(mean) > limits * spread))
        wrong[i], share[i] = mean[j] < 0, sizes[j] / N
    found = error(N, M, 0.05, 1.0, critical="t")
    low, high = stats.binom.ppf([FALSE_FAIL / 2, 1 - FALSE_FAIL / 2], wrong.size, found.error)
    assert low <= wrong.sum() <= high
    assert_mean(share, found.data_share)


@pytest.mark.statistical
@pytest.mark.parametrize("n_total", [N, 12001, 1201, 1001])
@pytest.mark.parametrize("boundary", [OBrienFleming(), WangTsiatis(0.25)])
def test_other_boundaries_and_short_last_batches(n_total, boundary):
    """Wrong decisions and the place of the stop; 300,000 decisions by the normal process; false-fail rate 2e-6 each."""
    place, positive = simulate(np.full(300_000, 0.4), n_total, M, 0.1, boundary, seed=n_total)
    found = error(n_total, M, 0.1, 0.4, boundary)
    assert found.looks[-1] == n_total
    assert_mean((~positive).astype(float), found.error)
    seen = np.bincount(place, minlength=found.looks.size)
    expected = found.stop * place.size
    common = expected > 20
    assert seen[~common].sum() <= stats.poisson.ppf(1 - FALSE_FAIL, expected[~common].sum())
    statistic = np.sum((seen[common] - expected[common]) ** 2 / expected[common])
    assert statistic < stats.chi2.isf(FALSE_FAIL, max(int(common.sum()) - 1, 1))


def test_thinned_looks_agree_with_every_look(monkeypatch):
    drifts = np.array([0.0, 0.3, 1.0, 5.0])
    for boundary in (Pocock(), OBrienFleming()):
        thinned = error(1_000_000, 180, 0.05, drifts, boundary)
        assert thinned.looks.size < 1500 and 0.0 < thinned.uncertainty < 2e-3
        monkeypatch.setattr(looks, "EXACT_LOOKS", 10_000)
        whole = error(1_000_000, 180, 0.05, drifts, boundary)
        monkeypatch.undo()
        assert whole.looks.size == 5556 and whole.uncertainty == 0.0
        assert np.max(np.abs(thinned.error - whole.error)) < thinned.uncertainty
        assert np.max(np.abs(thinned.data_share - whole.data_share)) < thinned.uncertainty


def test_a_billion_rows():
    found = error(10**9, 500, 0.05, [0.0, 1.0])
    assert found.looks[-1] == 10**9 and 0.49 < found.error[0] < 0.5 and 0.0 < found.uncertainty < 2e-3
    assert error(10**9, 500, 0.7, 0.0).data_share == pytest.approx(5e-7)
    assert error(10**9, 500, 0.0, 0.0).data_share == pytest.approx(1.0)


@pytest.mark.parametrize("boundary", [Pocock(), OBrienFleming(), WangTsiatis(2.0)])
def test_curve_interpolates(boundary):
    curve = error_curve(12001, M, 0.05, boundary)
    drifts = np.concatenate([np.random.default_rng(2).uniform(-30, 30, 40), [0.0, 1e-4, 1e-3, 1e-2]])
    direct = error(12001, M, 0.05, drifts, boundary)
    np.testing.assert_allclose(curve.error(drifts), direct.error, atol=1e-6)
    np.testing.assert_allclose(curve.data_share(drifts), direct.data_share, atol=2e-5)
    assert curve.error(np.array([1e9])) == 0.0 and curve.data_share(np.array([1e9])) == pytest.approx(M / 12001)


@pytest.mark.parametrize(("total", "scale"), [(-0.7, 1.5), (1.2, 0.3), (-6.0, 4.0), (3.0, 20.0), (-200.0, 30.0)])
def test_acceptance_error_against_plain_quadrature(total, scale):
    """The integrals over e = -log u on a fine grid, split at u = P_a."""
    pair = acceptance_error(N, M, 0.05, (total - 0.2) / N, scale / math.sqrt(N), log_a0=0.2)
    curve = error_curve(N, M, 0.05)
    cut = max(-total, 0.0)
    parts = []
    for low, high in ((0.0, cut), (cut, cut + 60.0)):
        e = np.linspace(low, high, 400_001)
        weight = np.exp(-e)
        parts.append([np.trapezoid(weight * f((total + e) / scale), e) for f in (curve.error, curve.data_share)])
    assert pair.acceptance == pytest.approx(min(1.0, math.exp(total)))
    assert pair.delta == pytest.approx(parts[0][0] - parts[1][0], abs=1e-6)
    assert pair.wrong == pytest.approx(parts[0][0] + parts[1][0], abs=1e-6)
    assert pair.data_share == pytest.approx(parts[0][1] + parts[1][1], abs=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize(("total", "scale"), [(-0.7, 1.5), (0.8, 2.5), (-3.0, 2.0)])
def test_acceptance_error_against_simulation(total, scale):
    """300,000 decisions at one pair, each with its own u; false-fail rate 3e-6 each."""
    e = np.random.default_rng(7).exponential(size=300_000)
    place, positive = simulate((total + e) / scale, N, M, 0.1, Pocock(), seed=8)
    pair = acceptance_error(N, M, 0.1, total / N, scale / math.sqrt(N))
    exact = e > -total
    assert_mean(positive.astype(float) - exact, pair.delta)
    assert_mean((positive != exact).astype(float), pair.wrong)
    assert_mean(look_sizes(N, M)[place] / N, pair.data_share)


def test_acceptance_error_of_many_pairs_and_identical_terms():
    mean = np.array([[-1.0, 0.5], [2.0, -40.0]]) / N
    many = acceptance_error(N, M, 0.05, mean, 1.7 / math.sqrt(N))
    for place in np.ndindex(2, 2):
        one = acceptance_error(N, M, 0.05, mean[place], 1.7 / math.sqrt(N))
        assert isinstance(one.delta, float)
        assert many.delta[place] == pytest.approx(one.delta, abs=1e-13)
        assert many.wrong[place] == pytest.approx(one.wrong, abs=1e-13)
    assert np.all(np.abs(many.delta) <= many.wrong)
    same = acceptance_error(N, M, 0.05, 0.0, 0.0)
    assert (same.delta, same.wrong, same.data_share) == (0.0, 0.0, 1.0)


@pytest.mark.statistical
@pytest.mark.parametrize("spread", [0.3, 2.4, 12.0])
def test_expected_data_share_against_simulation(spread):
    """300,000 decisions of a random walk at equilibrium; false-fail rate 1e-6 each."""
    rng = np.random.default_rng(3)
    total = rng.normal(-(spread**2) / 2, spread, 300_000) + rng.exponential(size=300_000)
    place, _ = simulate(total / spread, N, M, 0.05, OBrienFleming(), seed=4)
    expected = expected_data_share(N, M, 0.05, OBrienFleming(), spread)
    assert_mean(look_sizes(N, M)[place] / N, expected)


def test_the_package_offers_functions():
    assert callable(design.error) and design.error is error and callable(design.acceptance_error)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: error(N, N + 1, 0.05, 0.0), "batch=12215"),
        (lambda: error(N, 1, 0.05, 0.0), "batch=1 "),
        (lambda: error(12.5, 5, 0.05, 0.0), "n_total=12.5"),
        (lambda: error(N, M, -0.1, 0.0), "epsilon=-0.1"),
        (lambda: error(N, M, math.nan, 0.0), "epsilon=nan"),
        (lambda: error(N, M, 0.05, [0.0, math.inf]), "mu_std"),
        (lambda: error(N, M, 0.05, 0.0, cells=3), "cells=3"),
        (lambda: error(N, M, 0.05, 0.0, critical="z"), "critical='z'"),
        (lambda: acceptance_error(N, M, 0.05, math.nan, 1.0), "mean"),
        (lambda: acceptance_error(N, M, 0.05, 0.0, -1.0), "deviation"),
        (lambda: acceptance_error(N, M, 0.05, 0.0, 1.0, log_a0=-math.inf), "log_a0"),
        (lambda: expected_data_share(N, M, 0.05, Pocock(), 0.0), "sd_lambda=0.0"),
    ],
)
def test_bad_inputs_are_refused_in_a_sentence(call, words):
    with pytest.raises(InputError, match=words) as caught:
        call()
    assert str(caught.value).endswith(".")
