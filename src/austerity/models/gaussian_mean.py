"""The mean of a normal population of known scale, its rows known by their summary alone.

    x_i ~ N(mu, sigma^2);     sum_i l_i(mu) = -N (mean - mu)^2 / (2 sigma^2)      up to a constant

With `Exact` a decision costs nothing, whatever N is: that is the truth which rules that draw batches are held against.
"""

from dataclasses import dataclass, replace
from typing import Any

from ..errors import InputError
from ..report.variables import Variable
from ..rows.held import Rows
from ..rows.summary import Summary, new_source
from .linear import Linear, positive
from .priors import PRIORS, Flat
from .target import Target


@dataclass(frozen=True, eq=False)
class GaussianMean:
    """N(mu, sigma) with `sigma` known and a prior of mu (flat by default), for `rows.Summary(n, mean, sd)`."""

    sigma: float = 1.0
    prior: Any = None

    centre_columns = False
    centre_response = False
    knows_summaries = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive("GaussianMean", "sigma", self.sigma))
        if self.prior is not None and not isinstance(self.prior, PRIORS):
            raise InputError(f"GaussianMean(prior={self.prior!r}): give one such as priors.Normal(0, 1)")

    def bind(self, rows: Rows, intercept: bool, standardize: bool) -> Target:
        """The posterior of mu: to a pass a regression on one row of weight N, to a draw the batches of a summary."""
        if not isinstance(rows, Summary):
            raise InputError("GaussianMean knows rows by their summary: give rows.Summary(n, mean, sd) in place of X")
        if intercept or standardize:
            raise InputError("intercept and standardize are for models with linear predictors: leave them out")
        # One row of weight N / sigma^2 and scale 1: with sigma in the kernel -N log sigma would swallow the digits.
        one_row = Linear(sigma=1.0, prior=self.prior or Flat()).bind(rows, False, False)
        weights = one_row.problem.weights / self.sigma**2
        return replace(
            one_row,
            problem=one_row.problem._replace(weights=weights),
            name="GaussianMean",
            labels=["mu"],
            variables=[Variable("mu", (), {}, 0, 1)],
            new_source=lambda problem, size, n_indices: new_source(rows, self.sigma),
        )
