"""Several predictors of rows drawn at random: the rows are copied together, then multiplied as in a pass.

    products[k P + p, i] = x_(rows_i) . W_kp + b_kp (+ offset),    k = 0, 1 the two points of a decision

A dot product for each predictor over a short row costs more than the row. Copied together, eight rows are multiplied
with all predictors of both points at once, in vector registers (tile.py). Compiled for models that have several
predictors, and called by a pointer, so that others do not wait for it.
"""

from ..engine.jit import engine, inlined, prefetch
from .draws import lines_of
from .tile import multiply, pack


@inlined
def _ask(values, rows):
    """Ask for the entries of `rows` in an array of one value a row, where there is one."""
    if values.size:
        for row in rows:
            prefetch(values, row)


@inlined
def _copy_rows(X, rows, ahead, copies):
    """Copies of `rows` one behind the other, asking for the rows `ahead`."""
    place_step, lines, width = 64 // X.itemsize, lines_of(X), X.shape[1]
    for i in range(rows.size):
        if i < ahead.size:
            place = ahead[i] * width
            for line in range(lines):
                prefetch(X, place + line * place_step)
        row = rows[i]
        for j in range(width):
            copies[i, j] = X[row, j]


@engine
def gather_predictors(X, y, offset, row_weights, rows, ahead, weights, intercepts, packed, copies, products, response):
    """Lines of `products` and the responses of `rows`; weights (2, P, d), intercepts (2, P)."""
    predictors = weights.shape[1]
    _ask(y, ahead)
    _ask(offset, ahead)
    _ask(row_weights, ahead)
    _copy_rows(X, rows, ahead, copies)
    pack(weights.reshape((2 * predictors, X.shape[1])), packed)
    multiply(copies, 0, rows.size, packed, products)
    for k in range(2 * predictors):
        line, constant = products[k], products.dtype.type(intercepts[k // predictors, k % predictors])
        for i in range(rows.size):
            line[i] += constant
        if offset.size:
            for i in range(rows.size):
                line[i] += offset[rows[i]]
    if y.size:
        for i in range(rows.size):
            response[i] = y[rows[i]]
