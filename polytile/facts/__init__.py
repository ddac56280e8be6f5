"""What is known of a compilation, as records that reports are made of: see model.py. This package is the one reader of
a Compilation for them."""

from polytile.facts.build import loop_facts, refusal_facts, scop_facts
from polytile.facts.loop_mapping import in_words
from polytile.facts.model import (
    AccessFacts,
    AccessPlace,
    ArrayFacts,
    CodePart,
    CodePartKind,
    DependenceKind,
    GeneratedLine,
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
    Values,
    Where,
    Witness,
)
from polytile.facts.serial_execution import one_thread_remarks, serial_loops
from polytile.facts.text import explained, in_sentence, reason_of, reasons

__all__ = [
    "AccessFacts",
    "AccessPlace",
    "ArrayFacts",
    "CodePart",
    "CodePartKind",
    "DependenceKind",
    "GeneratedLine",
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
    "Values",
    "Where",
    "Witness",
    "explained",
    "in_sentence",
    "in_words",
    "loop_facts",
    "one_thread_remarks",
    "reason_of",
    "reasons",
    "refusal_facts",
    "scop_facts",
    "serial_loops",
]
