"""SGLD beside a cliff, and its repair by a test that reads little: L1 regression in one dimension.

    y = 0.5 x + xi,   x ~ U(-1, 1),   xi ~ N(0, 1/3),   N = 10^4
    p(theta | y) ~ exp{-(lambda/2) sum_i (y_i - theta x_i)^2 - lambda0 |theta|},   lambda = 3,   lambda0 = 4950

In the terms of this package: Linear(sigma = lambda^(-1/2)) with the prior Laplace(0, 1 / lambda0). The mode stands
half an sd beside the kink at 0, behind which the density falls off a cliff. A Langevin step of variance a = 5e-6 now
and then falls over the cliff, where the gradient throws it far to the right (austerity, Figure 5). A corrected step is
decided by a sequential test: at epsilon = .5 from the first 500 rows, at .1 from more where they leave doubt.

Langevin alone never enters the half percent of the posterior that lies behind the kink, however exactly it is
corrected: the gradient there would throw it past where it came from, so the way in has no way back. Half random-walk
steps mend that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import options, save

import austerity as au
from austerity.decisions import Exact, SequentialT
from austerity.proposals import Langevin, Mixture, RandomWalk

N, PRECISION, PENALTY, STEP, BATCH = 10_000, 3.0, 4950.0, 5e-6, 500
PAPER = {"epsilon = 0.1": "14.2 %", "epsilon = 0.5": "5 %"}  # rows a test


@dataclass(frozen=True)
class Outcome:
    """Draws of one way, and what they cost and miss."""

    name: str
    draws: np.ndarray
    share: float  # of all rows that a test reads
    accepted: float
    distance: float  # largest between distribution functions
    behind: float  # share of draws behind the cliff, below 0


@dataclass(frozen=True)
class Truth:
    """The posterior on a grid."""

    theta: np.ndarray
    density: np.ndarray

    @property
    def cumulative(self) -> np.ndarray:
        return np.asarray((np.cumsum(self.density) - 0.5 * self.density) * (self.theta[1] - self.theta[0]))


def rows(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """x (N, 1) and y (N,)."""
    random = np.random.default_rng(seed)
    x = random.uniform(-1.0, 1.0, (N, 1))
    return x, 0.5 * x[:, 0] + random.normal(0.0, PRECISION**-0.5, N)


def posterior(x: np.ndarray, y: np.ndarray) -> Truth:
    """Density at the middles of 20,000 cells."""
    theta = np.linspace(-0.05, 0.15, 20_000)
    square, product = float(x[:, 0] @ x[:, 0]), float(x[:, 0] @ y)
    log_density = -0.5 * PRECISION * (square * theta**2 - 2 * product * theta) - PENALTY * np.abs(theta)
    density = np.exp(log_density - log_density.max())
    return Truth(theta, density / (density.sum() * (theta[1] - theta[0])))


def ways() -> dict[str, dict[str, Any]]:
    """Proposal and decision of each way."""
    corrected = Langevin(STEP, batch=BATCH)
    return {
        "uncorrected": {"proposal": Langevin(STEP, batch=BATCH, corrected=False)},
        "epsilon = 0.5": {"proposal": corrected, "acceptance": SequentialT(0.5, BATCH)},
        "epsilon = 0.1": {"proposal": corrected, "acceptance": SequentialT(0.1, BATCH)},
        "Exact": {"proposal": corrected, "acceptance": Exact()},
        "Exact, mixed": {"proposal": Mixture((corrected, RandomWalk(0.01))), "acceptance": Exact()},
    }


def sampled(name: str, x: np.ndarray, y: np.ndarray, truth: Truth, draws: int, chains: int) -> Outcome:
    """Run one way from the mode."""
    model = au.models.Linear(prior=au.priors.Laplace(0.0, 1.0 / PENALTY), sigma=PRECISION**-0.5)
    common: dict[str, Any] = {"draws": draws, "warmup": 1000, "chains": chains, "progress": False, "rng": 0}
    post = au.sample(model, x, y, **common, **ways()[name])
    values = np.sort(post["posterior"]["beta"].values.ravel())
    ranks = np.arange(1, values.size + 1) / values.size
    distance = np.abs(np.interp(values, truth.theta, truth.cumulative) - ranks).max()
    statistics = post["sample_stats"]
    batches = 0.5 if name.endswith("mixed") else 1.0  # the batch is not part of the test
    share = float(statistics["n_rows"].mean() - batches * BATCH) / N
    return Outcome(
        name, values, share, float(statistics["accepted"].mean()), float(distance), float(np.mean(values < 0))
    )


def picture(outcomes: list[Outcome], truth: Truth) -> Any:
    """A histogram each, with the true density over it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.8 * len(outcomes), 3.0), layout="constrained")
    shared = None
    for place, outcome in enumerate(outcomes):
        axes = shared = figure.add_subplot(1, len(outcomes), place + 1, sharex=shared, sharey=shared)
        axes.hist(outcome.draws, bins=np.linspace(-0.02, 0.1, 161), density=True, color="0.75", label="draws")
        axes.plot(truth.theta, truth.density, color="C3", linewidth=1.2, label="posterior")
        axes.set_xlim(-0.012, 0.055)
        read = "" if outcome.name == "uncorrected" else f", {outcome.share:.1%} read a test"
        axes.set_title(f"{outcome.name}{read}", fontsize=10)
        axes.set_xlabel(r"$\theta$")
        axes.tick_params(labelleft=place == 0)
        if place == 0:
            axes.set_ylabel("density")
            axes.legend(frameon=False, fontsize=9)
    return figure


def table(outcomes: list[Outcome], truth: Truth) -> str:
    """One line a way."""
    width = truth.theta[1] - truth.theta[0]
    mean = float(np.sum(truth.theta * truth.density) * width)
    sd = float(np.sqrt(np.sum((truth.theta - mean) ** 2 * truth.density) * width))
    behind = float(np.interp(0.0, truth.theta, truth.cumulative))
    heads = ("rows a test", "the paper", "accepted", "mean", "sd", "distance", "below 0")
    lines = [f"{'':14}" + "".join(f"{head:>12}" for head in heads)]
    lines.append(f"{'posterior':14}" + " " * 36 + f"{mean:12.5f}{sd:12.5f}{'':>12}{behind:12.4f}")
    for o in outcomes:
        read = "none" if o.name == "uncorrected" else f"{o.share:.1%}"
        line = f"{o.name:14}{read:>12}{PAPER.get(o.name, ''):>12}{o.accepted:12.3f}{o.draws.mean():12.5f}"
        lines.append(line + f"{o.draws.std():12.5f}{o.distance:12.3f}{o.behind:12.4f}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None, draws: int | None = None, chains: int = 4) -> list[Outcome]:
    """All four ways; the table and the picture."""
    asked = options(__doc__, arguments)
    x, y = rows()
    truth = posterior(x, y)
    count = draws or (25_000 if asked.quick else 250_000)
    outcomes = [sampled(name, x, y, truth, count, chains) for name in ways()]
    print(table(outcomes, truth))
    save(picture(outcomes, truth), asked.out, "sgld_l1")
    return outcomes


if __name__ == "__main__":
    main()
