"""Distinct names for distinct variables, for checks that follow values by name.

before: for (i = t; ...) x[i] = 0;  for (i = 0; ...) y[i] = 0;
after:  for (i = t; ...) x[i] = 0;  for (i'1 = 0; ...) y[i'1] = 0;
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import TypeVar

from polytile.dataclass import dataclass
from polytile.ir.expr import Declare, Execution, Expr, For, If, Name, Scope, Stmt, While
from polytile.ir.expr_trees import rewrite, statements

_Node = TypeVar("_Node", bound=Expr | Stmt)


def distinctly_named(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Rename variables so that each loop and each declaration has its own name, by the scopes of C."""
    bound = [name for stmt in statements(*body) if (name := _bound(stmt))]
    return body if len({*bound}) == len(bound) else _Renaming().block(body, {})


def _bound(stmt: Stmt) -> str:
    """Return the name of the variable that a statement begins, or an empty one."""
    return stmt.name if isinstance(stmt, Declare) else stmt.iterator if isinstance(stmt, For) else ""


@dataclass
class _Renaming:
    """`names` are those that are others now: the first variable of a name keeps it, and is in no scope of another."""

    times: dict[str, int] = field(default_factory=dict)

    def block(self, body: tuple[Stmt, ...], names: Mapping[str, str]) -> tuple[Stmt, ...]:
        found: list[Stmt] = []
        for stmt in body:
            match stmt:
                case Declare(name=name, value=value):
                    known = None if value is None else _renamed(value, names)
                    own = self._fresh(name)
                    names = names if own == name else {**names, name: own}
                    found.append(replace(stmt, name=own, value=known))
                case For(iterator=iterator, step=step):
                    own = self._fresh(iterator)
                    inner = names if own == iterator else {**names, iterator: own}
                    found.append(
                        replace(
                            stmt,
                            iterator=own,
                            lower=_renamed(stmt.lower, names),
                            condition=_renamed(stmt.condition, inner),
                            step=_renamed(step, names) if isinstance(step, Expr) else step,
                            body=self.block(stmt.body, inner),
                        )
                    )
                case If():
                    then, otherwise = self.block(stmt.then, names), self.block(stmt.otherwise, names)
                    condition = _renamed(stmt.condition, names)
                    found.append(replace(stmt, condition=condition, then=then, otherwise=otherwise))
                case While(condition=condition, body=inside):
                    condition = _renamed(condition, names)
                    found.append(replace(stmt, condition=condition, body=self.block(inside, names)))
                case Scope(body=inside):
                    found.append(replace(stmt, body=self.block(inside, names)))
                case Execution(values=values, body=inside):
                    known_values = tuple(_renamed(value, names) for value in values)
                    found.append(replace(stmt, values=known_values, body=self.block(inside, names)))
                case _:
                    found.append(_renamed(stmt, names))
        return tuple(found)

    def _fresh(self, name: str) -> str:
        """Return the name itself at first, then with a number that no C name has."""
        count = self.times.get(name, 0)
        self.times[name] = count + 1
        return f"{name}'{count}" if count else name


def _renamed(node: _Node, names: Mapping[str, str]) -> _Node:
    """Rename the uses of names in a node that declares none; most programs use each name once, so that few change."""

    def change(part: object) -> object:
        return replace(part, name=names[part.name]) if isinstance(part, Name) and part.name in names else part

    return rewrite(node, change) if names else node
