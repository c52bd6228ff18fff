"""The compiled sequential t-test against a NumPy twin, at and around every boundary, and at its limits.

Terms and uniforms come from outside: a model whose terms are its responses, and streams that can be replayed.
"""

from __future__ import annotations

import numpy as np
import pytest
from engine_drivers import PAIR, Decisions, given_terms, problem_of, row_order, twin_critical, twin_decision

from austerity.decisions import Exact, OBrienFleming, Pocock, SequentialT, WangTsiatis
from austerity.decisions.base import NOT_A_NUMBER
from austerity.decisions.boundaries import look_sizes
from austerity.models.target import Target

SEED = 0
PROBLEMS, DECISIONS = 300, 12
BOUNDARIES = (Pocock(), OBrienFleming(), WangTsiatis(0.0), WangTsiatis(0.3), WangTsiatis(2.0))
LEVELS = (0.0, 1e-12, 1e-4, 0.01, 0.05, 0.2, 0.4, 0.499, 0.5, 0.9)


@pytest.fixture(scope="module")
def target() -> Target:
    return given_terms()


def some_terms(random: np.random.Generator, n_rows: int) -> np.ndarray:
    """Terms (N,) of one of several shapes: normal, skewed, sparse, few values, nearly equal, all equal."""
    kind = random.integers(7)
    if kind == 0:
        return random.normal(size=n_rows)
    if kind == 1:
        return random.lognormal(0, 1.5, n_rows) - 2.0
    if kind == 2:
        return random.normal(size=n_rows) * (random.random(n_rows) < 0.1)
    if kind == 3:
        return random.integers(-1, 2, n_rows).astype(float)
    if kind == 4:
        return 1e6 + 1e-3 * random.normal(size=n_rows)
    if kind == 5:
        return 1e-9 * random.standard_t(2, n_rows)
    return np.full(n_rows, random.normal())


def thresholds(random: np.random.Generator, terms: np.ndarray, temperature: float) -> np.ndarray:
    """Wanted log u - log A0 (R,), most of them where the test is in doubt."""
    spread = float(terms.std()) if np.ptp(terms) > 0 else 1e-3
    gaps = random.normal(0, random.choice([0.3, 2.0, 8.0]), DECISIONS)
    mean = terms.mean() + gaps * spread / np.sqrt(terms.size)
    return np.asarray(mean * terms.size / temperature)


def check_twin(random: np.random.Generator, target: Target, case: int) -> int:
    """One problem, several decisions; returns how many stopped early."""
    n_rows = int(random.integers(2, 500))
    batch = int(random.integers(2, n_rows + 1)) if random.random() < 0.5 else min(n_rows, int(random.integers(2, 30)))
    boundary, epsilon = BOUNDARIES[random.integers(len(BOUNDARIES))], float(random.choice(LEVELS))
    temperature = float(random.choice([1.0, 0.5, 1000.0]))
    terms = some_terms(random, n_rows)
    wanted = thresholds(random, terms, temperature)
    rule = SequentialT(epsilon, batch, boundary)
    found = Decisions(problem_of(target, terms), PAIR, rule, -wanted, SEED + case, temperature, threshold_log_u=True)
    critical = rule.parameters(n_rows)[1:]  # compared with SciPy's quantiles in the next test
    for r in range(DECISIONS):
        in_order = terms[row_order(int(found.keys[r]), n_rows, n_rows)]
        threshold_mean = temperature * (found.log_u[r] - found.log_a0[r]) / n_rows
        expected = twin_decision(in_order, threshold_mean, batch, critical)
        assert (found.accept[r], found.n_rows[r], found.looks[r]) == expected, (case, r, rule, n_rows)
        assert found.exhausted[r] == (expected[1] == n_rows)
        assert found.status[r] == 0 and found.rate[r] == found.accept[r]
    return int(np.sum(~found.exhausted))


