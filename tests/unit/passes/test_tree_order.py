"""su' against an exhaustive search over all orders of the children of all nodes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import permutations, product

import pytest

from polytile.codegen.ordering.tree_order import NONE, Labels, Tree, TreeOrder, sequence_of
from polytile.codegen.ordering.value_graph import Kind, ValueGraph, ValueNode, max_live
from polytile.ir.expr import FLOAT, Name

VALUE = Name("v", FLOAT)


def random_tree(draw: random.Random, leaves: int, labels: int, arity: int, numbers: Iterator[int]) -> Tree:
    if leaves == 1:
        return Tree(draw.randrange(labels))
    parts = min(leaves, draw.randint(2, arity))
    cuts = sorted(draw.sample(range(1, leaves), parts - 1))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, leaves], strict=True)]
    children = tuple(random_tree(draw, size, labels, arity, numbers) for size in sizes)
    return Tree(None, children, next(numbers))


def every_order(tree: Tree) -> Iterator[Tree]:
    """The tree with its children in each order, at each of its nodes."""
    if not tree.children:
        yield tree
        return
    for order in permutations(tree.children):
        for children in product(*(tuple(every_order(c)) for c in order)):
            yield Tree(None, children, tree.number)


def live_registers(tree: Tree, live: Labels, needed: Labels) -> int:
    """MAXLIVE of the tree evaluated as it is, by the sequence of its loads and of additions to an accumulator."""
    graph, loaded, sequence = ValueGraph(), dict[object, int](), list[int]()

    def add(kind: Kind, key: object, operands: tuple[int, ...] = ()) -> int:
        sequence.append(graph.add(ValueNode(kind, key, operands, VALUE, 0 if kind is Kind.STORE else 1)))
        return sequence[-1]

    def evaluate(node: Tree) -> int:
        if not node.children:
            if node.label not in loaded:
                loaded[node.label] = add(Kind.LOAD, node.label)
            return loaded[node.label]
        value = evaluate(node.children[0])
        for k, child in enumerate(node.children[1:]):
            value = add(Kind.OPERATION, (node.number, k), (value, evaluate(child)))
        return value

    for label in sorted(live, key=str):
        loaded[label] = add(Kind.LOAD, label)
    result = evaluate(tree)
    # What lives on is used behind the tree, at once; the result alone does not count there.
    after = [loaded[label] for label in sorted(needed & (live | tree.labels), key=str)]
    add(Kind.STORE, "result", (result, *after))
    return max_live(graph, sequence)


@pytest.mark.parametrize("arity", [2, 3])
@pytest.mark.parametrize("seed", range(60))
def test_registers_are_the_least_of_all_atomic_orders(seed: int, arity: int) -> None:
    draw = random.Random(seed)
    labels = draw.randint(1, 6)
    leaves = draw.randint(2, 8 if arity == 2 else 6)
    numbers = iter(range(100))
    tree = random_tree(draw, leaves, labels, arity, numbers)
    live: Labels = frozenset(n for n in range(labels + 1) if draw.random() < 0.3)
    needed: Labels = frozenset(n for n in range(labels) if draw.random() < 0.3) | (live - tree.labels)
    expected = min(live_registers(one, live, needed) for one in every_order(tree))
    assert TreeOrder()(tree, live, needed).registers == expected


@pytest.mark.parametrize("seed", range(20))
def test_sequences_have_each_operation_behind_its_children(seed: int) -> None:
    draw = random.Random(seed)
    tree = random_tree(draw, 12, 5, 2, iter(range(100)))
    found = list(sequence_of(tree, NONE, NONE, TreeOrder()))
    assert sorted(found) == list(range(11))

    def check(node: Tree) -> None:
        for child in node.children:
            if child.children:
                assert found.index(child.number) < found.index(node.number)
            check(child)

    check(tree)


def test_the_larger_child_comes_first() -> None:
    """a + (b * (c + d)) takes two registers when it begins with c + d, three when it begins with a."""
    inner = Tree(None, (Tree("b"), Tree(None, (Tree("c"), Tree("d")), 0)), 1)
    tree = Tree(None, (Tree("a"), inner), 2)
    assert live_registers(tree, NONE, NONE) == 4
    assert TreeOrder()(tree, NONE, NONE).registers == 2
