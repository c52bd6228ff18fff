"""exp, log, softplus and the normal distribution's tail for compiled loops, float32 and float64, without branches.

Each public name is a function of one number for Numba code; its type follows its argument. Inside a loop over an array
it becomes straight-line vector code. Largest errors, in units in the last place of max(1, |result|): 1.1 in float32 and
1.6 in float64; log_ndtr 2.2 and 3.2, inverse_mills 2.1 and 4.5. Out of range they saturate as the real functions do:
exp to 0 and infinity, softplus to 0 and x, log_ndtr to -infinity and 0. NaN gives NaN.

Two polynomials carry everything: e^r on |r| ≤ ½ log 2 and the artanh series of log(1+f); a third one the normal tail.
Their coefficients are the interpolations at Chebyshev points that `tests/test_arithmetic.py` computes again.
"""

from __future__ import annotations

import math

from llvmlite import ir

from .arithmetic_lane import Lane, expose

# e^r = 1 + r + r² P(r) for |r| ≤ ½ log 2: relative error 7e-9 and 1e-17.
EXPONENTIAL_SINGLE = (
    0.5,
    0.16666576666119928,
    0.04166655421298415,
    0.008363232883682618,
    0.0013926250831497611,
)
EXPONENTIAL_DOUBLE = (
    0.5000000000000001,
    0.16666666666666669,
    0.041666666666623824,
    0.008333333333330039,
    0.0013888888917367081,
    0.00019841269863171557,
    2.4801521057868204e-05,
    2.7557268276905696e-06,
    2.7620201591031547e-07,
    2.5100472505694996e-08,
)

# log((1+s)/(1-s)) = 2 s + s³ P(s²) for 0 ≤ s² ≤ 1/9: absolute error 2e-10 and 1e-16.
LOGARITHM_SINGLE = (
    0.6666666732052742,
    0.3999970633192972,
    0.28592357994302836,
    0.21706575800880373,
    0.2322432922402335,
)
LOGARITHM_DOUBLE = (
    0.6666666666666697,
    0.39999999999560126,
    0.2857142867666099,
    0.22222212557929713,
    0.18182261108419745,
    0.15373274876358003,
    0.135023424717571,
    0.10322669270499082,
    0.1687070066109721,
)

# Φ(-a) / (φ(a) √(2π)) = P(u) / (a + 4) with u = (a - 4) / (a + 4), for every a ≥ 0: relative error 5e-9 and 3e-16.
MILLS_SINGLE = (
    0.7552851304157515,
    -0.6078966310048657,
    0.38713740116959894,
    -0.1865221669841296,
    0.06039656262041475,
    -0.007537677477381823,
    -0.0034795880075690136,
    0.0016219499527395963,
    0.00013294462932231634,
    -0.00021548404675400255,
    -1.0999025946389317e-06,
    2.1150477549818113e-05,
    -2.1070768564897833e-07,
)
MILLS_DOUBLE = (
    0.7552851304157515,
    -0.6078966419718931,
    0.38713740074221653,
    -0.1865218579595672,
    0.0603965748907624,
    -0.007540188969137313,
    -0.0034796923628903557,
    0.0016308184878823643,
    0.00013334425890372837,
    -0.0002310951507876874,
    -1.9079074883936755e-06,
    3.514564458582385e-05,
    7.152737509308815e-07,
    -5.9229798276747605e-06,
    -6.2620687669596e-07,
    1.0270948807114341e-06,
    2.662327898883562e-07,
    -1.6231917680473566e-07,
    -7.98985075256226e-08,
    1.9608339140939514e-08,
    1.6536044775506402e-08,
    -1.2845818869925269e-09,
    -1.7737405043949108e-09,
)

# log 2 in two parts; the first has so few digits that its product with an exponent is exact in either type.
LOG_2_HIGH = 0.693359375
LOG_2_LOW = -0.00021219444005469057
HALF_ROOT_2 = math.sqrt(0.5)
ROOT_TWO_PI = math.sqrt(2 * math.pi)


def exponential(x: Lane, square_safe: bool = False) -> Lane:
    """e^x = 2^k (1 + r + r² P(r)), k the integer next to x / log 2 and r = x - k log 2.

    Below -87 (float32) or -708 (float64) the result is 0, above 88.3 or 709.4 infinity. With `square_safe` it is 0 from
    the point on where its square would be subnormal, which some processors compute a hundred times slower.
    """
    # Adding 1.5·2^digits rounds to an integer and leaves it in the low bits; the bias on top makes them an exponent.
    magic = 1.5 * 2.0**x.digits + x.bias
    shifted = x.fma(1 / math.log(2), magic)
    k = shifted - magic
    r = k.fma(-LOG_2_LOW, k.fma(-LOG_2_HIGH, x))
    power = shifted.from_bits(x.builder.shl(shifted.bits(), ir.Constant(shifted.bits().type, x.digits)))
    tail = (r.polynomial(EXPONENTIAL_DOUBLE if x.double else EXPONENTIAL_SINGLE) * r).fma(r, r)
    if square_safe:
        lowest = 353.0 if x.double else 42.0
    else:
        lowest = 708.0 if x.double else 87.0
    result = x.like(0.0).where(x.compare("<", -lowest), power.fma(tail, power))
    return x.like(math.inf).where(x.compare(">", 709.4 if x.double else 88.3), result)


def near_one(f: Lane) -> Lane:
    """log(1 + f) for √½ ≤ 1 + f ≤ 2, by s = f / (2 + f): f - s (f - s² P(s²))."""
    s = f / (f + 2.0)
    square = s * s
    rest = (-square).fma(square.polynomial(LOGARITHM_DOUBLE if f.double else LOGARITHM_SINGLE), f)
    return (-s).fma(rest, f)


