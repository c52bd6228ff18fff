"""Row numbers without replacement, in a fresh random order at every decision, from a key and nothing else.

    order(k) = F_key(k) for those k in 0, 1, 2, ... with F_key(k) < N

F is k -> a k + c mod 2^b, a odd, then a Feistel permutation of b = ceil(log2 N) bits, split into ceil(b/2) and
floor(b/2): four rounds, or twelve where b is small; numbers beyond N are walked over, so a row costs fewer than two
evaluations. Fed with k itself, four rounds send neighbours to neighbours too often: on rows sorted by their response
the mean of half of them had up to 1.9 times the variance of random sampling. All arithmetic is in 32 bits, sixteen
numbers to a vector register. The order is stateless: a checkpoint does not hold it, and any decision can be replayed
from (key, step). After the last row it begins again with the first.
"""

import numpy as np

from ..engine.jit import engine, inlined

CHUNK = 128
FEW_BITS = 14
MOST_ROWS = 2**32  # that 32 bits can number; engine/early.py refuses more
_ROUND = np.uint64(0xD1B54A32D192ED03)
_FIRST_FACTOR, _SECOND_FACTOR = np.uint32(0x9E3779B1), np.uint32(0x85EBCA77)
_ONE = np.uint64(1)

# An order in memory (uint64): key, next number to permute, end of the queue, next place of the queue to hand out, and
# how many rows are still to be passed over.
KEY, NEXT, WAITING, TAKEN, SKIP = 0, 1, 2, 3, 4
ORDER_SIZE = 5


@inlined
def _mixed(value, key):
    """A 32-bit hash of value and key; its shifts bring the well-mixed upper bits down to the ones that are used."""
    mixed = np.uint32(np.uint32(value + key) * _FIRST_FACTOR)
    mixed = np.uint32(np.uint32(mixed ^ (mixed >> np.uint32(16))) * _SECOND_FACTOR)
    return np.uint32(mixed ^ (mixed >> np.uint32(15)))


@engine
def _round_key(key, number):
    """32 well-mixed bits of the key for each round: the upper ones of a product with an odd number."""
    mixed = (key ^ (key >> np.uint64(31))) * (_ROUND * np.uint64(2 * number + 1))
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _ROUND
    return np.uint32(mixed >> np.uint64(32))


@inlined
def bits_for(n_rows):
    """Smallest b >= 5 with 2^b >= N: fewer bits leave a Feistel network too few permutations."""
    bits = 5
    while (1 << bits) < n_rows:
        bits += 1
    return bits


@engine
def _two_rounds(first_key, second_key, bits, out):
    """Two Feistel rounds over a chunk of numbers; written so that they run in vector registers."""
    low_bits = np.uint32(bits // 2)
    low_mask, high_mask = np.uint32((1 << (bits // 2)) - 1), np.uint32((1 << (bits - bits // 2)) - 1)
    for i in range(out.size):
        left, right = np.uint32(out[i] >> low_bits), np.uint32(out[i] & low_mask)
        # Widths alternate: left has high_bits, right low_bits, and each round replaces one by itself xor a hash.
        left = np.uint32(left ^ (_mixed(right, first_key) & high_mask))
        right = np.uint32(right ^ (_mixed(left, second_key) & low_mask))
        out[i] = np.uint32(np.uint32(left << low_bits) | right)


@inlined
def _next_chunk(key, first, bits, out):
    """out[i] = F_key(first + i). Four rounds over few bits are visibly not random, so small N takes twelve."""
    factor, shift = _round_key(key, 0) | np.uint32(1), _round_key(key, 1)
    mask = np.uint32((1 << bits) - 1)
    for i in range(out.size):
        out[i] = np.uint32(np.uint32(np.uint32(first + np.uint64(i)) * factor) + shift) & mask
    for pair in range(1, 7 if bits < FEW_BITS else 3):
        _two_rounds(_round_key(key, 2 * pair), _round_key(key, 2 * pair + 1), bits, out)


@inlined
def begin(order, key, skip):
    """Start a fresh order; its first `skip` rows, which a proposal has already used, will come last."""
    order[KEY], order[SKIP] = key, np.uint64(skip)
    order[NEXT], order[WAITING], order[TAKEN] = np.uint64(0), np.uint64(0), np.uint64(0)


@engine
def _keep_rows(chunk, n_rows, queue, waiting):
    """Append the numbers below N to the queue. Each is written and then kept or not: a branch costs more."""
    for i in range(chunk.size):
        queue[waiting] = np.int64(chunk[i])
        waiting += np.int64(np.int64(chunk[i]) < n_rows)
    return waiting


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
    end, skip = _ONE << np.uint64(bits), np.int64(order[SKIP])
    first = order[NEXT]
    while waiting < wanted:
        _next_chunk(order[KEY], first, bits, chunk)
        waiting = _keep_rows(chunk[: min(np.uint64(chunk.size), end - first)], n_rows, queue, waiting)
        first = first + np.uint64(chunk.size) if first + np.uint64(chunk.size) < end else np.uint64(0)
        passed_over = min(skip, waiting)
        if passed_over:  # what came first belongs to the proposal
            skip, waiting = skip - passed_over, waiting - passed_over
            for i in range(waiting):
                queue[i] = queue[passed_over + i]
    order[NEXT], order[SKIP] = first, np.uint64(skip)
    order[TAKEN], order[WAITING] = np.uint64(0), np.uint64(waiting)
