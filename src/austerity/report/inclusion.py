"""Summaries of models that choose their variables: a coefficient is described by the draws that use it.

    mean of beta_j given inclusion = sum of beta_j / number of draws with beta_j != 0

Its error, effective size and R-hat are those of z = (beta_j - mean) 1[beta_j != 0] / share, the series of which the
ratio's deviation is the mean to first order; an effective size is at most the number of draws that use the variable.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from austerity.report.diagnostics import diagnose

MODEL = "VariableSelection"
REMARK = "beta is given inclusion: draws that do not use a variable say nothing of its coefficient."


def chooses_variables(attrs: Mapping[str, Any]) -> bool:
    """Whether these are attributes of a run over sets of variables."""
    try:
        return bool(json.loads(attrs["settings"])["model"]["model"] == MODEL)
    except (KeyError, TypeError, ValueError, RecursionError):
        return False


def given_inclusion(flat: NDArray[np.float64]) -> tuple[Any, ...]:
    """Mean, sd, mcse, 5% and 95% quantiles, two effective sizes and R-hat (entries,) of draws (chains, n, entries)."""
    used = flat != 0
    counts = used.sum(axis=(0, 1))
    moments = np.full((4, flat.shape[2]), np.nan)
    for entry in np.flatnonzero(counts):
        values = flat[..., entry][used[..., entry]]
        sd = values.std(ddof=1) if values.size > 1 else np.nan
        moments[:, entry] = values.mean(), sd, *np.quantile(values, (0.05, 0.95))
    share = np.maximum(counts, 1) / (flat.shape[0] * flat.shape[1])
    found = diagnose(np.where(used, (flat - np.nan_to_num(moments[0])) / share, 0.0))
    mean, sd, low, high = moments
    bulk, tail = np.minimum(found.ess_bulk, counts), np.minimum(found.ess_tail, counts)
    return mean, sd, found.mcse_mean, low, high, bulk, tail, found.r_hat


def settled_rows(rows: Sequence[Any]) -> tuple[str, ...]:
    """Variables always or never in use, and coefficients of the latter: nobody misses their effective size."""
    return tuple(
        row.name
        for row in rows
        if (row.name.startswith("included[") and row.sd == 0) or (row.name.startswith("beta[") and np.isnan(row.mean))
    )
