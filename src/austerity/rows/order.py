"""Row numbers without replacement, in a fresh random order at every decision, from a key and nothing else.

    order(k) = F_key(k) for those k in 0, 1, 2, ... with F_key(k) < N

F is k -> a k + c mod 2^b, a odd, then a four-round Feistel permutation of b = ceil(log2 N) bits, split into ceil(b/2)
and floor(b/2); numbers beyond N are walked over, so a row costs fewer than two evaluations. Fed with k itself, four
rounds send neighbours to neighbours too often: on rows sorted by their response the mean of half of them had up to 1.9
times the variance of random sampling. The order is stateless: a checkpoint does not hold it, and any decision can be
replayed from (key, step). After the last row it begins again with the first.
"""

import numpy as np

from ..engine.jit import engine, inlined

CHUNK = 64
FEW_BITS = 14
_MULTIPLY, _FINISH, _ROUND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0xD1B54A32D192ED03),
)
_ONE = np.uint64(1)

# An order in memory (uint64): key, next number to permute, end of the queue, next place of the queue to hand out, and
# how many rows are still to be passed over.
KEY, NEXT, WAITING, TAKEN, SKIP = 0, 1, 2, 3, 4
ORDER_SIZE = 5


@engine
def _mixed(value, key):
    """A 64-bit hash of value and key; its shifts bring the well-mixed upper bits down to the ones that are used."""
    mixed = (value + key) * _MULTIPLY
    mixed ^= mixed >> np.uint64(32)
    mixed *= _FINISH
    return mixed ^ (mixed >> np.uint64(29))


@inlined
def bits_for(n_rows):
    """Smallest b >= 5 with 2^b >= N: fewer bits leave a Feistel network too few permutations."""
    bits = 5
    while (1 << bits) < n_rows:
        bits += 1
    return bits


@engine
def _permute_chunk(key, bits, out):
    """out[i] <- F_key(out[i]) for a chunk of numbers; written so that it runs in vector registers."""
    low_bits = np.uint64(bits // 2)
    low_mask = (_ONE << low_bits) - _ONE
    high_mask = (_ONE << np.uint64(bits - bits // 2)) - _ONE
    for i in range(out.size):
        left, right = out[i] >> low_bits, out[i] & low_mask
        # Widths alternate: left has high_bits, right low_bits, and each round replaces one by itself xor a hash.
        left ^= _mixed(right, key) & high_mask
        right ^= _mixed(left, key + _ROUND) & low_mask
        left ^= _mixed(right, key + _ROUND * np.uint64(2)) & high_mask
        right ^= _mixed(left, key + _ROUND * np.uint64(3)) & low_mask
        out[i] = (left << low_bits) | right


@inlined
def _next_chunk(key, first, bits, out):
    """out[i] = F_key(first + i). Four rounds over few bits are visibly not random, so small N takes twelve."""
    factor, mask = _mixed(key, _ROUND) | _ONE, (_ONE << np.uint64(bits)) - _ONE
    for i in range(out.size):
        out[i] = ((first + np.uint64(i)) * factor + (key >> np.uint64(7))) & mask
    _permute_chunk(key, bits, out)
    if bits < FEW_BITS:
        _permute_chunk(_mixed(key, _FINISH), bits, out)
        _permute_chunk(_mixed(key, _ROUND), bits, out)


@inlined
def begin(order, key, skip):
    """Start a fresh order; its first `skip` rows, which a proposal has already used, will come last."""
    order[KEY], order[SKIP] = key, np.uint64(skip)
    order[NEXT], order[WAITING], order[TAKEN] = np.uint64(0), np.uint64(0), np.uint64(0)


@inlined
def ensure(order, wanted, n_rows, queue, chunk):
    """Have at least `wanted` row numbers waiting in queue[TAKEN : WAITING]; wanted + CHUNK fits the queue."""
    taken, waiting = np.int64(order[TAKEN]), np.int64(order[WAITING])
    if waiting - taken >= wanted:
        return
    for i in range(waiting - taken):
        queue[i] = queue[taken + i]
    waiting -= taken
    bits = bits_for(n_rows)
    end, bound, skip = _ONE << np.uint64(bits), np.uint64(n_rows), np.int64(order[SKIP])
    first = order[NEXT]
    while waiting < wanted:
        _next_chunk(order[KEY], first, bits, chunk)
        for i in range(chunk.size):
            # Written first and kept or not after: a branch that goes either way costs more than the permutation.
            queue[waiting] = np.int64(chunk[i])
            inside = np.int64((first + np.uint64(i) < end) & (chunk[i] < bound))
            passed_over = min(inside, skip)
            skip -= passed_over
            waiting += inside - passed_over
        first += np.uint64(chunk.size)
        if first >= end:
            first = np.uint64(0)
    order[NEXT], order[SKIP] = first, np.uint64(skip)
    order[TAKEN], order[WAITING] = np.uint64(0), np.uint64(waiting)
