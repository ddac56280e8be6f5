"""The proof that nothing is lost between host and device: what may be read or left from before the SCoP is copied in,
what is written and seen afterwards is copied out."""

from __future__ import annotations

import islpy as isl

from polytile.ir.host import Transfer
from polytile.ir.scop import AccessKind, Array, Origin, Scop
from polytile.scheduling.analysis.dependences import Dependences


def wrong_transfers(scop: Scop, dependences: Dependences, transfers: tuple[Transfer, ...]) -> list[str]:
    """Return the arrays whose copies between host and device lose a value; each as one line."""
    failures = []
    for transfer in transfers:
        array = transfer.array
        if array.origin is not Origin.EXTERNAL or transfer.touched is None:
            continue
        unset = dependences.of(array.name).uninitialised.intersect_params(scop.context)
        if array.live_in and not unset.is_empty() and not transfer.copy_in:
            failures.append(f"{array.name} is read before it is written, and not copied in")
        if array.live_out and scop.written(array.name) and not transfer.copy_out:
            failures.append(f"{array.name} is written and seen afterwards, and not copied out")
        if transfer.copy_out and not transfer.copy_in and not _overwritten(scop, array):
            failures.append(f"{array.name} is copied out with elements that nothing wrote or copied in")
    return failures


def _overwritten(scop: Scop, array: Array) -> bool:
    """Return whether all of the array that may be copied is certainly written: a copy also takes what lies in between.
    """
    certain = scop.accesses(AccessKind.WRITE, arrays=frozenset((array.name,))).range()
    whole = isl.UnionSet(f"{{ {array.name}[] }}").intersect_params(scop.context)
    return array.access_rank == 0 and bool(whole.is_subset(certain))
