"""Every demonstration runs in a tiny form and shows what it says."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"


@pytest.fixture(autouse=True)
def _on_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Demonstrations are scripts that import their neighbour."""
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    monkeypatch.delitem(sys.modules, "common", raising=False)
    yield
    sys.modules.pop("common", None)


def script(name: str) -> Any:
    """A demonstration as a module, under a name of its own: benchmarks have files of the same names."""
    spec = importlib.util.spec_from_file_location(f"experiment_{name}", EXPERIMENTS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_variable_selection(
    shared_file: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From all variables chains use more of them than from one; elevation stays in use."""
    selection = script("variable_selection")
    X, y, names = selection.forest(shared_file("covtype.npz"), 4000)
    assert X.shape == (4000, len(names)) and 40 < len(names) <= 55 and names[0] == "constant"
    assert np.allclose(X[:, 1:11].std(axis=0), 1, atol=1e-3) and 0.4 < y.mean() < 0.6
    found = {
        (start, name): selection.select(X, y, names, rule, start, 150, 4.0)
        for start in selection.STARTS
        for name, rule in selection.RULES.items()
    }
    selection.table(found, names, len(X))
    assert "inclusion probabilities differ by" in capsys.readouterr().out
    for rule in selection.RULES:
        assert found["all", rule].size.mean() > found["one", rule].size.mean() + 10
        assert found["all", rule].included[:, names.index("Elevation")].mean() > 0.9
    assert found["one", "Exact"].rows == len(X) > found["one", "SequentialT(0.01, 500)"].rows
    selection.save(selection.picture(found, names), tmp_path, "variable_selection")
    assert (tmp_path / "variable_selection.png").stat().st_size > 20_000
