"""Sets, maps and schedules can be pickled, also where two dimensions have one name, as islpy's own way refuses."""

from __future__ import annotations

import copy
import pickle

import islpy as isl
import pytest

import polytile.ir.scop  # noqa: F401  (says how)

KIND = isl.dim_type


def one_name_twice() -> isl.Map:
    relation = isl.Map("[n] -> { S[a, b] -> A[c, d] : a = c + n and d > 3 b }")
    for position, name in enumerate("ef"):
        relation = relation.set_dim_name(KIND.in_, position, name).set_dim_name(KIND.out, position, name)
    return relation


def test_maps_with_one_name_twice() -> None:
    relation = one_name_twice()
    assert str(relation) == "[n] -> { S[e, f] -> A[e' = -n + e, f'] : f' > 3f }"
    for made in (pickle.loads(pickle.dumps(relation)), copy.deepcopy(relation)):
        assert made.is_equal(relation) and made.get_dim_name(KIND.param, 0) == "n"


def test_a_dimension_with_the_name_of_a_parameter() -> None:
    relation = isl.Map("[n] -> { S[a] -> A[b] : a = n }").set_dim_name(KIND.in_, 0, "n")
    assert pickle.loads(pickle.dumps(relation)).is_equal(relation)


POINTS = (isl.Set("{ A[i, j] : i = j }"), isl.BasicSet("{ [i] : i > 3 }"), isl.BasicMap("{ [] -> [] }"))


@pytest.mark.parametrize("points", POINTS)
def test_others(points: isl.Set) -> None:
    made = pickle.loads(pickle.dumps(points))
    assert type(made) is type(points) and made.is_equal(points)
