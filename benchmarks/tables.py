"""The tables of README.md: rewritten between markers, the words around them left alone.

<!-- passes -->
(table)
<!-- end passes -->
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common import Figure

README = Path(__file__).with_name("README.md")


def figure_of(stored: Mapping[str, Any]) -> Figure:
    """A Figure from the dictionary it was turned into."""
    spread = stored["spread"]
    return Figure(
        stored["what"],
        stored["value"],
        stored["of"],
        stored["limit"],
        None if spread is None else (spread[0], spread[1]),
        stored["note"],
    )


def command(name: str, size: str) -> str:
    """What prints these figures again."""
    return f"python benchmarks/run.py {name}" + ("" if size == "full" else f" --{size}")


def table(result: Mapping[str, Any]) -> str:
    """A benchmark's figures as Markdown, under the command that prints them."""
    lines = [f"`{command(result['name'], result['size'])}`", "", "| figure | measured | limit | | beside it |"]
    lines.append("|---|---|---|---|---|")
    for stored in result["figures"].values():
        figure = figure_of(stored)
        limit = "" if figure.limit is None else f"{figure.limit:g}"
        cells = (figure.what, figure.measured, limit, figure.verdict, figure.note)
        lines.append(
            "| " + " | ".join(cell.replace("|mean - truth|", "error").replace("|", "/") for cell in cells) + " |"
        )
    return "\n".join(lines)


def between_markers(text: str, name: str, inside: str) -> str:
    """The text with what stands between the two markers of this name replaced."""
    begin, end = f"<!-- {name} -->", f"<!-- end {name} -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ValueError(f"README.md needs the markers {begin} and {end} once each, in this order")
    head, rest = text.split(begin)
    return f"{head}{begin}\n{inside}\n{end}{rest.split(end)[1]}"


def write(results: Mapping[str, Mapping[str, Any]], machine: str, path: Path = README) -> None:
    """Rewrite the tables of these benchmarks and the sentence about the machine."""
    text = between_markers(path.read_text(encoding="utf-8"), "machine", machine)
    for name, result in results.items():
        text = between_markers(text, name, table(result))
    path.write_text(text, encoding="utf-8")


def missed(results: Mapping[str, Mapping[str, Any]]) -> tuple[int, int]:
    """How many figures with a limit were measured, and how many of them are over it."""
    figures = [figure_of(stored) for result in results.values() for stored in result["figures"].values()]
    with_limit = [figure for figure in figures if figure.limit is not None and not math.isnan(figure.value)]
    return len(with_limit), sum(figure.verdict == "MISS" for figure in with_limit)