def test_the_twin_agrees_on_thousands_of_random_cases(target: Target) -> None:
    random = np.random.default_rng(SEED)
    early = sum(check_twin(random, target, case) for case in range(PROBLEMS))
    assert 0.1 < early / (PROBLEMS * DECISIONS) < 0.9  # both kinds of end are among them


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize(("n_rows", "batch"), [(12214, 500), (60, 10), (23, 5), (7, 7), (4, 2)])
def test_critical_values_of_every_look(boundary: Pocock, n_rows: int, batch: int) -> None:
    for epsilon in (0.0, 1e-6, 0.01, 0.2, 0.5, 0.7):
        parameters = SequentialT(epsilon, batch, boundary).parameters(n_rows)
        assert parameters[0] == batch and parameters.size == 1 + look_sizes(n_rows, batch).size
        expected, found = twin_critical(epsilon, batch, n_rows, boundary.alpha)[:-1], parameters[1:-1]
        known = expected < 30  # SciPy's quantiles lose their way far out, where test_boundaries goes on
        assert np.allclose(found[known], expected[known], rtol=1e-6, atol=0)
        assert np.all(np.isinf(found) == (epsilon in (0.0, 0.5, 0.7))) and np.all((found > 0) == (epsilon < 0.5))


def first_key(target: Target, n_rows: int) -> int:
    """The key of the first decision that the seed throws."""
    found = Decisions(problem_of(target, np.zeros(n_rows)), PAIR, SequentialT(0.0, n_rows), np.zeros(1), SEED)
    return int(found.keys[0])


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("look", range(9))
def test_both_sides_of_the_boundary_of_every_look(target: Target, look: int, sign: float) -> None:
    """|t| = G (1 + 1e-9) stops at that look, G (1 - 1e-9) reads on; the answer is the sign of t."""
    n_rows, batch, level = 97, 10, 1.7
    random = np.random.default_rng([SEED, look])
    terms, key = random.normal(size=n_rows), first_key(target, n_rows)
    count = look_sizes(n_rows, batch)[look]
    part = terms[row_order(key, n_rows, int(count))]
    error = part.std(ddof=1) / np.sqrt(count) * np.sqrt(1 - (count - 1) / (n_rows - 1))
    parameters = np.concatenate([[batch], np.full(10, np.inf)])
    parameters[1 + look] = level
    for factor, stops in ((1 + 1e-9, True), (1 - 1e-9, False)):
        threshold_mean = part.mean() - sign * level * factor * error
        wanted = np.array([-threshold_mean * n_rows])
        found = Decisions(problem_of(target, terms), PAIR, parameters, wanted, SEED, threshold_log_u=True)
        assert found.keys[0] == key
        assert found.n_rows[0] == (count if stops else n_rows) and found.exhausted[0] != stops
        expected = sign > 0 if stops else terms.mean() > threshold_mean
        assert found.accept[0] == expected


def test_both_sides_of_the_threshold_on_all_rows(target: Target) -> None:
    random = np.random.default_rng(SEED)
    for n_rows in (2, 3, 128, 129, 1000):
        terms = random.normal(size=n_rows)
        sums = terms.sum() + np.array([-1e-9, 1e-9])
        rule = SequentialT(0.0, n_rows)
        found = Decisions(problem_of(target, terms), PAIR, rule, -sums, SEED, threshold_log_u=True)
        assert found.accept.tolist() == [True, False]


