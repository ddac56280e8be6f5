"""What PTX has that ptxas, or the GPU, makes something else of than the source says.

Each register is found by the instructions that set it.
"""

from __future__ import annotations

import re
from collections import defaultdict

from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError, ValidationError
from polytile.runtime.nvrtc import compile_to_ptx, nvrtc

WRONG = "NVRTC makes something else of a kernel"
_INSTRUCTION = re.compile(r"\s*(?:@!?%p\d+\s+)?([a-z0-9_.]+)\s+(%\w+), (.*);")
_MINIMA = ("max.s32", "min.s32", "max.u32", "min.u32")


@dataclass(frozen=True, slots=True)
class Instruction:
    """`max.s32 %r3, %r1, %r2;`"""

    name: str
    operands: tuple[str, ...]
    text: str


def kernels(ptx: str) -> list[dict[str, list[Instruction]]]:
    """For each kernel its registers, with what sets them."""
    found = []
    for text in re.split(r"\.visible \.entry ", ptx)[1:]:
        registers: dict[str, list[Instruction]] = defaultdict(list)
        for line in text.split("\n}\n")[0].splitlines():
            if m := _INSTRUCTION.match(line):
                registers[m[2]].append(Instruction(m[1], tuple(m[3].split(", ")), line.strip()))
        found.append(dict(registers))
    return found


def check_ptx(text: str) -> None:
    """Look into the PTX of kernels, where NVRTC is installed.

    Raises DeviceError where NVRTC refuses them, ValidationError where it, or ptxas behind it, makes something else.
    """
    library = nvrtc()
    if library is None:
        return
    good, found = compile_to_ptx(library, text)
    if not good:
        raise DeviceError(f"NVRTC refuses the kernels: {found}")
    for wrong, what in ((stale_loads, "a load of memory that is written"), (lost_signs, "a negation that is lost")):
        for instruction in wrong(found):
            raise ValidationError(f"{WRONG}, {what}: {instruction}")


def stale_loads(ptx: str) -> list[str]:
    """Loads of memory that is never written (ld.global.nc) whose address is one of two that a condition chooses."""
    return [
        one.text
        for registers in kernels(ptx)
        for instructions in registers.values()
        for one in instructions
        if one.name.startswith("ld.global.nc") and _is_chosen(one.operands[0], registers)
    ]


def _is_chosen(address: str, registers: dict[str, list[Instruction]]) -> bool:
    base = re.match(r"\[(%\w+)", address)
    return base is not None and any(i.name == "selp.b64" for i in registers.get(base[1], []))


def lost_signs(ptx: str) -> list[str]:
    """Minima of a negation, of which the minimum with a third number is taken: ptxas of CUDA 12.6 to 13.3 makes one
    instruction of these, without the sign."""
    return [
        inner.text
        for registers in kernels(ptx)
        for instructions in registers.values()
        for outer in instructions
        if outer.name in _MINIMA
        for operand in outer.operands
        for inner in registers.get(operand, [])
        if inner.name == outer.name and any(_is_negation(o, registers) for o in inner.operands)
    ]


def _is_negation(operand: str, registers: dict[str, list[Instruction]]) -> bool:
    return any(
        i.name == "neg.s32" or (i.operands[-1] == "-1" and i.name == "mul.lo.s32") for i in registers.get(operand, [])
    )
