"""The documents say what is there: their code runs, their tree is the directory, their names exist."""

import inspect
import os
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import austerity as au

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"


def blocks(name: str) -> list[str]:
    """The Python blocks of a document."""
    return re.findall(r"^```python\n(.*?)^```$", (DOCS / name).read_text(), re.MULTILINE | re.DOTALL)


def run(source: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Run a block as a script of its own in a folder; returns its names."""
    monkeypatch.chdir(folder)
    (folder / "block.py").write_text(source)
    return runpy.run_path(os.fspath(folder / "block.py"))


def test_a_family_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(blocks("design.md")[0], tmp_path, monkeypatch)
    beta = found["post"]["posterior"]["beta"].values
    assert np.all(np.abs(beta.mean((0, 1)) - [0.5, -1.0]) < 6 * beta.std((0, 1)))
    with pytest.raises(au.sample.__globals__["InputError"], match="times of at least 0"):
        au.sample(found["Waiting"](), found["X"], -found["times"])


def test_a_proposal_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its means and spreads are those of the default proposal, within a fifth of an sd (about four errors)."""
    found = run(blocks("design.md")[1], tmp_path, monkeypatch)
    settings = {"progress": False, "draws": 4000, "chains": 4}
    own = au.sample(au.models.Logistic(), found["X"], found["y"], proposal=found["OneAtATime"](0.25), **settings)
    usual = au.sample(au.models.Logistic(), found["X"], found["y"], **settings)
    one, other = (post["posterior"]["beta"].values for post in (own, usual))
    assert np.all(np.abs(one.mean((0, 1)) - other.mean((0, 1))) < 0.2 * other.std((0, 1)))
    assert np.all(np.abs(one.std((0, 1)) / other.std((0, 1)) - 1) < 0.2)


def test_a_decision_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(blocks("design.md")[2], tmp_path, monkeypatch)
    assert found["same"] and found["sd"][0] > 1.5 * found["sd"][2]
    assert float(found["few"]["sample_stats"]["n_rows"].mean()) == 100


def test_the_guide_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("\n".join(blocks("guide.md")), tmp_path, monkeypatch)


def test_the_front_door_explains_every_setting() -> None:
    """Each name stands in the docstring as one that is explained: before a colon, alone or among others."""
    text = au.sample.__doc__
    explained = {
        word for names in re.findall(r"(?:^|\. )\s*([\w, ]+): ", text, re.MULTILINE) for word in names.split(", ")
    }
    missing = set(inspect.signature(au.sample).parameters) - explained - {"model"} - {"thin"}
    assert not missing and "`model`" in text and "`thin`" in text, missing


def tree() -> set[str]:
    """The files that the tree of design.md names, as paths under src/austerity."""
    lines = (DOCS / "design.md").read_text().split("    src/austerity/\n")[1].split("\n\n")[0].splitlines()
    files, folders = set(), [""] * 4
    for line in lines:
        depth = (len(line) - len(line.lstrip()) - 6) // 2
        name = line.split()[0]
        if name.endswith("/"):
            folders[depth + 1] = folders[depth] + name
        else:
            files.add(folders[depth] + name)
    return files


def test_the_tree_is_the_directory() -> None:
    source = ROOT / "src" / "austerity"
    there = {path.relative_to(source).as_posix() for path in source.rglob("*.py")}
    named = tree()
    assert named == there, f"not in docs/design.md: {sorted(there - named)}; not there: {sorted(named - there)}"


@pytest.mark.parametrize("name", ["design.md", "guide.md"])
def test_names_in_the_text_exist(name: str) -> None:
    text = (DOCS / name).read_text()
    for dotted in sorted(set(re.findall(r"\bau((?:\.\w+)+)", text))):
        found: object = au
        for part in dotted.strip(".").split("."):
            assert hasattr(found, part), f"{name} speaks of au{dotted}"
            found = getattr(found, part)
    for path in re.findall(
        r"`((?:rows|models|engine|decisions|proposals|store|report|standin|design)/[\w/]+\.py)", text
    ):
        assert (ROOT / "src" / "austerity" / path).exists(), f"{name} speaks of {path}"
