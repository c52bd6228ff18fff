"""The command line: `austerity sample` and `austerity summary`.

Results go to standard output, all else to standard error. Exit codes: 0 fine, 1 an error of input or store (one
sentence), 2 usage, 130 interrupted with the draws kept, 3 a fault of the program itself (with its traceback).
"""

import argparse
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .cli_options import build_parser, in_options, misplaced, sample_settings
from .errors import AusterityWarning, InputError

if TYPE_CHECKING:
    import xarray

FINE, WRONG_INPUT, USAGE, OWN_FAULT, INTERRUPTED = 0, 1, 2, 3, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    try:
        arguments = build_parser().parse_args(argv)
        if arguments.command == "sample" and (fault := misplaced(arguments)):
            arguments.refuse(fault)
    except SystemExit as ended:  # argparse has said what there is to say: help, the version or a usage error
        return write("") or int(ended.code or 0)
    command = sample_command if arguments.command == "sample" else summary_command
    with warnings.catch_warnings():
        warnings.showwarning = show_warning
        return guarded(command, arguments)


def guarded(command: Callable[[argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    """The command's exit code; whatever it raises becomes a sentence and a code."""
    try:
        return command(arguments)
    except KeyboardInterrupt:
        say(f"interrupted: {kept_so_far(arguments)}")
        eval("None")  # Python remembers an interrupt inside an evaluated string, and would end by the signal instead
        return INTERRUPTED
    except InputError as error:
        say(in_options(str(error)))
        return WRONG_INPUT
    except MemoryError as error:
        say(f"there is not enough memory ({error}): use fewer rows or columns, or --dtype float32")
        return WRONG_INPUT
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        say(f"{where}{error.strerror or error}; check the path and your rights to it")
        return WRONG_INPUT
    except Exception:
        say(f"a fault of the program itself, please report it with these lines:\n{traceback.format_exc().rstrip()}")
        return OWN_FAULT


def sample_command(arguments: argparse.Namespace) -> int:
    """Sample, print the summary, say what is kept and how to go on."""
    from . import sample

    settings = sample_settings(arguments)
    with warnings.catch_warnings():
        # What the library says of these two endings is said below in the words of the command line.
        warnings.filterwarnings("ignore", "interrupted|the time limit", category=AusterityWarning)
        post = sample(**settings)
    code = print_summary(post)
    ended, drawn = str(post.attrs["ended"]), int(post["posterior"].sizes["draw"])
    interrupted = ended == "interrupted"
    if interrupted or ended == "time limit":
        say(f"{ended}: {drawn:,} of {arguments.draws:,} draws a chain are kept in {arguments.output}; {GO_ON}")
    elif not arguments.quiet:
        say(f"{drawn:,} draws a chain are in {arguments.output}; for more, {EXTEND}")
    return INTERRUPTED if interrupted else code


GO_ON = "to go on, give the same command with --resume"
EXTEND = "give the same command with --resume and a larger --draws"


def summary_command(arguments: argparse.Namespace) -> int:
    """Print the table of a run on disk, and write it to a file where asked."""
    from . import load, summary

    post = load(arguments.run)
    if arguments.csv is not None:
        summary(post).to_csv(arguments.csv)
    return print_summary(post)


def print_summary(post: "xarray.DataTree") -> int:
    """The table on standard output, or a sentence where there is no draw to summarise."""
    from . import summary

    if post["posterior"].sizes["draw"] == 0:
        say("no draw was kept, so there is nothing to summarise")
        return FINE
    return write(f"{summary(post)}\n")


def kept_so_far(arguments: argparse.Namespace) -> str:
    """What an interruption leaves behind, when sampling could not end in order."""
    if arguments.command == "sample" and os.path.lexists(arguments.output):
        return f"draws up to the last safe point are kept in {arguments.output}; {GO_ON}"
    return "nothing was drawn yet" if arguments.command == "sample" else "nothing was changed"


def write(text: str) -> int:
    """Text to standard output, and out of the buffer; a reader that has left is no error, a full disk is."""
    if sys.stdout is None:
        return FINE
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        # What is still buffered would raise again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            say(f"the output could not be written ({error.strerror or error}): send it elsewhere")
            return WRONG_INPUT
    return FINE


def say(sentence: str) -> None:
    """A sentence on standard error, where it follows a colon; without one there is nobody to tell."""
    if sentence.split(" ", 1)[0] in ("The", "There", "No", "Draws", "Chain", "Figures"):
        sentence = sentence[0].lower() + sentence[1:]
    try:
        sys.stderr.write(f"austerity: {sentence}\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return


def show_warning(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
    """Our own warnings as sentences; those of other libraries are of no use to a reader of the command line."""
    if issubclass(category, AusterityWarning):
        say(in_options(str(message)))
