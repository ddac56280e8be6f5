"""Sizes at the ends of their types, which random programs get as arguments: loops start at them, or are compared with.

before: for (int i = 0; i < n; i++) A[i] = B[i + 2];
after:  for (unsigned i = u0; i != u0 + n && i + 3u < most; i++) A[i - u0] = B[(int)(i - u0) + 2];

The loop's bounds stay, so that each iteration is one of those before, and nothing is outside of its array, whatever a
comparison gives.
"""

from __future__ import annotations

from polytile.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class LargeSize:
    """A parameter of a function: its type and value, in C and as a number."""

    type: str
    text: str
    value: int


@dataclass(frozen=True, slots=True)
class Start:
    """Where a loop starts, with the type of its iterator, and how the number of an iteration `i` is written."""

    size: str  # the parameter; none for t0, a variable
    text: str
    type: str
    number: str

    @property
    def unsigned(self) -> bool:
        return self.type not in ("int", "long")


LARGE = {
    "most": LargeSize("unsigned", "4294967295u", 2**32 - 1),
    "wraps": LargeSize("unsigned", "4294967290u", 2**32 - 6),
    "huge": LargeSize("size_t", "18446744073709551615u", 2**64 - 1),
    "upper": LargeSize("unsigned long long", "9223372036854775808u", 2**63),
    "few": LargeSize("signed char", "5", 5),
    "some": LargeSize("unsigned short", "65000", 65000),
    "none": LargeSize("short", "-1", -1),
    "off": LargeSize("unsigned", "4294967293u", 2**32 - 3),
    "wide_off": LargeSize("size_t", "18446744073709551613u", 2**64 - 3),
    "u0": LargeSize("unsigned", "4294967290u", 2**32 - 6),
    "l0": LargeSize("long", "9223372036854775000", 9223372036854775000),
    "b0": LargeSize("int", "-2147483000", -2147483000),
    "h0": LargeSize("unsigned long long", "9223372036854775805u", 2**63 - 3),
}
COMPARED = ("most", "wraps", "huge", "upper", "few", "some", "none")
COMPARISONS = (
    *("{i} < {size}", "{i} + 1 < {size}", "{i} + 3u < {size}", "{i} < {size} + 3u", "{size} - 2u >= {i}"),
    *("{i} < {size} / 2", "!({i} >= {size})", "{i} != {size} - 4u", "{i} <= {size} + {n}"),
)
STARTS = {
    "t0": Start("", "t0", "int", "({i} - t0)"),
    "u0": Start("u0", "u0", "unsigned", "(int)({i} - u0)"),
    "l0": Start("l0", "l0", "long", "({i} - l0)"),
    "b0": Start("b0", "b0", "int", "({i} - b0)"),
    "h0": Start("h0", "h0", "unsigned long long", "(int)({i} - h0)"),
    "off": Start("off", "3u", "unsigned", "(int)({i} + off)"),
    "signed off": Start("off", "3", "int", "(int)({i} + off)"),
    "wide off": Start("wide_off", "3u", "size_t", "(int)({i} + wide_off)"),
}
