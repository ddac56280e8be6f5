"""Which arrays the host must copy to the device before the kernels, and back after them."""

from __future__ import annotations

from functools import reduce

import islpy as isl

from polytile.ir.host import Transfer
from polytile.ir.scop import AccessKind, Array, Origin, Scop
from polytile.scheduling.analysis.dependences import Dependences


def transfers(scop: Scop, dependences: Dependences) -> tuple[Transfer, ...]:
    """Return the transfers of all arrays of a Scop.

    An array is copied in when a read may see a value from before the SCoP, or when it is copied out but not all of it
    is certainly written (the rest must survive the copy back).
    """
    return tuple(_transfer(scop, dependences, array) for array in scop.arrays)


def is_copied_in(scop: Scop, dependences: Dependences, array: str) -> bool:
    """Return whether all elements of an array have values before the kernels."""
    return _transfer(scop, dependences, scop.array(array)).copy_in


def _transfer(scop: Scop, dependences: Dependences, array: Array) -> Transfer:
    touched = _touched(scop, array)
    if touched is None:
        return Transfer(array, None, False, False)
    if array.origin is not Origin.EXTERNAL:
        return Transfer(array, touched, False, False)
    written = scop.written(array.name)
    copy_out = written and array.live_out
    read_first = not dependences.of(array.name).uninitialised.is_empty() and array.live_in
    return Transfer(array, touched, read_first or (copy_out and not _all_written(scop, array)), copy_out)


def _touched(scop: Scop, array: Array) -> isl.Set | None:
    """Return the elements that the SCoP accesses, or None when nothing mentions the array.

    The set is empty when only branches that never run mention it.
    """
    kinds = (AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE)
    touched = [
        elements.range() for s in scop.statements for name, elements in s.united(*kinds) if name == array.name
    ]
    return reduce(lambda a, b: a.union(b), touched).coalesce() if touched else None


def _all_written(scop: Scop, array: Array) -> bool:
    """Return whether the array is a scalar that is surely overwritten.

    Only a scalar is known to be overwritten as a whole: an array's declared extents may exceed what is accessed.
    """
    if array.rank or array.fields:
        return False
    must = scop.accesses(AccessKind.WRITE, arrays=frozenset((array.name,)))
    wanted = isl.UnionSet(f"{{ {array.name}[] }}")
    certainly = must.range().gist_params(scop.context)
    return bool(wanted.is_subset(certainly))
