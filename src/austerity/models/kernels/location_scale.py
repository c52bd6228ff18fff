"""What densities of the form e^-L(z) / s, z = (y - η) / s, have in common."""

from __future__ import annotations

from ...engine.jit import engine
from .arithmetic_lane import FloatArray


@engine
def add_scale(eta: FloatArray, y: FloatArray, scale: float, gradient: FloatArray, curvature: FloatArray) -> None:
    """From derivatives L'/s and -L''/s² in η to those in log s: z L' - 1,  -(L' + z L'')/s,  -z (L' + z L'').

    gradient (2, n), curvature (2, 2, n), of which [0] and [0, 0] are there already.
    """
    for i in range(y.size):
        z = (y[i] - eta[0, i]) / scale
        first, second = gradient[0, i] * scale, -curvature[0, 0, i] * scale * scale
        gradient[1, i] = z * first - 1.0
        curvature[0, 1, i] = curvature[1, 0, i] = -(first + z * second) / scale
        curvature[1, 1, i] = -z * (first + z * second)
