"""Boundaries of sequential tests: shapes, limits and Student quantiles in the far tail."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from austerity.decisions.boundaries import (
    OBrienFleming,
    Pocock,
    WangTsiatis,
    critical_normal,
    critical_t,
    look_sizes,
)
from austerity.errors import InputError


def log_student_tail(g, freedom):
    """log P(t_v > g) by adding up the density over y = log t, in logarithms."""
    y = np.linspace(math.log(g), math.log(g) + 60.0, 2_000_001)
    # log1p(t^2 / v) with t = e^y, without overflow
    growth = np.logaddexp(0.0, 2.0 * y - math.log(freedom))
    constant = -0.5 * math.log(freedom) - special.betaln(freedom / 2.0, 0.5)
    density = constant - (freedom + 1.0) / 2.0 * growth + y
    top = density.max()
    return top + math.log(np.trapezoid(np.exp(density - top), y))


def test_alpha_and_description():
    assert (Pocock().alpha, OBrienFleming().alpha, WangTsiatis(0.3).alpha) == (0.5, 1.0, 0.3)
    assert WangTsiatis(1).alpha == 1.0 and isinstance(WangTsiatis(1).alpha, float)
    assert "0.3" in WangTsiatis(0.3).describe()
    assert all(b.describe() for b in (Pocock(), OBrienFleming()))
    assert Pocock() == Pocock() and hash(WangTsiatis(0.3)) == hash(WangTsiatis(0.3))


@pytest.mark.parametrize("alpha", [-0.1, 2.5, math.nan, math.inf])
def test_alpha_out_of_range_is_refused(alpha):
    with pytest.raises(InputError, match="alpha="):
        WangTsiatis(alpha)


def test_look_sizes():
    assert look_sizes(1000, 500).tolist() == [500, 1000]
    assert look_sizes(1201, 500).tolist() == [500, 1000, 1201]
    assert look_sizes(7, 7).tolist() == [7] and look_sizes(7, 7).dtype == np.int64
    sizes = look_sizes(12214, 500)
    assert sizes.size == 25 and sizes[-1] == 12214 and np.all(np.diff(sizes)[:-1] == 500)


@pytest.mark.parametrize(
    ("n_total", "batch", "words"),
    [(100, 101, "101"), (100, 1, "batch=1"), (100, 2.5, "2.5"), (1, 2, "n_total=1"), (math.nan, 2, "n_total=nan"),
     ("many", 2, "many")],
)  # fmt: skip
def test_bad_look_sizes_are_refused(n_total, batch, words):
    with pytest.raises(InputError, match=words):
        look_sizes(n_total, batch)


def test_normal_boundaries_follow_the_formula():
    shares = np.array([0.04, 0.25, 1.0])
    first = stats.norm.isf(0.05)
    np.testing.assert_allclose(critical_normal(0.05, shares, Pocock()), first)
    np.testing.assert_allclose(critical_normal(0.05, shares, OBrienFleming()), first / np.sqrt(shares))
    np.testing.assert_allclose(critical_normal(0.05, shares, WangTsiatis(0.25)), first * shares**0.25)


def test_limits_of_epsilon():
    shares = np.array([0.1, 0.5, 1.0])
    assert np.all(critical_normal(0.0, shares, OBrienFleming()) == math.inf)
    for epsilon in (0.5, 0.9, 1.0):
        assert np.all(critical_normal(epsilon, shares, OBrienFleming()) < 0)
    # Phi(-37) is about 6e-300
    assert critical_normal(1e-300, shares, Pocock())[0] == pytest.approx(37.0471, abs=1e-4)
    sizes = look_sizes(1000, 100)
    assert np.all(critical_t(0.0, sizes, 1000, Pocock())[:-1] == math.inf)
    assert np.all(critical_t(0.6, sizes, 1000, Pocock())[:-1] < 0)


def test_student_boundary_keeps_the_level_of_each_look():
    sizes = look_sizes(2010, 10)
    critical = critical_t(0.05, sizes, 2010, WangTsiatis(0.6))
    normal = critical_normal(0.05, sizes / 2010, WangTsiatis(0.6))
    assert critical[-1] == 0.0
    np.testing.assert_allclose(stats.t.logsf(critical[:-1], sizes[:-1] - 1), stats.norm.logsf(normal[:-1]), rtol=1e-10)


@pytest.mark.parametrize(("batch", "n_total"), [(5, 4000), (50, 4000), (500, 400_000), (500, 2_000_000), (5000, 10**9)])
def test_student_quantiles_in_the_far_tail(batch, n_total):
    """O'Brien and Fleming's early looks ask for levels far below 1e-308."""
    sizes = look_sizes(n_total, batch)
    critical = critical_t(0.01, sizes, n_total, OBrienFleming())
    normal = critical_normal(0.01, sizes / n_total, OBrienFleming())
    for j in np.flatnonzero(normal > 9.0)[[0, -1]]:
        if math.isfinite(critical[j]):
            level = special.log_ndtr(-normal[j])
            assert log_student_tail(critical[j], sizes[j] - 1) == pytest.approx(level, rel=1e-7)
    assert not np.any(np.isnan(critical)) and np.all(critical[:-1] > normal[:-1])
    # no jump where the far-tail solution takes over
    ratio = np.log(critical[:-1] / normal[:-1])
    assert np.all(np.diff(ratio[np.isfinite(ratio)]) <= 1e-9)


def test_very_long_tests_are_finite_and_near_normal():
    sizes = look_sizes(50_000_000, 500)
    critical = critical_t(0.05, sizes, 50_000_000, Pocock())
    assert critical.size == 100_000 and np.all(np.isfinite(critical))
    assert np.all(np.diff(critical[:-1]) <= 1e-12)
    assert critical[-2] == pytest.approx(stats.norm.isf(0.05), abs=1e-6)


def test_bad_fractions_sizes_and_levels_are_refused():
    with pytest.raises(InputError, match=r"epsilon=1\.5"):
        critical_normal(1.5, [0.5, 1.0], Pocock())
    with pytest.raises(InputError, match="fractions"):
        critical_normal(0.05, [0.0, 1.0], Pocock())
    with pytest.raises(InputError, match="look sizes"):
        critical_t(0.05, [1, 10], 10, Pocock())
    with pytest.raises(InputError, match="look sizes"):
        critical_t(0.05, [5, 11], 10, Pocock())
