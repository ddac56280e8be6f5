"""Plans as JSON, for schedule files and certificates: what is written is read back as the same records."""

from __future__ import annotations

import dataclasses
from enum import Enum
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from polytile.choices import Choices
from polytile.diagnostics import InternalError, UserError
from polytile.ir.plan import KernelPlan
from polytile.ir.time_tile import TimeTile

Record = TypeVar("Record", Choices, KernelPlan)


def to_json(record: Any) -> Any:
    """Convert a plan, or a part of it, to what JSON has; what has its default is left out."""
    if dataclasses.is_dataclass(record):
        fields = ((f, getattr(record, f.name)) for f in dataclasses.fields(record))
        shape = {"shape": record.shape} if isinstance(record, TimeTile) else {}
        return {**shape, **{f.name: to_json(value) for f, value in fields if value != f.default}}
    if isinstance(record, Enum):
        return record.value
    return [to_json(item) for item in record] if isinstance(record, tuple) else record


def from_json(kind: type[Record], content: Any) -> Record:
    """Read the record of this kind; raises UserError for what is none (a file may have been edited)."""
    try:
        found: Record = _read(kind, content)
    except (InternalError, ValueError) as error:  # ValueError: tuples that do not have the same length
        reason = error.message if isinstance(error, InternalError) else str(error)
        raise UserError(f"this is no {kind.__name__}: {reason}") from None
    return found


def _read(kind: Any, content: Any) -> Any:
    if dataclasses.is_dataclass(kind):
        return _record(kind, content)
    if get_origin(kind) is tuple:
        return _tuple(get_args(kind), content)
    if get_origin(kind) is UnionType:
        return None if content is None else _shape(get_args(kind), content)
    if isinstance(kind, type) and issubclass(kind, Enum):
        known = {member.value: member for member in kind}
        return known[content] if content in known else _refuse(kind, content)
    return content if type(content) is kind else _refuse(kind, content)


def _record(kind: Any, content: Any) -> Any:
    hints = get_type_hints(kind)
    if not isinstance(content, dict) or not content.keys() <= hints.keys():
        _refuse(kind, content)
    missing = [
        f.name for f in dataclasses.fields(kind) if f.default is dataclasses.MISSING and f.name not in content
    ]
    if missing:
        _refuse(kind, content)
    return kind(**{name: _read(hints[name], value) for name, value in content.items()})


def _shape(kinds: tuple[Any, ...], content: Any) -> Any:
    """Return the record of an optional kind, or of the shape that the content names."""
    if kinds[1:] == (NoneType,):
        return _read(kinds[0], content)
    shapes = {kind.shape: kind for kind in kinds[:-1]}
    if not isinstance(content, dict) or content.get("shape") not in shapes:
        _refuse(TimeTile, content)
    return _record(shapes[content["shape"]], {name: value for name, value in content.items() if name != "shape"})


def _tuple(kinds: tuple[Any, ...], content: Any) -> Any:
    if not isinstance(content, list):
        _refuse(tuple, content)
    items = kinds[:1] * len(content) if kinds[1:] == (...,) else kinds
    if len(items) != len(content):
        _refuse(tuple, content)
    return tuple(_read(item, value) for item, value in zip(items, content, strict=True))


def _refuse(kind: Any, content: Any) -> None:
    raise InternalError(f"{content!r} is no {getattr(kind, '__name__', kind)}")
