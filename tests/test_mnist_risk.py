"""The demonstration of risk on MNIST, its pieces at tiny size."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"


def test_mnist_risk(
    shared_file: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Digits as in the paper, all rules beside its counts, a picture; the exact posterior tells the digits apart."""
    archive = shared_file("mnist.npz")
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    monkeypatch.delitem(sys.modules, "common", raising=False)
    spec = importlib.util.spec_from_file_location("experiment_mnist_risk", EXPERIMENTS / "mnist_risk.py")
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    with np.load(archive) as loaded:
        X, y, X_test, y_test = script.digits(loaded)
    assert X.shape == (12_214, 50) and X_test.shape == (2037, 50) and 0.4 < y.mean() < 0.6
    assert np.allclose(X.std(axis=0), 1.0, atol=1e-3) and abs(y_test.mean() - y.mean()) < 0.05
    monkeypatch.setattr(script, "digits", lambda loaded: (X, y, X_test[:100], y_test[:100]))
    monkeypatch.setattr(script, "SIZES", {True: (0.05, 3, 20), False: (0.05, 3, 20)})
    script.main(["--data", str(archive.parent), "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    for name, count in (("exact", "75,484"), ("epsilon = 0.01", "133,069"), ("epsilon = 0.2", "422,978")):
        assert any(line.startswith(name) and count in line for line in printed.splitlines())
    assert "risk of predictive means of 100 test rows, 3 chains a rule" in printed and "accuracy 9" in printed
    assert (tmp_path / "mnist_risk.png").stat().st_size > 20_000
    sys.modules.pop("common", None)
