"""Mapped trees, as the checker reads them: nodes, marks, and which thread runs what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import islpy as isl

NODE: Any = isl.schedule_node_type
LOOP = re.compile(r"loop\[\w+\]")
THREADS = re.compile(r"thread\[([\d, ]+)\]")


def nodes(node: isl.ScheduleNode, above: tuple[str, ...]) -> Iterator[tuple[isl.ScheduleNode, tuple[str, ...]]]:
    yield node, above
    below = (*above, mark(node) or "-") if node.get_type() != NODE.domain else above
    for i in range(node.n_children()):
        yield from nodes(node.child(i), below)


def mark(node: isl.ScheduleNode) -> str:
    return str(node.mark_get_id().get_name()) if node.get_type() == NODE.mark else ""


def thread_of(kernel: isl.ScheduleNode) -> isl.UnionMap:
    """Map instances to threads: points modulo the sizes, and zeros where no thread mark is above."""
    found, rank = isl.UnionMap.empty(kernel.get_domain().get_space()), 1
    for node, _ in nodes(kernel, ()):
        match = THREADS.fullmatch(mark(node))
        if match:
            sizes = [int(s) for s in match[1].split(",")]
            rank, band = len(sizes), node.child(0)
            points = isl.UnionMap.from_multi_union_pw_aff(band.band_get_partial_schedule())
            found = found.union(_folded(points.intersect_domain(band.get_domain()), sizes))
    zero = isl.UnionSet(f"{{ [{', '.join('0' * rank)}] }}")
    return found.union(isl.UnionMap.from_domain_and_range(kernel.get_domain().subtract(found.domain()), zero))


def _folded(points: isl.UnionMap, sizes: list[int]) -> isl.UnionMap:
    """Fold the points modulo the sizes; they stay as they are where no point is beyond, as isl would keep the
    remainders."""
    names = [f"p{i}" for i in range(len(sizes))]
    within = " and ".join(f"0 <= {p} < {size}" for p, size in zip(names, sizes, strict=True))
    if points.range().is_subset(isl.UnionSet(f"{{ [{', '.join(names)}] : {within} }}")):
        return points
    folds = ", ".join(f"{p} mod {size}" for p, size in zip(names, sizes, strict=True))
    return points.apply_range(isl.UnionMap(f"{{ [{', '.join(names)}] -> [{folds}] }}"))


def kernels(tree: isl.Schedule) -> list[isl.ScheduleNode]:
    """Return the kernel marks, in their order."""
    return [n for n, _ in nodes(tree.get_root(), ()) if mark(n) == "kernel"]


def blocks(kernel: isl.ScheduleNode) -> isl.UnionMap:
    """Map instances to the launch and block that they run in."""
    place = kernel.get_prefix_schedule_union_map().intersect_domain(kernel.get_domain())
    for node, _ in nodes(kernel, ()):
        if mark(node) == "block":
            coordinates = isl.UnionMap.from_multi_union_pw_aff(node.child(0).band_get_partial_schedule())
            place = place.flat_range_product(coordinates)
    return place