def split(x: Lane) -> tuple[Lane, Lane]:
    """k and m with x = 2^k m and √½ ≤ m < √2, for positive x from the smallest normal number on."""
    builder, bits = x.builder, x.bits()

    def integer(number: int) -> ir.Constant:
        return ir.Constant(bits.type, number)

    one, root = x.like(1.0).bits(), x.like(HALF_ROOT_2).bits()
    moved = builder.add(bits, builder.sub(one, root))
    stored = builder.lshr(moved, integer(x.digits))
    # The bits of 2^digits with an integer in their low end are the float 2^digits + that integer.
    k = x.from_bits(builder.or_(stored, x.like(2.0**x.digits).bits())) - (2.0**x.digits + x.bias)
    m = x.from_bits(builder.add(builder.and_(moved, integer(2**x.digits - 1)), root))
    return k, m


def join(k: Lane, f: Lane) -> Lane:
    """k log 2 + log(1 + f)."""
    return k.fma(LOG_2_HIGH, k.fma(LOG_2_LOW, near_one(f)))


def logarithm(x: Lane) -> Lane:
    """log x; -infinity at 0 (and for subnormal x), NaN below 0."""
    k, m = split(x)
    smallest = 2.0 ** (1 - x.bias)
    outside = x.like(-math.inf).where(x.compare(">=", 0.0), math.nan)
    inside = join(k, m - 1.0).where(x.compare("<", math.inf), x)
    return inside.where(x.compare(">=", smallest), outside)


def logarithm_plus_one(t: Lane) -> Lane:
    """log(1 + t) for t ≥ 0; what rounding 1 + t lost is put back into its mantissa."""
    whole = t + 1.0
    k, m = split(whole)
    lost = t - (whole - 1.0)
    scale = t.from_bits(t.builder.add(t.like(1.0).bits(), t.builder.sub(m.bits(), whole.bits())))
    return join(k, lost.fma(scale, m - 1.0)).where(t.compare("<", math.inf), t)


def decay_of(x: Lane) -> Lane:
    """e^-|x|: log(1 + e^-|x|) is what softplus adds to max(x, 0), and a product of many needs one logarithm."""
    return exponential((-abs(x)).at_least(-42.0))


def softplus_of(x: Lane) -> Lane:
    """log(1 + e^x) = max(x, 0) + log(1 + e^-|x|)."""
    return near_one(exponential(-abs(x), square_safe=True)) + x.at_least(0.0)


def log_four_cosh_square_of(x: Lane) -> Lane:
    """2 log(2 cosh(x/2)) = |x| + 2 log(1 + e^-|x|): minus the log density of the standard logistic distribution."""
    return near_one(exponential(-abs(x), square_safe=True)).fma(2.0, abs(x))


def log_softplus_of(x: Lane) -> Lane:
    """log log(1 + e^x), near x for x far below zero: there it is x + log(log(1 + t) / t), t = e^x."""
    t = exponential(-abs(x), square_safe=True)
    s = t / (t + 2.0)
    square = s * s
    rest = (-square).fma(square.polynomial(LOGARITHM_DOUBLE if x.double else LOGARITHM_SINGLE), t)
    ratio = 1.0 - rest / (t + 2.0)
    below = x.compare("<", 0.0)
    return logarithm(ratio.where(below, (-s).fma(rest, t) + x)) + x.where(below, 0.0)


def sigmoid_of(x: Lane) -> Lane:
    """1 / (1 + e^-x), relatively accurate on both sides."""
    t = exponential(-abs(x))
    return x.like(1.0).where(x.compare(">=", 0.0), t) / (t + 1.0)


def tail_ratio(a: Lane) -> tuple[Lane, Lane]:
    """p and q with Φ(-a) = φ(a) √(2π) p / q, for a ≥ 0."""
    q = a + 4.0
    u = ((a - 4.0) / q).where(a.compare("<", math.inf), 1.0)
    return u.polynomial(MILLS_DOUBLE if a.double else MILLS_SINGLE), q


def log_ndtr_of(x: Lane) -> Lane:
    """log Φ(x): below zero -x²/2 + log(p/q), above it log(1 - e^(-x²/2) p/q)."""
    p, q = tail_ratio(abs(x))
    half_square = x * x * 0.5
    ratio = p / q
    upper = exponential(-half_square) * ratio
    negative, large = x.compare("<", 0.0), upper.compare(">", 1 - HALF_ROOT_2)
    k, m = split(ratio)
    f = (m - 1.0).where(negative, (1.0 - upper * 2.0).where(large, -upper))
    k = k.where(negative, x.like(-1.0).where(large, 0.0))
    return join(k, f) - half_square.where(negative, 0.0)


def inverse_mills_of(x: Lane) -> Lane:
    """φ(x) / Φ(x), the derivative of log Φ."""
    p, q = tail_ratio(abs(x))
    density = exponential(x * x * -0.5)
    above = density / (1.0 - density * (p / q))
    return (q / p).where(x.compare("<", 0.0), above) * (1 / ROOT_TWO_PI)


exp = expose(exponential)
decay = expose(decay_of)
positive_part = expose(lambda x: x.at_least(0.0))  # max(x, 0); NaN stays NaN
log = expose(logarithm)
log1p = expose(logarithm_plus_one)
softplus = expose(softplus_of)
log_softplus = expose(log_softplus_of)
log_four_cosh_square = expose(log_four_cosh_square_of)
sigmoid = expose(sigmoid_of)
log_ndtr = expose(log_ndtr_of)
inverse_mills = expose(inverse_mills_of)
