"""Every demonstration runs in a tiny form and shows what it says."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


def test_sgld_l1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without correction a third of the distribution is elsewhere; corrected ones are near, reading little."""
    uncorrected, first, more, exact, mixed = script("sgld_l1").main(["--quick", "--out", str(tmp_path)], draws=5000)
    assert (tmp_path / "sgld_l1.png").stat().st_size > 20_000
    assert "epsilon = 0.1" in capsys.readouterr().out
    assert uncorrected.distance > 0.2 and max(o.distance for o in (first, more, exact, mixed)) < 0.12
    assert first.share == pytest.approx(0.05) and 0.1 < more.share < 0.2 and exact.share == 1.0
    assert 0.001 < mixed.behind < 0.01 and exact.behind < 0.001
