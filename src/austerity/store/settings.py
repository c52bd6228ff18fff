"""May this run go on from that store? Only when every setting that could change a draw is the same."""

from __future__ import annotations

import json
import re
from os import PathLike
from typing import Any

import numpy as np

from austerity.errors import InputError, StoreError
from austerity.store.base import CHANGEABLE

ABSENT = "nothing"
OF_DATA = ("acceptance", "terms_in_float64")  # may follow from the data, as may the priors of a model


def as_json(value: Any) -> Any:
    """The value as JSON would give it back: tuples become lists, NumPy numbers become Python's."""
    return json.loads(json.dumps(value, default=_plain))


def read_settings(stored: Any) -> dict[str, Any]:
    """Settings from attrs, where they are a dict or its JSON text."""
    value = stored
    if isinstance(stored, str):
        try:
            value = json.loads(stored)
        except (ValueError, RecursionError):
            value = None
    if not isinstance(value, dict):
        raise StoreError(f"The settings of the run read {str(stored)[:60]!r}, which is no JSON object.")
    return value


def check_same_run(
    path: str | PathLike[str], stored: dict[str, Any], asked: dict[str, Any], before: Any, fingerprint: str
) -> None:
    """Refuse other settings and other data; where both differ, settings that follow from the data are not blamed."""
    if before == fingerprint:
        check_same(path, stored, asked)
    else:
        check_same(path, _chosen(stored), _chosen(asked))
        check_fingerprint(path, before, fingerprint)


def _chosen(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without those that default to something made from the data."""
    model = settings.get("model")
    rest = {key: value for key, value in settings.items() if key not in OF_DATA}
    if isinstance(model, dict):
        rest["model"] = {key: value for key, value in model.items() if key != "priors"}
    return rest


def check_same(path: str | PathLike[str], stored: dict[str, Any], asked: dict[str, Any]) -> None:
    """Refuse the first setting that differs, by its name and with both values."""
    old = {key: value for key, value in stored.items() if key not in CHANGEABLE}
    new = {key: value for key, value in as_json(asked).items() if key not in CHANGEABLE}
    difference = _first_difference(old, new, "")
    if difference is not None:
        name, before, now = difference
        name = _known_as(name, old)
        raise StoreError(
            f"The run at {path} was made with {name} = {_show(before)}, and {_show(now)} is asked for now: "
            f"give the same value, or another path."
        )


def check_fingerprint(path: str | PathLike[str], stored: Any, asked: str) -> None:
    """Refuse other data than those the run was made with."""
    if stored != asked:
        raise StoreError(
            f"The data differ from those of the run at {path} (fingerprint {_show(stored)}, now {_show(asked)}): "
            f"give the same data, or another path."
        )


def _known_as(name: str, settings: dict[str, Any]) -> str:
    """A dotted name in the words of whoever gave the setting: model.priors[1].scale -> scale of the prior of ..."""
    if name.startswith("rng."):
        return "rng"
    if name in ("model.intercept", "model.standardize"):
        return name.removeprefix("model.")
    prior = re.fullmatch(r"model\.priors\[(\d+)\](?:\.(\w+))?", name)
    model = settings.get("model")
    labels = model.get("parameters") if isinstance(model, dict) else None
    if prior is None or not isinstance(labels, list) or int(prior.group(1)) >= len(labels):
        return name
    part = f"the {prior.group(2)} of " if prior.group(2) else ""
    return f"{part}the prior of {labels[int(prior.group(1))]}"


def _first_difference(old: Any, new: Any, name: str) -> tuple[str, Any, Any] | None:
    """The place and both values where two JSON values first differ, keys in alphabetical order."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            below = f"{name}.{key}" if name else key
            found = _first_difference(old.get(key, ABSENT), new.get(key, ABSENT), below)
            if found is not None:
                return found
        return None
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, now) in enumerate(zip(old, new, strict=True)):
            found = _first_difference(before, now, f"{name}[{index}]")
            if found is not None:
                return found
        return None
    if name == "rng.entropy" and str(old).isdigit() and str(new).isdigit():
        old, new = int(old), int(new)  # as text because it may be larger than JSON's numbers
    same_kind = isinstance(old, bool) == isinstance(new, bool)
    both_nan = old != old and new != new
    return None if (same_kind and old == new) or both_nan else (name, old, new)


def _show(value: Any) -> str:
    """A value short enough for a sentence."""
    text = value if value == ABSENT else json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays as JSON can hold them."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise InputError(f"A setting of type {type(value).__name__} cannot be stored: give numbers, text, lists or dicts.")
