"""Effective sizes, R-hat and Monte Carlo errors against arviz-stats, and where they differ on purpose."""

from __future__ import annotations

import numpy as np
import pytest
from arviz_stats.base import array_stats

from austerity.errors import InputError
from austerity.report.diagnostics import diagnose, ess_bulk, ess_tail, mcse_mean, r_hat, running_ess

AXES = {"chain_axis": 0, "draw_axis": 1}


def autoregressive(rho: np.ndarray, chains: int, draws: int, seed: int) -> np.ndarray:
    """x_t = ρ x_{t-1} + noise from its stationary law, (chains, draws, len(rho))."""
    rng = np.random.default_rng(seed)
    values = np.empty((chains, draws, rho.size))
    values[:, 0] = rng.normal(size=(chains, rho.size)) / np.sqrt(1 - rho**2)
    for draw in range(1, draws):
        values[:, draw] = rho * values[:, draw - 1] + rng.normal(size=(chains, rho.size))
    return values


def reference(draws: np.ndarray) -> dict[str, np.ndarray]:
    """The four figures as arviz-stats has them."""
    return {
        "ess_bulk": array_stats.ess(draws, method="bulk", **AXES),
        "ess_tail": array_stats.ess(draws, method="tail", prob=(0.05, 0.95), **AXES),
        "r_hat": array_stats.rhat(draws, method="rank", **AXES),
        "mcse_mean": array_stats.mcse(draws, method="mean", **AXES),
    }


def shapes_of_chains() -> list[np.ndarray]:
    """Ordinary, slow, antithetic, drifting, heavy-tailed, rejected and whole-numbered chains, short and long."""
    rng = np.random.default_rng(7)
    slow = autoregressive(np.array([-0.9, -0.3, 0.0, 0.5, 0.9, 0.999]), 4, 1000, 1)
    stuck = rng.normal(size=(4, 500, 2))
    stuck[1] = stuck[1, :1]
    stays = np.repeat(rng.normal(size=(3, 100, 2)), 7, axis=1)
    apart = rng.normal(size=(4, 301, 3)) + np.arange(4)[:, None, None]
    short = [rng.normal(size=(chains, n, 2)) for chains in (2, 5) for n in (4, 6, 7, 8, 9, 11)]
    heavy = rng.standard_cauchy(size=(2, 777, 2))
    return [slow, stuck, stays, apart, heavy, np.round(2 * slow), rng.normal(size=(4, 200, 2)).cumsum(1), *short]


@pytest.mark.parametrize("draws", shapes_of_chains())
def test_figures_are_those_of_arviz(draws: np.ndarray) -> None:
    found = diagnose(draws)._asdict()
    for name, expected in reference(draws).items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-9, err_msg=name)


@pytest.mark.statistical
def test_effective_size_of_autoregressive_chains() -> None:
    """ESS = N (1 - ρ)/(1 + ρ) within 15%; its spread at these sizes is below 4% (fails by chance below 1e-3)."""
    rho = np.array([-0.5, 0.0, 0.5, 0.8])
    draws = autoregressive(rho, 4, 5000, 3)
    truth = 20_000 * (1 - rho) / (1 + rho)
    np.testing.assert_allclose(ess_bulk(draws), truth, rtol=0.15)
    np.testing.assert_allclose(mcse_mean(draws), draws.std(axis=(0, 1)) / np.sqrt(truth), rtol=0.08)
    assert np.all(r_hat(draws) < 1.01)


@pytest.mark.parametrize("value", [0.0, 1.0, 1e-300, -3.7e12])
def test_a_constant_has_no_effective_size(value: float) -> None:
    found = diagnose(np.full((4, 100, 2), value))
    for figure in found:
        assert np.isnan(figure).all()


def test_scale_and_place_change_nothing() -> None:
    draws = autoregressive(np.array([0.5]), 4, 400, 5)
    for scale, shift in [(1e-30, 0.0), (1e30, 0.0), (1.0, 1e6)]:
        moved = diagnose(draws * scale + shift)
        np.testing.assert_allclose(moved.ess_bulk, ess_bulk(draws), rtol=1e-6)
        np.testing.assert_allclose(moved.mcse_mean, mcse_mean(draws) * scale, rtol=1e-6)


def test_a_tail_that_is_empty_does_not_count() -> None:
    """98% ones: both quantiles are 1 and 1[x <= 1] never moves; arviz-stats gives the number of draws, we NaN."""
    uniform = np.random.default_rng(0).uniform(size=(4, 1000))
    for share, known in [(0.02, True), (0.2, True), (0.98, False)]:
        binary = (uniform < share).astype(float)
        assert np.isfinite(ess_bulk(binary)) and np.isfinite(ess_tail(binary)) == known


def test_not_finite_or_too_short_gives_nan() -> None:
    draws = np.random.default_rng(0).normal(size=(2, 50, 3))
    draws[0, 3, 0], draws[1, 4, 1] = np.nan, np.inf
    found = diagnose(draws)
    for figure in found:
        assert np.isnan(figure).tolist() == [True, True, False]
    for n in range(4):
        assert np.isnan(diagnose(draws[:, :n, 2]).ess_bulk)


def test_one_chain_has_an_r_hat_of_its_halves() -> None:
    """arviz-stats gives NaN for a single chain; its two halves already tell a drift."""
    rng = np.random.default_rng(1)
    still, drifting = rng.normal(size=(1, 1000)), rng.normal(size=(1, 1000)) + np.linspace(0, 3, 1000)
    assert r_hat(still) < 1.05 < 1.1 < r_hat(drifting)


def test_trailing_shape_is_kept_and_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(2).normal(size=(4, 100, 3, 5))
    whole = diagnose(draws)
    assert whole.r_hat.shape == (3, 5) and diagnose(draws[..., 0, 0]).r_hat.shape == ()
    assert diagnose(draws[..., :0]).r_hat.shape == (3, 0)
    monkeypatch.setattr("austerity.report.diagnostics.BLOCK", 900)
    for one, other in zip(whole, diagnose(draws), strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(InputError, match="shape"):
        diagnose(np.zeros(3))


@pytest.mark.statistical
@pytest.mark.parametrize("draws", [300, 3000, 30_000])
def test_running_ess_follows_the_slowest(draws: int) -> None:
    """Within 45% of N (1 - ρ)/(1 + ρ) for ρ = .9, at every length (fails by chance below 1e-3)."""
    values = autoregressive(np.array([0.0, 0.9]), 4, draws, 11)
    assert running_ess(values) == pytest.approx(4 * draws * 0.1 / 1.9, rel=0.45)
    assert running_ess(np.concatenate([values, np.zeros((4, draws, 1))], axis=2)) == running_ess(values)


def test_running_ess_without_draws_is_nan() -> None:
    assert np.isnan(running_ess(np.zeros((4, 0, 2)))) and np.isnan(running_ess(np.zeros((4, 100, 2))))
    assert np.isnan(running_ess(np.zeros((4, 100, 0)))) and np.isnan(running_ess(np.zeros((4, 7, 2))))
    assert running_ess(np.random.default_rng(0).normal(size=(400, 9, 2))) > 0
