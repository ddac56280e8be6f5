"""Under which conditions times were measured, and the two keys under which they are found again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, field, fields

from polytile.choices import CHOICES
from polytile.compile_cache.key import own_files
from polytile.dataclass import dataclass
from polytile.options import Options


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a time depends on besides the text of the kernels: values of the parameters, the GPU's name, the version of
    its driver, the compiler of the kernels with its version, and the flags that it has."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    gpu: str = ""
    driver: str = ""
    compiler: str = ""
    flags: tuple[str, ...] = ()


def kernel_key(cuda: str, conditions: Conditions) -> str:
    """Return the SHA-256 of kernels and of what their times depend on: another polytile that makes the same text has
    the same key."""
    return _digest({"cuda": cuda, **asdict(conditions)})


def source_key(source: str, options: Options, conditions: Conditions) -> str | None:
    """Return the SHA-256 of what kernels are made from, but for the choices of a point; None while polytile's own files
    are being changed.

    `source` is the preprocessed text of a program with the name of a SCoP, or a digest of a SCoP. What the two keys
    have in common is in both, so that a record holds measurements of several GPUs.
    """
    own = own_files()
    if own is None:
        return None
    choices = {choice.name for choice in CHOICES}
    asked = {f.name: getattr(options, f.name) for f in fields(options) if f.name not in choices}
    return _digest({"source": source, "options": asked, "polytile": own, **asdict(conditions)})


def _digest(parts: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
