"""What a compilation depends on, as the name of its entry.

The file is not read for meaning: its key has all of it, what the preprocessor makes of it and what the files look like
that this comes from, so that a comment or a macro that nothing uses makes another key, and nothing that matters can be
missing. Macros that compilers define are in the preprocessor's output, and so are their version and the sizes of types.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from polytile.frontend.host_layouts import compiler_of, processor
from polytile.frontend.preprocess import Surroundings

PACKAGE = Path(__file__).resolve().parents[1]
# What makes the text of kernels; numpy runs them, rich, Pygments and platformdirs are for messages and for this.
LIBRARIES = ("islpy", "jinja2", "markupsafe", "pcpp", "pycparser")
# With these a compiler is another one, or is given other options, beside those that the preprocessor's output shows.
_VARIABLES = ("CCC_OVERRIDE_OPTIONS", "COMPILER_PATH", "GCC_EXEC_PREFIX")
_INSTALLED = (".dist-info", ".egg-info")


def key_of(request: str, text: str, around: Surroundings, given: Sequence[str]) -> str | None:
    """Return the name of the entry for a request on a text; `given` are the texts of other files that it names. None
    where polytile itself or what it is made of is not known."""
    libraries = [installed(library) for library in LIBRARIES]
    own = own_files()
    if own is None or None in libraries:
        return None
    parts = {
        "polytile": own,
        "libraries": libraries,
        "python": sys.version,
        "machine": [sys.platform, processor()],
        "request": request,
        "text": text,
        "given": list(given),
        "preprocessed": around.output,
        "files": {name: _digest(name) for name in around.files},
        "compiler": _compiler(around.command),
        "environment": {name: os.environ.get(name) for name in _VARIABLES},
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def own_files() -> str | None:
    """Hash polytile's own files: reading all takes a hundredth of a second, and dates say less. None where they are
    being changed."""
    found = hashlib.sha256()
    try:
        for path in sorted(_files(str(PACKAGE))):
            with open(path, "rb", buffering=0) as file:
                content = file.read()
            found.update(f"{path[len(str(PACKAGE)) :]}\0{len(content)}\0".encode("utf-8", "surrogateescape") + content)
    except OSError:
        return None
    return found.hexdigest()


def _files(folder: str) -> Iterator[str]:
    with os.scandir(folder) as found:
        for file in found:
            if not file.is_dir():
                yield file.path
            elif file.name != "__pycache__":
                yield from _files(file.path)


def installed(library: str) -> str | None:
    """Return the version of a library, and a hash of the record that its installer has left beside it; None without
    one. (`importlib.metadata` says it too, and takes longer to import than all of this to run.)"""
    spec = find_spec(library)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = os.path.dirname(spec.submodule_search_locations[0])
    try:
        beside = os.listdir(folder)
    except OSError:  # an archive
        return None
    for name in beside:
        if name.endswith(_INSTALLED) and name.partition("-")[0].lower() == library:
            return f"{name} {_digest(os.path.join(folder, name, 'RECORD'))}"
    return None


def _compiler(command: str | None) -> list[str]:
    """Return the programs that a command names, with their sizes and dates: a compiler, and what wraps it."""
    programs = (shutil.which(word) for word in compiler_of(command, ()).command)
    return [f"{path} {_state(path)}" for path in programs if path is not None]


def _state(path: str) -> str:
    try:
        state = os.stat(path)
    except OSError:
        return ""
    return f"{os.path.realpath(path)} {state.st_size} {state.st_mtime_ns}"


def _digest(path: str) -> str:
    """Hash a file; "" where there is none, or a device."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest() if os.path.isfile(path) else ""
    except OSError:
        return ""
