"""Which types of C may be used for the same place in memory (C11 6.5p7)."""

from __future__ import annotations

from polytile.ir.expr import CType

_CHARACTERS = frozenset(("char", "signed char", "unsigned char"))


def may_change(written: CType | None, read: CType | None, *, declared: bool) -> bool:
    """Whether writing a number of type `written` may change what is read as a number of type `read`; None stands for
    pointers. `declared` says that it is a variable of that type, or a part of one.

    Characters change everything; else only the signed or unsigned type of the other does. What is no variable has the
    type that was written last, so that characters read everything, too.
    """
    if written is not None and written.name in _CHARACTERS:
        return True
    if read is None or written is None:
        return read is written
    return _signed(written) == _signed(read) or (not declared and read.name in _CHARACTERS)


def _signed(ctype: CType) -> str:
    """before: unsigned long    after: long"""
    return ctype.name.removeprefix("unsigned ")
