"""Rows from files are the rows of the same table in memory, and columns are chosen by name in both."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from austerity import rows
from austerity.rows import Rows
from austerity.rows.read import read_table, source_from_path


def _values(n: int = 400) -> np.ndarray:
    return np.random.default_rng(0).normal(2.0, 3.0, (n, 3))


def _response(n: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 2, n)


def restored(held: Rows) -> np.ndarray:
    return held.X.astype(np.float64) * held.scale + held.centre


def _table(n: int = 2000) -> pa.Table:
    x = _values(n)
    return pa.table({
        "age": x[:, 0], "city": ["x"] * n, "member": x[:, 1] > 2, "visits": (x[:, 2] * 10).astype(np.int32),
        "w": np.abs(x[:, 1]), "bought": _response(n),
    })  # fmt: skip


OPEN_TABLE = {"target": "bought", "columns": ["visits", "age", "member"], "weights": "w"}


def test_files_give_the_rows_of_the_table_in_memory(tmp_path) -> None:
    table = _table()
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=300)
    csv.write_csv(table, tmp_path / "t.csv")
    held = [
        rows.open(source, **OPEN_TABLE)
        for source in (table, table.to_pandas(), pl.from_arrow(table), tmp_path / "t.parquet", str(tmp_path / "t.csv"))
    ]
    assert held[0].names == ("visits", "age", "member") and held[0].target == "bought"
    np.testing.assert_allclose(restored(held[0])[:, 1], table["age"].to_numpy(), atol=1e-6)
    np.testing.assert_array_equal(np.unique(restored(held[0])[:, 2].round(6)), [0, 1])
    assert len({one.fingerprint for one in held}) == 1


def test_nulls_in_files_are_missing_values(tmp_path) -> None:
    table = pa.table({"a": [1.0, None, 3.0, 5.0], "b": [True, False, None, True], "y": [1, 2, 3, None]})
    parquet.write_table(table, tmp_path / "t.parquet")
    csv.write_csv(table, tmp_path / "t.csv")
    for file in ("t.parquet", "t.csv"):
        with pytest.raises(ValueError, match="3 missing values"):
            rows.open(tmp_path / file, target="y")
    (tmp_path / "s.csv").write_text("a,y\n1,0\n,1\n3,1\n")
    held = rows.open(tmp_path / "s.csv", target="y", missing="drop")
    assert held.n == 2 and held.dropped == 1


def test_a_column_of_a_matrix_in_a_file_may_be_the_target(tmp_path) -> None:
    x = _values()
    np.save(tmp_path / "x.npy", x)
    held = rows.open(tmp_path / "x.npy", target=-1)
    assert held.names == ("x0", "x1") and held.target == "x2"
    np.testing.assert_array_equal(held.y, x[:, 2].astype(np.float32))
    picked = rows.open(x, target=1, columns=[2, 0])
    assert picked.names == ("x2", "x0") and picked.target == "x1"
    np.testing.assert_allclose(restored(picked), x[:, [2, 0]], atol=2e-6)


def test_only_the_columns_asked_for_are_read(tmp_path) -> None:
    """A file with a text column opens once that column is left out; a .CSV suffix is a .csv suffix."""
    csv.write_csv(_table(50), tmp_path / "T.CSV")
    held = rows.open(tmp_path / "T.CSV", target="bought", columns="age", offset="w")
    assert held.names == ("age",) and held.has_offset and not held.has_weights


def test_read_table_is_the_same_door(tmp_path) -> None:
    parquet.write_table(_table(), tmp_path / "t.parquet")
    held = read_table(tmp_path / "t.parquet", "bought", ["age", "visits"])
    opened = rows.open(tmp_path / "t.parquet", target="bought", columns=["age", "visits"])
    assert held.fingerprint == opened.fingerprint and held.names == ("age", "visits")


@pytest.mark.parametrize("n", [2, 4096, 4097, 25_000])
def test_row_groups_of_any_size_leave_no_trace(tmp_path, n: int) -> None:
    table = pa.table({"a": _values(n)[:, 0], "y": _response(n)})
    found = set()
    for size in (7 if n < 5000 else 999, 4096, n):
        parquet.write_table(table, tmp_path / "t.parquet", row_group_size=size)
        found.add(rows.open(tmp_path / "t.parquet", target="y").fingerprint)
    assert found == {rows.open(table, target="y").fingerprint}


def test_parquet_is_read_in_pieces(tmp_path) -> None:
    """One row group of 24 MB: what Arrow holds at once (a page and a piece of each column) stays far below it."""
    x = np.random.default_rng(0).standard_normal((600_000, 5))
    table = pa.table({f"c{column}": x[:, column] for column in range(5)})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=600_000, use_dictionary=False)
    del table
    before = pa.total_allocated_bytes()
    pieces = source_from_path(tmp_path / "t.parquet").pieces()
    extra = [pa.total_allocated_bytes() - before for _ in pieces]
    assert len(extra) > 3 and max(extra) < 14e6


def test_tables_without_a_target_use_the_name_of_the_response() -> None:
    frame = pd.DataFrame(_values(), columns=list("abc"))
    assert rows.open(frame, pd.Series(_response(400), name="bought")).target == "bought"
    assert rows.open(frame, _response(400)).target == "y"
    assert rows.open(frame, _response(400), target="churn").target == "churn"
