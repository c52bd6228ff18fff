"""A run goes on only with the settings and the data it was made with; else the difference is named."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from interrupted_runs import data

import austerity as au
from austerity.engine import prepare
from austerity.errors import StoreError
from austerity.store.zarr_store import ZarrStore

X, Y = data(400)


def twice(parameters: dict[str, np.ndarray]) -> np.ndarray:
    return 2 * parameters["beta"]


def thrice(parameters: dict[str, np.ndarray]) -> np.ndarray:
    return 3 * parameters["beta"]


GIVEN: dict[str, Any] = {
    "model": au.models.Logistic(au.priors.Normal(0, 1)),
    "X": X,
    "y": Y,
    "acceptance": au.decisions.SequentialT(0.05, 100),
    "proposal": au.proposals.RandomWalk(0.1),
    "draws": 40,
    "warmup": 10,
    "chains": 2,
    "thin": 2,
    "keep": {"twice": twice},
    "progress": False,
}


def changed(array: np.ndarray, place: Any, value: float) -> np.ndarray:
    copy = array.copy()
    copy[place] = value
    return copy


DECISION, DATA = au.decisions.SequentialT, "The data differ from those of the run"
CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "rng": ({"rng": 1}, "rng = 0, and 1 is asked for"),
    "chains": ({"chains": 3}, "chains = 2, and 3 is asked for"),
    "thin": ({"thin": 1}, "thin = 2, and 1"),
    "warmup": ({"warmup": 11}, "warmup = 10, and 11"),
    "prior": (
        {"model": au.models.Logistic(au.priors.Normal(0, 2))},
        r"the scale of the prior of beta\[x0\] = 1\.0, and 2\.0",
    ),
    "kind of prior": (
        {"model": au.models.Logistic(au.priors.Laplace(0, 1))},
        r'the name of the prior of beta\[x0\] = "Normal", and "Laplace"',
    ),
    "model": ({"model": au.models.Probit(au.priors.Normal(0, 1))}, 'model.model = "Logistic", and "Probit"'),
    "epsilon": ({"acceptance": DECISION(0.1, 100)}, r"acceptance\.epsilon = 0\.05, and 0\.1 "),
    "batch": ({"acceptance": DECISION(0.05, 200)}, r"acceptance\.batch = 100, and 200"),
    "boundary": ({"acceptance": DECISION(0.05, 100, au.decisions.OBrienFleming())}, r"boundary\.alpha = 0\.5, and 1"),
    "rule": ({"acceptance": au.decisions.Exact()}, r"acceptance\.\w+ = .*, and "),
    "rule by itself": ({"acceptance": "auto"}, r"acceptance\.\w+ = "),
    "scale of the proposal": ({"proposal": au.proposals.RandomWalk(0.2)}, r"proposal\.scale = 0\.1, and 0\.2"),
    "proposal": ({"proposal": au.proposals.AdaptiveMetropolis()}, r"proposal\."),
    "dtype": ({"dtype": "float64"}, 'dtype = "float32", and "float64"'),
    "intercept": ({"intercept": True}, "with intercept = false, and true"),
    "standardize": ({"standardize": True}, "with standardize = false, and true"),
    "temperature": ({"temperature": 2.0}, r"temperature\[0\] = 1\.0, and 2\.0"),
    "start": ({"start": np.zeros(4)}, r'start = "mode", and \[0'),
    "keep": ({"keep": ["beta"]}, r"keep = "),
    "a function of keep": ({"keep": {"twice": thrice}}, r"keep\.twice = "),
    "a name of keep": ({"keep": {"double": twice}}, r"keep\.double = nothing"),
    "names": ({"names": ["a", "b", "c", "d"]}, r'parameters\[0\] = "beta\[x0\]", and "beta\[a\]"'),
    "a value": ({"X": changed(X, (7, 2), 0.0)}, DATA),
    "a response": ({"y": changed(Y, 9, 1 - Y[9])}, DATA),
    "the order of rows": ({"X": X[::-1], "y": Y[::-1]}, DATA),
    "fewer rows": ({"X": X[:-1], "y": Y[:-1]}, DATA),
    "weights": ({"weights": np.full(400, 2.0)}, DATA),
    "an offset": ({"offset": np.full(400, 0.1)}, DATA),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A run of 40 draws on disk, and the same run with 60."""
    store = tmp_path_factory.mktemp("resume") / "run.zarr"
    au.sample(**GIVEN, store=store)
    return store, au.sample(**{**GIVEN, "draws": 60})


def never(*_: Any) -> None:
    raise AssertionError("the mode was looked for")


