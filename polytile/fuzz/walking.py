"""Trees in general: visits, paths to nodes, and trees with one node exchanged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from polytile.fuzz.tree import Index, Name

Path = tuple[str | int, ...]


def walk(node: Any) -> Iterator[Any]:
    """Yield the node and all below it, outermost first; tuples are passed through."""
    if isinstance(node, tuple):
        for item in node:
            yield from walk(item)
    elif is_dataclass(node):
        yield node
        for f in fields(node):
            yield from walk(getattr(node, f.name))


def positions(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every node and every tuple below `node` with the way to it: names of fields and numbers of items."""
    if isinstance(node, tuple):
        yield path, node
        for number, item in enumerate(node):
            yield from positions(item, (*path, number))
    elif is_dataclass(node):
        yield path, node
        for f in fields(node):
            yield from positions(getattr(node, f.name), (*path, f.name))


def replaced(node: Any, path: Path, new: Any) -> Any:
    """Return the tree with what lies at `path` exchanged."""
    if not path:
        return new
    step, *rest = path
    if isinstance(step, int):
        return (*node[:step], replaced(node[step], tuple(rest), new), *node[step + 1 :])
    return replace(node, **{step: replaced(getattr(node, step), tuple(rest), new)})


def substituted(node: Any, name: str, by: Index) -> Any:
    """Return the tree with the iterator `name` replaced by an expression."""
    if isinstance(node, Name):
        return by if node.name == name else node
    if isinstance(node, tuple):
        return tuple(substituted(item, name, by) for item in node)
    if is_dataclass(node) and not isinstance(node, type):
        return replace(node, **{f.name: substituted(getattr(node, f.name), name, by) for f in fields(node)})
    return node
