"""Identifiers of C that are not free in CUDA C++, and new names that collide with none of the user's."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Keywords of C++ alone, and what CUDA's headers define as variables or macros.
_WORDS = """
    alignas alignof and and_eq asm bitand bitor bool catch char16_t char32_t char8_t class compl concept consteval
    constexpr constinit const_cast co_await co_return co_yield decltype delete dynamic_cast explicit export false friend
    mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast
    requires static_assert static_cast template this thread_local throw true try typeid typename using virtual wchar_t
    xor xor_eq
    threadIdx blockIdx blockDim gridDim warpSize dim3 linux unix major minor makedev stdin stdout stderr errno assert
    NULL
    EOF INFINITY NAN HUGE_VAL
"""
NOT_FREE = frozenset(_WORDS.split())
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[A-Za-z_]\w*')


def identifier(name: str) -> str:
    """`name` as it is spelt in CUDA C++: `new` is `polytile_new`."""
    return f"polytile_{name}" if name in NOT_FREE else name


def to_cpp(text: str) -> str:
    """C declarations with every identifier spelt for C++.

    before: struct cell { _Bool new; };
    after:  struct cell { bool polytile_new; };
    """
    return _WORD.sub(lambda word: "bool" if word[0] == "_Bool" else identifier(word[0]), text)


def fresh(wanted: str, taken: Iterable[str]) -> str:
    """`wanted`, with underscores appended until it is none of `taken`."""
    names = frozenset(taken)
    while wanted in names:
        wanted += "_"
    return wanted
