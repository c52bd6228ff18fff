"""Row order: a permutation of all rows, uniform over orders, and as good as random sampling on rows that are sorted.

Every comparison with a distribution fails a correct order with probability 1e-6 (FALSE_FAIL).
"""

from __future__ import annotations

import numpy as np
import pytest
from engine_drivers import FALSE_FAIL, chi_square_limit, row_order, row_orders
from scipy import stats

SEED = 0
POWERS = [2**b + off for b in range(7, 18) for off in (-1, 0, 1)]
SIZES = [*range(2, 71), *POWERS, 12214, 1_000_000]


def keys(count: int, *name: int) -> np.ndarray:
    """Keys (count,) as a run would draw them: 64 random bits each."""
    return np.random.default_rng([SEED, *name]).integers(0, 2**64, count, dtype=np.uint64)


@pytest.mark.parametrize("n_rows", SIZES)
def test_every_row_once_and_then_the_same_again(n_rows: int) -> None:
    key = int(keys(1, n_rows)[0])
    again = min(n_rows, 500)
    order = row_order(key, n_rows, n_rows + again)
    assert np.array_equal(np.sort(order[:n_rows]), np.arange(n_rows))
    assert np.array_equal(order[n_rows:], order[:again])


@pytest.mark.parametrize("n_rows", [2, 5, 31, 32, 33, 64, 65, 1000, 12214])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_skipped_rows_come_last(n_rows: int, share: float) -> None:
    key = int(keys(1, n_rows)[0])
    skip = min(n_rows - 1, max(1, int(share * n_rows)))
    whole = row_order(key, n_rows, n_rows)
    assert np.array_equal(row_order(key, n_rows, n_rows, skip), np.roll(whole, -skip))


def test_orders_depend_on_the_key_alone() -> None:
    first, second = keys(2)
    assert np.array_equal(row_order(int(first), 999, 999), row_order(int(first), 999, 999))
    same = np.mean(row_order(int(first), 999, 999) == row_order(int(second), 999, 999))
    assert same < 0.02  # one place in 999 agrees on average; 20 do with probability 1e-17
    near = np.array([first, first ^ np.uint64(1), first ^ np.uint64(1 << 63)], np.uint64)
    orders = row_orders(near, 999, 999)
    assert np.mean(orders[0] == orders[1]) < 0.02 and np.mean(orders[0] == orders[2]) < 0.02


def assert_uniform(counts: np.ndarray) -> None:
    """Pearson's statistic of counts of equally likely cells."""
    expected = counts.sum() / counts.size
    statistic = float(np.sum((counts - expected) ** 2) / expected)
    assert statistic < chi_square_limit(counts.size - 1), f"chi-square {statistic:.0f} on {counts.size - 1}"


@pytest.mark.statistical
@pytest.mark.parametrize("n_rows", [5, 10, 60, 100, 1000, 3000, 12214])
def test_first_rows_are_uniform(n_rows: int) -> None:
    """False-fail rate 1e-6. Caught: one row in 100 (N = 100) first 1.6 times too often, with 600,000 orders."""
    first = row_orders(keys(600_000, n_rows, 1), n_rows, 1)[:, 0]
    assert_uniform(np.bincount(first, minlength=n_rows))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("n_rows", "one", "other", "count"),
    [(5, 0, 1, 500_000), (5, 1, 4, 500_000), (10, 0, 1, 500_000), (10, 3, 9, 500_000), (60, 0, 1, 500_000),
     (60, 0, 31, 200_000), (60, 58, 59, 200_000), (100, 0, 1, 500_000), (100, 1, 33, 200_000), (1000, 0, 1, 2_000_000),
     (1000, 0, 2, 2_000_000)],
)  # fmt: skip
def test_pairs_of_places_are_uniform(n_rows: int, one: int, other: int, count: int) -> None:
    """False-fail rate 1e-6. All ordered pairs of different rows are equally likely at any two places."""
    cells = np.zeros(n_rows * n_rows, np.int64)
    for part in range(0, count, 100_000):
        orders = row_orders(keys(100_000, n_rows, one, other, part), n_rows, other + 1)
        cells += np.bincount(orders[:, one] * n_rows + orders[:, other], minlength=cells.size)
    square = cells.reshape(n_rows, n_rows)
    assert not square.diagonal().any()
    assert_uniform(square[~np.eye(n_rows, dtype=bool)])


@pytest.mark.statistical
def test_all_orders_of_five_rows_are_equally_likely() -> None:
    """False-fail rate 1e-6. 120 orders, 600,000 keys: an order 1.15 times too likely is caught."""
    orders = row_orders(keys(600_000, 5), 5, 5)
    codes = orders @ 5 ** np.arange(5)
    counts = np.unique(codes, return_counts=True)[1]
    assert counts.size == 120
    assert_uniform(counts)


def patterns(n_rows: int) -> dict[str, np.ndarray]:
    """Values by row as sorted or clustered tables have them."""
    place = np.arange(n_rows)
    ramp = (place - 0.5 * n_rows) / n_rows
    bits = {f"bit {b}": (place >> b & 1) * 1.0 for b in range(int(n_rows - 1).bit_length())}
    groups = np.repeat(np.random.default_rng([SEED, n_rows]).normal(size=-(-n_rows // 50)), 50)[:n_rows]
    rare = (place < n_rows // 20) * 1.0
    return {"ramp": ramp, "square": ramp**2, "groups of 50": groups, "rare first": rare, "sevenths": place % 7, **bits}


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("n_rows", "count"), [(60, 20), (1000, 300), (2100, 500), (4096, 2000), (12214, 3000), (40_000, 6000)]
)
def test_means_of_sorted_rows_vary_as_random_sampling_says(n_rows: int, count: int) -> None:
    """False-fail rate 1e-6 in all: (n/N)(1 - n/N) N^2 S^2 / n is the variance of a sum of n of N rows.

    Caught: a variance 1.1 times too large. A Feistel network of four rounds alone, fed with 0, 1, 2, ..., has up to
    1.9 times on "ramp" and the highest "bit" (rows sorted by a binary response), which makes a t-test overconfident.
    """
    values = patterns(n_rows)
    table = np.column_stack(list(values.values()))
    table = (table - table.mean(axis=0)) / table.std(axis=0, ddof=1)
    repeats, sums = max(2, 2_000_000 // count), []
    for part in range(12):
        orders = row_orders(keys(repeats, n_rows, count, part), n_rows, count)
        hits = np.zeros((repeats, n_rows), np.float32)
        hits[np.arange(repeats)[:, None], orders] = 1.0
        sums.append(hits @ table.astype(np.float32))
    squares = np.concatenate(sums).astype(np.float64) ** 2 / (count * (1.0 - count / n_rows))
    z = (squares.mean(axis=0) - 1.0) / (squares.std(axis=0, ddof=1) / np.sqrt(squares.shape[0]))
    limit = -stats.norm.ppf(FALSE_FAIL / 2 / z.size)
    worst = int(np.argmax(np.abs(z)))
    assert abs(z[worst]) < limit, f"{list(values)[worst]}: variance {squares.mean(axis=0)[worst]:.3f}, z {z[worst]:.1f}"
