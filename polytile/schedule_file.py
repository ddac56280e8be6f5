"""Schedule files: what `--save-schedule` writes and `--load-schedule` reads, one section per SCoP.

    # schedule of kernel_gemm_scop0
    domain: "[n] -> { S0[i, j] : ... }"
    child: ...

A file without such headings is the schedule of the only SCoP of a program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from polytile.diagnostics import UsageError

_HEADING = r"(?m)^# schedule of (\w+)[ \t]*$"


def join_schedules(schedules: Mapping[str, str]) -> str:
    """Return the text of a schedule file."""
    return "\n".join(f"# schedule of {name}\n{text.rstrip()}\n" for name, text in schedules.items())


def split_schedules(text: str, names: Sequence[str], file: str) -> dict[str, str]:
    """Split the schedules in a file by SCoP. Raises UsageError where it does not fit the SCoPs `names`."""
    parts = re.split(_HEADING, text)
    if len(parts) == 1:
        if len(names) == 1:
            return {names[0]: text}
        raise UsageError(
            f"{file} does not say which of the {len(names)} SCoPs its schedule is for",
            hint=f"put a line '# schedule of {names[0]}' before each of them" if names else None,
        )
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    _check_names(found, names, file)
    return found


def _check_names(found: Iterable[str], names: Sequence[str], file: str) -> None:
    unknown = [name for name in found if name not in names]
    if unknown:
        known = ", ".join(names) or "(none)"
        raise UsageError(f"{file} has a schedule of {unknown[0]}, which is not here", hint=f"the SCoPs are {known}")
