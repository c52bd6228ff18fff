"""Before a run: the error of a test, the best test for an error, checks of what a test assumes.

`error` is a function here, although a file has the same name: loading a file binds its name in this package, so the
function is bound over it at once, not on first use. The file itself waits with SciPy until it is called.
"""

from .error import AcceptanceError, TestError, acceptance_error, error, expected_data_share

__all__ = ["AcceptanceError", "TestError", "acceptance_error", "error", "expected_data_share"]
