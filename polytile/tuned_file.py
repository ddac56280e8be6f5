"""Result files of `polytile tune`: the schedules that were fastest on a GPU, with what they were measured under.

    {"polytile_tuned": 1,
     "machine": {"arch": "sm_90", "gpu": "NVIDIA H200", "driver": "580.95.05", "compiler": "NVRTC 13.0", ..},
     "scops": [{"name": "smooth_scop0", "source": "6a..", "sizes": {"n": 4096}, "milliseconds": 1.1,
                "default_milliseconds": 1.5, .., "schedule": ["# choices {\"registers\": 128}", "domain: ..", ..]}]}

Nothing in it is believed but the times: a schedule is proven anew like one of `--load-schedule`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError
from polytile.options import Options
from polytile.version import __version__

if TYPE_CHECKING:
    from polytile.ir.scop import Scop

FORMAT = "polytile_tuned"
VERSION = 1
# Options beside choices that a schedule depends on.
ASSUMED = ("strict", "atomics", "specialize", "cflags")
HINT = "name a file that `polytile tune` has written"


@dataclass(frozen=True, slots=True)
class TunedMachine:
    """Where times were measured: "" where that is not known."""

    arch: str
    gpu: str = ""
    driver: str = ""
    compiler: str = ""
    polytile: str = __version__


@dataclass(frozen=True, slots=True)
class TunedScop:
    """The fastest schedule that was found of a SCoP.

    `source` is the digest of the SCoP, `schedule` the text as `--save-schedule` writes it, with choices in its first
    line, `options` what else it was compiled with. `point` is what the search calls it, nothing for the compiler's own
    choice. Milliseconds are medians, of the whole SCoP on the device.
    """

    name: str
    source: str
    sizes: Mapping[str, int]
    schedule: str
    options: Mapping[str, Any] = field(default_factory=dict)
    point: Mapping[str, Any] = field(default_factory=dict)
    milliseconds: float | None = None
    default_milliseconds: float | None = None
    evaluations: int = 0
    date: str = ""  # in ISO 8601
    record: str = ""  # the name of the file with all evaluations


@dataclass(frozen=True, slots=True)
class TunedFile:
    """The tuned schedules of a program; `name` is what messages call the file."""

    machine: TunedMachine
    scops: tuple[TunedScop, ...]
    name: str = ""

    def to_text(self) -> str:
        """Return the text of the file, which `read_tuned` reads."""
        scops = [_scop_to_json(one) for one in self.scops]
        return json.dumps({FORMAT: VERSION, "machine": asdict(self.machine), "scops": scops}, indent=1) + "\n"

    def scop(self, name: str) -> TunedScop | None:
        """Return what the file has of a SCoP."""
        return next((one for one in self.scops if one.name == name), None)


def read_tuned_file(path: str | os.PathLike[str], schedules: str | None = None) -> TunedFile:
    """Read a result file; raises UsageError where it cannot be read, or schedules are given as well."""
    if schedules is not None:
        raise UsageError("--tuned and --load-schedule both say what the schedules are", hint="one of the two")
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"--tuned: {type(path).__name__} is no path", hint=HINT)
    try:
        text = Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise UsageError(f"--tuned: cannot read {os.fspath(path)}: {reason}", hint=HINT) from error
    return read_tuned(text, os.fspath(path))


def read_tuned(text: str, name: str) -> TunedFile:
    """Read a result file; raises UsageError for another text."""
    try:
        found = json.loads(text)
        if found[FORMAT] != VERSION:
            raise UsageError(f"{name} was written by another version of polytile", hint="run `polytile tune` again")
        machine = TunedMachine(**{key: str(value) for key, value in found["machine"].items()})
        return TunedFile(machine, tuple(_scop_from_json(one) for one in found["scops"]), name)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise UsageError(f"{name} has no tuned schedules", hint=HINT) from None


def scop_digest(scop: Scop) -> str:
    """Return the SHA-256 of what a SCoP computes, as it was extracted: comments and places in the file do not count,
    names, types and constants do."""
    text = scop.source
    if text is None:
        from polytile.pipeline import sequential_text  # reading a result file needs no compiler

        text = sequential_text(scop)
    return hashlib.sha256(text.encode()).hexdigest()


def tuned_scop(scop: Scop, options: Options, schedule: str, sizes: Mapping[str, int], **found: Any) -> TunedScop:
    """Make the entry of a SCoP, as it was extracted: `schedule`, as `--save-schedule` has it, was found with these
    options and sizes. `found` are further fields of TunedScop."""
    others = {name: getattr(options, name) for name in ASSUMED}
    return TunedScop(scop.name, scop_digest(scop), dict(sizes), schedule, others, **found)


def _scop_to_json(one: TunedScop) -> dict[str, Any]:
    plain = {f.name: getattr(one, f.name) for f in fields(TunedScop) if f.name != "schedule"}
    return {**plain, "schedule": one.schedule.splitlines()}


def _scop_from_json(found: Mapping[str, Any]) -> TunedScop:
    sizes = {str(name): int(value) for name, value in found["sizes"].items()}
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in found["options"].items()}
    told = {
        "schedule": "".join(f"{line}\n" for line in found["schedule"]),
        "sizes": sizes,
        "options": options,
    }
    one = TunedScop(**{**found, **told})
    texts, times = (one.name, one.source), (one.milliseconds, one.default_milliseconds)
    if not all(isinstance(text, str) for text in texts) or not all(isinstance(t, float | int | None) for t in times):
        raise TypeError(one.name)
    return one