@pytest.mark.parametrize("case", CHANGES)
def test_a_difference_is_named(
    case: str, made: tuple[Path, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes, sentence = CHANGES[case]
    before = contents(made[0])
    if case != "rule by itself":  # only then the mode decides what is asked for
        monkeypatch.setattr(prepare, "find_mode", never)
    with pytest.raises(StoreError, match=sentence) as caught:
        au.sample(**{**GIVEN, "draws": 60, **changes}, store=made[0], resume=True)
    assert str(made[0]) in str(caught.value) and "or another path" in str(caught.value)
    assert contents(made[0]) == before


def test_other_data_are_blamed_before_what_follows_from_them(tmp_path: Path) -> None:
    """Default priors follow from the columns, and what auto chooses from their number: nobody asked for either."""
    given = {**GIVEN, "model": au.models.Logistic(), "acceptance": "auto", "store": tmp_path / "run.zarr"}
    au.sample(**given)
    for changes in ({"X": 3 * X}, {"X": X[:200], "y": Y[:200]}, {"weights": np.full(400, 2.0)}):
        with pytest.raises(StoreError, match=DATA):
            au.sample(**{**given, **changes}, resume=True)
    with pytest.raises(StoreError, match="thin = 2, and 1"):
        au.sample(**{**given, "X": 3 * X, "thin": 1}, resume=True)
    with pytest.raises(StoreError, match=r"the scale of the prior of beta\[x0\]"):
        au.sample(**{**given, "model": au.models.Logistic(au.priors.Normal(0, 2))}, resume=True)


def test_times_of_all_sittings_are_added_up(tmp_path: Path) -> None:
    store, times = tmp_path / "run.zarr", []
    for draws in (40, 60, 60):  # the last one finds nothing left to do
        attrs = au.sample(**{**GIVEN, "draws": draws}, store=store, resume=True).attrs
        times.append((attrs["setup_time"], attrs["sampling_time"]))
        assert attrs["ended"] == "done"
    assert times[0][0] < times[1][0] < times[2][0] and 0 < times[0][1] < times[1][1] <= times[2][1]
    again = au.load(store).attrs
    assert (again["setup_time"], again["sampling_time"]) == times[2]


def test_a_run_cut_off_says_so_and_knows_its_time(tmp_path: Path, made: tuple[Path, Any]) -> None:
    """As a kill leaves it: more draws were asked for, a commit was made, nothing was finished."""
    shutil.copytree(made[0], tmp_path / "run.zarr")
    before = au.load(made[0]).attrs
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ZarrStore, "finish", lambda *_: None)
        au.sample(**{**GIVEN, "draws": 60}, store=tmp_path / "run.zarr", resume=True)
    tree = au.load(tmp_path / "run.zarr")
    assert tree.attrs["ended"] == "running" and tree.attrs["sampling_time"] > before["sampling_time"]
    assert tree.attrs["setup_time"] > before["setup_time"] > 0
    assert "cut off; go on with resume" in au.summary(tree).header()[0]


def test_an_empty_directory_is_a_place_for_a_run(tmp_path: Path) -> None:
    for name, resume in (("a", False), ("b", True)):
        (tmp_path / name).mkdir()
        au.sample(**GIVEN, store=tmp_path / name, resume=resume)
        assert au.load(tmp_path / name)["posterior"].sizes["draw"] == 40
        assert "(of" not in au.summary(au.load(tmp_path / name)).header()[0]


def contents(store: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in store.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "changes",
    [{"cores": 2}, {"time_limit": 1000.0}, {"progress": True}, {"rng": np.random.SeedSequence(0)}, {"X": X.tolist()}],
    ids=["cores", "time_limit", "progress", "rng as a sequence", "rows as lists"],
)
def test_what_changes_no_draw_may_change(changes: dict[str, Any], made: tuple[Path, Any], tmp_path: Path) -> None:
    shutil.copytree(made[0], tmp_path / "run.zarr")
    tree = au.sample(**{**GIVEN, "draws": 60, **changes}, store=tmp_path / "run.zarr", resume=True)
    for name in ("posterior", "sample_stats"):
        assert tree[name].to_dataset().equals(made[1][name].to_dataset())


def test_what_auto_chose_may_be_given(tmp_path: Path) -> None:
    """The choice is a setting: given back explicitly it goes on with the same run."""
    given = {**GIVEN, "acceptance": "auto", "store": tmp_path / "run.zarr"}
    au.sample(**given)
    tree = au.sample(**{**given, "acceptance": au.decisions.Exact(), "draws": 60, "resume": True})
    assert tree["posterior"].sizes["draw"] == 60


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda run: (run / "zarr.json").write_text("{"), "cannot be read"),
        (lambda run: (run / "state" / "checkpoint.npz").write_bytes(b"PK"), "No checkpoint in"),
        (lambda run: shutil.rmtree(run / "posterior"), "cannot be read"),
    ],
    ids=["metadata", "checkpoint", "arrays"],
)
def test_a_damaged_run_is_refused(
    spoil: Callable[[Path], Any], sentence: str, made: tuple[Path, Any], tmp_path: Path
) -> None:
    run = tmp_path / "run.zarr"
    shutil.copytree(made[0], run)
    (run / "state" / "checkpoint.previous.npz").unlink(missing_ok=True)
    spoil(run)
    for attempt in (lambda: au.load(run), lambda: au.sample(**{**GIVEN, "store": run}, resume=True)):
        with pytest.raises(StoreError, match=sentence):
            attempt()
