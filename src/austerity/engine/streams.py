"""Random streams: numbers that depend on (key, step, place) and on nothing else.

    numbers(step, block) = Philox4x64-10(counter = (block, step, 0, 0), key)

A stream needs no state in a checkpoint, and a longer look or an audit in one never shifts another. Every chain has
four keys, spawned from one SeedSequence: proposal, decision, row order, audit. The generator is NumPy's Philox (the
tests compare the bits).
"""

import numpy as np

from .jit import engine, inlined, multiply_high

PROPOSAL, DECISION, ROWS, AUDIT = 0, 1, 2, 3
STREAMS = 4
# A stream in memory: key (2), step, numbers used, then the block of four numbers they are taken from.
STREAM_SIZE = 8

_M0, _M1 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_W0, _W1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
_TO_UNIT = 2.0**-53


def new_streams(seed: np.random.SeedSequence, chains: int) -> np.ndarray:
    """Streams (chains, 4, 8), uint64, with keys spawned per chain: chain c is the same however many chains follow."""
    streams = np.zeros((chains, STREAMS, STREAM_SIZE), np.uint64)
    for chain, child in enumerate(seed.spawn(chains)):
        for kind, grandchild in enumerate(child.spawn(STREAMS)):
            streams[chain, kind, :2] = grandchild.generate_state(2, np.uint64)
    return streams


@inlined
def start(stream, step):
    """Put the stream at the beginning of a step."""
    stream[2] = np.uint64(step)
    stream[3] = np.uint64(0)


@engine
def _block(k0, k1, block, step):
    """Ten rounds of Philox on (block, step, 0, 0): four numbers."""
    c0, c1, c2, c3 = block, step, np.uint64(0), np.uint64(0)
    for _ in range(10):
        high0, low0 = multiply_high(_M0, c0), _M0 * c0
        high1, low1 = multiply_high(_M1, c2), _M1 * c2
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0 += _W0
        k1 += _W1
    return c0, c1, c2, c3


@engine
def next_bits(stream):
    """The next 64 random bits."""
    place = stream[3] & np.uint64(3)
    if place == np.uint64(0):
        four = _block(stream[0], stream[1], stream[3] >> np.uint64(2), stream[2])
        stream[4], stream[5], stream[6], stream[7] = four
    stream[3] += np.uint64(1)
    return stream[np.int64(4) + np.int64(place)]


@inlined
def _to_unit(bits):
    """The middle of the cell of [0, 1) that the upper 53 bits name."""
    return min((np.float64(bits >> np.uint64(11)) + 0.5) * _TO_UNIT, 1.0 - 2.0**-53)


@engine
def uniform(stream):
    """U(0,1), never 0 or 1: the middle of one of 2^53 equal cells (the last one is kept below 1)."""
    return _to_unit(next_bits(stream))


@inlined
def exponential(stream):
    """Exponential(1) = -log u."""
    return -np.log(uniform(stream))


# Rational approximations of the normal quantile (Wichura 1988, algorithm AS 241, relative error 1e-16).
_CENTRE_TOP = (
    2509.0809287301226727,
    33430.575583588128105,
    67265.770927008700853,
    45921.953931549871457,
    13731.693765509461125,
    1971.5909503065514427,
    133.14166789178437745,
    3.387132872796366608,
)
_CENTRE_LOW = (
    5226.495278852545925,
    28729.085735721942674,
    39307.89580009271061,
    21213.794301586595867,
    5394.1960214247511077,
    687.1870074920579083,
    42.313330701600911252,
    1.0,
)
_MIDDLE_TOP = (
    7.7454501427834140764e-4,
    0.0227238449892691845833,
    0.24178072517745061177,
    1.27045825245236838258,
    3.64784832476320460504,
    5.7694972214606914055,
    4.6303378461565452959,
    1.42343711074968357734,
)
_MIDDLE_LOW = (
    1.05075007164441684324e-9,
    5.475938084995344946e-4,
    0.0151986665636164571966,
    0.14810397642748007459,
    0.68976733498510000455,
    1.6763848301838038494,
    2.05319162663775882187,
    1.0,
)
_TAIL_TOP = (
    2.01033439929228813265e-7,
    2.71155556874348757815e-5,
    0.0012426609473880784386,
    0.026532189526576123093,
    0.29656057182850489123,
    1.7848265399172913358,
    5.4637849111641143699,
    6.6579046435011037772,
)
_TAIL_LOW = (
    2.04426310338993978564e-15,
    1.4215117583164458887e-7,
    1.8463183175100546818e-5,
    7.868691311456132591e-4,
    0.0148753612908506148525,
    0.13692988092273580531,
    0.59983220655588793769,
    1.0,
)


@engine
def _ratio(top, low, x):
    """Two polynomials of degree 7 by Horner, and their ratio."""
    above, below = top[0], low[0]
    for k in range(1, 8):
        above = above * x + top[k]
        below = below * x + low[k]
    return above / below


@engine
def normal_quantile(probability):
    """Phi^{-1}(p) for 0 < p < 1."""
    centred = probability - 0.5
    if abs(centred) <= 0.425:
        return centred * _ratio(_CENTRE_TOP, _CENTRE_LOW, 0.180625 - centred * centred)
    tail = np.sqrt(-np.log(min(probability, 1.0 - probability)))
    if tail <= 5.0:
        size = _ratio(_MIDDLE_TOP, _MIDDLE_LOW, tail - 1.6)
    else:
        size = _ratio(_TAIL_TOP, _TAIL_LOW, tail - 5.0)
    return size if centred > 0.0 else -size


@inlined
def normal(stream):
    """N(0,1) by its quantile: one uniform a number, so places never shift."""
    return normal_quantile(uniform(stream))


@engine
def fill_uniform(stream, out):
    """Independent U(0,1) from the next whole blocks of four; what is left of the last block is not used."""
    block = (stream[3] + np.uint64(3)) >> np.uint64(2)
    for i in range(0, out.size, 4):
        four = _block(stream[0], stream[1], block, stream[2])
        for k in range(min(4, out.size - i)):
            out[i + k] = _to_unit(four[k])
        block += np.uint64(1)
    stream[3] = block << np.uint64(2)


@engine
def fill_normal(stream, out):
    """Fill `out` with independent N(0,1): the centre of the quantile function in vector registers, tails one by one."""
    uniforms = np.empty(out.size)
    fill_uniform(stream, uniforms)
    for i in range(out.size):
        centred = uniforms[i] - 0.5
        out[i] = centred * _ratio(_CENTRE_TOP, _CENTRE_LOW, 0.180625 - centred * centred)
    for i in range(out.size):
        if abs(uniforms[i] - 0.5) > 0.425:
            out[i] = normal_quantile(uniforms[i])


@engine
def fill_normal_plain(stream, out):
    """The same numbers without an array of its own, for code that counts no references."""
    fill_uniform(stream, out)
    for i in range(out.size):
        out[i] = normal_quantile(out[i])
