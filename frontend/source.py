"""A C file, parsed, with the places and the regions of its SCoPs.

Constants without a suffix as `float`, as with gcc's -fsingle-precision-constant.

before: y[i] = x[i] * 0.1 + 0x1p-3;    after: y[i] = x[i] * 0.1f + 0x1p-3f;
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pycparser import c_ast

from polytile.c_flags import single_constants
from polytile.frontend.assemble import FileContext, assemble
from polytile.frontend.find_scops import ScopPlace, marked_places
from polytile.frontend.gnu_nodes import with_c99_nodes
from polytile.frontend.linkage import Linkage
from polytile.frontend.parse import ParsedFile, location_of, nodes_below, parse
from polytile.frontend.preprocess import is_shipped, preprocess
from polytile.frontend.scop_region import Region
from polytile.stage_times import stage


def read_regions(
    path: str, text: str | None = None, *, include_dirs: Sequence[str] = (), defines: Sequence[str] = ()
) -> tuple[Region, ...]:
    """The regions that the pragmas of a file mark; the first refusal is raised."""
    context, places = read_places(path, text, include_dirs=include_dirs, defines=defines)
    return tuple(assemble(context, place, name) for name, place in named(context, places))


def read_places(
    path: str,
    text: str | None = None,
    *,
    include_dirs: Sequence[str] = (),
    defines: Sequence[str] = (),
    preprocessor: str = "auto",
    flags: Sequence[str] = (),
    device_source: str = "",
    cflags: Sequence[str] = (),
) -> tuple[FileContext, list[ScopPlace]]:
    """Preprocess and parse a file, and find the SCoPs that its pragmas mark."""
    with stage("preprocess"):
        source = preprocess(
            path,
            text,
            include_dirs=include_dirs,
            defines=defines,
            preprocessor=preprocessor,
            flags=flags,
            cflags=cflags,
        )
    with stage("parse"):
        file = with_c99_nodes(parse(source))
        make_constants_single(file)
    with stage("find SCoPs"):
        return FileContext.of(file, device_source), marked_places(file)


def named(
    context: FileContext, places: Sequence[ScopPlace], counts: dict[str, int] | None = None
) -> Iterator[tuple[str, ScopPlace]]:
    """Each place with a name that no identifier of the file has, nor a SCoP of another: `kernel_gemm_scop0`.

    `counts` is how many names of each function are taken.
    """
    counts = {} if counts is None else counts
    linkage = Linkage.of(context.file)
    for place in places:
        yield fresh_scop_name(linkage.unique(place.function_name), counts, context.file.names), place


def fresh_scop_name(function: str, counts: dict[str, int], taken: frozenset[str]) -> str:
    """The next `FUNCTION_scopN` that is not taken."""
    while True:
        number = counts.get(function, 0)
        counts[function] = number + 1
        name = f"{function}_scop{number}"
        entry = f"polytile_{name}"
        if not any(t in (name, entry) or t.startswith((f"{name}_", f"{entry}_")) for t in taken):
            return name


def make_constants_single(file: ParsedFile) -> None:
    """Give each floating-point constant without a suffix an `f`, where the flags of the file say so.

    The declarations of polytile's own headers stay as they are: files share them.
    """
    if not single_constants(file.source.cflags):
        return
    own = (n for n in file.tree.ext if not is_shipped(location_of(n).file))
    for node in (below for declaration in own for below in nodes_below(declaration)):
        if isinstance(node, c_ast.Constant) and node.type == "double":
            node.type, node.value = "float", f"{node.value}f"
