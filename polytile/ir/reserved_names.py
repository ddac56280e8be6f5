"""Identifiers of C that are not free in CUDA C++, and new names that collide with none of the user's."""

from __future__ import annotations

import re

from polytile.ir.libm import MATH_SIGNATURES

# Keywords of C++ alone, what CUDA's and the system's headers define as variables or macros, and what generated code
# itself says.
_WORDS = """
    alignas alignof and and_eq asm bitand bitor bool catch char16_t char32_t char8_t class compl concept consteval
    constexpr constinit const_cast co_await co_return co_yield decltype delete dynamic_cast explicit export false friend
    mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast
    requires static_assert static_cast template this thread_local throw true try typeid typename using virtual wchar_t
    xor xor_eq
    threadIdx blockIdx blockDim gridDim warpSize dim3 i386 linux unix major minor makedev stdin stdout stderr errno
    alloca assert assert_perror isascii issubnormal math_errhandling offsetof sched_priority strdupa strndupa toascii
    va_arg va_copy va_end va_start std rsqrt rsqrtf
    BUFSIZ EOF INFINITY MAXFLOAT NAN NFDBITS NULL NZERO CSIGNAL
"""
_NOT_FREE = frozenset((*_WORDS.split(), *MATH_SIGNATURES))
# Names that C and C++ reserve, polytile's own, and families of macros: INT_MAX, M_PI, HUGE_VALF, cudaStreamDefault.
_FAMILIES = re.compile(
    r"""
    _\w+ | (?i:polytile)\w* | cuda[A-Z]\w* | CUDA\w* | [A-Z][A-Z0-9]+(_[A-Z0-9]+)+[a-z0-9]* | M_\w+
  | [FLPRWX]_[A-Za-z]+ | HUGE\w* | SNAN\w* | W[A-Z]{4,} | [bl]e\d\dtoh | hto[bl]e\d\d | (is|to)[a-z]+_l
  | pthread_cleanup\w*
    """,
    re.VERBOSE,
)
# What definitions of structs say that are not the user's (frontend/structs.py).
_OWN = re.compile(r"__attribute__|polytile_padding\d+|polytile_size_of_\w+")
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[A-Za-z_$][\w$]*')


def is_free(name: str) -> bool:
    """Return whether `name` can mean a variable of ours in CUDA C++, with the headers that generated code includes."""
    return name not in _NOT_FREE and not _FAMILIES.fullmatch(name)


def identifier(name: str) -> str:
    """Return `name` as it is spelt in CUDA C++: `new` is `polytile_new`."""
    return name if is_free(name) else f"polytile_{name}"


def to_cpp(text: str) -> str:
    """Return C declarations with every identifier spelt for C++.

    before: struct cell { _Bool new; };
    after:  struct cell { bool polytile_new; };
    """

    def spelt(word: re.Match[str]) -> str:
        if _OWN.fullmatch(word[0]):
            return word[0]
        return "bool" if word[0] == "_Bool" else identifier(word[0])

    return _WORD.sub(spelt, text)
