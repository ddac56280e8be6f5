"""The user's own C as a reference: the text of a region, verbatim, compiled by the host compiler and called on arrays.

What polytile is validated against is printed from what it has parsed, with calls inlined, jumps removed and types spelt
out. A mistake there, or in what was thought to be visible outside, is in both sides of that comparison; it is not in
this text, which only C's compiler has read.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from polytile.c_flags import of_values
from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError, ExtractionError, UserError
from polytile.ir.c_text import c_string
from polytile.ir.expr import Access, Assign
from polytile.ir.expr_trees import walk
from polytile.ir.indirect_subscripts import gathered
from polytile.ir.scop import Scop
from polytile.ir.source_region import Sized, SourceRegion
from polytile.runtime.compare import compare
from polytile.runtime.compilers import c_compiler, check_command
from polytile.runtime.expectation import Expectation, describe
from polytile.runtime.layout import Layout, c_type, scalar_dtype
from polytile.runtime.native import address, function, load
from polytile.runtime.reference import FLAGS, reference, workspace
from polytile.runtime.shared_libraries import closing
from polytile.runtime.stray_accesses import strays
from polytile.work_pieces import sequential_c

# Only the region's function is kept: what others of the file need of other files is not looked for.
_ALONE = ("-fvisibility=hidden", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections")
_DEFINES = ("-D__POLYTILE__=1", "-D__builtin_assume(condition)=((void)0)")
_BEGIN, _END = "polytile_verbatim_begin", "polytile_verbatim_end"
_ERROR = re.compile(r"^(.*?): (?:fatal )?error: (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Verbatim:
    """The compiled text of a region."""

    region: SourceRegion
    entry: Any

    def __call__(
        self, scop: Scop, layouts: Mapping[str, Layout], values: Mapping[str, int], memory: Mapping[str, Any]
    ) -> None:
        """Run it on `memory`, in place; raises ExtractionError where C has arrays of another size."""
        given: list[Any] = [c_type(scalar_dtype(p.type))(values[p.name]) for p in scop.parameters]
        sizes = []
        for argument in self.region.arguments:
            layout, data = layouts[argument.array], memory[argument.array]
            given.append(ctypes.c_void_p(address(data) + layout.lead * data.dtype.itemsize))
            shape = layout.shape[1:] if argument.sized is Sized.ROW else layout.shape
            sizes.append(_product(shape) * data.dtype.itemsize)
        with sequential_c(scop.name, scop.location):
            status = self.entry(*given, (ctypes.c_longlong * (len(sizes) + 1))(*sizes))
        if status > 0:
            name, size = self.region.arguments[status - 1].array, sizes[status - 1]
            what = "a row of " if self.region.arguments[status - 1].sized is Sized.ROW else ""
            raise ExtractionError(
                f"{scop.name}: {what}{name} was taken to have {size} bytes, which it has not in C",
                location=scop.location,
            )
        if status < 0:
            name = scop.parameters[-status - 1].name
            raise ExtractionError(
                f"{scop.name}: {name} was taken for a number that never changes, but C changes it",
                location=scop.location,
            )


class TooFewElementsError(UserError):
    """An array whose size the host looks for has fewer elements in a validation than the C uses."""


def check_extraction(scop: Scop, expectation: Expectation) -> str:
    """Hold what was extracted against the user's own text, on the same inputs, bit for bit.

    Returns why the text could not be compiled alone, or an empty string. Raises ExtractionError where they differ,
    UserError where the text leaves its arrays by an index that it computes, and TooFewElementsError where one whose
    size the host looks for was given or drawn too small.
    """
    if scop.found_sizes and _strays(scop, expectation):
        raise _too_small(scop, expectation)
    if _computed_indices(scop) and _strays(scop, expectation):
        raise _strayed(scop, expectation)
    if scop.verbatim is None:
        return ""
    own = verbatim(scop.verbatim, scop.cflags)
    if isinstance(own, str):
        return own
    memory = expectation.inputs()
    own(scop, expectation.layouts, expectation.values, memory)
    for name in expectation.layouts:
        found = compare(name, memory[name], expectation.after[name], tolerance=0.0).mismatch
        if found is not None:
            raise ExtractionError(
                f"{scop.name}: what was extracted of the C computes something else than the C itself: {found.element} "
                f"is {found.actual}, the C gives {found.expected}; {found.count} elements of {name} differ "
                f"({describe(expectation)}){_out_of_bounds(scop)}",
                location=scop.location,
            )
    return ""


def _out_of_bounds(scop: Scop) -> str:
    """Explain why an access may be out of bounds where the SCoP computes an index: no input keeps it in range."""
    computed = ", ".join(_computed_indices(scop))
    return f"; a value of {computed} may be no index of the array that it is used for" if computed else ""


def _strays(scop: Scop, expectation: Expectation) -> bool:
    """Return whether the C leaves its arrays for these inputs.

    The parsed C is asked: in the text global arrays are C's.
    """
    if scop.source is None:
        return False
    run = reference(scop, scop.source)
    return strays(lambda arrays: run(expectation.layouts, expectation.values, arrays), expectation.inputs)


def _too_small(scop: Scop, expectation: Expectation) -> TooFewElementsError:
    names = " and ".join(source for source, _ in scop.found_sizes)
    sizes = " ".join(f"--param {extent}=N" for _, extent in scop.found_sizes)
    return TooFewElementsError(
        f"{scop.name}: the C uses more elements of {names} than validation has made ({describe(expectation)})",
        location=scop.location,
        hint=f"a program's host file finds out how many there are; here {sizes} says it",
    )


def _strayed(scop: Scop, expectation: Expectation) -> UserError:
    computed = ", ".join(_computed_indices(scop))
    return UserError(
        f"{scop.name}: a value of {computed} is no index of the array that it is used for: the C leaves its arrays "
        f"({describe(expectation)})",
        location=scop.location,
        hint="inputs are random; those from which subscripts are computed may need values that validation cannot know",
    )


def _computed_indices(scop: Scop) -> list[str]:
    """List the variables by which elements are indexed and that the SCoP computes: no input keeps them in range."""
    nodes = [n for s in scop.statements for root in s.body for n in walk(root)]
    subscripts = (gathered(s) for n in nodes if isinstance(n, Access) for s in n.subscripts)
    indices = {g.index.array for g in subscripts if g is not None and isinstance(g.index, Access)}
    targets = (n.target for n in nodes if isinstance(n, Assign))
    return sorted(indices & {target.array for target in targets if isinstance(target, Access)})


@lru_cache(maxsize=64)
def verbatim(region: SourceRegion, cflags: tuple[str, ...] = ()) -> Verbatim | str:
    """Compile a region's own text; a str says why that cannot be done."""
    if region.obstacle:
        return region.obstacle
    try:
        library = _compile(region, cflags)
        return Verbatim(region, function(closing(load(library)), region.entry, ctypes.c_int))
    except DeviceError as error:
        return _reason(error.message)


