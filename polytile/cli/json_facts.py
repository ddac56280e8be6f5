"""What `--json` says of SCoPs and of validations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from polytile.api import CompiledScop
from polytile.ir.plan_file import to_json

if TYPE_CHECKING:
    from polytile.runtime.launches import KernelRuns
    from polytile.runtime.validate import Validation


def scop_facts(scop: CompiledScop) -> dict[str, Any]:
    """Return the loops, kernels, arrays and transfers of a SCoP; name and status are known without."""
    facts = scop.facts
    return {
        "line": facts.line,
        "signature": facts.signature,
        "parameters": [p.name for p in scop.scop.parameters],
        "arrays": [asdict(array) for array in facts.arrays],
        "loops": [{**asdict(loop), "where": loop.where} for loop in facts.loops],
        "kernels": [asdict(kernel) for kernel in facts.kernels],
        "microseconds": facts.microseconds,
        "sizes": dict(facts.sizes),
        "assumed": facts.assumed,
        "transfers": [asdict(transfer) for transfer in facts.transfers],
        "plans": [to_json(plan) for plan in scop.plans],
        "remarks": [r.message for r in scop.remarks],
    }


def validation_facts(validation: Validation) -> dict[str, Any]:
    """Return what was compared, with which sizes, and how often each kernel was launched."""
    return {
        "scop": validation.scop,
        "agreed": True,
        "where": validation.label,
        "parameters": validation.values,
        "seed": validation.seed,
        "bitwise": validation.bitwise,
        "note": validation.note,
        "full": not validation.unrun,
        "kernels": _launch_facts(validation.kernels),
        "runs": [{"parameters": run.values, "kernels": _launch_facts(run.kernels)} for run in validation.runs],
        "arrays": {c.array: {"elements": c.elements, "max_error": c.relative} for c in validation.comparisons},
    }


def _launch_facts(kernels: Iterable[KernelRuns]) -> dict[str, dict[str, int]]:
    return {k.kernel: {"launches": k.launches, "blocks": k.blocks} for k in kernels}
