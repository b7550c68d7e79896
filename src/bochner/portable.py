"""Elementary functions whose bits are the same on every machine.

Each uses only operations that IEEE 754 rounds correctly (+, -, *, /, sqrt) and exact scalings by powers of two, never
libm, so two machines that draw the same random bits make the same random numbers. Errors are a few units in the
last place of float64.
"""

from __future__ import annotations

import numpy as np

# log 2 = LOG2_HIGH + LOG2_LOW, with enough trailing zeros in the first that k * LOG2_HIGH is exact.
LOG2_HIGH, LOG2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10

# The normal quantile of Wichura (1988), algorithm AS 241, PPND16: numerator and denominator, lowest power first.
CENTRE = (
    (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
     4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3),
)  # fmt: skip
FLANK = (
    (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
     1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)  # fmt: skip


def _polynomial(x: np.ndarray, coefficients: tuple[float, ...]) -> np.ndarray:
    """Horner's rule; separate multiplications and additions, so nothing is fused."""
    total = np.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total *= x
        total += coefficient
    return total


def log(x: np.ndarray) -> np.ndarray:
    """Natural logarithm of positive normal numbers: x = 2^k m, log m = 2 artanh((m - 1)/(m + 1))."""
    mantissa, exponent = np.frexp(x)
    low = mantissa < 0.70710678118654752
    mantissa = np.where(low, 2.0 * mantissa, mantissa)
    exponent = exponent - low
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    series = _polynomial(ratio * ratio, tuple(2.0 / (2 * k + 1) for k in range(12)))
    return exponent * LOG2_HIGH + (ratio * series + exponent * LOG2_LOW)


def exp(x: np.ndarray) -> np.ndarray:
    """Exponential by x = k log 2 + r and the Taylor series of exp(r), |r| <= 0.35; 0 below -745."""
    x = np.clip(x, -745.0, 709.0)
    k = np.rint(x / 0.6931471805599453)
    r = (x - k * LOG2_HIGH) - k * LOG2_LOW
    factorials = [1.0]
    for i in range(1, 15):
        factorials.append(factorials[-1] * i)
    return np.ldexp(_polynomial(r, tuple(1.0 / f for f in factorials)), k.astype(np.int32))


def cosine_of_turns(turns: np.ndarray) -> np.ndarray:
    """cos(2 pi t), folded to the first eighth of a turn where the Taylor series of cos or sin converges fast."""
    t = np.abs(turns - np.rint(turns))  # 0 .. 1/2
    negative = t > 0.25
    t = np.where(negative, 0.5 - t, t)  # 0 .. 1/4
    use_sine = t > 0.125
    angle = 6.283185307179586 * np.where(use_sine, 0.25 - t, t)
    square = angle * angle
    cosine, sine, term = [1.0], [1.0], 1.0
    for k in range(1, 10):
        term /= -(2 * k - 1) * (2 * k)
        cosine.append(term)
        sine.append(term / (2 * k + 1))
    value = np.where(use_sine, angle * _polynomial(square, tuple(sine)), _polynomial(square, tuple(cosine)))
    return np.where(negative, -value, value)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x))."""
    small = exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


def normal_quantile(p: np.ndarray) -> np.ndarray:
    """The x with P[g <= x] = p for a standard normal g; p between 2^-36 and 1 - 2^-36 (AS 241 without its far tail)."""
    centred = p - 0.5
    value = np.empty_like(p)
    centre = np.abs(centred) <= 0.425
    q = centred[centre]
    r = 0.180625 - q * q
    value[centre] = q * _polynomial(r, CENTRE[0]) / _polynomial(r, CENTRE[1])
    flank = ~centre
    q = centred[flank]
    r = np.sqrt(-log(np.where(q < 0, p[flank], 1.0 - p[flank]))) - 1.6
    x = _polynomial(r, FLANK[0]) / _polynomial(r, FLANK[1])
    value[flank] = np.where(q < 0, -x, x)
    return value


def cauchy_quantile(p: np.ndarray) -> np.ndarray:
    """tan(pi (p - 1/2)) = -cos(pi p) / sin(pi p)."""
    return -cosine_of_turns(0.5 * p) / cosine_of_turns(0.5 * p - 0.25)


def laplace_quantile(p: np.ndarray) -> np.ndarray:
    """Quantile of the law with density exp(-|x|)/2."""
    tail = log(2.0 * np.minimum(p, 1.0 - p))
    return np.where(p < 0.5, tail, -tail)
