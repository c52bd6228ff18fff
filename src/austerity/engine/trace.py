"""A short record of every chain while it runs, for the effective sample size shown in progress.

Every k-th draw is kept; when the record is full every second one is dropped and k doubles. Where k is below the
autocorrelation time, as for random walks, next to nothing is lost; the results themselves use every draw.
"""

import numpy as np

FULL = 2048
MOST_COLUMNS = 64


class Trace:
    """Thinned draws of each chain, at most FULL of them and at most MOST_COLUMNS wide."""

    def __init__(self, chains: int) -> None:
        self.kept: list[np.ndarray] = [np.zeros((0, 0)) for _ in range(chains)]
        self.every = 1
        self.seen = np.zeros(chains, np.int64)

    def add(self, chain: int, values: np.ndarray) -> None:
        """Take draws (n, width) of one chain."""
        places = np.arange(self.seen[chain], self.seen[chain] + len(values))
        self.seen[chain] += len(values)
        fresh = values[places % self.every == 0, :MOST_COLUMNS]
        old = self.kept[chain]
        self.kept[chain] = np.concatenate([old, fresh]) if old.size else np.array(fresh)
        while len(self.kept[chain]) > FULL:
            self.every *= 2
            self.kept = [kept[::2] for kept in self.kept]

    def ess(self) -> float:
        """Least effective sample size over the columns; NaN while there is too little to tell."""
        from ..report.diagnostics import running_ess

        shortest = min(len(kept) for kept in self.kept)
        if shortest < 20:
            return float("nan")
        return running_ess(np.stack([kept[:shortest] for kept in self.kept]))
