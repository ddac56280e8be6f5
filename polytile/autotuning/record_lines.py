"""Lines of a record: one JSON object each.

    {"version": 1, "source": "6a..", "key": "0c..", "point": {"schedule": "tiled", "rows": 2}, "status": "measured", ..}
    {"version": 1, "claim": "0c..", "host": "n1", "process": 4711, "started": "88", "time": 1764500000.0}
    {"version": 1, "release": "0c..", "host": "n1", "process": 4711, "started": "88", "time": 1764500001.0}
    {"version": 1, "source": "6a..", "finalists": [{"point": {..}, "milliseconds": [1.2, ..]}, ..], "date": ..}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from polytile.autotuning.conditions import Conditions
from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.space import Point
from polytile.dataclass import dataclass

VERSION = 1
BEGIN = b'{"version": '  # of each line, so that files of others are told apart


@dataclass(frozen=True, slots=True)
class Entry:
    """An evaluation that a record has: under the SHA-256 of its `source`, on a date in ISO 8601."""

    source: str
    outcome: Outcome
    conditions: Conditions = field(default_factory=Conditions)
    date: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A process on a host that measures, or has given up measuring, the kernels with a key; `time` in seconds since
    1970. `started` tells processes apart that have the same number one after another."""

    key: str
    host: str
    process: int
    started: str
    time: float
    released: bool = False


@dataclass(frozen=True, slots=True)
class Finals:
    """Milliseconds of the further runs of the best points of a search, and of the default."""

    source: str
    milliseconds: Mapping[Point, tuple[float, ...]]


Content = Entry | Claim | Finals


def to_line(content: Content) -> bytes:
    """Return the line of a record, with its end."""
    match content:
        case Entry():
            facts = _entry_facts(content)
        case Finals(source, milliseconds):
            points = [{"point": dict(point), "milliseconds": list(runs)} for point, runs in milliseconds.items()]
            facts = {"source": source, "finalists": points, "date": _now()}
        case Claim(key, host, process, started, time, released):
            word = "release" if released else "claim"
            facts = {word: key, "host": host, "process": process, "started": started, "time": time}
    return json.dumps({"version": VERSION, **facts}).encode() + b"\n"


def from_line(line: bytes) -> Content | int | None:
    """Read a line; return its version where that is another one, and None where it is none of a record's."""
    try:
        found = json.loads(line)
        version = found["version"]
        if version != VERSION:
            return version if isinstance(version, int) else None
        if "claim" in found or "release" in found:
            return _claim(found)
        if "finalists" in found:
            runs = {_point(one["point"]): _floats(one["milliseconds"]) for one in found["finalists"]}
            return Finals(str(found["source"]), runs)
        return _entry(found)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _entry_facts(entry: Entry) -> dict[str, Any]:
    outcome, known = entry.outcome, entry.outcome.estimate
    return {
        "source": entry.source,
        "key": outcome.key,
        "point": dict(outcome.point),
        "status": outcome.status.value,
        "reason": outcome.reason,
        "milliseconds": list(outcome.milliseconds),
        "estimate": known if known is not None and isfinite(known) else None,
        "bound": outcome.bound,
        "registers": list(outcome.registers),
        "spilled_bytes": list(outcome.spilled_bytes),
        "shared_bytes": list(outcome.shared_bytes),
        "seconds": dict(outcome.seconds),
        "reused": outcome.reused,
        **asdict(entry.conditions),
        "date": entry.date or _now(),
    }


def _entry(found: Mapping[str, Any]) -> Entry:
    outcome = Outcome(
        point=_point(found["point"]),
        status=Status(found["status"]),
        reason=str(found.get("reason", "")),
        milliseconds=_floats(found.get("milliseconds", ())),
        key=str(found.get("key", "")),
        estimate=found.get("estimate"),
        bound=str(found.get("bound", "")),
        registers=tuple(found.get("registers", ())),
        spilled_bytes=tuple(found.get("spilled_bytes", ())),
        shared_bytes=tuple(found.get("shared_bytes", ())),
        seconds=dict(found.get("seconds", {})),
        reused=bool(found.get("reused", False)),
    )
    words = {name: str(found.get(name, "")) for name in ("gpu", "driver", "compiler")}
    conditions = Conditions(dict(found.get("sizes", {})), **words, flags=tuple(found.get("flags", ())))
    return Entry(str(found["source"]), outcome, conditions, str(found.get("date", "")))


def _claim(found: Mapping[str, Any]) -> Claim:
    released = "release" in found
    key = found["release" if released else "claim"]
    return Claim(str(key), found["host"], int(found["process"]), found["started"], float(found["time"]), released)


def _point(found: Mapping[str, Any]) -> Point:
    if not all(isinstance(value, int | str) for value in found.values()):
        raise TypeError
    return tuple(found.items())


def _floats(found: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(one) for one in found)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
