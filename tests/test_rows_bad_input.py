"""Every bad input is refused in one sentence that holds the value, the place and the remedy."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import xarray as xr
from pyarrow import parquet

from austerity import rows
from austerity.errors import InputError

X = np.arange(12.0).reshape(6, 2) ** 1.5
Y = np.array([0, 1, 0, 1, 1, 0])
FRAME = pd.DataFrame(X, columns=["age", "income"])
ONE_EACH = "pass one value for each row"
CONVERT = "convert it to numbers, or leave it out with columns=[...]."
DROP = 'fill them in, or pass missing="drop"'
DAMAGED = "it may be cut short or damaged: write it again."
FILES = "pass a .csv, .parquet or .npy file."


def _with(value: float, row: int = 3, column: int = 1) -> np.ndarray:
    changed = X.copy()
    changed[row, column] = value
    return changed


def put_inf(values: np.ndarray) -> np.ndarray:
    changed = values.astype(float)
    changed[2] = np.inf
    return changed


class _LazyArray:
    """Stands for an array of a library that computes later."""

    __module__ = "dask.array.core"


# name: (what is opened, fragments of the sentence: value, place and remedy)
ARRAYS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "nothing": (lambda: rows.open(None), ("X is None", "pass an array or a table")),
    "dictionary": (lambda: rows.open({"a": [1]}, Y), ("X is a dict", "pass numbers, or open a file")),
    "sparse": (lambda: rows.open(scipy.sparse.eye(6).tocsr(), Y), ("X is a sparse csr", "pass X.toarray().")),
    "lazy array": (lambda: rows.open(_LazyArray()), ("X is a lazy _LazyArray", "pass X.compute().")),
    "lazy frame": (lambda: rows.open(pl.LazyFrame({"a": [1]}), Y), ("X is a lazy LazyFrame", "pass X.collect().")),
    "ragged lists": (
        lambda: rows.open([[1, 2], [3, 4], [5]], [0, 1, 1]),
        ("X (list)", "row 2 has length 1, row 0 has 2", "every row of the same length."),
    ),
    "text in lists": (
        lambda: rows.open([[1.0, 2.0], [3.0, "b"]], [0, 1]),
        ('column "x1" does not hold real numbers', "'b' in row 1", CONVERT),
    ),
    "None in lists": (
        lambda: rows.open([[1, 2], [3, None]], [0, 1]),
        ('column "x1" does not hold real numbers (dtype object, None in row 1)', CONVERT),
    ),
    "objects": (
        lambda: rows.open(X.astype(object), Y),
        ('column "x0" does not hold real numbers (dtype object, 0.0 in row 0)', CONVERT),
    ),
    "complex": (lambda: rows.open(X + 1j, Y), ('column "x0"', "dtype complex128, 1j in row 0", CONVERT)),
    "dates": (
        lambda: rows.open(np.array(["2020-01-01", "2020-01-02"], "M8[D]"), [0, 1]),
        ('column "x0"', "datetime.date(2020, 1, 1) in row 0", CONVERT),
    ),
    "structured": (lambda: rows.open(np.zeros(3, [("a", "f4")]), Y), ("structured array with fields a", "data frame.")),
    "three dimensions": (
        lambda: rows.open(np.zeros((2, 3, 4)), [0, 1]),
        ("X has 3 dimensions (shape (2, 3, 4))", "pass a matrix of rows and columns."),
    ),
    "a number": (lambda: rows.open(4.5), ("X has 0 dimensions", "pass a matrix of rows and columns.")),
    "no rows": (lambda: rows.open(np.zeros((0, 3)), []), ("X has no rows", "at least 2 rows are needed.")),
    "one row": (lambda: rows.open([[1.0, 2.0]], [1]), ("X has one row", "at least 2 rows are needed.")),
    "no columns": (lambda: rows.open(np.zeros((3, 0)), [1, 2, 3]), ("X has 3 rows and no", "at least one column.")),
    "short y": (lambda: rows.open(X, Y[:5]), ("y has 5 values and X has 6 rows", ONE_EACH)),
    "short weights": (lambda: rows.open(X, Y, weights=[1, 2]), ("weights has 2 values and X has 6 rows", ONE_EACH)),
    "long offset": (lambda: rows.open(X, Y, offset=[0] * 7), ("offset has 7 values and X has 6 rows", ONE_EACH)),
    "scalar offset": (lambda: rows.open(X, Y, offset=0.5), ("offset has 0 dimensions", ONE_EACH)),
    "wide y": (lambda: rows.open(X, X), ("y has 2 columns", ONE_EACH)),
    "text in y": (lambda: rows.open(X, list("010x10")), ("y does not hold", "'x' in row 3", "convert it to")),
    "nan": (
        lambda: rows.open(_with(np.nan), Y),
        ("1 missing value (NaN)", '1 in column "x1" (first in row 3)', DROP),
    ),
    "nan in three parts": (
        lambda: rows.open(_with(np.nan), np.where(Y, np.nan, 1), weights=[1, 1, 1, 1, 1, np.nan]),
        ("5 missing", '1 in column "x1" (first in row 3), 3 in y (first in row 1), 1 in weights (first in row 5)'),
    ),
    "nan in many columns": (
        lambda: rows.open(np.full((3, 12), np.nan), [0, 1, 1]),
        ("36 missing values", '3 in column "x7" (first in row 0) and 4 more columns', DROP),
    ),
    "infinite": (
        lambda: rows.open(_with(np.inf), Y),
        ('column "x1" holds inf in row 3', "1 infinite value in X", "correct it or leave that row out."),
    ),
    "infinite while dropping": (
        lambda: rows.open(X, np.array([1, np.nan, -np.inf, 0, np.inf, 1]), missing="drop"),
        ("y holds -inf in row 2", "2 infinite values in y", "correct it or leave that row out."),
    ),
    "nothing left": (
        lambda: rows.open(X * np.nan, Y, missing="drop"),
        ("no row is left of 6", "fill them in, or leave out the columns that miss most."),
    ),
    "one row left": (
        lambda: rows.open(np.where(X < 30, np.nan, X), Y, missing="drop"),
        ("one row is left of 6", "fill them in, or leave out the columns that miss most."),
    ),
    "negative weight": (
        lambda: rows.open(X, Y, weights=[1, 1, -2.5, 1, -1, 1]),
        ("the negative value -2.5 in row 2", "pass weights that are zero or positive."),
    ),
    "zero weights": (
        lambda: rows.open(X, Y, weights=np.zeros(6)),
        ("weights are zero in all 6 rows", "give at least one row a positive weight."),
    ),
    "few names": (lambda: rows.open(X, Y, names=["a"]), ("names has 1 entries and X has 2", "one name for each")),
    "same names": (lambda: rows.open(X, Y, names=["a", "a"]), ('"a" occurs twice (again at column 1)', "rename one")),
    "name is a number": (lambda: rows.open(X, Y, names=["a", 3]), ("names[1] is 3", "pass column names as strings.")),
    "dtype": (lambda: rows.open(X, Y, dtype="float16"), ("dtype='float16'", 'pass "float32" or "float64".')),
    "dtype None": (lambda: rows.open(X, Y, dtype=None), ("dtype=None", 'pass "float32" or "float64".')),
    "missing option": (lambda: rows.open(X, Y, missing="keep"), ("missing='keep'", 'pass "error" or "drop".')),
    "large constant": (
        lambda: rows.open(np.full((3, 1), 1e39), [1, 2, 3]),
        ('column "x0" reaches 1e+39', 'divide it by a constant, or pass dtype="float64".'),
    ),
    "large y": (lambda: rows.open(X, -1e39 * Y), ("y reaches -1e+39, too large for float32", "divide it by")),
    "square overflows": (
        lambda: rows.open(_with(1e200), Y, dtype="float64"),
        ('column "x1" reaches 1e+200', "standard deviation", "divide it by a constant first."),
    ),
    "sum overflows": (lambda: rows.open(np.full((9, 1), 1.7e308), range(9)), ('"x0" reaches 1.7e+308', "divide it")),
    "opened twice with y": (
        lambda: rows.open(rows.open(X, Y), Y, dtype="float64"),
        ("y, dtype cannot be given with rows that are already open", "pass it where they are opened"),
    ),
}  # fmt: skip

TABLES: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "unknown target": (
        lambda: rows.open(FRAME, target="Agee"),
        ("target 'Agee' is not a column", '"age" is the closest of age, income.'),
    ),
    "unknown target of many": (
        lambda: rows.open(pd.DataFrame(np.ones((2, 11))), target="y"),
        ("target 'y' is not a column", "choose one of 0, 1, 2, 3, 4, 5, 6, 7 and 3 more."),
    ),
    "unknown column": (lambda: rows.open(FRAME, Y, columns=["age", "incom"]), ("input 'incom' is", '"income" is the')),
    "unknown weights": (lambda: rows.open(FRAME, Y, weights="w"), ("weights 'w' is not a column", "age, income.")),
    "target out of range": (
        lambda: rows.open(X, target=2),
        ("target 2 is not a column", "the columns are numbered 0 to 1."),
    ),
    "target as input": (
        lambda: rows.open(FRAME, target="age", columns=["age"]),
        ('column "age" is both the target and an input', "leave it out of columns=[...]."),
    ),
    "nan in the target": (
        lambda: rows.open(FRAME.assign(bought=np.where(Y, np.nan, 1)), target="bought"),
        ('3 in column "bought" (first in row 1)', DROP),
    ),
    "nan in a named response": (
        lambda: rows.open(FRAME, pd.Series(np.where(Y, np.nan, 1), name="died")),
        ('3 in column "died" (first in row 1)', DROP),
    ),
    "labels in words": (
        lambda: rows.open(FRAME.assign(bought=np.where(Y, "yes", "no")), target="bought"),
        ('column "bought" does not hold real numbers', "'no' in row 0", "such as 0 and 1 for two classes."),
    ),
    "infinite target": (
        lambda: rows.open(FRAME.assign(spent=put_inf(Y)), target="spent"),
        ('column "spent" holds inf in row 2', "correct it or leave that row out."),
    ),
    "no name": (
        lambda: rows.open(FRAME.rename(columns={"age": ""}), Y),
        ("input 0 has no name", "index=False", "leave it out with columns=[...], or give it a name."),
    ),
    "y as a path": (lambda: rows.open(FRAME, "y.npy"), ("y='y.npy' is a path", "pass the values it holds")),
    "target and y": (lambda: rows.open(FRAME, Y, target="age"), ("both y and target='age'", "pass one of the two.")),
    "y as a name": (lambda: rows.open(FRAME, "age"), ("y='age' is text", "pass target='age'.")),
    "column twice": (lambda: rows.open(FRAME, Y, columns=["age", "age"]), ('"age" occurs twice', "rename one of the")),
    "pandas text": (lambda: rows.open(FRAME.assign(city="x"), Y), ('column "city"', "'x' in row 0", CONVERT)),
    "pandas category": (
        lambda: rows.open(FRAME.assign(c=pd.Categorical(list("aabbcc"))), Y),
        ('column "c"', "dtype category, 'a' in row 0", CONVERT),
    ),
    "pandas times": (
        lambda: rows.open(FRAME.assign(t=pd.Timestamp("2020-01-01")), Y),
        ('column "t"', "Timestamp('2020-01-01 00:00:00') in row 0", CONVERT),
    ),
    "pandas missing": (
        lambda: rows.open(FRAME.assign(n=pd.array([1, None, 3, None, 5, 6], dtype="Int64")), Y),
        ('2 in column "n" (first in row 1)', DROP),
    ),
    "polars text": (
        lambda: rows.open(pl.DataFrame({"a": [1, 2], "s": ["1", "1l"]}), [0, 1]),
        ('column "s"', "dtype String, '1l' in row 1", CONVERT),
    ),
    "polars missing": (lambda: rows.open(pl.DataFrame({"b": [1, None]})), ('1 in column "b" (first in row 1)', DROP)),
    "arrow text": (lambda: rows.open(pa.table({"s": ["u", "v"]})), ('column "s"', "string, 'u' in row 0", CONVERT)),
    "arrow dictionary": (
        lambda: rows.open(pa.table({"s": pa.array(["u", "v"]).dictionary_encode()})),
        ('column "s"', "'u' in row 0", CONVERT),
    ),
    "arrow schema": (lambda: rows.open(pa.schema([])), ("X is a pyarrow Schema", "pass a pyarrow Table")),
    "dataset": (lambda: rows.open(xr.Dataset({"a": ("r", [1])})), ("X is an xarray Dataset", "pass one DataArray")),
}  # fmt: skip


@pytest.mark.parametrize("case", [*ARRAYS, *TABLES])
def test_bad_arrays_and_tables_are_refused_in_one_sentence(case: str) -> None:
    opened, fragments = {**ARRAYS, **TABLES}[case]
    with pytest.raises(InputError) as caught:
        opened()
    _is_one_sentence(str(caught.value), fragments)


def _is_one_sentence(sentence: str, fragments: tuple[str, ...]) -> None:
    for fragment in fragments:
        assert fragment in sentence, sentence
    assert sentence.endswith(".") and "\n" not in sentence
    assert not re.search(r"[a-z)]\. [A-Z]", sentence), f"more than one sentence: {sentence}"


def _text(content: str | bytes) -> Callable[[Path], object]:
    data = content.encode() if isinstance(content, str) else content
    return lambda file: file.write_bytes(data)


def _array(array: np.ndarray, cut: int | None = None) -> Callable[[Path], object]:
    def write(file: Path) -> None:
        np.save(file, array, allow_pickle=True)
        file.write_bytes(file.read_bytes()[:cut])

    return write


def _parquet(spoil: Callable[[bytes], bytes] = bytes) -> Callable[[Path], object]:
    def write(file: Path) -> None:
        age = np.random.default_rng(0).standard_normal(1000)
        table = {"age": age, "city": ["Oslo"] * 1000, "when": pa.array(range(1000), pa.timestamp("s")), "y": [1] * 1000}
        parquet.write_table(pa.table(table), file)
        file.write_bytes(spoil(file.read_bytes()))

    return write


def _spoil_middle(data: bytes) -> bytes:
    return data[:20] + b"\0" * 200 + data[220:]


# name: (file name, what writes it, options, fragments)
BAD_FILES: dict[str, tuple[str, Callable[[Path], object], dict[str, Any], tuple[str, ...]]] = {
    "absent": ("t.csv", lambda file: None, {}, ("t.csv does not exist", "check the path")),
    "directory": ("t.csv", Path.mkdir, {}, ("t.csv is a directory", "pass the path of one")),
    "suffix": ("t.xlsx", _text("a"), {}, ("t.xlsx has the suffix '.xlsx'", FILES)),
    "no suffix": ("table", _text("a"), {}, ("table has the suffix '(none)'", FILES)),
    "archive": ("t.npz", _text("a"), {}, ("t.npz is an archive", "numpy.save as .npy.")),
    "objects": ("t.npy", _array(np.array([[1, "a"]], object)), {}, ("holds Python objects", "save it as numbers.")),
    "text": ("t.npy", _array(np.array(["a", "b"])), {}, ('column "x0"', "'a' in row 0", CONVERT)),
    "cut array": ("t.npy", _array(X, 150), {}, ("t.npy cannot be read as a .npy array", DAMAGED)),
    "cut header": ("t.npy", _array(X, 40), {}, ("t.npy cannot be read as a .npy array", DAMAGED)),
    "no array": ("t.npy", _text("hello"), {}, ("t.npy cannot be read", "begins with b'hello'", DAMAGED)),
    "empty array file": ("t.npy", _text(""), {}, ("t.npy cannot be read", "begins with b''", DAMAGED)),
    "array without rows": ("t.npy", _array(np.zeros((0, 3))), {}, ("X has no rows", "at least 2 rows are needed.")),
    "row numbers of pandas": (
        "t.csv",
        lambda file: FRAME.assign(y=Y).to_csv(file),
        {"target": "y"},
        ("input 0 has no name", "index=False", "leave it out with columns=[...]"),
    ),
    "empty csv": ("t.csv", _text(""), {}, ("t.csv cannot be read as CSV", "Empty CSV file", DAMAGED)),
    "header only": ("t.csv", _text("a,y\n"), {"target": "y"}, ("X has no rows", "at least 2 rows are needed.")),
    "short line": (
        "t.csv",
        _text("a,b\n1,2\n3\n"),
        {},
        ("t.csv cannot be read as CSV", "Row #3: Expected 2 columns, got 1: 3", DAMAGED),
    ),
    "typing error": ("t.csv", _text("a,b\n1,2\n3,4\n5,6x\n"), {}, ('column "b"', "'6x' in row 2", CONVERT)),
    "same header": ("t.csv", _text("a,a\n1,2\n3,4\n"), {"columns": "a"}, ('"a" occurs twice', "rename one")),
    "csv target": ("t.csv", _text("age,y\n1,2\n"), {"target": "ege", "columns": "y"}, ("'ege'", '"age" is the')),
    "not utf-8": ("t.csv", _text(b"a,b\n1,\xff\xfe\n2,\xff\n"), {}, ('column "b"', "in row 0", CONVERT)),
    "parquet text": ("t.parquet", _parquet(), {"target": "y"}, ('column "city"', "'Oslo' in row 0", CONVERT)),
    "parquet times": ("t.parquet", _parquet(), {"columns": "when"}, ('column "when"', "timestamp", CONVERT)),
    "parquet target": ("t.parquet", _parquet(), {"target": "Y"}, ("target 'Y' is not", '"y" is the closest of age')),
    "cut parquet": ("t.parquet", _parquet(lambda data: data[:500]), {}, ("t.parquet cannot be read as", DAMAGED)),
    "spoilt parquet": ("t.parquet", _parquet(_spoil_middle), {"columns": "age"}, ("cannot be read as", DAMAGED)),
    "no parquet": ("t.parquet", _text("junk" * 99), {}, ("t.parquet cannot be read as Parquet", DAMAGED)),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files_are_refused_in_one_sentence(case: str, tmp_path: Path) -> None:
    name, write, options, fragments = BAD_FILES[case]
    write(tmp_path / name)
    with pytest.raises(InputError) as caught:
        rows.open(tmp_path / name, **options)
    for fragment in fragments:
        assert fragment in str(caught.value)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_missing_library_is_named_with_its_extra(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / name).write_text("a,b\n1,2\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"t\.\w+ needs pyarrow, .* install it with pip install austerity\[arrow\]\."):
        rows.open(tmp_path / name)
