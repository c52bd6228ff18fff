"""Where it runs: no terminal, one that is closed, closed or broken streams, no place for a cache, no compiler."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import austerity as au
from austerity.models import user_cache

SOURCE = Path(__file__).resolve().parents[1] / "src"
PROGRAM = """
import sys
import numpy as np
import austerity as au
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 3))
y = rng.integers(0, 2, 1000)
rule = au.decisions.Exact()
{before}
tree = au.sample(au.models.Logistic(), X, y, acceptance=rule, chains=2, {settings})
np.save(sys.argv[1], tree["posterior"]["beta"].to_numpy())
"""
BROKEN = """
class Broken:
    def write(self, text):
        raise RuntimeError("no stream")
    def flush(self):
        pass
sys.stderr = Broken()
"""
SHORT = "draws=30, warmup=10"
LONG = "draws=10**7, warmup=10, time_limit=1.5"


def environment(**changes: str) -> dict[str, str]:
    path = os.pathsep.join([str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, **changes}


def program(settings: str, before: str = "") -> list[str]:
    return [sys.executable, "-c", PROGRAM.format(settings=settings, before=before)]


def expected() -> np.ndarray:
    """The draws of the short program, made here."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 3)), rng.integers(0, 2, 1000)
    given: dict[str, Any] = {"acceptance": au.decisions.Exact(), "chains": 2, "draws": 30, "warmup": 10}
    return np.asarray(au.sample(au.models.Logistic(), X, y, **given, progress=False)["posterior"]["beta"])


def check_draws(path: Path, whole: bool = True) -> None:
    draws = np.load(path)
    np.testing.assert_array_equal(draws[:, :30], expected())
    assert whole == (draws.shape[1] == 30)


def test_without_a_terminal_there_are_plain_lines(tmp_path: Path) -> None:
    command = [*program(SHORT), str(tmp_path / "draws.npy")]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=100)
    assert done.returncode == 0 and done.stdout == "", done.stderr
    lines = done.stderr.strip().splitlines()
    assert all(line.startswith("austerity: ") for line in lines) and "\x1b" not in done.stderr, lines
    assert "austerity: no prior was given" in done.stderr and "30 of 30 draws" in lines[-1]
    check_draws(tmp_path / "draws.npy")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams(closed: str, tmp_path: Path) -> None:
    script, target = tmp_path / "program.py", tmp_path / "draws.npy"
    script.write_text(PROGRAM.format(settings=SHORT, before="") + "print('done')\n")
    command = f'exec "{sys.executable}" "{script}" "{target}" {closed}'
    done = subprocess.run(["sh", "-c", command], env=environment(), timeout=100)
    assert done.returncode == 0
    check_draws(target)


def test_a_reader_that_left(tmp_path: Path) -> None:
    """Standard error is a pipe that nobody reads any more: progress falls silent, the run goes on."""
    read, write = os.pipe()
    os.close(read)
    command = [*program(SHORT), str(tmp_path / "draws.npy")]
    done = subprocess.run(command, env=environment(), stderr=write, timeout=100)
    os.close(write)
    assert done.returncode in (0, 120)  # 120: Python itself could not flush standard error at its end
    check_draws(tmp_path / "draws.npy")


@pytest.mark.parametrize("before", ["sys.stderr.close()", "sys.stderr = None", BROKEN])
def test_streams_replaced_by_the_program(before: str, tmp_path: Path) -> None:
    command = [*program(SHORT, before), str(tmp_path / "draws.npy")]
    done = subprocess.run(command, env=environment(), capture_output=True, timeout=100)
    assert done.returncode == 0, done.stderr
    check_draws(tmp_path / "draws.npy")


@pytest.mark.parametrize("closes", [False, True], ids=["stays", "closes"])
def test_a_terminal(closes: bool, tmp_path: Path) -> None:
    """A live table while it is there; a terminal that closes in the middle ends the table and not the run."""
    ours, theirs = pty.openpty()
    command = [*program(LONG), str(tmp_path / "draws.npy")]
    child = subprocess.Popen(command, env=environment(TERM="xterm", COLUMNS="100"), stderr=theirs, stdout=theirs)
    os.close(theirs)
    shown = b""
    while b"accepted" not in shown:
        shown += os.read(ours, 4096)
    if closes:
        time.sleep(0.2)
    else:
        while part := read_or_nothing(ours):
            shown += part
    os.close(ours)
    assert child.wait(timeout=100) in ((0, 120) if closes else (0,))
    assert b"\x1b[" in shown and b"rows read" in shown and b"Traceback" not in shown
    check_draws(tmp_path / "draws.npy", whole=False)


def read_or_nothing(handle: int) -> bytes:
    """What comes next, or nothing when the other side has closed."""
    try:
        return os.read(handle, 4096)
    except OSError:
        return b""


@pytest.mark.slow
def test_no_place_for_compiled_code(tmp_path: Path) -> None:
    """Every directory Numba could use lies below a file: one warning, and the same draws."""
    package = tmp_path / "austerity"
    shutil.copytree(SOURCE / "austerity", package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("a file where a directory would be")
    nowhere = dict.fromkeys(("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"), "/dev/null/none")
    command = [*program(SHORT), str(tmp_path / "draws.npy")]
    env = {**os.environ, **nowhere, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("no directory for compiled code can be written, so every start compiles anew") == 1
    assert "Traceback" not in done.stderr
    check_draws(tmp_path / "draws.npy")


def test_no_place_for_a_users_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_cache, "directory", lambda: Path("/dev/null/none"))

    def row(theta: Any, x: Any, y: Any) -> Any:
        return -0.125 * (y - theta[0]) ** 2

    tree = au.sample(au.Model({"mu": au.priors.Normal(0, 1)}, row=row), np.zeros((50, 1)), np.ones(50), progress=False)
    assert 0 < float(tree["posterior"]["mu"].mean()) < 2


@pytest.mark.parametrize("code", ["au.sample", "au.models.Logistic()", "au.decisions.Exact()", "au.Model"])
def test_numba_switched_off(code: str) -> None:
    """One sentence, and nothing of Numba's own in the traceback."""
    command = [sys.executable, "-c", f"import austerity as au\nau.summary, au.load, au.priors\n{code}"]
    done = subprocess.run(command, env=environment(NUMBA_DISABLE_JIT="1"), capture_output=True, text=True, timeout=100)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith("NUMBA_DISABLE_JIT is set, but austerity samples in compiled code: unset it and start again")
    assert "numba/" not in done.stderr and "During handling" not in done.stderr


def test_numba_switched_off_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,y\n1,0\n2,1\n3,0\n")
    command = [sys.executable, "-m", "austerity", "sample", "--model", "logistic", "--target", "y", "t.csv", "-o", "r"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(NUMBA_DISABLE_JIT="1"), capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 1 and len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert "NUMBA_DISABLE_JIT is set" in done.stderr


def test_the_same_likelihood_in_another_module_is_kept_apart() -> None:
    """Compiled code that is read back looks for the module it came from, which may be gone."""

    def row(theta: Any, x: Any, y: Any) -> Any:
        return -theta[0] * y

    one, other = (types.FunctionType(row.__code__, {"__name__": name}) for name in ("one", "other"))
    assert one.__module__ == "one" and user_cache.digest(one) not in (None, user_cache.digest(other))
