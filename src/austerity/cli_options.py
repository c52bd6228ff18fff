"""The options of the command line, and what they mean for `austerity.sample`; nothing heavy is imported to read them.

A value is checked here for its form (usage, exit code 2); what it means is checked where it is used (exit code 1).
"""

import argparse
import csv
import re
from collections.abc import Callable
from typing import Any, NoReturn

from ._version import __version__

MODELS = {
    "logistic": "Logistic",
    "probit": "Probit",
    "linear": "Linear",
    "student-t": "StudentT",
    "poisson": "Poisson",
    "negative-binomial": "NegativeBinomial",
    "multinomial": "Multinomial",
    "lad": "LAD",
    "quantile": "Quantile",
    "huber": "Huber",
    "gaussian": "Gaussian",
    "gaussian-mixture": "GaussianMixture",
}
DENSITIES = ("gaussian", "gaussian-mixture")  # of one column, without a response
PRIORS = {  # name: class, and numbers as an example
    "normal": ("Normal", "0,1"),
    "student-t": ("StudentT", "3,0,2.5"),
    "cauchy": ("Cauchy", "0,2.5"),
    "laplace": ("Laplace", "0,1"),
    "flat": ("Flat", ""),
}
BOUNDARIES = {
    "pocock": ("Pocock", ""),
    "obrien-fleming": ("OBrienFleming", ""),
    "wang-tsiatis": ("WangTsiatis", "0.75"),
}
FOR_MODELS = {  # options that only some models take
    "link": ("poisson",),
    "sigma": ("linear", "student-t", *DENSITIES),
    "dof": ("student-t",),
    "shape": ("negative-binomial",),
    "error_scale": ("lad", "quantile", "huber"),
    "tau": ("quantile",),
    "delta": ("huber",),
    "mean": ("gaussian",),
    "mixture_weights": ("gaussian-mixture",),
}
CALLED = {"error_scale": "scale", "mixture_weights": "weights"}  # by the models, where the run has the word already
PASSED_ON: tuple[str, ...] = ("target", "columns", "weights", "offset", "dtype", "missing", "intercept", "standardize")
PASSED_ON += ("draws", "warmup", "chains", "cores", "time_limit", "thin", "start", "keep", "resume")

PRIOR_HELP = """normal:0,1, student-t:3,0,2.5 (degrees of freedom, location, scale), cauchy:0,2.5, laplace:0,1 or flat;
without it normal:0,2.5 per standard deviation of each column"""
EPILOG = """exit codes:
  0    fine
  1    something is wrong with the input or the run on disk (one sentence says what)
  2    wrong usage
  3    a fault of the program itself
  130  interrupted (what was drawn is kept)"""


def numbers(text: str) -> list[float]:
    """'0,2.5' -> [0.0, 2.5]; '' -> []."""
    try:
        return [float(part) for part in text.split(",")] if text else []
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers such as 0,2.5") from None


def names(text: str) -> list[str]:
    """'a,"b, c"' -> ['a', 'b, c']: quotes keep a comma inside a name."""
    found = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not found or "" in found:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of names such as age,income")
    return found


def number_or_sample(text: str) -> float | str:
    """A number, or the word `sample` for a parameter that is to be sampled."""
    if text == "sample":
        return text
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor the word sample") from None


def named_with_numbers(known: dict[str, tuple[str, str]], what: str) -> Callable[[str], tuple[str, list[float]]]:
    """A reader of 'name:1,2' that gives (class, numbers) and knows how many numbers each name takes."""

    def read(text: str) -> tuple[str, list[float]]:
        name, _, rest = text.partition(":")
        if name not in known:
            raise argparse.ArgumentTypeError(f"{name!r} is no {what}; choose from {', '.join(known)}")
        found, (kind, example) = numbers(rest), known[name]
        if len(found) != len(numbers(example)):
            form = f"write it as {name}:{example}" if example else f"{name} takes none"
            raise argparse.ArgumentTypeError(f"{text!r} has {len(found)} numbers; {form}")
        return kind, found

    return read