@pytest.mark.parametrize("temperature", [1.0, 3.0, 1000.0])
def test_no_error_level_is_the_exact_rule(target: Target, temperature: float) -> None:
    """epsilon = 0: accept iff sum / T + log A0 > log u, from all rows, whatever the batch."""
    random = np.random.default_rng(SEED)
    for n_rows, batch in ((2, 2), (23, 5), (300, 128), (1000, 37)):
        terms = random.normal(0.1, 1, n_rows)
        log_a0 = -terms.sum() / temperature + random.normal(size=400)
        found = Decisions(problem_of(target, terms), PAIR, SequentialT(0.0, batch), log_a0, SEED, temperature)
        assert np.array_equal(found.accept, terms.sum() / temperature + log_a0 > found.log_u)
        assert np.all(found.n_rows == n_rows) and np.all(found.exhausted)
        assert np.all(found.looks == -(-n_rows // batch))


@pytest.mark.parametrize("epsilon", [0.5, 0.6, 0.99])
def test_half_or_more_decides_at_the_first_look(target: Target, epsilon: float) -> None:
    random = np.random.default_rng(SEED)
    terms = random.normal(size=200)
    log_a0 = random.normal(0, 10, 300)
    found = Decisions(problem_of(target, terms), PAIR, SequentialT(epsilon, 30), log_a0, SEED)
    assert np.all(found.n_rows == 30) and np.all(found.looks == 1) and not found.exhausted.any()
    for r in range(300):
        first = terms[row_order(int(found.keys[r]), 200, 30)]
        assert found.accept[r] == (first.mean() > (found.log_u[r] - found.log_a0[r]) / 200)


@pytest.mark.parametrize("epsilon", [0.2, 0.6])
@pytest.mark.parametrize("value", [0.0, 0.1, -3.7, 1e12, 1e-300])
def test_identical_terms_are_no_evidence(target: Target, value: float, epsilon: float) -> None:
    """However far the threshold is, equal terms so far do not end the test."""
    log_a0 = np.array([-1e6, -1.0, 0.0, 1.0, 1e6]) - value * 91
    found = Decisions(problem_of(target, np.full(91, value)), PAIR, SequentialT(epsilon, 10), log_a0, SEED)
    assert np.all(found.n_rows == 91) and np.all(found.exhausted)
    assert found.accept[[0, 4]].tolist() == [False, True]


def test_one_different_term_ends_the_test_once_it_is_read(target: Target) -> None:
    """Rows are all alike but one; the test goes on until that row turns up, and stops at that look."""
    n_rows, batch, random = 60, 6, np.random.default_rng(SEED)
    for case in range(40):
        odd = int(random.integers(n_rows))
        terms = np.zeros(n_rows)
        terms[odd] = 1e-3
        log_a0 = np.array([1e6])
        found = Decisions(problem_of(target, terms), PAIR, SequentialT(0.2, batch), log_a0, SEED + case)
        place = int(np.flatnonzero(row_order(int(found.keys[0]), n_rows, n_rows) == odd)[0])
        assert found.n_rows[0] == (place // batch + 1) * batch and found.accept[0]


@pytest.mark.parametrize(("n_rows", "batch"), [(23, 5), (501, 500), (129, 128), (257, 64), (1000, 999), (12214, 500)])
def test_the_last_short_batch_is_read_and_counts(target: Target, n_rows: int, batch: int) -> None:
    """One row outweighs all others; it is read last, and every decision goes its way."""
    key = first_key(target, n_rows)
    last = row_order(key, n_rows, n_rows)[-1]
    for sign in (-1.0, 1.0):
        terms = -sign * np.ones(n_rows)
        terms[last] = sign * 1e4 * n_rows
        found = Decisions(problem_of(target, terms), PAIR, SequentialT(0.0, batch), np.zeros(1), SEED)
        assert found.keys[0] == key and found.n_rows[0] == n_rows and found.exhausted[0]
        assert found.looks[0] == -(-n_rows // batch) and found.accept[0] == (sign > 0)


@pytest.mark.parametrize("place", [0, 1, 9, 10, 57, 96])
@pytest.mark.parametrize("epsilon", [0.0, 0.6])
def test_minus_infinity_is_refused_once_it_is_read(target: Target, place: int, epsilon: float) -> None:
    n_rows, batch, random = 97, 10, np.random.default_rng(SEED)
    terms = random.normal(size=n_rows)
    order = row_order(first_key(target, n_rows), n_rows, n_rows)
    terms[order[place]] = -np.inf
    found = Decisions(problem_of(target, terms), PAIR, SequentialT(epsilon, batch), np.array([1e6]), SEED)
    met = epsilon == 0.0 or place < batch
    assert found.status[0] == 0 and found.accept[0] == (not met)
    count = min(n_rows, (place // batch + 1) * batch) if epsilon == 0.0 else batch
    assert found.n_rows[0] == count


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("place", [0, 1, 96])
def test_a_term_that_is_no_number_is_a_fault(target: Target, value: float, place: int) -> None:
    n_rows, random = 97, np.random.default_rng(SEED)
    order = row_order(first_key(target, n_rows), n_rows, n_rows)
    for others in (0.0, 1.0):
        terms = others * random.normal(size=n_rows)
        terms[order[place]] = value
        found = Decisions(problem_of(target, terms), PAIR, SequentialT(0.0, 10), np.zeros(1), SEED)
        assert found.status[0] == NOT_A_NUMBER and not found.accept[0]


def test_both_infinities_are_a_fault(target: Target) -> None:
    order = row_order(first_key(target, 50), 50, 50)
    terms = np.zeros(50)
    terms[order[3]], terms[order[5]] = -np.inf, np.inf
    found = Decisions(problem_of(target, terms), PAIR, SequentialT(0.0, 10), np.zeros(1), SEED)
    assert found.status[0] == NOT_A_NUMBER


def test_exact_promises_where_chains_go_and_not_where_they_are() -> None:
    """r_hat tells whether they have arrived; a promise above an r_hat of 3 must not say so."""
    said = "exact: every decision reads all 1,000 rows, so the chains converge to the posterior itself."
    assert Exact().guarantee(1000) == said
