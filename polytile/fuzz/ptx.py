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
    """Return the registers of each kernel, with what sets them."""
    found = []
    for text in re.split(r"\.visible \.entry ", ptx)[1:]:
        registers: dict[str, list[Instruction]] = defaultdict(list)
        for line in text.split("\n}\n")[0].splitlines():
            if m := _INSTRUCTION.match(line):
                registers[m[2]].append(Instruction(m[1], tuple(m[3].split(", ")), line.strip()))
        found.append(dict(registers))
    return found


def check_ptx(text: str) -> None:
    """Check the PTX of kernels, where NVRTC is installed.

    Raises DeviceError where NVRTC refuses them, ValidationError where it, or ptxas after it, makes something else.
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
    """List loads of memory that is never written (ld.global.nc) whose address a condition chooses in one of two
    arrays."""
    return [
        one.text
        for registers in kernels(ptx)
        for instructions in registers.values()
        for one in instructions
        if one.name.startswith("ld.global.nc") and _is_chosen(one.operands[0], registers)
    ]


def _is_chosen(address: str, registers: dict[str, list[Instruction]]) -> bool:
    base = re.match(r"\[(%\w+)", address)
    chosen = [i for i in registers.get(base[1], []) if i.name == "selp.b64"] if base is not None else []
    return any(_pointers(i.operands[0], registers) != _pointers(i.operands[1], registers) for i in chosen)


def _pointers(register: str, registers: dict[str, list[Instruction]]) -> frozenset[str]:
    """Find the pointers that an address is made of; the register itself where none is found."""
    found, seen, waiting = set(), {register}, [register]
    while waiting:
        for i in registers.get(waiting.pop(), []):
            if i.name.startswith("cvta.to.global"):
                found.add(i.operands[0])
            elif not i.name.startswith("ld."):
                waiting += [o for o in i.operands if o.startswith("%") and o not in seen]
                seen.update(i.operands)
    return frozenset(found or {register})


def lost_signs(ptx: str) -> list[str]:
    """List minima of a negation, of which the minimum with a third number is taken: ptxas of CUDA 12.6 to 13.3 makes
    one instruction of these, without the sign."""
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
