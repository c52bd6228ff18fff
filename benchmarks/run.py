"""Print the benchmarks' figures: python benchmarks/run.py [names...] [--quick] [--write] [--json FILE]

Names: those below (all by default). A figure over its limit is printed as MISS and is no failure of this program:
figures on a busy machine say little.
"""

import argparse
import importlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import to_json
from machine import facts
from tables import command, missed, write

NAMES = {
    "passes": "a pass against reading and against the bare matrix product",
    "draws": "single rows in random order against contiguous ones",
    "cores": "a second core, and chains in lockstep",
    "efficiency": "effective samples a second, sequential against exact",
    "peers": "emcee and NumPyro NUTS",
    "steps": "the bare step, import, first draw",
    "selection": "time a row of reversible jumps by model size",
    "memory": "peak memory",
    "ica": "an ICA step a row against a matched logistic regression",
    "prediction": "posterior means of many rows against the bare matrix product",
    "gibbs": "an exact scan of a field against reading its entries",
    "langevin": "a corrected Langevin step against its rows",
}


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=__doc__.splitlines()[0])
    known = "; ".join(f"{name}: {words}" for name, words in NAMES.items())
    parser.add_argument("names", nargs="*", metavar="name", help=known)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="smaller sizes and fewer rounds, for a look")
    size.add_argument("--tiny", action="store_true", help="seconds only: shows that everything runs, measures nothing")
    parser.add_argument("--write", action="store_true", help="rewrite the tables of benchmarks/README.md")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to this file as well")
    found = parser.parse_args(arguments)
    unknown = [name for name in found.names if name not in NAMES]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}: give {', '.join(NAMES)}")
    if found.write and found.tiny:
        parser.error("--tiny measures nothing worth writing: leave out --write")
    return found


def main(arguments: Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
    """Run what was asked for; the figures by benchmark."""
    asked = parsed(arguments)
    size = "tiny" if asked.tiny else "quick" if asked.quick else "full"
    machine = facts(size).sentence()
    print(machine, flush=True)
    results: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(asked.names or NAMES):
        print(f"\n{name}: {NAMES[name]} ({command(name, size)})", flush=True)
        began = time.monotonic()
        results[name] = importlib.import_module(name).run(size)
        print(f"  {name} took {time.monotonic() - began:.0f} s", flush=True)
        if asked.write:  # after each, so that a run cut short has written what it measured
            write({name: results[name]}, machine)
    limited, over = missed(results)
    print(f"\n{limited - over} of {limited} figures with a limit are within it")
    if asked.json is not None:
        asked.json.write_text(to_json({"machine": machine, "results": results}), encoding="utf-8")
    return results


if __name__ == "__main__":
    main()
    sys.exit(0)
