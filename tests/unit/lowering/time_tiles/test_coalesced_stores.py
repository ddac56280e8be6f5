"""Stores by way of shared memory: where they pay, and what the kernels of both time tilings have then."""

from __future__ import annotations

import re

import polytile
from polytile.codegen.lowering.time_tiles.coalesced_stores import pays
from polytile.ir.expr import DOUBLE, FLOAT

from .programs import BOX, STAR

THROUGH = re.compile(r"to2\[v\w* \* 32 \+ lane \* -2\] = (stored\w*)\[place\]\[v\w* \* 32 \+ lane\];")


def text(source: str, **settings: object) -> str:
    return polytile.compile(source, schedule="overlapped", time_tile=2, tile=96, **settings).cuda  # type: ignore[arg-type]


def test_where_shared_memory_is_the_shorter_way() -> None:
    assert not pays(1, DOUBLE, 0)  # one column a lane: stores are together already
    assert pays(3, DOUBLE, 24) and not pays(3, DOUBLE, 25)  # 72 sectors, 12 accesses to shared memory
    assert pays(6, FLOAT, 12) and pays(6, FLOAT, 60) and not pays(6, FLOAT, 61)  # 144 sectors, 12 accesses
    assert pays(16, DOUBLE, 0) and not pays(3, FLOAT, 13)


def test_lanes_of_a_strip_store_neighbouring_columns() -> None:
    found = THROUGH.search(text(BOX))
    assert found is not None
    body = text(BOX)
    puts = [body.index(f"{found[1]}[place][lane * 3{k}] = x2") for k in ("", " + 1", " + 2")]
    assert puts == sorted(puts) and body.count("__syncwarp();", puts[-1], found.start()) == 1


def test_vectors_stay_vectors() -> None:
    wide = polytile.compile(STAR, schedule="overlapped", time_tile=2, tile=128, parameters={"ny": 1024}).cuda
    assert "wide" in wide and "stored" not in wide


def test_split_tiles_drain_neighbouring_columns() -> None:
    body = polytile.compile(STAR, schedule="split").cuda
    drain = body[body.index("// drain") :]
    columns = re.search(r"lane \* -(\d+)\)\] = stored\[warp\]\[", drain)
    assert columns is not None and int(columns[1]) >= 1
    assert "stored" not in body[body.index("// fill") : body.index("// drain")]
