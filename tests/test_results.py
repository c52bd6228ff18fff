"""Results in the ArviZ schema, their summary and their figures."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

from austerity import __version__
from austerity.errors import InputError
from austerity.report.plots import plot_marginals, plot_rows, plot_trace
from austerity.report.results import build_tree, package_versions
from austerity.report.summary import KINDS, Row, _cells, summary
from austerity.report.variables import Variable, check_variables
from austerity.store.base import STATS

COEF = ["intercept", "age", "x3"]
VARIABLES = [
    Variable("beta", ("coef",), {"coef": COEF}, 0, 3),
    Variable("sigma", (), {}, 3, 4),
    Variable("W", ("source", "signal"), {"source": [0, 1], "signal": ["u", "v"]}, 4, 8),
]
ATTRS = {
    "settings": {"thin": 2, "decision": "SequentialT"},
    "exact": False,
    "guarantee": "a decision is wrong with probability at most 0.01",
    "data_fingerprint": "abc",
    "versions": {"numpy": "2"},
    "setup_time": 1.5,
    "sampling_time": 12.25,
    "rows": 10_000,
}


def arrays(chains: int = 4, draws: int = 500, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """draws (chains, n, 8) and statistics (chains, n, S)."""
    rng = np.random.default_rng(seed)
    stats = np.empty((chains, draws, len(STATS)))
    stats[...] = [1, 0.25, 1000, 2, 0, 0.1]
    return rng.normal(size=(chains, draws, 8)), stats


def result(**changes: Any) -> xarray.DataTree:
    """A tree of the arrays above."""
    given = dict(zip(("draws", "stats"), arrays(), strict=True)) | {"variables": VARIABLES, "attrs": ATTRS}
    return build_tree(**(given | changes))


# --- variables ---


def test_variables_take_their_slice_and_survive_json() -> None:
    flat = np.arange(16.0).reshape(2, 8)
    assert VARIABLES[2].take(flat).tolist() == [[[4, 5], [6, 7]], [[12, 13], [14, 15]]]
    assert VARIABLES[1].take(flat).tolist() == [3, 11]
    assert VARIABLES[2].labels() == ["W[0, u]", "W[0, v]", "W[1, u]", "W[1, v]"]
    assert [Variable.from_dict(json.loads(json.dumps(v.to_dict()))) for v in VARIABLES] == VARIABLES
    named = Variable("b", ("i",), {"i": [np.int64(3), np.int64(4)]}, 0, 2)
    assert json.dumps(named.to_dict()["coords"]) == '{"i": [3, 4]}'
    assert check_variables(VARIABLES) == 8


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (("a b", (), {}, 0, 1), "cannot name"),
        (("chain", (), {}, 0, 1), "cannot name"),
        (("../x", (), {}, 0, 1), "cannot name"),
        (("a", ("a",), {"a": [1]}, 0, 1), "must differ"),
        (("a", ("i",), {}, 0, 1), "coords for"),
        (("a", ("i",), {"i": [0, 1]}, 0, 3), "does not fill"),
        (("a", (), {}, 0, 2), "does not fill"),
    ],
)
def test_variables_that_cannot_be(fields: tuple[Any, ...], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Variable(*fields)


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ([], "no variable"),
        ([Variable("a", (), {}, 1, 2)], "starts at 1, expected 0"),
        ([Variable("a", (), {}, 0, 1), Variable("a", (), {}, 1, 2)], "share a name"),
        ([Variable("a", ("i",), {"i": [0]}, 0, 1), Variable("b", ("i",), {"i": [1]}, 1, 2)], "other coordinates"),
        ([Variable("a", ("i",), {"i": [0]}, 0, 1), Variable("i", (), {}, 1, 2)], "both a variable and a dimension"),
    ],
)
def test_variables_that_do_not_go_together(variables: list[Variable], words: str) -> None:
    with pytest.raises(InputError, match=words):
        check_variables(variables)


# --- the tree ---


def test_tree_has_the_groups_dims_and_attributes_of_the_schema() -> None:
    draws, stats = arrays()
    tree = result()
    posterior, statistics = tree["posterior"], tree["sample_stats"]
    assert set(tree.children) == {"posterior", "sample_stats"}
    assert posterior["W"].dims == ("chain", "draw", "source", "signal")
    np.testing.assert_array_equal(posterior["W"].sel(source=1, signal="u"), draws[..., 6])
    np.testing.assert_array_equal(posterior["beta"].sel(coef="age"), draws[..., 1])
    np.testing.assert_array_equal(posterior["sigma"], draws[..., 3])
    assert set(statistics.data_vars) == set(STATS)
    np.testing.assert_array_equal(statistics["step_size"], stats[..., 5])
    assert statistics["n_rows"].dtype == np.int64 and statistics["acceptance_rate"].dtype == np.float64
    for attrs in (tree.attrs, posterior.attrs):
        assert attrs["inference_library"] == "austerity" and attrs["inference_library_version"] == __version__
        assert json.loads(attrs["settings"]) == ATTRS["settings"] and json.loads(attrs["versions"]) == {"numpy": "2"}
        assert attrs["exact"] == 0 and attrs["guarantee"] == ATTRS["guarantee"]
        assert isinstance(attrs["setup_time"], float) and attrs["created_at"].startswith("20")
    assert {"python", "austerity", "numpy"} <= set(package_versions())


def test_exact_runs_have_lp() -> None:
    draws, stats = arrays()
    tree = result(stats=np.concatenate([stats, draws[..., :1]], axis=2), stat_names=(*STATS, "lp"))
    np.testing.assert_array_equal(tree["sample_stats"]["lp"], draws[..., 0])


def test_wrong_shapes_and_attributes_are_refused() -> None:
    draws, stats = arrays()
    with pytest.raises(InputError, match=r"expected \(chains, draws, 8\)"):
        result(draws=draws[..., :7])
    with pytest.raises(InputError, match="Statistics have shape"):
        result(stats=stats[:, :-1])
    with pytest.raises(InputError, match="Attribute 'model'"):
        result(attrs={"model": object()})


@pytest.mark.filterwarnings("ignore:.*FixedLengthUTF32")  # how xarray itself writes text to zarr
def test_tree_survives_a_file(tmp_path: Path) -> None:
    tree = result()
    tree.to_zarr(tmp_path / "tree.zarr", zarr_format=3, consolidated=False)
    with xarray.open_datatree(tmp_path / "tree.zarr", engine="zarr", consolidated=False) as again:
        ours, theirs = summary(tree), summary(again)
        assert ours.header() == theirs.header()
        assert sorted(ours.rows, key=str) == sorted(theirs.rows, key=str)  # zarr lists variables in any order


def test_arviz_reads_the_tree() -> None:
    pytest.importorskip("xarray_einstats", reason="arviz-stats reads a DataTree only with its extra xarray")
    import arviz_stats as diagnostics

    tree = result()
    ours = {row.name: row for row in summary(tree).rows}
    for name, figures in [
        ("ess_bulk", diagnostics.ess(tree, method="bulk")),
        ("ess_tail", diagnostics.ess(tree, method="tail", prob=(0.05, 0.95))),
        ("r_hat", diagnostics.rhat(tree)),
        ("mcse", diagnostics.mcse(tree, method="mean")),
    ]:
        group = figures["posterior"] if "posterior" in getattr(figures, "children", {}) else figures
        for coef in COEF:
            theirs = float(group["beta"].sel(coef=coef))
            assert getattr(ours[f"beta[{coef}]"], name) == pytest.approx(theirs, rel=1e-6)


def test_arviz_summary_reads_the_tree() -> None:
    pytest.importorskip("xarray_einstats", reason="arviz-stats reads a DataTree only with its extra xarray")
    from arviz_stats.summary import summary as theirs

    table = theirs(result(), round_to="none")
    assert len(table) == 8 and float(table["r_hat"].max()) < 1.05


# --- the summary ---


def test_summary_has_a_row_for_every_scalar() -> None:
    draws, _ = arrays()
    found = summary(result())
    names = [row.name for row in found.rows]
    assert names == ["beta[intercept]", "beta[age]", "beta[x3]", "sigma", *VARIABLES[2].labels()]
    for entry, row in enumerate(found.rows):
        flat = draws[..., entry].ravel()
        assert row.mean == pytest.approx(flat.mean()) and row.sd == pytest.approx(flat.std(ddof=1))
        assert (row.q5, row.q95) == pytest.approx(tuple(np.quantile(flat, (0.05, 0.95))))
    assert (found.chains, found.draws, found.acceptance) == (4, 500, 0.25)
    assert found.rows_read == 500 and found.rows_share == pytest.approx(0.05)  # thin=2: two decisions a draw
    assert (found.setup_time, found.sampling_time) == (1.5, 12.25)
    assert found.notes() == []


def test_summary_prints_an_aligned_table() -> None:
    text = str(summary(result()))
    assert "4 chains of 500 draws, set-up 1.5 s, sampling 12.2 s" in text
    assert "acceptance 0.25, rows read per decision 500 (5% of all)" in text
    assert ATTRS["guarantee"] in text
    table = text.split("\n\n")[1].splitlines()
    assert table[0].split() == ["mean", "sd", "mcse", "q5", "q95", "ess_bulk", "ess_tail", "r_hat"]
    assert len(table) == 9 and len({len(line) for line in table}) == 1
    assert str(summary(result(), kind="stats")).split("\n\n")[1].split()[:5] == ["mean", "sd", "mcse", "q5", "q95"]
    assert str(summary(result(), kind="diagnostics")).split("\n\n")[1].split()[0] == "mcse"
    with pytest.raises(InputError, match="kind='everything' is not known: use one of all"):
        summary(result(), kind="everything")


def test_summary_says_what_is_wrong() -> None:
    draws, _ = arrays()
    draws[..., 0] += 3 * np.arange(4)[:, None]
    draws[..., 3] = 2.0
    found = summary(result(draws=draws))
    rated, few, unknown = found.notes()
    assert "r_hat is above 1.05 for beta[intercept]: the chains do not agree yet; draw more." in rated
    assert "ess is below 400 for beta[intercept]" in few and "ess is unknown for sigma" in unknown
    assert str(found).endswith(unknown)
    slow = summary(result(draws=np.random.default_rng(0).normal(size=(4, 500, 8)).cumsum(axis=1)))
    assert "and 4 more" in slow.notes()[0]


def test_a_slightly_high_r_hat_is_called_so() -> None:
    draws, _ = arrays()
    draws[..., 0] += 0.2 * np.arange(4)[:, None]
    (note,) = [note for note in summary(result(draws=draws)).notes() if "r_hat" in note]
    assert note == "r_hat is above 1.01 for beta[intercept]: more draws would help."
    alone = summary(result(draws=draws[:1].cumsum(axis=1), stats=arrays()[1][:1])).notes()
    assert any("the halves of the chain do not agree yet" in note for note in alone)


def test_a_chain_that_never_moves_is_named() -> None:
    stats = arrays()[1]
    stats[2, :, 0] = 0
    sentence = "no proposal was accepted in chain 2: steps are too long, or its start is far away."
    assert sentence in summary(result(stats=stats)).notes()
    assert sentence not in summary(result(draws=arrays()[0][:, :20], stats=stats[:, :20])).notes()


def figures_of(mean: float, sd: float) -> tuple[list[str], Row]:
    """A row as it is shown, and the row."""
    row = Row("b", mean, sd, sd / 30, mean - 2 * sd, mean + 2 * sd, 900, 900, 1.0)
    return _cells(row, KINDS["all"]), row


@pytest.mark.parametrize(
    ("mean", "sd", "shown"),
    [
        (9.9612e-05, 3.06e-07, ["9.9612e-05", "3.06e-07", "1.0e-08", "9.9000e-05", "1.00224e-04"]),
        (1.0000996, 3.28e-07, ["1.000099600", "0.000000328", "0.000000011", "1.000098944", "1.000100256"]),
        (-0.9998, 0.0117, ["-0.9998", "0.0117", "0.00039", "-1.0232", "-0.9764"]),
        (1.23456e10, 2.5e3, ["1.234560000e+10", "2.50e+03", "8.3e+01", "1.234559500e+10", "1.234560500e+10"]),
        (4.76837e-2, 7e-15, ["0.04768", "0.00000", "0.00000", "0.04768", "0.04768"]),
        (0.0, 0.0, ["0.000"] * 5),
    ],
)
def test_figures_reach_as_far_as_the_sd(mean: float, sd: float, shown: list[str]) -> None:
    assert figures_of(mean, sd)[0][:5] == shown


@pytest.mark.parametrize("power", range(-14, 13))
@pytest.mark.parametrize("ratio", [1.0, 30.0, 3e4, 3e6])
def test_no_row_loses_what_it_knows(power: int, ratio: float) -> None:
    """What is printed lies within half a hundredth of an sd of what is meant, in one notation."""
    cells, row = figures_of(1.2345678912 * ratio * 10.0**power, 3.21 * 10.0**power)
    for text, value in zip(cells, (row.mean, row.sd, row.mcse, row.q5, row.q95)):
        assert abs(float(text) - value) <= 0.00501 * row.sd
    assert len({"e" in text for text in cells[:5]}) == 1 and max(len(text) for text in cells) < 22


@pytest.mark.parametrize(
    ("ended", "stored", "said"),
    [
        ("done", 1, "500 draws,"),
        ("interrupted", 1, "500 draws (of 2,000: interrupted; go on with resume),"),
        ("interrupted", 0, "500 draws (of 2,000: interrupted),"),
        ("time limit", 1, "500 draws (of 2,000: time limit; go on with resume),"),
        ("running", 1, "500 draws (of 2,000: still being written, or cut off; go on with resume),"),
    ],
)
def test_an_unfinished_run_says_so(ended: str, stored: int, said: str) -> None:
    attrs = {**ATTRS, "settings": {"thin": 2, "draws": 2000}, "ended": ended, "stored": stored}
    assert said in summary(result(attrs=attrs)).header()[0]


def test_summary_as_html_dict_and_csv(tmp_path: Path) -> None:
    variables = [Variable("beta", ("coef",), {"coef": ["<b>&", *map(str, range(7))]}, 0, 8)]
    found = summary(result(variables=variables))
    assert "beta[&lt;b&gt;&amp;]" in found._repr_html_() and "<b>&" not in found._repr_html_()
    fields = found.to_dict()
    assert fields["rows"][0]["name"] == "beta[<b>&]" and fields["notes"] == []
    json.dumps(fields)
    found.to_csv(tmp_path / "summary.csv")
    with open(tmp_path / "summary.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert float(lines[1]["mean"]) == found.rows[1].mean and len(lines) == 8
    with pytest.raises(InputError, match="cannot be written"):
        found.to_csv(tmp_path / "nowhere" / "summary.csv")


def test_summary_of_trees_from_elsewhere() -> None:
    tree = xarray.DataTree.from_dict({"posterior": xarray.Dataset({"mu": (("draw", "chain"), np.ones((3, 2)))})})
    found = summary(tree)
    assert found.rows_read is None and found.guarantee is None and (found.chains, found.draws) == (2, 3)
    assert "2 chains of 3 draws" in str(found)
    tree.attrs["settings"] = "[["
    assert summary(tree).acceptance is None
    for wrong in (xarray.DataTree(), xarray.Dataset(), 3):
        with pytest.raises(InputError, match="no group 'posterior'"):
            summary(wrong)


def test_summary_of_no_draw() -> None:
    draws, stats = arrays(draws=0)
    assert summary(result(draws=draws, stats=stats)).rows == []


# --- figures ---


def png(path: Path) -> bool:
    """Whether a file is a PNG of some size."""
    return path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and path.stat().st_size > 5000


def test_figures_are_written_without_pyplot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="figures are an extra")
    loaded = "matplotlib.pyplot" in sys.modules
    runs = {"short": result(), "exact": result(stats=arrays()[1] * [1, 1, 20, 1, 1, 1])}
    plot_trace(runs["short"], tmp_path / "trace.png", names=["beta", "W[0, v]"], truth={"beta": [0, 0, 0], "sigma": 1})
    plot_marginals(runs, tmp_path / "marginals.png", truth=np.zeros(8))
    plot_rows(runs, tmp_path / "rows.png")
    assert all(png(tmp_path / f"{name}.png") for name in ("trace", "marginals", "rows"))
    plot_trace({"named": runs["short"]}, tmp_path / "named.png", names=["sigma"])
    plot_marginals(runs["short"], tmp_path / "one.png")
    plot_rows(runs["short"], tmp_path / "rows of one.png")
    assert all(png(tmp_path / f"{name}.png") for name in ("named", "one", "rows of one"))
    assert ("matplotlib.pyplot" in sys.modules) == loaded


def test_figures_of_constant_and_few_draws(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="figures are an extra")
    draws, stats = arrays(chains=1, draws=2)
    post = result(draws=np.zeros_like(draws), stats=0 * stats)
    plot_trace(post, tmp_path / "trace.png")
    plot_marginals({"a": post}, tmp_path / "marginals.png")
    plot_rows({"a": post}, tmp_path / "rows.png")


def test_figures_refuse_what_they_cannot_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="figures are an extra")
    post, path = result(), tmp_path / "figure.png"
    wide = result(variables=[Variable("b", ("i",), {"i": list(range(60))}, 0, 60)], draws=np.zeros((4, 500, 60)))
    for call, words in [
        (lambda: plot_trace(post, path, names=["gamma"]), "There is no 'gamma' to plot"),
        (lambda: plot_trace(post, path, truth=[1, 2]), "truth has 2 true values for 8 scalars"),
        (lambda: plot_trace(post, path, truth={"beta": 1}), "beta has 1 true values for 3 scalars"),
        (lambda: plot_trace(wide, path), "60 panels are too many"),
        (lambda: plot_trace(post, tmp_path / "no" / "f.png", names=["sigma"]), "cannot be written"),
        (lambda: plot_marginals(3, path), "There is no result to plot"),
        (lambda: plot_rows({}, path), "There is no result to plot"),
        (
            lambda: plot_trace({"a": post, "b": post}, path),
            "A trace shows one run, and 2 were given: choose one of a, b",
        ),
        (lambda: plot_marginals({"a": post, "b": wide}, path), "no scalar in common"),
        (lambda: plot_rows({"a": result(attrs={})}, path), "Run 'a' does not say how many rows"),
    ]:
        with pytest.raises(InputError, match=words):
            call()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r"pip install 'austerity\[plots\]'"):
        plot_rows({"a": post}, path)
