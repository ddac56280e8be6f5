"""Scops of islpy's objects, and arrays in the words of C."""

from __future__ import annotations

from typing import Any

import islpy as isl
import numpy as np
import pytest

import polytile
from polytile.diagnostics import UsageError
from polytile.ir import scop
from polytile.ir.expr import DOUBLE, FLOAT, INT, LONG, UCHAR, Binary, Literal, Name
from polytile.ir.scop import Scop

DOMAIN = "[n] -> { S[i, j] : 0 <= i, j < n }"
TEXT = {
    "domain": DOMAIN,
    "schedule": "[n] -> { S[i, j] -> [i, j] }",
    "reads": "[n] -> { S[i, j] -> A[j, i]; S[i, j] -> B[i, j] }",
    "writes": "[n] -> { S[i, j] -> B[i, j] }",
}
REST: dict[str, Any] = {
    "bodies": {"S": "B[i][j] += A[j][i];"},
    "arrays": [polytile.Array("A", "double", ("n", "n")), polytile.Array("B", "double", ("n", "n"))],
}


def built(**changes: Any) -> Scop:
    return polytile.scop_from_isl("add_transposed", **{**TEXT, **REST, **changes})


def same(one: Scop, other: Scop) -> bool:
    return (
        one == other
        and one.domain.is_equal(other.domain)
        and one.schedule.get_map().is_equal(other.schedule.get_map())
        and all(a.relation.is_equal(b.relation) for a, b in zip(_accesses(one), _accesses(other), strict=True))
    )


def _accesses(found: Scop) -> list[Any]:
    return [access for statement in found.statements for access in statement.accesses]


def tree() -> isl.Schedule:
    order = isl.MultiUnionPwAff.from_union_map(isl.UnionMap(TEXT["schedule"]).intersect_domain(isl.UnionSet(DOMAIN)))
    return isl.Schedule.from_domain(isl.UnionSet(DOMAIN)).insert_partial_schedule(order)


OBJECTS = {
    "sets and maps": {
        "domain": isl.Set(DOMAIN),
        "schedule": isl.Map(TEXT["schedule"]),
        "writes": isl.Map(TEXT["writes"]),
    },
    "unions": {
        "domain": isl.UnionSet(DOMAIN),
        **{k: isl.UnionMap(TEXT[k]) for k in ("schedule", "reads", "writes")},
    },
    "basic": {"domain": isl.BasicSet(DOMAIN), "schedule": isl.BasicMap(TEXT["schedule"])},
    "tree": {"schedule": tree()},
    "dates": {"schedule": isl.MultiUnionPwAff.from_union_map(isl.UnionMap(TEXT["schedule"]))},
    "functions": {"schedule": isl.PwMultiAff.from_map(isl.Map(TEXT["schedule"]))},
    "one function": {"schedule": isl.MultiAff("[n] -> { S[i, j] -> [i, j] }")},
    "context": {"context": isl.Set("[n] -> { : }")},
    "another context": {"domain": isl.Set.read_from_str(isl.Context(), DOMAIN)},
}


@pytest.mark.parametrize("case", OBJECTS)
def test_objects_mean_what_their_text_means(case: str) -> None:
    assert same(built(**OBJECTS[case]), built())


def test_it_runs() -> None:
    kernel = polytile.compile_scop(built(**OBJECTS["unions"]), block=(8, 8))
    a, b = np.arange(49.0).reshape(7, 7), np.zeros((7, 7))
    kernel(A=a, B=b, on="emulator")
    assert np.array_equal(b, a.T)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"domain": isl.Map(TEXT["writes"])}, "domain must be a set, not Map"),
        ({"reads": isl.Set(DOMAIN)}, "reads must be a map, not Set"),
        ({"may_writes": 3}, "may_writes must be a map, not int"),
        ({"schedule": isl.Set(DOMAIN)}, "schedule must be a map or a schedule tree, not Set"),
        ({"context": None}, "context must be a set, not NoneType"),
        ({"arrays": [("A", "double", ("n",))]}, "arrays must hold polytile.Array, not tuple"),
        ({"arrays": "A"}, "arrays must be a list of polytile.Array, not str"),
        ({"arrays": [*REST["arrays"], REST["arrays"][0]]}, "arrays: A is declared twice"),
    ],
)
def test_a_wrong_argument_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        built(**changes)
    assert error.value.message == message


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (polytile.Array("A", "double", ("n", "m")), scop.Array("A", DOUBLE, (Name("n"), Name("m")))),
        (polytile.Array("A", "float"), scop.Array("A", FLOAT)),
        (polytile.Array("A", "unsigned char", (None, 4)), scop.Array("A", UCHAR, (None, Literal("4")))),
        (polytile.Array("A", "int64", (8,)), scop.Array("A", LONG, (Literal("8"),))),
        (polytile.Array("A", np.float32, ()), scop.Array("A", FLOAT)),
        (polytile.Array("A", np.dtype("int32"), ["n"]), scop.Array("A", INT, (Name("n"),))),  # type: ignore[arg-type]
        (
            polytile.Array("A", "double", ("2*n + 1",), live_out=False),
            scop.Array("A", DOUBLE, (Binary("+", Binary("*", Literal("2"), Name("n")), Literal("1")),), live_out=False),
        ),
    ],
    ids=lambda a: f"{a.type}{a.extents}" if isinstance(a, polytile.Array) else "",
)
def test_arrays_in_words_of_c(array: Any, expected: scop.Array) -> None:
    from polytile.frontend.array_declaration import declared

    assert declared([array]) == (expected,)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (polytile.Array("a b", "double"), "arrays: 'a b' cannot be the name of an array"),
        (polytile.Array("A", "doubles"), "arrays: A has no type of numbers: 'doubles'"),
        (polytile.Array("A", "complex128"), "arrays: A has no type of numbers: 'complex128'"),
        (polytile.Array("A", "float16"), "arrays: A has no type of numbers: 'float16'"),
        (polytile.Array("A", "double", "n"), "arrays: the extents of A must be a tuple, not 'n'"),  # type: ignore[arg-type]
        (polytile.Array("A", "double", ("n", None)), "arrays: A has no extent None"),
        (polytile.Array("A", "double", ("n / 2",)), "arrays: A has no extent 'n / 2'"),
        (polytile.Array("A", "double", ("n]; int b[3",)), "arrays: A has no extent 'n]; int b[3'"),
        (polytile.Array("A", "double", (2.5,)), "arrays: A has no extent 2.5"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_array_is_named(array: polytile.Array, message: str) -> None:
    with pytest.raises(UsageError) as error:
        built(arrays=[array])
    assert error.value.message == message
