"""Variable selection: chains over sets of variables against quadrature in every set, and the ratios of their moves."""

from __future__ import annotations

from functools import lru_cache
from math import comb, lgamma, log
from typing import Any

import numpy as np
import pytest
from engine_drivers import FALSE_FAIL, chi_square_limit, log_uniforms, settings
from scipy import special, stats
from set_truth import FAULTS, Faulty, Truth, l1_nodes, log_likelihood, normal_nodes, rows_of_three, truth

import austerity as au
from austerity.decisions import Exact, SequentialT
from austerity.design import error
from austerity.engine import streams
from austerity.engine.prior import log_prior
from austerity.models import VariableSelection
from austerity.priors import Beta, Laplace, Normal
from austerity.proposals import Mixture, ReversibleJump
from austerity.proposals.base import MOVE_SIZE, TAG, Setting
from austerity.proposals.reversible_jump import propose

SEED = 0
RATE, LEAST, SLAB = 0.6, 0.05, 0.8
PAPER = VariableSelection(rate=RATE, least_norm=LEAST)
WITH_SLAB = VariableSelection(slab=Normal(0, SLAB), inclusion=Beta(1.0, 2.0))
MOVES = {"update": 0.4, "birth": 0.6, "weights": (1.0, 2.0, 2.0)}


def paper_mass(total: int, rate: float = RATE) -> np.ndarray:
    """k log lambda + log B(k, D - k + 1), from factorials."""
    sizes = range(1, total + 1)
    return np.array([-np.inf, *(k * log(rate) + lgamma(k) + lgamma(total - k + 1) - lgamma(total + 1) for k in sizes)])


