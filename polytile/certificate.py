"""Certificates: what was proven of each SCoP, as isl text in JSON, for `polytile check` and other tools.

A certificate holds, for each SCoP, the source's statements with their accesses and order, the program that was
scheduled (statements may be joined, arrays renamed or expanded), what runs in its place where threads combine partial
results, the mapped schedule, the plans of kernels (where arrays live inside them, and time tiles), which updates are
atomic operations, what the user promises of loops and functions (`assumed`), the dependences that were proven, and the
sets of violations, which are empty.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from polytile.compilation import Compilation
from polytile.frontend.describe import describe
from polytile.ir.data_offsets import offsets
from polytile.ir.plain_copies import is_plain_copy
from polytile.ir.plan_file import to_json
from polytile.ir.read_order import reads_first
from polytile.ir.reads_apart import in_place
from polytile.ir.schedule import MappedSchedule
from polytile.ir.scop import Origin, Scop, Statement
from polytile.scheduling.analysis.independent_pairs import promised_pairs
from polytile.scheduling.proof.atomics import indivisible
from polytile.version import __version__

FORMAT = "polytile certificate"
VERSION = 3


def certificate(
    file: str,
    text: str,
    defines: Sequence[str],
    compilations: Iterable[Compilation],
    *,
    cflags: Sequence[str] = (),
    ranks: Sequence[dict[str, Any]] = (),
) -> str:
    """Return the certificate of a file's SCoPs; those that stay on the host are only named. `ranks` are the entries of
    plans for ranks (rank_certificate.py)."""
    found = list(compilations)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "polytile": __version__,
        "file": file,
        "sha256": fingerprint(text),
        "defines": list(defines),
        "cflags": list(cflags),
        "scops": [entry for c in found if c.schedule is not None for entry in _versions(c)],
        "on_host": [c.scop.name for c in found if c.schedule is None],
        **({"ranks": list(ranks)} if ranks else {}),
    }
    return json.dumps(content, indent=1) + "\n"


def fingerprint(text: str) -> str:
    """Return the hash that ties a certificate to a text."""
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


def statements(scop: Scop, turned: Collection[str] = ()) -> dict[str, Any]:
    """Return a Scop's statements and order as isl text; `parts` are the source's statements that each runs, and
    `in_place` is what those that are `turned` round accumulate where they read other elements of the array as well."""
    main = {s.name for s in scop.main}
    found = {s.name: _statement(scop, s, s.name not in main) for s in scop.statements}
    for name in (name for name in turned if name in found):
        reduction = in_place(scop.statement(name))
        found[name] |= {"in_place": asdict(reduction)} if reduction else {}
    return {
        "statements": found,
        "order": _tree(scop.schedule),
    }


def _tree(schedule: Any) -> str:
    return MappedSchedule(schedule, "").to_text()


def _statement(scop: Scop, statement: Statement, apart: bool) -> dict[str, Any]:
    found = _uses(statement, apart)
    chosen = offsets(scop, statement, describe)
    found |= {"offsets": chosen} if chosen else {}
    return {**found, "copy": True} if is_plain_copy(scop, statement) else found


def _uses(statement: Statement, apart: bool) -> dict[str, Any]:
    return {
        "place": statement.location.short if statement.location.line else "",
        "domain": str(statement.domain),
        "parts": [] if apart else list(statement.parts or (statement.name,)),
        "accesses": [
            {"array": a.array, "kind": a.kind.value, "relation": str(a.relation)} for a in statement.accesses
        ],
        "reduction": asdict(statement.reduction) if statement.reduction else None,
        **({"updates": [asdict(u) for u in statement.updates]} if statement.updates else {}),
        **({"reads_first": True} if reads_first(statement) else {}),
    }


def _versions(state: Compilation) -> Iterator[dict[str, Any]]:
    """Yield what was proven of a SCoP, behind the same of its other versions, which say where they are taken."""
    for version in reversed(state.versions):
        yield {"name": state.scop.name, "for": str(version.where), **_scop(version.compilation)}
    yield _scop(state)


def _scop(state: Compilation) -> dict[str, Any]:
    assert state.schedule is not None and state.dependences is not None
    scop, source = state.scop, state.source
    dependences, schedule, atomic = state.run.dependences.values, state.run.schedule, indivisible(state.run)
    turned = [name for made in scop.backwards for name, _ in made.steps]
    return {
        "name": scop.name,
        "context": str(scop.context),
        "source": {**statements(source, turned), "arrays": [a.name for a in source.arrays]},
        "program": {
            **statements(scop, turned),
            "arrays": {a.name: a.root for a in scop.arrays},
            "privatised": [asdict(p) for p in scop.privatised],
            **({"backwards": [asdict(r) for r in scop.backwards]} if scop.backwards else {}),
        },
        "visible": [a.name for a in source.arrays if a.origin is Origin.EXTERNAL and a.live_out],
        "run": _run(state),
        "strategy": schedule.strategy,
        "mapped": schedule.to_text(),
        "plans": [to_json(plan) for plan in state.kernel_plans],
        **({"atomic": [list(pair) for pair in sorted(atomic)]} if atomic else {}),
        **_promised(state.run.scop),
        **({"checked": scop.checked} if scop.checked else {}),
        **({"layouts": list(source.layouts)} if source.layouts else {}),
        **_limits(state),
        "relaxed": {name: _accumulated(scop.statement(name)) for name in state.schedule.relaxed},
        "transfers": {
            t.array.name: {"copy_in": t.copy_in, "copy_out": t.copy_out, "live_in": t.array.live_in}
            for t in state.transfers
            if t.array.origin is Origin.EXTERNAL
        },
        "dependences": {
            d.array: {"flow": str(d.flow), "false": str(d.false), "exact": d.exact}
            for d in dependences.by_array
        },
        "violations": {"order": "{ }", "values": "{ }", "storage": "{ }"},
    }


def _limits(state: Compilation) -> dict[str, Any]:
    """Return for which sizes the kernels run, as the integers that they compute overflow for others."""
    limits = state.program.limits if state.program else ()
    return {"limits": [str(limit) for limit in limits]} if limits else {}


def _promised(scop: Scop) -> dict[str, Any]:
    """Return what the user promises: of loops, with the pairs of instances by array that share no element then, and of
    functions that are defined elsewhere, what they access."""
    assumed: dict[str, Any] = {}
    if scop.independent:
        assumed["independent"] = [{"array": name, "loop": loop.short} for name, loop in scop.independent]
        assumed["pairs"] = {a.name: str(promised_pairs(scop, a.name)) for a in scop.arrays}
    if scop.external:
        assumed["calls"] = [{"function": f.name, "summary": f.summary} for f in scop.external]
    return {"assumed": assumed} if assumed else {}


def _run(state: Compilation) -> dict[str, Any] | None:
    """Return what runs in place of the program where threads combine partial results, or None."""
    run = state.run
    assert state.dependences is not None
    if run.is_each_once(state.scop, state.dependences):
        return None
    meetings = [
        {"statement": m.statement, "array": m.array, "sizes": m.sizes, "strides": m.strides, "width": m.width}
        for m in run.warp_reductions
    ]
    return {
        **statements(run.scop),
        "arrays": {a.name: a.root for a in run.scop.arrays},
        "parts": str(run.instances),
        "meetings": meetings,
    }


def _accumulated(statement: Statement) -> str:
    assert statement.reduction is not None
    return statement.reduction.array