class Parser(argparse.ArgumentParser):
    """Help as it is written here, and wrong usage as one sentence."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **settings)

    def error(self, message: str) -> NoReturn:
        """The sentence on standard error, and exit code 2."""
        self.exit(2, f"austerity: {message}; see {self.prog} --help\n")


def build_parser() -> Parser:
    """austerity sample | summary, --version, --help."""
    parser = Parser(
        prog="austerity",
        description="Bayesian posterior sampling on tall data: exactly, in one fast pass over the rows that all\n"
        "chains share, or from a random few of them by a sequential test whose error is stated.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"austerity {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    sample = commands.add_parser(
        "sample",
        help="sample the posterior of a model given a table",
        description="Sample the posterior of a model given a table, write the draws to a directory as they come,\n"
        "and print a summary.",
        epilog=f"for example:\n  austerity sample --model logistic --target y data.parquet -o run.zarr\n\n{EPILOG}",
    )
    _add_input(sample)
    _add_model(sample)
    _add_run(sample)
    sample.set_defaults(refuse=sample.error)
    summary = commands.add_parser(
        "summary", help="print the summary of a run", description="Print the summary of a run."
    )
    summary.add_argument("run", help="the directory that `austerity sample -o` wrote")
    summary.add_argument("--csv", metavar="FILE", help="also write the table there, with full digits")
    return parser


def _add_input(parser: argparse.ArgumentParser) -> None:
    absent: dict[str, Any] = {"default": argparse.SUPPRESS}
    group = parser.add_argument_group("the table")
    group.add_argument("table", metavar="TABLE", help="a .csv, .parquet or .npy file; columns of a .npy file "
        "are called x0, x1, ...")  # fmt: skip
    group.add_argument("--target", metavar="COLUMN", help="the response (a density has none)", **absent)
    group.add_argument("--columns", type=names, metavar="A,B,C", help="the inputs (without it: all others)", **absent)
    group.add_argument("--weights", metavar="COLUMN", help="weights of the rows", **absent)
    group.add_argument("--offset", metavar="COLUMN", help="added to the linear predictor", **absent)
    group.add_argument(
        "--missing", choices=("error", "drop"), default="error", help="what to do with missing values (error)"
    )
    group.add_argument("--dtype", choices=("float32", "float64"), default="float32", help="how rows are held (float32)")


def _add_model(parser: argparse.ArgumentParser) -> None:
    absent: dict[str, Any] = {"default": argparse.SUPPRESS}
    group = parser.add_argument_group("the model")
    group.add_argument("--model", required=True, choices=MODELS, metavar="MODEL", help=", ".join(MODELS))
    prior = named_with_numbers(PRIORS, "prior")
    group.add_argument("--prior", type=prior, metavar="PRIOR", help=PRIOR_HELP, **absent)
    group.add_argument("--intercept", action="store_true", help="add an intercept")
    group.add_argument("--standardize", action="store_true", help="state the prior per standard deviation of a column")
    group.add_argument("--link", choices=("log", "softplus"), help="of poisson", **absent)
    either = "a number, or `sample`"
    scaled = " and ".join((", ".join(FOR_MODELS["sigma"][:-1]), FOR_MODELS["sigma"][-1]))
    group.add_argument("--sigma", type=number_or_sample, help=f"scale of {scaled}: {either}", **absent)
    group.add_argument("--dof", type=number_or_sample, help=f"degrees of freedom of student-t: {either}", **absent)
    group.add_argument("--shape", type=number_or_sample, help=f"shape of negative-binomial: {either}", **absent)
    scaled = ", ".join(FOR_MODELS["error_scale"])
    group.add_argument("--error-scale", type=number_or_sample, help=f"scale of {scaled}: {either}", **absent)
    group.add_argument("--tau", type=float, help="of quantile, between 0 and 1", **absent)
    group.add_argument("--delta", type=float, help="where the tails of huber begin, in scales (1.345)", **absent)
    group.add_argument("--mean", type=number_or_sample, help=f"of gaussian: {either}", **absent)
    group.add_argument("--mixture-weights", type=numbers, metavar="A,B", help="of gaussian-mixture (0.5,0.5)", **absent)


def _add_run(parser: argparse.ArgumentParser) -> None:
    absent: dict[str, Any] = {"default": argparse.SUPPRESS}
    group = parser.add_argument_group("the run")
    group.add_argument("-o", "--output", required=True, metavar="RUN", help="directory for the draws, such as run.zarr")
    group.add_argument("--resume", action="store_true", help="go on with the run in RUN, if there is one")
    group.add_argument("--draws", type=int, default=2000, help="draws kept a chain (2000)")
    group.add_argument("--warmup", type=int, default=1000, help="warm-up steps a chain (1000)")
    group.add_argument("--chains", type=int, default=4, help="chains (4)")
    group.add_argument("--seed", type=int, default=0, help="of all random numbers (0)")
    group.add_argument("--thin", type=int, default=1, help="keep every so many steps (1)")
    group.add_argument("--cores", type=int, help="threads (without it: all); changes no draw", **absent)
    group.add_argument("--time-limit", type=float, metavar="SECONDS", help="end sampling after so long", **absent)
    group.add_argument("--start", choices=("mode", "prior"), default="mode", help="where chains begin (mode)")
    group.add_argument("--keep", type=names, metavar="NAMES", help="parameters to keep, such as beta,sigma", **absent)
    rules = ("auto", "exact", "sequential-t")
    group.add_argument(
        "--acceptance",
        choices=rules,
        default="auto",
        help="auto, exact or sequential-t: how proposals are accepted (auto)",
    )
    group.add_argument("--epsilon", type=float, help="error level of sequential-t at a look (0.01)", **absent)
    group.add_argument("--batch", type=int, help="rows of sequential-t a look (500)", **absent)
    boundary = named_with_numbers(BOUNDARIES, "boundary")
    group.add_argument(
        "--boundary",
        type=boundary,
        help="of sequential-t: pocock, obrien-fleming or wang-tsiatis:0.75 (pocock)",
        **absent,
    )
    group.add_argument(
        "--proposal", choices=("random-walk", "adaptive"), default="random-walk", help="how chains move (random-walk)"
    )
    group.add_argument("--scale", type=numbers, metavar="NUMBERS", help="step size of random-walk: one number, or one "
        "for each parameter (without it: from the curvature at the mode)", **absent)  # fmt: skip
    group.add_argument("--quiet", action="store_true", help="no progress on standard error")


def misplaced(arguments: argparse.Namespace) -> str | None:
    """What is wrong with options that do not belong together, as a usage error."""
    given = vars(arguments)
    for option, models in FOR_MODELS.items():
        if option in given and arguments.model not in models:
            name = option.replace("_", "-")
            return f"--{name} is for --model {' or '.join(models)}, not for {arguments.model}"
    if "target" not in given and arguments.model not in DENSITIES:
        return f"--model {arguments.model} needs --target, the column of the response"
    if arguments.model == "quantile" and "tau" not in given:
        return "--model quantile needs --tau, the quantile that is wanted, such as 0.9"
    for option in ("epsilon", "batch", "boundary"):
        if option in given and arguments.acceptance != "sequential-t":
            return f"--{option} is for --acceptance sequential-t, not for {arguments.acceptance}"
    if "scale" in given and arguments.proposal != "random-walk":
        return f"--scale is for --proposal random-walk, not for {arguments.proposal}"
    return None


def sample_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """The keyword arguments of `austerity.sample`."""
    given = vars(arguments)
    return {
        "model": _model(given),
        "X": arguments.table,
        "acceptance": _acceptance(given),
        "proposal": _proposal(given),
        "rng": arguments.seed,
        "store": arguments.output,
        "progress": not arguments.quiet,
        **{name: given[name] for name in PASSED_ON if name in given},
    }


def _model(given: dict[str, Any]) -> Any:
    from . import models, priors

    settings: dict[str, Any] = {CALLED.get(name, name): given[name] for name in FOR_MODELS if name in given}
    settings = {name: None if value == "sample" else value for name, value in settings.items()}
    if "prior" in given:
        kind, values = given["prior"]
        settings["prior"] = getattr(priors, kind)(*values)
    return getattr(models, MODELS[given["model"]])(**settings)


def _acceptance(given: dict[str, Any]) -> Any:
    if given["acceptance"] == "auto":
        return "auto"
    from . import decisions

    if given["acceptance"] == "exact":
        return decisions.Exact()
    settings: dict[str, Any] = {name: given[name] for name in ("epsilon", "batch") if name in given}
    if "boundary" in given:
        kind, values = given["boundary"]
        settings["boundary"] = getattr(decisions, kind)(*values)
    return decisions.SequentialT(**settings)


def _proposal(given: dict[str, Any]) -> Any:
    from . import proposals

    if given["proposal"] == "adaptive":
        return proposals.AdaptiveMetropolis()
    scale = given.get("scale")
    return proposals.RandomWalk(scale[0] if scale is not None and len(scale) == 1 else scale)


_OPTION = re.compile(r"(?<![\w(])(\w+)(?:=| = )(True|\[\.\.\.\]|'[^']*'|\"[^\"]*\"|-?[\w.]+)")


def in_options(sentence: str) -> str:
    """A sentence that speaks of keyword arguments, in the words of the command line: resume=True -> --resume."""

    def option(found: re.Match[str]) -> str:
        name, value = found.group(1), found.group(2)
        name = {"rng": "seed", "store": "output"}.get(name, name)
        if name not in (*PASSED_ON, "seed", "output"):
            return found.group(0)
        value = {"True": "", "[...]": " A,B,C"}.get(value, " " + value.strip("'\""))
        return f"--{name.replace('_', '-')}{value}"

    return _OPTION.sub(option, sentence)