def _compile(region: SourceRegion, cflags: tuple[str, ...]) -> Path:
    marked, folder = _marked(region), str(Path(region.path).resolve().parent)
    described = "\0".join((marked, folder, region.head, *region.include_dirs, *region.defines, *cflags))
    key = hashlib.sha256(described.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    source = workspace() / f"verbatim_{key}.c"
    whole, library = source.with_suffix(".i"), source.with_suffix(".so")
    source.write_bytes(marked.encode("utf-8", "surrogateescape"))
    search = ["-iquote", folder, *(f"-I{os.path.abspath(d)}" for d in region.include_dirs)]
    defines = [*(f"-D{d}" for d in region.defines), *_DEFINES]
    language = next(f for f in FLAGS if f.startswith("-std="))
    preprocess = [*c_compiler(), "-E", language, *cflags, "-w", *search, *defines, str(source), "-o", str(whole)]
    check_command(preprocess, "preprocessing")
    text = whole.read_bytes().decode("utf-8", "surrogateescape")
    whole.write_bytes(_with_function(region, text).encode("utf-8", "surrogateescape"))
    flags = [*FLAGS, *of_values(cflags), *_ALONE]
    check_command([*c_compiler(), *flags, str(whole), "-o", str(library), "-lm"], "compiling")
    return library


def _marked(region: SourceRegion) -> str:
    """Mark the region with a name before and after it, which stay where they are when macros are expanded.

    They are on lines of their own, where the region starts and ends with pragmas; but not in the arguments of a macro,
    where directives, as those that number lines, mean nothing to C.
    """
    text, span, name = region.text, region.span, c_string(region.path)
    inside = text[span.start : span.end]
    last = span.first_line + inside.count("\n")
    if span.in_arguments:
        begin, end = f" {_BEGIN} ", f" {_END} "
    else:
        begin, end = f"\n{_BEGIN}\n# {span.first_line} {name}\n", f"\n{_END}\n# {last} {name}\n"
    before = text[: span.start].removeprefix("\ufeff")
    return f"# 1 {name}\n{before}{begin}{inside}{end}{text[span.end :]}"


def _with_function(region: SourceRegion, text: str) -> str:
    """Append the region's text to the preprocessed file once more, in a function."""
    start, end = text.find(_BEGIN), text.find(_END)
    if min(start, end) < 0 or text.count(_BEGIN) != 1 or text.count(_END) != 1:
        raise DeviceError("its lines are not found in the preprocessed file")
    inside = text[start + len(_BEGIN) : end]
    plain = text.replace(_BEGIN, "").replace(_END, "")
    return f"{plain}\n{region.head}{{{inside}\n}}\n{region.tail}return 0;\n}}\n"


def _product(shape: tuple[int, ...]) -> int:
    total = 1
    for extent in shape:
        total *= extent
    return total


def _reason(message: str) -> str:
    """Return the first error of a compiler, without the folder of temporary files."""
    found = _ERROR.search(message)
    if found is None:
        return message.splitlines()[-1].strip()
    place = re.sub(r"^\s+", "", found[1])
    return f"{Path(place).name}: {found[2]}" if place else found[2]
