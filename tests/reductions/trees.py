"""Mapped trees of privatised reductions, written out: what a strategy builds for one reduction of a SCoP."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polytile.compilation import Compilation
from polytile.frontend.program import read_program
from polytile.ir.partial_results import Privatised, Split
from polytile.ir.schedule import MappedSchedule, is_mapped
from polytile.ir.scop import Scop
from polytile.machine import machine_of
from polytile.options import Options
from polytile.pipeline import generate_program
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.transform.reductions.privatise import privatise
from polytile.stages.analysis import find_dependences
from polytile.stages.place_data import choose_storage, combine_lanes, prove_legality


def read(name: str, arguments: str, body: str, before: str = "") -> Scop:
    """The SCoP of a C function of that name."""
    text = f"#include <math.h>\nvoid {name}({arguments})\n{{\n{before}\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    found = read_program("test.c", text)
    assert not found.refusals, found.refusals[0].error
    return found.scops[0]


@dataclass(frozen=True)
class Shape:
    """How one reduction is split (`splits`, `blocked` as for privatise), and the tree of its statements.

    `tree` is text in which INIT, UPDATE, FOLD and FINISH stand for the statements.
    """

    splits: tuple[Split, ...]
    tree: str
    blocked: tuple[tuple[int, tuple[int, ...]], ...] = ()


def split(scop: Scop, statement: str, shape: Shape) -> Scop:
    """The Scop with its reduction in partial results."""
    found = privatise(scop, analyse(scop), statement, shape.splits, dict(shape.blocked))
    assert found is not None
    return found


def mapped(scop: Scop, shape: Shape) -> MappedSchedule:
    """The tree of a Scop whose only reduction was split."""
    (made,) = scop.privatised
    text = shape.tree
    for word, name in _names(made).items():
        text = text.replace(word, name)
    domain = scop.domain.intersect_params(scop.context)
    tree = isl.Schedule(f'domain: "{domain}"\nchild:\n{text}')
    assert is_mapped(tree)
    return MappedSchedule(tree, "test")


def _names(made: Privatised) -> dict[str, str]:
    return {
        "INIT": made.initial,
        "UPDATE": made.update,
        "FOLD": made.combine or "",
        "FINISH": made.finish or "",
    }


def compiled(source: Scop, program: Scop, schedule: MappedSchedule, *, spread: bool = True) -> Compilation:
    """The rest of the pipeline, proofs included; without `spread` one thread combines all lanes."""
    options = Options()
    state = find_dependences(Compilation(program, options, machine_of(options.arch), source, schedule=schedule))
    state = combine_lanes(state) if spread else state
    return generate_program(prove_legality(choose_storage(state)))


def built(name: str, arguments: str, body: str, shape: Shape, *, spread: bool = True) -> Compilation:
    """A program that is one reduction, split and mapped by hand."""
    source = read(name, arguments, body)
    program = split(source, "S0", shape)
    return compiled(source, program, mapped(program, shape), spread=spread)


# Shapes --------------------------------------------------------------------------------------------------------------
def _band(statement: str, dims: str, *members: str) -> str:
    return "[" + ", ".join(f"{{ {statement}[{dims}] -> [{m}] }}" for m in members) + "]"


def _node(indent: int, *lines: str) -> str:
    return "".join(f"{' ' * indent}{line}\n" for line in lines)


def _leaves(indent: int, sizes: str, statements: dict[str, tuple[str, ...]]) -> str:
    """A sequence of statements below thread bands: `{"UPDATE[i, j]": ("i", "j")}`."""
    text = _node(indent, "sequence:")
    for instance, members in statements.items():
        statement, dims = instance.rstrip("]").split("[")
        text += _node(
            indent,
            f'- filter: "{{ {instance} }}"',
            "  child:",
            f'    mark: "thread[{sizes}]"',
            "    child:",
            f'      schedule: "{_band(statement, dims, *members)}"',
        )
    return text


def _blocks(indent: int, members: list[dict[str, str]], inner: str) -> str:
    """A kernel whose blocks have these coordinates, each given for all instances."""
    coordinates = ", ".join(
        "{ " + "; ".join(f"{instance} -> [{value}]" for instance, value in member.items()) + " }" for member in members
    )
    head = _node(indent, 'mark: "kernel"', "child:", '  mark: "block"', "  child:", f'    schedule: "[{coordinates}]"')
    return head + _node(indent, "    child:") + inner


def _stages(indent: int, first: dict[str, tuple[str, ...]], then: dict[str, tuple[str, ...]], sizes: str) -> str:
    """Two groups of statements with a barrier between."""
    text = _node(indent, 'mark: "sync"', "child:", "  sequence:")
    for group in (first, then):
        text += _node(indent, f'  - filter: "{{ {"; ".join(group)} }}"', "    child:")
        text += _leaves(indent + 6, sizes, group)
    return text


def rows(lanes: int, rows: int, *, chunk: int = 0) -> Shape:
    """x[i] += f(i, j): `lanes` threads along x for each of `rows` rows of a block; all columns, or by chunks."""
    splits = (*((Split(1, chunk, False),) if chunk else ()), Split(1, lanes, True))
    key = "i, c" if chunk else "i"
    first = {f"INIT[{key}, l]": ("i", "l"), "UPDATE[i, j]": ("i", "j")}
    then = {f"FOLD[{key}]": ("i", "0")}
    everything = (*first, *then)
    blocks = [dict.fromkeys(everything, f"floor(i/{rows})")]
    if chunk:
        blocks.insert(0, {k: f"floor(j/{chunk})" if k.startswith("UPDATE") else "c" for k in everything})
    sizes = f"{rows},{lanes}"
    if not chunk:
        text = _blocks(2, blocks, _stages(8, first, then, sizes))
        return Shape(splits, text, ((0, (rows,)),) if rows > 1 else ())
    text = _node(2, "sequence:", f'- filter: "{{ {"; ".join(everything)} }}"', "  child:")
    text += _blocks(6, blocks, _stages(12, first, then, sizes))
    text += _node(2, '- filter: "{ FINISH[i, c] }"', "  child:")
    text += _blocks(6, [{"FINISH[i, c]": "floor(i/64)"}], _finish(12, "FINISH[i, c]", "64", ("i",), "c"))
    return Shape(splits, text, ((0, (rows,)),) if rows > 1 else ())


def _finish(indent: int, instance: str, sizes: str, members: tuple[str, ...], serial: str) -> str:
    statement, dims = instance.rstrip("]").split("[")
    return _node(
        indent,
        f'mark: "thread[{sizes}]"',
        "child:",
        f'  schedule: "{_band(statement, dims, *members)}"',
        "  child:",
        f'    schedule: "{_band(statement, dims, serial)}"',
    )


def columns(lanes: int, chunk: int, *, width: int = 32) -> Shape:
    """x[j] += f(i, j): threads along x have columns, `lanes` along y share the rows of a chunk; 1: chunks alone."""
    splits = (Split(0, chunk, False), *((Split(0, lanes, True),) if lanes > 1 else ()))
    lane, own = (", l", "l") if lanes > 1 else ("", "0")
    first = {f"INIT[j, c{lane}]": (own, "j"), "UPDATE[i, j]": ("i" if lanes > 1 else "0", "j")}
    then = {"FOLD[j, c]": ("0", "j")} if lanes > 1 else {}
    everything = (*first, *then)
    chunks = {k: f"floor(i/{chunk})" if k.startswith("UPDATE") else "c" for k in everything}
    blocks = [chunks, dict.fromkeys(everything, f"floor(j/{width})")]
    sizes = f"{lanes},{width}"
    if lanes > 1:
        inner = _stages(12, first, then, sizes)
    else:
        inner = _leaves(12, sizes, {f"INIT[j, c{lane}]": first[f"INIT[j, c{lane}]"], "UPDATE[i, j]": ("0", "j")})
        inner = inner.replace('schedule: "[{ UPDATE[i, j] -> [0] }, { UPDATE[i, j] -> [j] }]"', _serial_rows())
    text = _node(2, "sequence:", f'- filter: "{{ {"; ".join(everything)} }}"', "  child:")
    text += _blocks(6, blocks, inner)
    text += _node(2, '- filter: "{ FINISH[j, c] }"', "  child:")
    text += _blocks(6, [{"FINISH[j, c]": f"floor(j/{width})"}], _finish(12, "FINISH[j, c]", str(width), ("j",), "c"))
    return Shape(splits, text, ((1, (width,)),) if lanes > 1 else ())


def _serial_rows() -> str:
    inner = 'schedule: "[{ UPDATE[i, j] -> [i] }]"'
    return f'schedule: "[{{ UPDATE[i, j] -> [0] }}, {{ UPDATE[i, j] -> [j] }}]"\n{" " * 18}child:\n{" " * 20}{inner}'


def scalar(lanes: int, chunk: int) -> Shape:
    """s[0] += f(i): blocks of `lanes` threads, a chunk each; one thread adds up the chunks."""
    first = {"INIT[c, l]": ("l",), "UPDATE[i]": ("i",)}
    then = {"FOLD[c]": ("0",)}
    blocks = {k: f"floor(i/{chunk})" if k.startswith("UPDATE") else "c" for k in (*first, *then)}
    text = _node(2, "sequence:", '- filter: "{ INIT[c, l]; UPDATE[i]; FOLD[c] }"', "  child:")
    text += _blocks(6, [blocks], _stages(12, first, then, str(lanes)))
    text += _node(2, '- filter: "{ FINISH[c] }"', "  child:")
    text += _node(6, 'mark: "kernel"', "child:", '  schedule: "[{ FINISH[c] -> [c] }]"')
    return Shape((Split(0, chunk, False), Split(0, lanes, True)), text)
