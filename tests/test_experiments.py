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


def test_ica(shared_file: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Recordings are recovered, the plane of two Gaussian sources too, a direction in it not."""
    ica = script("ica")
    made = ica.settings(shared_file("ica_audio.npz").parent, 4000)
    found = ica.compare(made, tmp_path, 0.4, 20)
    assert (tmp_path / "ica.png").stat().st_size > 20_000
    printed = capsys.readouterr().out
    assert printed.count("SequentialT, epsilon .1") == 4 and "three recordings" in printed
    one, two = (found[setting.title]["rest"]["posterior"] for setting in made)
    assert float(one["distance"].mean()) < 0.2 and float(two["distance"].mean()) < 0.2
    assert float(two["angle"].mean()) < 30


def test_angle_of_planes(shared_file: Callable[[str], Path]) -> None:
    """0 for the truth with its Gaussian rows turned, and t for a turn by t of one of them into a recording."""
    ica = script("ica")
    setting = ica.settings(shared_file("ica_audio.npz").parent, 500)[1]
    turn = np.eye(4)
    turn[2:, 2:] = [[0.6, 0.8], [-0.8, 0.6]]
    assert ica.plane_angle(turn @ setting.truth, setting) < 1e-5
    t = np.radians(5.0)
    turn = np.eye(4)
    turn[np.ix_([0, 3], [0, 3])] = [[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]]
    assert ica.plane_angle(turn @ setting.truth, setting) == pytest.approx(5.0, rel=1e-6)


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


def test_sgld_l1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without correction a third of the distribution is elsewhere; corrected ones are near, reading little."""
    uncorrected, first, more, exact, mixed = script("sgld_l1").main(["--quick", "--out", str(tmp_path)], draws=5000)
    assert (tmp_path / "sgld_l1.png").stat().st_size > 20_000
    assert "epsilon = 0.1" in capsys.readouterr().out
    assert uncorrected.distance > 0.2 and max(o.distance for o in (first, more, exact, mixed)) < 0.12
    assert first.share == pytest.approx(0.05) and 0.1 < more.share < 0.2 and exact.share == 1.0
    assert 0.001 < mixed.behind < 0.01 and exact.behind < 0.001
