"""A discrete model of factor tables, as users describe it.

    p(x) ~ prod_f table_f[x_i, x_j(, x_k)],     x_k in 0 ... S_k - 1

Each factor names one, two or three variables and has a table with an axis for each. Entries are positive weights, or
their logarithms with log=True. How many values a variable has follows from the tables that name it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from . import checks
from .tables import Factors, compact

DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class Group:
    """Factors whose tables have one shape: variables (F, order) int64, logs (F, *shape) float64."""

    variables: NDArray[np.int64]
    logs: NDArray[np.float64]


class Field:
    """Variables with a few values each, and the factors between them.

    factors: {(0, 1): table, (0, 1, 2): table, ...} or pairs (variables, table); variables by number or by name.
    log: whether tables hold logarithms. names: of the variables, in order. dtype: in which tables are held.
    """

    def __init__(
        self,
        factors: Mapping[Sequence[Any], Any] | Iterable[tuple[Sequence[Any], Any]],
        *,
        log: bool = False,
        names: Sequence[str] | None = None,
        dtype: str = "float32",
    ) -> None:
        pairs = checks.pairs_of(factors)
        named = checks.named(pairs, names)
        places = None if named is None else {name: k for k, name in enumerate(named)}
        shaped: dict[tuple[int, ...], tuple[list[Any], list[Any]]] = {}
        for given, table in pairs:
            variables, values = checks.one_factor(given, table, places)
            into = shaped.setdefault(values.shape, ([], []))
            into[0].append(variables)
            into[1].append(values)
        groups = [(np.array(v, np.int64), np.array(t)) for v, t in shaped.values()]
        self._build(groups, log, named, dtype)

    @classmethod
    def from_arrays(
        cls,
        variables: Any,
        tables: Any,
        *,
        log: bool = False,
        names: Sequence[str] | None = None,
        dtype: str = "float32",
    ) -> Field:
        """Many factors with tables of one shape: variables (F, order), tables (F, S, S) or (F, S, S, S)."""
        field = cls.__new__(cls)
        named = None if names is None else checks.named([], names)
        field._build([checks.arrays(variables, tables)], log, named, dtype)
        return field

    def _build(self, groups: list[tuple[Any, Any]], log: bool, named: list[str] | None, dtype: str) -> None:
        if not isinstance(log, (bool, np.bool_)):
            raise InputError(f"log={log!r}: give True where tables hold logarithms, else False")
        if dtype not in DTYPES:
            raise InputError(f'dtype={dtype!r} is unknown to tables: give "float32" or "float64"')
        self.dtype = dtype
        self.groups = [Group(variables, checks.logarithms(variables, tables, log)) for variables, tables in groups]
        checks.refuse_overflow(self.groups, dtype)
        self.states = checks.states(self.groups, None if named is None else len(named))
        self.names = [f"x{k}" for k in range(self.states.size)] if named is None else named

    @property
    def size(self) -> int:
        """Number of variables D."""
        return int(self.states.size)

    @property
    def n_factors(self) -> int:
        return sum(len(group.variables) for group in self.groups)

    @cached_property
    def factors(self) -> Factors:
        """The tables as compiled code reads them."""
        return compact([(group.variables, group.logs) for group in self.groups], self.states, np.dtype(self.dtype))

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """How many factors name each variable (D,)."""
        return np.bincount(np.concatenate([g.variables.ravel() for g in self.groups]), minlength=self.size)

    @cached_property
    def rounding(self) -> float:
        """Largest error of the log ratio of two values of a variable that comes from holding tables in their dtype."""
        worst = np.zeros(self.size)
        for group in self.groups:
            axes = tuple(range(1, group.logs.ndim))
            error = 2.0 * np.abs(group.logs - group.logs.astype(self.dtype)).max(axis=axes)
            for column in group.variables.T:
                worst += np.bincount(column, error, minlength=self.size)
        return float(worst.max())

    @cached_property
    def fingerprint(self) -> str:
        """A checksum of variables and tables."""
        digest = hashlib.blake2b(digest_size=16)
        for group in self.groups:
            for array in (np.array(group.logs.shape), group.variables, group.logs):
                digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def log_weight(self, x: Any) -> NDArray[np.float64]:
        """log p up to a constant at states x (..., D)."""
        states = checks.given_states(x, self.states, "x")
        out = np.zeros(states.shape[:-1])
        for group in self.groups:
            of_factor = np.arange(len(group.variables))
            place = tuple(states[..., column] for column in group.variables.T)
            out += group.logs[(of_factor, *place)].sum(axis=-1)
        return out

    def __repr__(self) -> str:
        values = f"{self.states.min()}" + (f" to {self.states.max()}" if np.ptp(self.states) else "")
        return f"Field({self.size} variables of {values} values, {self.n_factors:,} factors)"
