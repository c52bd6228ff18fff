"""Bayesian posterior sampling on tall data: decisions about a sum over N rows, exact or from few of them."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from . import decisions, design, gibbs, models, priors, proposals, rows
    from .handle import Handle, start
    from .models.user import Model
    from .report.predict import Score, predict, score
    from .report.results import load_tree as load
    from .report.risk import Risk, risk
    from .report.summary import summary
    from .sample import sample

_WHERE = {
    "Handle": ("handle", "Handle"),
    "Model": ("models.user", "Model"),
    "Risk": ("report.risk", "Risk"),
    "Score": ("report.predict", "Score"),
    "decisions": ("decisions", None),
    "design": ("design", None),
    "gibbs": ("gibbs", None),
    "load": ("report.results", "load_tree"),
    "models": ("models", None),
    "predict": ("report.predict", "predict"),
    "priors": ("priors", None),
    "proposals": ("proposals", None),
    "risk": ("report.risk", "risk"),
    "rows": ("rows", None),
    "sample": ("sample", "sample"),
    "score": ("report.predict", "score"),
    "start": ("handle", "start"),
    "summary": ("report.summary", "summary"),
}

__all__ = ["Handle", "Model", "Risk", "Score", "__version__", "decisions", "design", "gibbs", "load", "models"]
__all__ += ["predict", "priors", "proposals", "risk", "rows", "sample", "score", "start", "summary"]


def __getattr__(name: str) -> Any:
    """Load a room when it is first asked for: importing the package alone stays quick."""
    if name not in _WHERE:
        raise AttributeError(f"module 'austerity' has no attribute {name!r}")
    module, attribute = _WHERE[name]
    found = import_module(f".{module}", __name__)
    value = found if attribute is None else getattr(found, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """Keeps `sample` the function: loading sample.py, from wherever it is asked for, would bind the file's name."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value.sample if name == "sample" and isinstance(value, ModuleType) else value)


sys.modules[__name__].__class__ = _Package
