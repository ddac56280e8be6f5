"""What is known of a compilation, as records that reports are made of: see model.py. This package is the one reader of
a Compilation for them."""

from polytile.facts.build import loop_facts, refusal_facts, scop_facts
from polytile.facts.model import (
    AccessFacts,
    AccessPlace,
    ArrayFacts,
    DependenceKind,
    KernelFacts,
    LoopFacts,
    LoopKind,
    LoopMapping,
    Place,
    ProgramFacts,
    RefusalFacts,
    ScopFacts,
    StatementFacts,
    TransferFacts,
    Where,
    Witness,
)
from polytile.facts.text import explained, reasons, serial_loops

__all__ = [
    "AccessFacts",
    "AccessPlace",
    "ArrayFacts",
    "DependenceKind",
    "KernelFacts",
    "LoopFacts",
    "LoopKind",
    "LoopMapping",
    "Place",
    "ProgramFacts",
    "RefusalFacts",
    "ScopFacts",
    "StatementFacts",
    "TransferFacts",
    "Where",
    "Witness",
    "explained",
    "loop_facts",
    "reasons",
    "refusal_facts",
    "scop_facts",
    "serial_loops",
]
