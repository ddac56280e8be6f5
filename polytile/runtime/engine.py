"""Engines: ways to run the generated code of one SCoP on host memory."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from polytile.codegen.cuda import print_unit
from polytile.codegen.header import print_header
from polytile.diagnostics import DeviceError
from polytile.ir.host import HostProgram
from polytile.ir.scop import Scop
from polytile.options import Options
from polytile.runtime.command import check_command, nvcc
from polytile.runtime.layout import Layout
from polytile.runtime.native import Memory, arguments, function, load
from polytile.runtime.reference import workspace


class Engine(Protocol):
    """Runs generated code on NumPy memory, in place."""

    @property
    def label(self) -> str:
        """`the emulator`, `the GPU through CuPy`."""

    def run(self, layouts: Mapping[str, Layout], values: Mapping[str, int], memory: Memory) -> None: ...
