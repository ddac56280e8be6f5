"""Which of the places that the host reads before a SCoP its writes may reach, as far as C's types allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from polytile.c_flags import aliases_by_type
from polytile.dataclass import dataclass
from polytile.frontend.scop_region import HostRead, Region
from polytile.ir.alias_checks import AliasCheck
from polytile.ir.def_use import targets
from polytile.ir.expr import Access, CType
from polytile.ir.expr_trees import walk
from polytile.ir.scop import Array, Origin, Parameter, Statement


def alias_checks(
    region: Region, parameters: Sequence[Parameter], arrays: Sequence[Array], statements: Sequence[Statement]
) -> tuple[AliasCheck, ...]:
    """The places whose values the kernels get, each once, with the arrays that may contain it.

    What is written through a pointer without `restrict` may be any variable that pointers lead to; what is read
    through one may be a part of any array that pointers lead to.
    """
    if not region.host_reads:
        return ()
    use = _Use.of(statements, {a.name: [ctype for _, ctype in a.fields] for a in arrays})
    typed = aliases_by_type(region.cflags)
    written = [a for a in arrays if a.origin is Origin.EXTERNAL and a.name in use.written]
    passed = [p.name for p in parameters] + [a.name for a in arrays if a.rank or a.name not in use.written]
    found: dict[str, AliasCheck] = {}
    for read in (read for name in passed for read in region.host_reads.get(name, ())):
        others = (a for a in written if a.name != read.owner)
        reached = [a for a in others if (a.name in region.reachable if read.indirect else a.may_alias)]
        for lvalue, types in use.parts(read):
            names = tuple(a.name for a in reached if not typed or _may_change(use.written[a.name], types, read))
            if names:
                _add(found, AliasCheck(lvalue, names, read.guard))
    return tuple(found.values())


def _may_change(written: Iterable[CType | None], types: Iterable[CType | None], read: HostRead) -> bool:
    return any(may_change(one, other, declared=not read.indirect) for one in written for other in types)


def _add(found: dict[str, AliasCheck], check: AliasCheck) -> None:
    """Take in a check: a place may be read for several symbols, and be known to be there for one of them."""
    before = found.get(check.lvalue, check)
    guard = check.guard
    if guard != before.guard:
        guard = before.guard and guard and f"({before.guard}) || ({guard})"
    found[check.lvalue] = AliasCheck(check.lvalue, tuple(dict.fromkeys((*before.arrays, *check.arrays))), guard)


@dataclass(slots=True)
class _Use:
    """The types that statements write to arrays, and the fields of structs that they read."""

    written: dict[str, set[CType | None]] = field(default_factory=dict)
    parts_read: dict[str, dict[str, set[CType | None]]] = field(default_factory=dict)  # by the way, "" for all of it

    @classmethod
    def of(cls, statements: Iterable[Statement], fields: Mapping[str, Sequence[CType]]) -> _Use:
        """What statements do with arrays whose structs have numbers of the types `fields`."""
        use = cls()
        for node in (n for s in statements for n in walk(*s.body)):
            for target in targets(node):
                if isinstance(target, Access):
                    use.written.setdefault(target.array, set()).update(_types(target, fields))
            if isinstance(node, Access) and node.array in fields:
                way = (node.field or "").partition("[")[0]
                use.parts_read.setdefault(node.array, {}).setdefault(way, set()).update(_types(node, fields))
        return use

    def parts(self, place: HostRead) -> Iterator[tuple[str, Iterable[CType | None]]]:
        """The place itself, or what is read of a struct, with the types of the numbers there."""
        if not place.parts:
            yield place.lvalue, (place.type,)
            return
        for way, types in self.parts_read.get(place.lvalue, {}).items():
            yield f"{place.lvalue}.{way}" if way else place.lvalue, types


def _types(access: Access, fields: Mapping[str, Sequence[CType]]) -> Sequence[CType | None]:
    """The types of the numbers that an access is of; structs may have pointers besides."""
    return (*fields[access.array], None) if access.type.kind == "struct" else (access.type,)


_CHARACTERS = frozenset(("char", "signed char", "unsigned char"))


def may_change(written: CType | None, read: CType | None, *, declared: bool) -> bool:
    """Whether writing a number of type `written` may change what is read as a number of type `read`; None stands for
    pointers. `declared` says that it is a variable of that type, or a part of one.

    Characters change everything; else only the signed or unsigned type of the other does. What is no variable has the
    type that was written last, so that characters read everything, too.
    """
    if written is not None and written.name in _CHARACTERS:
        return True
    if read is None or written is None:
        return read is written
    return _signed(written) == _signed(read) or (not declared and read.name in _CHARACTERS)


def _signed(ctype: CType) -> str:
    """before: unsigned long    after: long"""
    return ctype.name.removeprefix("unsigned ")
