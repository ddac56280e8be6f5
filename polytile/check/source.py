"""Whether a certificate is about a C file: its accesses and order are read from the C again, and compared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

import islpy as isl

from polytile.check.relations import Check
from polytile.diagnostics import NoScopError
from polytile.frontend.describe import describe
from polytile.frontend.program import read_program
from polytile.ir.data_offsets import offsets
from polytile.ir.plain_copies import is_plain_copy
from polytile.ir.read_order import reads_first
from polytile.ir.reads_apart import in_place
from polytile.ir.scop import Scop, Statement


def differences(content: Check, path: str, include_dirs: Sequence[str]) -> Iterator[str]:
    """Yield where the SCoPs of a C file differ from those of a certificate, a line each.

    Raises UserError when the file cannot be read, KeyError when `content` is no certificate.
    """
    told = {"include_dirs": include_dirs, "defines": content["defines"], "cflags": content.get("cflags", ())}
    try:
        program = read_program(path, **told)
    except NoScopError:
        program = None
    if program is None or not program.scops:
        program = read_program(path, **told, autodetect=True)
    found = {scop.name: scop for scop in program.scops}
    for name in sorted(found.keys() - {claimed["name"] for claimed in content["scops"]} - set(content["on_host"])):
        yield f"{name} of {path} is not in the certificate"
    for claimed in content["scops"]:
        scop = found.get(claimed["name"])
        if scop is not None and any(s.merged for s in scop.statements) and not _same_names(claimed["source"], scop):
            scop = program.apart(scop.name)
        if scop is None:
            yield f"{path} has no SCoP {claimed['name']}"
            continue
        yield from _scop_differences(claimed["source"], scop)
        yield from _layout_differences(claimed.get("layouts", []), scop)
    for claimed in content.get("ranks", ()):
        if claimed["name"] in found:
            yield from _scop_differences(claimed["source"], found[claimed["name"]])


def _same_names(claimed: Check, scop: Scop) -> bool:
    """Return whether statements have the names of a certificate's; where many are merged, others have been apart in
    it."""
    return set(claimed["statements"]) == {s.name for s in scop.statements}


def _scop_differences(claimed: Check, scop: Scop) -> Iterator[str]:
    if not _same_names(claimed, scop):
        yield f"{scop.name} has other statements in the C"
        return
    if not isl.Schedule(claimed["order"]).get_map().is_equal(_reread(scop.schedule.get_map())):
        yield f"{scop.name} has another order in the C"
    for statement in scop.statements:
        entry = claimed["statements"][statement.name]
        if not _same(entry, statement):
            yield f"{statement.name} of {scop.name} has other instances or accesses in the C"
        if entry.get("copy") and not is_plain_copy(scop, statement):
            yield f"{statement.name} of {scop.name} does not only copy in the C"
        if entry.get("in_place") is not None and entry["in_place"] != _in_place(statement):
            yield f"{statement.name} of {scop.name} is no such reduction in the C"
        if entry.get("offsets", {}) != json.loads(json.dumps(offsets(scop, statement, describe))):
            yield f"{statement.name} of {scop.name} adds something else to what data choose in the C"
        if entry.get("reads_first") and not reads_first(statement):
            yield f"{statement.name} of {scop.name} may read after it writes in the C"


def _in_place(statement: Statement) -> Check | None:
    found = in_place(statement)
    return None if found is None else asdict(found)


def _layout_differences(claimed: Sequence[str], scop: Scop) -> Iterator[str]:
    """Yield the type layouts that a SCoP rests on and that differ for this machine's compiler."""
    for condition in claimed:
        if condition not in scop.layouts:
            yield f"{scop.name} rests on {condition}, which is not so here"


def _same(claimed: Check, statement: Statement) -> bool:
    if not isl.Set(claimed["domain"]).is_equal(isl.Set(str(statement.domain))):
        return False
    accesses = claimed["accesses"]
    return len(accesses) == len(statement.accesses) and all(
        (one["array"], one["kind"]) == (other.array, other.kind.value)
        and isl.Map(one["relation"]).is_equal(isl.Map(str(other.relation)))
        for one, other in zip(accesses, statement.accesses, strict=True)
    )


def _reread(relation: isl.UnionMap) -> isl.UnionMap:
    """Return the same relation with the tuples that isl's parser makes."""
    return isl.UnionMap(str(relation))
