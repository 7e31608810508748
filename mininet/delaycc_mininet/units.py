# SPDX-License-Identifier: Apache-2.0
"""Rates, times and sizes as Mininet's users write them, in bits a second, nanoseconds and bytes."""

import re

_RATE = {"": 1, "bit": 1, "k": 10**3, "kbit": 10**3, "m": 10**6, "mbit": 10**6, "g": 10**9, "gbit": 10**9}
# tc's own: a time without a unit is in microseconds.
_TIME = {"": 1000, "ns": 1, "us": 1000, "usec": 1000, "ms": 10**6, "msec": 10**6, "s": 10**9, "sec": 10**9}


def _scaled(value, units, what, example):
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:e[0-9]+)?)\s*([a-z]*)\s*", str(value).lower())
    if not found or found[2] not in units:
        raise ValueError(f"{what}={value!r}: not such as {example}")
    return round(float(found[1]) * units[found[2]])


def rate_bps(value, what="rate"):
    """100e9, "100Gbit", "250M": bits a second."""
    return _scaled(value, _RATE, what, '100e9, "100Gbit" or "250M"')


def time_ns(value, what="delay"):
    """ "3us", "1.5ms", "800ns"; a number alone is in microseconds, as for tc."""
    return _scaled(value, _TIME, what, '"3us", "1.5ms" or "800ns"')


def in_range(value, low, high, what):
    if not low <= value <= high:
        raise ValueError(f"{what}={value}: out of range, allowed is {low} to {high}")
    return value
