"""Rows are held to the precision of their dtype, copied only where they must be, and told apart by a fingerprint."""

import os
import subprocess
import sys
import tracemalloc

import numba
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr

from austerity import rows
from austerity.rows import Rows
from austerity.rows.convert import hold
from austerity.rows.sources import BLOCK_VALUES, block_rows, rechunk
from austerity.rows.statistics import scan
from austerity.rows.tables import source_of

NAMES = ("age", "income", "flag")


def _values(n: int = 400, d: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(2.0, 3.0, (n, d))


def _response(n: int = 400, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, n)


def _restored(held: Rows) -> np.ndarray:
    return held.X.astype(np.float64) * held.scale + held.centre


def _numba_type(array: np.ndarray) -> numba.types.Array:
    return numba.typeof(array)


LAYOUTS = {
    "float64": lambda x: x,
    "fortran": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=0)[::2],
    "reversed": lambda x: x[::-1].copy()[::-1],
    "big endian": lambda x: x.astype(">f8"),
    "big endian single": lambda x: x.astype(">f4"),
    "single, fortran": lambda x: np.asfortranarray(x.astype(np.float32)),
    "long double": lambda x: x.astype(np.longdouble),
    "nested lists": lambda x: x.tolist(),
    "masked": lambda x: np.ma.masked_array(x),
    "pandas": lambda x: pd.DataFrame(x, columns=NAMES),
    "pandas nullable": lambda x: pd.DataFrame(x, columns=NAMES).convert_dtypes(),
    "pandas arrow": lambda x: pd.DataFrame(x, columns=NAMES).astype(pd.ArrowDtype(pa.float64())),
    "polars": lambda x: pl.DataFrame(x, schema=list(NAMES)),
    "arrow": lambda x: pa.table(dict(zip(NAMES, x.T, strict=True))),
    "arrow batch": lambda x: pa.record_batch(dict(zip(NAMES, x.T, strict=True))),
    "xarray": lambda x: xr.DataArray(x, dims=("row", "column"), coords={"column": list(NAMES)}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_layout_agrees_with_the_float64_reference(layout: str, dtype: str) -> None:
    x = _values()
    held = rows.open(LAYOUTS[layout](x), _response(), dtype=dtype)
    assert held.X.dtype == held.y.dtype == dtype
    assert held.copied == (not (dtype == "float64" and layout in ("float64", "nested lists", "xarray")))
    rounding = 1.2e-7 if "single" in layout or dtype == "float32" else 1e-14
    np.testing.assert_allclose(_restored(held), x, rtol=0, atol=rounding * np.abs(x).max())
    np.testing.assert_allclose(held.mean, x.mean(axis=0), rtol=1e-6 if "single" in layout else 1e-13)
    np.testing.assert_allclose(held.sd, x.std(axis=0), rtol=1e-6 if "single" in layout else 1e-13)
    assert held.names == (NAMES if rows_are_named(layout) else ("x0", "x1", "x2"))
    np.testing.assert_array_equal(held.y, _response())


def rows_are_named(layout: str) -> bool:
    return layout.split()[0] in ("pandas", "polars", "arrow", "xarray")


@pytest.mark.parametrize("dtype", ["float16", "int8", "int64", "uint8", "uint64", "bool"])
def test_small_dtypes_are_held_exactly(dtype: str) -> None:
    x = (np.abs(_values()) > 2).astype(dtype)
    held = hold(x, x[:, 0])
    np.testing.assert_allclose(_restored(held), x.astype(np.float64), atol=2e-7)
    np.testing.assert_array_equal(held.y, x[:, 0].astype(np.float32))


def test_same_values_give_the_same_rows_whatever_table_they_came_in() -> None:
    x, y = _values(), _response()
    tables = [LAYOUTS[name](x) for name in ("pandas", "pandas nullable", "polars", "arrow", "arrow batch", "xarray")]
    assert len({rows.open(table, y).fingerprint for table in tables}) == 1
    assert rows.open(x, y, names=NAMES).fingerprint == rows.open(tables[0], y).fingerprint


def test_converted_columns_have_mean_zero_and_sd_one_and_constants_stay() -> None:
    x = _values()
    x[:, 1] = 1.0
    held = hold(x, _response())
    np.testing.assert_allclose(held.X[:, [0, 2]].mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(held.X[:, [0, 2]].std(axis=0), 1, atol=1e-6)
    assert (held.X[:, 1] == 1).all() and held.centre[1] == 0 and held.scale[1] == 1
    assert held.sd[1] == 0 and held.mean[1] == 1


def test_large_mean_column_keeps_its_precision() -> None:
    """Rounded to float32 as it is, a column of mean 1e6 is off by .03 sd; centred first, by less than 3e-7 sd."""
    x = 1e6 + np.random.default_rng(3).standard_normal((5000, 1))
    held = hold(x, np.zeros(5000))
    assert np.abs(_restored(held) - x).max() < 1e-6
    assert np.abs(x.astype(np.float32) - x).max() > 1e-2
    np.testing.assert_allclose(held.sd, x.std(axis=0), rtol=1e-9)


def test_tiny_values_whose_squares_underflow_are_still_scaled() -> None:
    x = np.array([[1.0], [2.0], [3.0]]) * 1e-200
    held = hold(x, [0, 1, 0])
    np.testing.assert_allclose(_restored(held), x, rtol=1e-6)
    assert np.abs(held.X).max() <= 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_array_of_the_dtype_asked_for_is_not_copied(dtype: str) -> None:
    x, y = _values().astype(dtype), _response().astype(dtype)
    held = rows.open(x, y, dtype=dtype)
    assert not held.copied and held.X.ctypes.data == x.ctypes.data and held.y.ctypes.data == y.ctypes.data
    assert (held.centre == 0).all() and (held.scale == 1).all()
    np.testing.assert_allclose(held.mean, x.mean(axis=0, dtype=np.float64), rtol=1e-12)


def test_a_read_only_map_is_used_in_place_under_the_same_compiled_type(tmp_path) -> None:
    x = _values(1000, 4).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", x[:, 0])
    mapped, mapped_y = (np.load(tmp_path / name, mmap_mode="r") for name in ("x.npy", "y.npy"))
    held = rows.open(mapped, mapped_y)
    assert np.shares_memory(held.X, mapped) and np.shares_memory(held.y, mapped_y) and not held.copied
    assert _numba_type(held.X) == _numba_type(x) and _numba_type(held.y) == _numba_type(x[:, 0].copy())
    del mapped, mapped_y
    np.testing.assert_array_equal(held.X, x)
    from_path = rows.open(tmp_path / "x.npy", x[:, 0])
    assert not from_path.copied and not from_path.X.flags.owndata and from_path.fingerprint == held.fingerprint


def test_a_map_is_checked_without_being_loaded(tmp_path) -> None:
    x = np.ones((200_000, 20), dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    tracemalloc.start()
    held = rows.open(tmp_path / "x.npy")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert held.nbytes == 16e6 and peak < 6e6


def test_conversion_needs_little_more_than_the_held_rows() -> None:
    x, y = _values(200_000, 20), np.zeros(200_000)
    tracemalloc.start()
    held = rows.open(x, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert held.copied and peak < 1.3 * held.nbytes


def test_held_arrays_have_one_compiled_type_whatever_they_came_from() -> None:
    read_only = _values().astype(np.float32)
    read_only.flags.writeable = False
    held = [rows.open(source, _response()) for source in (read_only, _values(), LAYOUTS["polars"](_values()))]
    assert len({str(_numba_type(one.X)) for one in held}) == 1
    absent = held[0].weights
    assert absent.size == 0 and _numba_type(absent) == _numba_type(held[0].y)


def test_one_dimensional_inputs_become_one_column() -> None:
    held = rows.open(np.arange(5.0), np.arange(5.0)[:, None])
    assert held.X.shape == (5, 1) and held.y.shape == (5,)
    assert rows.open(pd.Series([1.0, 2.0, 4.0], name="dose"), [0, 1, 1]).names == ("dose",)


def test_response_weights_and_offset_are_held_and_the_response_may_be_centred() -> None:
    x = _values()
    y = 1e6 + x[:, 0]
    held = rows.open(x, y, weights=np.ones(400), offset=x[:, 1], centre_response=True)
    np.testing.assert_allclose(held.y.astype(np.float64) + held.y_centre, y, rtol=0, atol=1e-6)
    assert held.y_centre == pytest.approx(y.mean()) and held.y_mean == held.y_centre
    assert held.y_sd == pytest.approx(y.std()) and held.has_weights and held.has_offset
    np.testing.assert_array_equal(held.offset, x[:, 1].astype(np.float32))
    assert held.nbytes == 400 * (3 + 3) * 4
    single = y.astype(np.float32)
    centred = rows.open(x.astype(np.float32), single, centre_response=True)
    assert not centred.copied and centred.y_centre != 0 and not np.shares_memory(centred.y, single)


def test_rows_without_a_response_are_held() -> None:
    held = rows.open(_values())
    assert not held.has_response and held.y.size == 0 and held.target == ""
    assert rows.open(held) is held


@pytest.mark.parametrize("kind", ["array", "masked", "pandas", "polars", "arrow"])
def test_dropped_rows_leave_what_a_clean_table_would_give(kind: str) -> None:
    x, y, weights = _values(3000), _response(3000).astype(float), np.ones(3000)
    x[5, 0] = x[7, 1] = x[8, 1] = y[11] = weights[2999] = np.nan
    clean = np.setdiff1d(np.arange(3000), [5, 7, 8, 11, 2999])
    nulls = pa.table({str(column): pa.array(x[:, column], from_pandas=True) for column in range(3)})
    tables = {
        "array": x, "masked": np.ma.masked_invalid(x), "pandas": pd.DataFrame(x),
        "polars": pl.DataFrame(x).fill_nan(None), "arrow": nulls,
    }  # fmt: skip
    names = ["a", "b", "c"]
    held = rows.open(tables[kind], y, weights=weights, missing="drop", names=names)
    expected = rows.open(x[clean], y[clean], weights=weights[clean], names=names)
    assert held.dropped == 5 and held.n == 2995 and expected.dropped == 0
    assert held.fingerprint == expected.fingerprint
    np.testing.assert_array_equal(held.X, expected.X)


def test_dropping_from_an_array_that_misses_nothing_copies_nothing() -> None:
    x = _values().astype(np.float32)
    assert not rows.open(x, _response(), missing="drop").copied


def test_fingerprint_is_the_same_each_time_and_for_every_place_of_the_rows(tmp_path) -> None:
    x, y = _values(3000).astype(np.float32), _response(3000)
    first = rows.open(x, y).fingerprint
    np.save(tmp_path / "x.npy", x)
    assert first == rows.open(x.copy(), y).fingerprint == rows.open(tmp_path / "x.npy", y).fingerprint
    assert len(first) == 32


def _edited(edit, n: int = 50_000) -> str:
    """The fingerprint after an edit of X (zeros and ones: the hardest values to tell apart), y and the options."""
    x = (_values(n, 3) > 2).astype(np.float32)
    y, options = _response(n).astype(np.float32), {}
    edit(x, y, options)
    return rows.open(x, y, **options).fingerprint


def _swap(array: np.ndarray, first: int) -> None:
    """Exchange a row with the next one that differs."""
    other = first + 1
    while (array[other] == array[first]).all():
        other += 1
    array[[first, other]] = array[[other, first]]


EDITS = {
    "one ulp": lambda x, y, o: x.__setitem__((123, 1), np.nextafter(x[123, 1], np.float32(2))),
    "sign of zero": lambda x, y, o: x.__setitem__((np.flatnonzero(x[:, 0] == 0)[5], 0), np.float32(-0.0)),
    "two neighbours exchanged": lambda x, y, o: _swap(x, 40_000),
    "two responses exchanged": lambda x, y, o: _swap(y, 77),
    "last response": lambda x, y, o: y.__setitem__(-1, 1 - y[-1]),
    "blocks exchanged": lambda x, y, o: x.__setitem__(
        slice(None), np.roll(x, block_rows(3), axis=0)
    ),
    "columns exchanged": lambda x, y, o: x.__setitem__(slice(None), x[:, [1, 0, 2]]),
    "names": lambda x, y, o: o.update(names=["a", "b", "c"]),
    "dtype": lambda x, y, o: o.update(dtype="float64"),
    "weights": lambda x, y, o: o.update(weights=np.ones(len(x), np.float32)),
    "offset": lambda x, y, o: o.update(offset=np.ones(len(x), np.float32)),
    "centred response": lambda x, y, o: o.update(centre_response=True),
}  # fmt: skip


def test_fingerprint_changes_with_every_edit() -> None:
    found = {name: _edited(edit) for name, edit in {**EDITS, "none": lambda x, y, o: None}.items()}
    assert len(set(found.values())) == len(found), found


def test_blocks_are_the_same_however_the_pieces_fall() -> None:
    x = _values(1000)
    rng = np.random.default_rng(5)
    for _ in range(50):
        cuts = np.sort(rng.integers(0, 1001, rng.integers(0, 30)))
        blocks = list(rechunk(np.split(x, cuts), 64))
        assert [len(block) for block in blocks] == [64] * 15 + [40]
        np.testing.assert_array_equal(np.concatenate(blocks), x)
    assert all(block_rows(d) * d <= BLOCK_VALUES for d in (1, 3, 50, 1000)) and block_rows(10**6) == 2


def test_statistics_of_many_blocks_match_the_two_pass_formula() -> None:
    x = np.cumsum(_values(100_000, 2), axis=0) + [1e8, 0]
    found = scan(source_of(x, "X"))
    np.testing.assert_allclose(found.mean, x.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(found.sd, x.std(axis=0), rtol=1e-12)
    np.testing.assert_array_equal([found.low, found.high], [x.min(axis=0), x.max(axis=0)])


def test_opening_rows_imports_no_table_library() -> None:
    code = (
        "import sys, numpy as np; from austerity import rows; rows.open(np.ones((3, 2)), np.ones(3)); "
        "print([name for name in ('pandas', 'polars', 'pyarrow', 'xarray', 'numba') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_environment())
    assert found.stdout.strip() == "[]"


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
