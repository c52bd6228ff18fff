"""Orthogonal matrices: drawn uniformly, looked for near a given one, and how far a matrix is from being one."""

import numpy as np

TOLERANCE = 1e-6  # how far W W' may be from the identity where a matrix comes from outside


def haar(generator: np.random.Generator, count: int, size: int) -> np.ndarray:
    """Uniform on O(D): Q of Z = Q R with Z normal and the diagonal of R made positive (Mezzadri 2007); (n, D, D)."""
    q, r = np.linalg.qr(generator.standard_normal((count, size, size)))
    return np.asarray(q * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :])


def nearest(matrices: np.ndarray) -> np.ndarray:
    """U V' of W = U S V', the nearest orthogonal matrix; (..., D, D)."""
    left, _, right = np.linalg.svd(matrices)
    return np.asarray(left @ right)


def departure(matrices: np.ndarray) -> np.ndarray:
    """max |W W' - I| of each matrix; (..., D, D) -> (...)."""
    squares = matrices @ np.swapaxes(matrices, -1, -2)
    return np.asarray(np.abs(squares - np.eye(matrices.shape[-1])).max(axis=(-2, -1)))
