"""Plans behind the tree in a schedule file: a line for each kernel, and for each part of its plan.

    # plan of kernel 0
    # placement {"name": "t", "array": "t", "uses": [], "level": "kernel", "memory": "private", "owner": "thread", ...}
    # loop {"label": "k", "loads_first": 8}
    # cache ["A", "streaming"]
    # time_tile {"shape": "overlapped", "iterations": 8, ...}        of the time loop that begins with the kernel
    # for grids of fewer than 2792241 cells:                         another tree with its plans follows

What has no line is not done; a file without such lines leaves all plans to be found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from polytile.dataclass import dataclass
from polytile.diagnostics import UserError
from polytile.ir.plan import KernelPlan
from polytile.ir.plan_file import from_json, to_json

_PARTS = {"placement": "placements", "loop": "loops", "cache": "cache", "product": "products"}  # one line each
_WHOLE = ("launch", "time_tile")
_LINE = rf"# (?:(plan) (of kernel.*)|({'|'.join((*_PARTS, *_WHOLE))}) ([{{\[].*))"
_OLD = r"# (?:stream|split) \{.*"  # of time tiles before these stood in plans
_SMALL_GRIDS = r"(?m)^# for grids of (?:at least (\d{1,18}) and )?fewer than (\d{1,18}) cells"
_SMALL_GRIDS += r"(?:, and (\d{1,9}) or more iterations behind tiles)?:[ \t]*$"
_KERNEL = r"of kernel (\d{1,9})"
HINT = "start from a file that --save-schedule wrote; without its lines `# plan of kernel N` plans are found"
OLD_HINT = "save the schedule anew: a time tile stands in a line `# time_tile`, below `# plan of kernel 0`"


def plan_lines(plans: Iterable[KernelPlan]) -> str:
    """Return the lines of some plans."""
    return "".join(f"{line}\n" for plan in plans for line in _lines(plan))


def _lines(plan: KernelPlan) -> Iterator[str]:
    yield f"# plan of kernel {plan.kernel}"
    content = to_json(plan)
    for word, field in _PARTS.items():
        yield from (f"# {word} {json.dumps(part)}" for part in content.get(field, ()))
    yield from (f"# {word} {json.dumps(content[word])}" for word in _WHOLE if word in content)


def split_plans(text: str) -> tuple[str, tuple[KernelPlan, ...] | None]:
    """Split a schedule into its text without plans and its plans; None where it has none.

    Raises UserError for wrong lines.
    """
    kept: list[str] = []
    found: list[dict[str, Any]] = []
    for line in text.splitlines(keepends=True):
        if re.match(_OLD, line):
            raise UserError(f"a line `{line[: line.index(' {')]}` is of an older polytile", hint=OLD_HINT)
        match = re.fullmatch(_LINE, line.rstrip())
        if match is None:
            kept.append(line)
        else:
            _read(line.strip(), match[1] or match[3], match[2] or match[4], found)
    numbers = [content["kernel"] for content in found]
    if len(set(numbers)) < len(numbers):
        raise UserError(f"a schedule has two plans of one kernel: {numbers}", hint=HINT)
    plans = tuple(_plan(content) for content in found)
    return "".join(kept), plans or None


def _read(line: str, word: str, rest: str, found: list[dict[str, Any]]) -> None:
    """Put what a line says into the plan that it is of, the last one."""
    if word == "plan":
        match = re.fullmatch(_KERNEL, rest)
        if match is None:
            raise UserError(f"cannot read {line!r}", hint=HINT)
        found.append({"kernel": int(match[1])})
        return
    try:
        content = json.loads(rest)
    except ValueError:
        raise UserError(f"cannot read {line!r}: no JSON behind `# {word}`", hint=HINT) from None
    if not found:
        raise UserError(f"{line!r} is below no line `# plan of kernel N`", hint=HINT)
    if word in _PARTS:
        found[-1].setdefault(_PARTS[word], []).append(content)
    else:
        found[-1][word] = content


def _plan(content: dict[str, Any]) -> KernelPlan:
    try:
        return from_json(KernelPlan, content)
    except UserError as error:
        raise UserError(f"the plan of kernel {content['kernel']}: {error.message}", hint=HINT) from None


@dataclass(frozen=True, slots=True)
class GridVersions:
    """The texts of two schedules: for grids of `least` to fewer than `cells` cells and for `iterations` or more that
    tiles of others leave, and for these."""

    large: str
    least: int
    cells: int
    iterations: int
    small: str


def split_small_grids(text: str) -> GridVersions | None:
    """Return the schedules of a text with two of them; None where it has one."""
    parts = re.split(_SMALL_GRIDS, text)
    if len(parts) != 5:
        return None
    large, least, cells, iterations, small = parts
    return GridVersions(large, int(least or 0), int(cells), int(iterations or 1), small)