def slab_mass(total: int) -> np.ndarray:
    """int p^k (1 - p)^(D - k) Beta(p; 1, 2) dp by quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    p = (nodes + 1) / 2
    return np.array([log(np.sum(weights / 2 * p**k * (1 - p) ** (total - k) * 2 * (1 - p))) for k in range(total + 1)])


@lru_cache(maxsize=2)
def paper_truth(fine: float = 1) -> Truth:
    return truth(*rows_of_three(SEED), paper_mass(3), lambda k: l1_nodes(k, LEAST, fine))


@lru_cache(maxsize=2)
def slab_truth(fine: float = 1) -> Truth:
    return truth(*rows_of_three(SEED), slab_mass(3), lambda k: normal_nodes(k, SLAB, fine))


@pytest.mark.parametrize("of", [paper_truth, slab_truth])
def test_the_truth_itself(of: Any) -> None:
    """Quadrature with half as many nodes again agrees to a hundredth of what the tests below resolve."""
    rough, fine = of(), of(1.5)
    assert np.allclose(list(rough.sets.values()), list(fine.sets.values()), atol=2e-5)
    assert np.allclose(rough.beta, fine.beta, atol=2e-5) and np.allclose(rough.square, fine.square, atol=5e-5)
    assert min(rough.included) > 0.05 and max(rough.included) < 0.97  # something to be undecided about


def averages(post: Any) -> np.ndarray:
    """Means (chains, 3 D + 1) of inclusion, coefficients, their squares and size."""
    posterior = post["posterior"]
    beta, used = posterior["beta"].values, posterior["included"].values
    assert np.array_equal(used, beta != 0)
    size = posterior["size"].values
    assert np.array_equal(size, used.sum(axis=2))
    return np.concatenate(
        [used.mean(axis=1), beta.mean(axis=1), (beta**2).mean(axis=1), size.mean(axis=1)[:, None]], axis=1
    )


def worst_z(model: Any, rule: Any, proposal: Any, expected: Truth, draws: int = 6000, chains: int = 48) -> float:
    """Largest deviation of chain means from the truth in their standard errors, over its limit at FALSE_FAIL."""
    X, y = rows_of_three(SEED)
    common = settings(draws=draws, warmup=500, chains=chains, start="all", rng=SEED, dtype="float64")
    found = averages(au.sample(model, X, y, acceptance=rule, proposal=proposal, **common))
    wanted = np.concatenate([expected.included, expected.beta, expected.square, [expected.size]])
    z = (found.mean(axis=0) - wanted) / (found.std(axis=0, ddof=1) / np.sqrt(chains))
    return float(np.max(np.abs(z)) / -stats.t.ppf(FALSE_FAIL / 2 / z.size, chains - 1))


@pytest.mark.statistical
@pytest.mark.parametrize("rule", [Exact(), SequentialT(1e-9, 20)])
@pytest.mark.parametrize(("model", "of"), [(PAPER, paper_truth), (WITH_SLAB, slab_truth)])
def test_long_chains_against_enumeration_and_quadrature(rule: Any, model: Any, of: Any) -> None:
    """False-fail rate 1e-6 (Student over chains): inclusion, mean, mean square of three coefficients, and size."""
    draws = 6000 if rule.reads_all else 2500
    assert worst_z(model, rule, ReversibleJump(**MOVES), of(), draws) < 1


@pytest.mark.statistical
def test_a_mixture_of_jumps() -> None:
    """Small and large steps by turns, one after the other at random. False-fail rate 1e-6."""
    moves = Mixture((ReversibleJump(0.1, 0.3), ReversibleJump(0.8, 1.0, (1.0, 1.0, 3.0))), weights=(1, 2))
    assert worst_z(WITH_SLAB, Exact(), moves, slab_truth()) < 1


@pytest.mark.statistical
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("model", "of"), [(PAPER, paper_truth), (WITH_SLAB, slab_truth)])
def test_a_wrong_ratio_is_caught(fault: str, model: Any, of: Any) -> None:
    """Negative controls of the test above, which passes without a fault."""
    found = worst_z(model, Exact(), Faulty(**MOVES, fault=fault), of())
    assert found < 1 if fault == "none" else found > 1.5


# Invariance: from exact draws to exact draws


@lru_cache(maxsize=1)
def exact_draws() -> np.ndarray:
    """Independent draws (n, 3) of the posterior with a slab, by throwing away draws of the prior."""
    X, y = rows_of_three(SEED)
    random = np.random.default_rng([SEED, 21])
    count = 600_000
    used = random.random((count, 3)) < random.beta(1.0, 2.0, count)[:, None]
    beta = np.where(used, random.normal(0.0, SLAB, (count, 3)), 0.0)
    log_l = log_likelihood(X, y, beta)
    return beta[np.log(random.random(count)) < log_l - log_l.max()]


def moved_sets(proposal: Any, chains: int, steps: int) -> tuple[float, float]:
    """Chi-square of sets over its limit, and the largest distance of two-sample distributions over theirs."""
    X, y = rows_of_three(SEED)
    drawn = exact_draws()
    common = settings(draws=1, warmup=steps - 1, chains=chains, start=drawn[:chains], rng=SEED, dtype="float64")
    post = au.sample(WITH_SLAB, X, y, acceptance=Exact(), proposal=proposal, **common)
    beta = post["posterior"]["beta"].values[:, 0]
    masses = slab_truth().sets
    code = (beta != 0) @ [1, 2, 4]
    counts = np.array([np.sum(code == sum(2**j for j in used)) for used in masses])
    expected = np.array(list(masses.values())) * chains
    chi_square = np.sum((counts - expected) ** 2 / expected) / chi_square_limit(len(masses) - 1)
    others = drawn[chains:]
    limit = np.sqrt(np.log(2 / FALSE_FAIL) / 2 * (1 / chains + 1 / len(others)))
    apart = [stats.ks_2samp(beta @ w, others @ w).statistic for w in (*np.eye(3), np.array([1.0, -1.0, 0.5]))]
    return float(chi_square), float(max(apart) / limit)


@pytest.mark.statistical
def test_exact_draws_stay_exact() -> None:
    """2000 chains, 30 steps. False-fail rate 1e-6 for the sets and each of four projections."""
    assert len(exact_draws()) > 6000
    sets, apart = moved_sets(ReversibleJump(**MOVES), 2000, 30)
    assert sets < 1 and apart < 1
    assert max(moved_sets(Faulty(**MOVES, fault="no birth density"), 2000, 30)) > 1.5
    assert max(moved_sets(Faulty(**MOVES, fault="edge forgotten"), 2000, 30)) > 1.5


# Moves


same = np.array_equal


@lru_cache(maxsize=1)
def thrown() -> np.ndarray:
    return np.asarray(streams.new_streams(np.random.SeedSequence(SEED), 1)[0, streams.PROPOSAL])


def one_move(move: ReversibleJump, fewest: int, beta: np.ndarray, step: int) -> tuple[np.ndarray, int, float]:
    """The state after one proposed move, its kind and its log proposal ratio."""
    proposed, flags, report = np.empty(beta.size), np.zeros(beta.size, np.int64), np.zeros(MOVE_SIZE)
    stream = thrown()
    streams.start(stream, step)
    parameters = move.parameters(Setting(beta.size, None, None, fewest=fewest))
    indices = (beta != 0).astype(np.int64)
    ratio = propose(beta, indices, parameters, np.zeros(1), stream, proposed, flags, report)
    assert np.array_equal(flags, proposed != 0)
    return proposed, int(report[TAG]), ratio


def paper_factors(before: np.ndarray, after: np.ndarray, move: ReversibleJump, rate: float) -> float:
    """log of the factors of prior and proposal written out for the three moves; a death is the inverse of its birth."""
    k, total = np.count_nonzero(before), before.size
    if np.count_nonzero(after) < k:
        return -paper_factors(after, before, move, rate)
    norm, norm_after = np.abs(before).sum(), np.abs(after).sum()
    if np.count_nonzero(after) == k:
        return float(-k * log(norm_after) + k * log(norm))
    update, birth, death = move.weights
    chance_birth = birth / (update + birth + (death if k > 1 else 0))
    chance_death = death / (update + death + (birth if k + 1 < total else 0))
    density = stats.norm.logpdf((after - before).sum(), 0, move.birth)
    ratio = log(rate * k / (total - k)) + log(chance_death / (k + 1)) - log(chance_birth / (total - k)) - density
    return float(-(k + 1) * log(norm_after) + k * log(norm) + ratio)


@pytest.mark.parametrize("total", [1, 2, 3, 7])
def test_prior_and_proposal_together_are_the_factors_of_the_paper(total: int) -> None:
    """Every kind of move from sets of every size, k = 1 and k = D among them; each undone gives the inverse."""
    random = np.random.default_rng([SEED, 31])
    move = ReversibleJump(0.3, 0.7, (3.0, 1.0, 2.0))
    X, y = random.normal(size=(40, total)), random.random(40) < 0.5
    table = VariableSelection(rate=1e-10).bind(au.rows.open(X, y), False, False).prior
    seen = set()
    for trial in range(400):
        k = 1 + trial % total
        before = np.zeros(total)
        before[random.permutation(total)[:k]] = random.normal(size=k)
        after, kind, ratio = one_move(move, 1, before, trial)
        seen.add((k, kind))
        got = log_prior(table, after) - log_prior(table, before) + ratio
        assert got == pytest.approx(paper_factors(before, after, move, 1e-10), rel=1e-10, abs=1e-10)
        assert (np.sign(np.count_nonzero(after) - k) % 3) == kind
        if kind == 0:
            assert ratio == 0.0
        if kind == 1:  # the death that undoes this birth has the inverse ratio
            back = next(found for found in (one_move(move, 1, after, n) for n in range(1000)) if same(found[0], before))
            assert back[1] == 2 and back[2] == pytest.approx(-ratio, rel=1e-10)
    possible = {(k, kind) for k in range(1, total + 1) for kind in range(3)}
    assert seen == possible - {(1, 2), (total, 1)}


def test_moves_from_the_empty_set_and_their_chances() -> None:
    """With a slab nothing may be in use: only a birth leads away, and kinds come as often as their weights say."""
    move = ReversibleJump(0.3, 0.7, (3.0, 1.0, 2.0))
    assert {one_move(move, 0, np.zeros(4), step)[1] for step in range(200)} == {1}
    point = np.array([0.0, 1.0, 0.0, -2.0])
    kinds = np.bincount([one_move(move, 0, point, step)[1] for step in range(6000)], minlength=3)
    assert np.sum((kinds - 1000 * np.array([3, 1, 2])) ** 2 / (1000 * np.array([3, 1, 2]))) < chi_square_limit(2)
    _, kind, ratio = next(found for found in (one_move(move, 0, np.eye(4)[0], s) for s in range(500)) if found[1] == 2)
    back = 1.0 / 4 / (2.0 / 6.0)  # P_birth(0) / 4 over P_death(1) / 1
    assert kind == 2 and ratio == pytest.approx(log(back) + stats.norm.logpdf(1.0, 0, 0.7))


@pytest.mark.parametrize(
    ("model", "mass"),
    [
        (VariableSelection(slab=Normal(0.5, 2), inclusion=0.2), lambda k: k * log(0.2) + (4 - k) * log(0.8)),
        (VariableSelection(slab=Laplace(0, 1)), lambda k: 4 * log(0.5)),
        (WITH_SLAB, lambda k: slab_mass(4)[k]),
        (PAPER, lambda k: paper_mass(4)[k]),
    ],
)
def test_the_prior_of_sets_and_coefficients(model: Any, mass: Any) -> None:
    random = np.random.default_rng([SEED, 41])
    held = au.rows.open(random.normal(size=(40, 4)), random.random(40) < 0.5)
    table = model.bind(held, False, False).prior
    laws = {"Normal(0.5": stats.norm(0.5, 2), "Laplace": stats.laplace(), "Normal(": stats.norm(0, SLAB)}
    for k in range(5):
        beta = np.append(random.normal(size=k), np.zeros(4 - k))
        law = next((law for name, law in laws.items() if name in repr(model.slab).replace("location=", "")), None)
        if law is None:
            wanted = mass(k) - (k * log(np.abs(beta).sum()) if k else 0.0)
        else:
            wanted = mass(k) + law.logpdf(beta[:k]).sum()
        assert log_prior(table, beta) == pytest.approx(wanted) or (wanted == log_prior(table, beta) == -np.inf)
    assert log_prior(PAPER.bind(held, False, False).prior, np.array([0.02, 0.0, -0.02, 0.0])) == -np.inf
    assert sum(comb(4, k) * np.exp(slab_mass(4)[k]) for k in range(5)) == pytest.approx(1.0)


@pytest.mark.statistical
def test_births_and_deaths_by_the_sequential_test_as_designed() -> None:
    """One birth or death of 1500 chains: SequentialT decides otherwise than all rows would as often as designed.

    Normal bound of false-fail rate 1e-6; the moves and u are thrown again here, the decision on all rows is Exact's.
    """
    chains, n_rows, rule = 1500, 4000, SequentialT(0.1, 200)
    random = np.random.default_rng([SEED, 51])
    X = random.normal(size=(n_rows, 6))
    y = (random.random(n_rows) < special.expit(X @ [0.5, -0.5, 0.0, 0.05, 0.0, 0.03])).astype(float)
    start = np.zeros((chains, 6))
    start[:, :4] = np.array([0.5, -0.5, 0.03, 0.04]) + 0.02 * random.normal(size=(chains, 4))
    move, model = ReversibleJump(0.01, 0.05, (1e-9, 1.0, 1.0)), VariableSelection(rate=2.0)
    common = settings(draws=1, warmup=0, chains=chains, start=start, rng=SEED, dtype="float64")
    exact = au.sample(model, X, y, acceptance=Exact(), proposal=move, **common)
    quick = au.sample(model, X, y, acceptance=rule, proposal=move, **common)

    keys = streams.new_streams(np.random.SeedSequence(SEED).spawn(2)[0], chains)
    proposed, log_a0, log_u = np.empty((chains, 6)), np.empty(chains), np.empty(chains)
    table = model.bind(au.rows.open(X, y), False, False).prior
    parameters, flags, report = (
        move.parameters(Setting(6, None, None, fewest=1)),
        np.zeros(6, np.int64),
        np.zeros(MOVE_SIZE),
    )
    for c in range(chains):
        stream = keys[c, streams.PROPOSAL]
        streams.start(stream, 0)
        used = (start[c] != 0).astype(np.int64)
        log_a0[c] = propose(start[c].copy(), used, parameters, np.zeros(1), stream, proposed[c], flags, report)
        log_a0[c] += log_prior(table, proposed[c]) - log_prior(table, start[c])
        log_u[c] = log_uniforms(keys[c, streams.DECISION], 1)[0]
    terms = [y * eta - np.logaddexp(0.0, eta) for eta in (proposed @ X.T, start @ X.T)]
    terms = terms[0] - terms[1]
    gap = terms.sum(axis=1) + log_a0 - log_u
    accepted = exact["sample_stats"]["accepted"].values[:, 0] == 1
    clear = np.abs(gap) > 1e-6
    assert clear.mean() > 0.99 and np.array_equal(accepted[clear], gap[clear] > 0)
    assert 0.05 < accepted.mean() < 0.95
    mu_std = gap / n_rows * np.sqrt(n_rows - 1) / terms.std(axis=1)
    chance = np.asarray(error(n_rows, rule.batch, rule.epsilon, mu_std).error)
    wrong = np.sum((quick["sample_stats"]["accepted"].values[:, 0] == 1) != (gap > 0))
    assert chance.sum() > 40  # wrong decisions enough to count
    z_limit = -float(stats.norm.ppf(FALSE_FAIL / 2))
    assert abs(wrong - chance.sum()) < z_limit * np.sqrt(np.sum(chance * (1 - chance))) + 1
