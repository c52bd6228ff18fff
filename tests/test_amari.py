"""The Amari distance: its formula, what it does not see, and its use on draws."""

from __future__ import annotations

import numpy as np
import pytest

import austerity as au
from austerity.errors import InputError
from austerity.models import amari_distance
from austerity.models.user_cache import digest


def random_matrices(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def twin(W: np.ndarray, truth: np.ndarray) -> float:
    """The formula, entry by entry."""
    q, (count, size) = np.abs(truth @ np.linalg.inv(W)), truth.shape
    rows = sum(sum(q[r, j] / max(q[r]) for j in range(size)) - 1 for r in range(count))
    if count < size:
        return float(rows / (count * (size - 1)))
    columns = sum(sum(q[r, j] / max(q[:, j]) for r in range(size)) - 1 for j in range(size))
    return float((rows + columns) / (2 * size * (size - 1)))


@pytest.mark.parametrize("count", [1, 2, 4])
def test_formula(count: int) -> None:
    truth, draws = random_matrices(count, 4, seed=1), random_matrices(3, 5, 4, 4)
    found = amari_distance(truth)(draws)
    assert found.shape == (3, 5)
    expected = [[twin(W, truth) for W in chain] for chain in draws]
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert np.all((found > 0) & (found <= 1))


@pytest.mark.parametrize("count", [2, 4])
def test_order_signs_and_scales_do_not_matter(count: int) -> None:
    """Of the rows of W, of those of the truth, and of the columns of both at once."""
    truth, W = random_matrices(count, 4, seed=2), random_matrices(4, 4, seed=3)
    plain = amari_distance(truth)(W)
    signs = np.diag([-1.0, 1.0, -1.0, 1.0])[[2, 0, 3, 1]]
    columns = random_matrices(4, 4, seed=4)
    assert amari_distance(truth)(signs @ W) == pytest.approx(plain, rel=1e-12)
    assert amari_distance(-truth[::-1])(W) == pytest.approx(plain, rel=1e-12)
    assert amari_distance(truth @ columns)(W @ columns) == pytest.approx(plain, rel=1e-9)
    scaled = np.diag([-2.0, 0.5, 3.0, 1.0])[[2, 0, 3, 1]] @ np.vstack([truth, W])[:4]
    assert amari_distance(truth)(scaled) < 1e-12


def test_ends_of_the_scale() -> None:
    """0 for the truth in another order, 1 for an equal mixture of all; a quarter turn is nothing, an eighth is all."""
    for angle, expected in ((0.0, 0.0), (np.pi / 2, 0.0), (np.pi / 4, 1.0)):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        assert amari_distance(np.eye(2))(turn) == pytest.approx(expected, abs=1e-14)
        assert amari_distance(np.eye(2)[:1])(turn) == pytest.approx(expected, abs=1e-14)


def test_a_part_of_the_rows_does_not_see_the_others() -> None:
    """Turning the two other components into one another changes the whole distance and not the part's."""
    truth, angle = random_matrices(4, 4, seed=5), 0.4
    turn = np.eye(4)
    turn[2:, 2:] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    assert amari_distance(truth[:2])(turn @ truth) < 1e-12
    assert amari_distance(truth)(turn @ truth) == pytest.approx(4 * np.tan(angle) / 24, rel=1e-9)


def test_as_a_kept_function() -> None:
    """The same numbers as from kept matrices, bit for bit, and told apart from another truth when a run goes on."""
    X = np.random.default_rng(6).laplace(size=(3000, 3)) @ random_matrices(3, 3, seed=7)
    distance = amari_distance(np.linalg.inv(random_matrices(3, 3, seed=7)).T)
    common = {"draws": 60, "warmup": 60, "chains": 2, "progress": False, "cores": 1, "acceptance": au.decisions.Exact()}
    whole = au.sample(au.models.ICA(), X, **common)
    kept = au.sample(au.models.ICA(), X, keep={"amari": distance}, **common)
    assert kept["posterior"]["amari"].shape == (2, 60)
    assert np.array_equal(distance(whole["posterior"]["W"]), kept["posterior"]["amari"].values)
    assert kept["posterior"]["amari"].values.mean() < 0.2
    assert digest(distance) not in (None, digest(amari_distance(np.eye(3))))


@pytest.mark.parametrize(
    ("truth", "said"),
    [
        ("no", "give a matrix of numbers"),
        (np.eye(1), "shape (1, 1)"),
        (np.ones(3), "shape (3,)"),
        (np.ones((4, 3)), "shape (4, 3)"),
        (np.ones((2, 3)), "rows that depend on one another"),
        (np.full((2, 2), np.nan), "NaN or infinity"),
    ],
)
def test_bad_truth(truth: object, said: str) -> None:
    with pytest.raises(InputError) as raised:
        amari_distance(truth)
    assert said in str(raised.value) and str(raised.value).startswith("amari_distance(truth=")


def test_another_number_of_columns() -> None:
    with pytest.raises(InputError, match=r"compares with 2 rows of 3 columns, but W has shape \(5, 4, 4\)"):
        amari_distance(np.eye(3)[:2])(np.zeros((5, 4, 4)))
