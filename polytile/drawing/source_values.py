"""The names and values of iterators as the source has them, for a picture whose rows are numbers of iterations.

before: for (t = 4; t < n; t += 3): rows t = 0, t = 1, t = 2
after:  rows t = 4, t = 7, t = 10
"""

from __future__ import annotations

from dataclasses import replace

from polytile.drawing.model import Cone, Drawing, Point, Row, View
from polytile.ir.iterator_values import iterator_names, iterator_values
from polytile.ir.scop import Scop, Statement


def with_source_values(drawing: Drawing, source: Scop) -> Drawing:
    """Rename the rows of a picture and what it highlights to what the source calls them."""
    statements = {s.name: s for s in source.statements}
    sizes = drawing.parameters

    def values(statement: Statement, names: tuple[str, ...], at: Point) -> Point:
        found = iterator_values(source, statement, {**sizes, **dict(zip(names, at, strict=True))})
        return tuple(found[name] for name in names)

    def row_called(row: Row) -> Row:
        statement = statements.get(row.statement)
        if statement is None or not set(statement.iterators).issuperset(row.keys):
            return row
        called = iterator_names(source, statement)
        ends = (values(statement, row.keys, at) for at in (row.first, row.last))
        return Row(row.statement, tuple(called[key] for key in row.keys), *ends)

    def view_called(view: View) -> View:
        return replace(view, rows=tuple(map(row_called, view.rows)))

    def cone_called(cone: Cone) -> Cone:
        name, at = cone.focus
        statement = statements.get(name)
        if statement is None or len(statement.iterators) != len(at):
            return cone
        return replace(cone, values=values(statement, statement.iterators, at))

    section = drawing.section
    return replace(
        drawing,
        space=view_called(drawing.space),
        section=section and replace(section, view=view_called(section.view)),
        cone=drawing.cone and cone_called(drawing.cone),
    )
