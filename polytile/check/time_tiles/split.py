"""Kernels that keep the values of split tiles in registers, as a certificate says what they do.

A launch runs the tiles of one or several colours. Each tile loads elements, runs its instances step by step and level
by level on cells, and stores elements. It is checked, for any sizes, with the program's own accesses and order:

- every instance has one tile, and conflicting instances run in the program's order: in an earlier launch, or in the
  same tile at an earlier step or level;
- an access is of the cell that the plan names, which the box of its tile has;
- what a tile loads, no other tile of the launch writes;
- of an array whose values are made anew in each step, values that pass from tile to tile are stored and loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import islpy as isl

from polytile.check.relations import OUT, Check, accesses, conflicts, union, value_flow
from polytile.check.time_tiles.wrong_tile import require
from polytile.machine import WARP_SIZE


def check_split(program: Check, plan: Check, context: isl.Set) -> None:
    """Check a plan of a program's tiles; raises WrongTileError, with what is wrong."""
    tiles = _Tiles(program, plan, context)
    tiles.check_parts()
    order = isl.Schedule(program["order"])
    for array in program["arrays"]:
        tiles.check_order(array, order)
    tiles.check_cells()
    for array, versions in plan["versions"]:
        for version in range(versions):
            tiles.check_loads(array, version)
    require(not (plan.get("exact") and plan["transient"]), "of what is made anew the very places are loaded")
    for array in plan["transient"]:
        tiles.check_passed_on(array, order)


class _Tiles:
    """Tiles `[b, phase, c, K0, K1]`: c has a bit for each dimension along which they grow."""

    def __init__(self, program: Check, plan: Check, context: isl.Set) -> None:
        self.program, self.plan, self.context = program, plan, context
        self.dims = len(plan["cuts"])
        self.levels = 1 + max(w["level"] for w in plan["writes"])
        self.writes = {w["statement"]: w for w in plan["writes"]}
        require(self.dims in (1, 2), "tiles of no one or two dimensions")
        require(self.writes.keys() == program["statements"].keys(), "they run other statements")
        self.place = isl.UnionMap("{ }")  # { S[i] -> [t, x0, x1] }
        for name in self.writes:
            self.place = self.place.union(isl.UnionMap.from_map(self._place(name)))

    def _place(self, name: str) -> isl.Map:
        statement = self.program["statements"][name]
        written = [a for a in statement["accesses"] if a["kind"] != "read"]
        require(len(written) == 1 and written[0]["kind"] == "write", f"{name} writes not one element")
        require(written[0]["array"] == self.writes[name]["array"], f"{name} writes another array")
        domain = isl.Set(statement["domain"]).intersect_params(self.context)
        element = isl.Map(written[0]["relation"]).intersect_domain(domain).reset_tuple_id(OUT)
        place = element.project_out(OUT, 0, element.dim(OUT) - self.dims)
        if self.dims == 1:
            place = place.add_dims(OUT, 1).fix_val(OUT, 1, isl.Val(0))
        time = isl.Map.identity(domain.space.map_from_set()).reset_tuple_id(OUT).intersect_domain(domain)
        return time.project_out(OUT, 1, time.dim(OUT) - 1).flat_range_product(place)

    def _colours(self) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """Yield the phase and number of each colour, and along which dimensions it grows."""
        for colour in product((0, 1), repeat=self.dims):
            number = sum(bit << k for k, bit in enumerate(reversed(colour)))
            yield (sum(colour) if self.plan.get("merged", True) else number), number, colour

    def _between(self, write: Check, colour: tuple[int, ...], reach: list[tuple[int, int]]) -> list[str]:
        """Return the places of a statement in a tile at time t, or within `reach` of them, as conditions."""
        found = []
        for k, cut in enumerate(self.plan["cuts"]):
            u, x = f"(t - {self.plan['iterations']}*b)", f"(x{k} - {cut['period']}*K{k})"
            left = f"{cut['lower']}*{u} + {write['lower'][k]}"  # the sides of a shrinking tile
            right = f"{cut['width'] - 1 - write['upper'][k]} - {cut['upper']}*{u}"
            first, last = reach[k]
            if colour[k]:
                left, right = f"{right} + 1", f"{left} + {cut['period'] - 1}"
            found.append(f"{left} + ({first}) <= {x} <= {right} + ({last})")
        return found

    def _relation(
        self, write: Check, reach: list[tuple[int, int]], to: str, *, shrinking: bool = False
    ) -> isl.UnionMap:
        """Return `{ [t, x0, x1] -> [..] }` over all colours; `shrinking`: without conditions along dimensions that
        grow."""
        parts = []
        band = f"0 <= t - {self.plan['iterations']}*b < {self.plan['iterations']}"
        for phase, number, colour in self._colours():
            tests = self._between(write, colour, reach)
            kept = [test for test, grows in zip(tests, colour, strict=True) if not (shrinking and grows)]
            kept += ["x1 = 0", "K1 = 0"] if self.dims == 1 else []
            tile = to.replace("TILE", f"b, {phase}, {number}, K0, K1")
            parts.append(f"[t, x0, x1] -> {tile} : {' and '.join([band, *kept])}")
        return isl.UnionMap(f"{{ {'; '.join(parts)} }}")

    def tile(self) -> isl.UnionMap:
        """Return `{ S[i] -> [TILE, step and level] }`."""
        found = isl.UnionMap("{ }")
        for name, write in self.writes.items():
            own = isl.UnionMap.from_map(self._place(name))
            to = f"[TILE, {self.levels}*t + {write['level']}]"
            found = found.union(own.apply_range(self._relation(write, [(0, 0)] * self.dims, to)))
        return found

    def check_parts(self) -> None:
        tiles = self.tile()
        require(tiles.is_single_valued(), "an instance is in two tiles")
        require(self.place.domain().is_subset(tiles.domain()), "an instance is in no tile")
        every = self.place.range()
        steps = every.apply(isl.UnionMap("{ [t, x, y] -> [t] }"))
        gaps = steps.apply(isl.UnionMap("{ [t] -> [s] : s > t }")).intersect(
            steps.apply(isl.UnionMap("{ [t] -> [s] : s < t }"))
        )
        require(gaps.is_subset(steps), "there are gaps between steps")
        for name in self.writes:
            own = isl.UnionSet.from_set(self._place(name).range())
            places = own.apply(isl.UnionMap("{ [t, x, y] -> [x, y] }"))
            missing = steps.product(places).apply(isl.UnionMap("{ [[t] -> [x, y]] -> [t, x, y] }")).subtract(own)
            require(missing.is_empty(), f"a step runs {name} at other places than the others")

    def _uses(self, array: str) -> tuple[isl.UnionMap, isl.UnionMap]:
        reads, writes = (accesses(self.program, array, kind) for kind in ("read", "write"))
        return reads.intersect_params(self.context), writes.intersect_params(self.context)

    def check_order(self, array: str, order: isl.Schedule) -> None:
        reads, writes = self._uses(array)
        pairs = conflicts(order, reads, writes)
        tiles = self.tile()
        late = isl.UnionMap(
            "{ [b, p, c, K, L, s] -> [e, q, d, M, N, z] : e < b or (e = b and q < p) or (e = b and q = p and"
            " (c < d or c > d or K < M or K > M or L < N or L > N or z <= s)) }"
        )
        wrong = pairs.apply_domain(tiles).apply_range(tiles).intersect(late)
        require(wrong.is_empty(), f"tiles do not keep the order of accesses to {array}")

    # Cells ---------------------------------------------------------------------------------------
    def check_cells(self) -> None:
        versions = dict(self.plan["versions"])
        require(all(self.plan["iterations"] % n == 0 for n in versions.values()), "bands begin with other versions")
        for name, write in self.writes.items():
            reads = {r["access"]: r for r in self.plan["reads"] if r["statement"] == name}
            at = self._place(name).reverse()
            for number, access in enumerate(self.program["statements"][name]["accesses"]):
                if access["array"] not in versions:
                    continue
                one = reads.pop(number, None) if access["kind"] == "read" else {**write, "offset": [0] * self.dims}
                require(one is not None and one["array"] == access["array"], f"access {number} of {name} has no cell")
                assert one is not None
                there = at.apply_range(isl.Map(access["relation"]))
                cell = self._cell(one, versions[access["array"]], there.dim(OUT))
                require(there.is_subset(cell), f"access {number} of {name} is of another cell")
            require(not reads, f"{name} reads cells that it does not read in the program")
        used = [a for s in self.program["statements"].values() for a in s["accesses"]]
        written = {a["array"] for a in used if a["kind"] != "read"}
        require(written == set(versions), "not all arrays that change have cells")
        self._check_box()

    def _cell(self, one: Check, versions: int, rank: int) -> isl.Map:
        require(rank == self.dims + (versions > 1), f"{one['array']} has not {versions} versions")
        at = [f"(t + {one['version']}) mod {versions}"] if versions > 1 else []
        at += [f"x{k} + ({d})" for k, d in enumerate(one["offset"])]
        return isl.Map(f"{{ [t, x0, x1] -> {one['array']}[{', '.join(at)}] }}")

    def _check_box(self) -> None:
        """Check that the cells that a tile touches at all of its steps are no more than its threads have."""
        lanes = [WARP_SIZE] if self.plan["exchange"] == "shuffles" else self.plan["threads"]
        box = [n * points for n, points in zip(lanes, self.plan["points"], strict=True)]
        require(len(box) == self.dims and lanes[-1] % WARP_SIZE == 0, "a block has no whole warps along space")
        touched = union([self.touched(array) for array in {w["array"] for w in self.plan["writes"]}], isl.UnionMap)
        widths = touched.range_product(touched).range().unwrap().deltas()
        for k, size in enumerate(box):
            far = widths.intersect(isl.UnionSet(f"{{ [d0, d1] : d{k} >= {size} }}"))
            require(far.is_empty(), f"a tile touches more places than {size} along dimension {k}")

    # Loads ---------------------------------------------------------------------------------------
    def _hull(self, name: str, array: str, version: int | None = None) -> list[tuple[int, int]] | None:
        """Return how far a statement reads an array, or a version of it, around the place that it writes; None without
        reads."""
        own = [r for r in self.plan["reads"] if (r["statement"], r["array"]) == (name, array)]
        offsets = [r["offset"] for r in own if version is None or r["version"] == version]
        return [(min(o), max(o)) for o in zip(*offsets, strict=True)] if offsets else None

    def _when(self, one: Check, version: int | None) -> isl.UnionSet:
        """Return the places and steps at which an access is of a version of its array, or of any."""
        if version is None:
            return isl.UnionSet("{ [t, x, y] }")
        versions = dict(self.plan["versions"])[one["array"]]
        return isl.UnionSet(f"{{ [t, x, y] : (t + {one['version']}) mod {versions} = {version} }}")

    def _made(self, array: str, version: int | None = None) -> isl.UnionMap:
        """Return `{ [TILE] -> [x] }`: what tiles write of an array."""
        none, total = [(0, 0)] * self.dims, isl.UnionMap("{ }")
        for write in (w for w in self.plan["writes"] if w["array"] == array):
            own = self._relation(write, none, "[TILE]").intersect_domain(self._when(write, version))
            total = total.union(own.apply_domain(isl.UnionMap("{ [t, x, y] -> [x, y] }")))
        return total.reverse()

    def touched(self, array: str, version: int | None = None) -> isl.UnionMap:
        """Return `{ [TILE] -> [x] }`: what tiles read or write of an array."""
        total = self._made(array, version)
        for name, write in self.writes.items():
            for one in (r for r in self.plan["reads"] if (r["statement"], r["array"]) == (name, array)):
                exact = self.plan.get("exact", False)
                hull = [(d, d) for d in one["offset"]] if exact else self._hull(name, array, one["version"])
                if hull is not None:
                    own = self._relation(write, hull, "[TILE]").intersect_domain(self._when(one, version))
                    total = total.union(own.apply_domain(isl.UnionMap("{ [t, x, y] -> [x, y] }")).reverse())
        return total

    def check_loads(self, array: str, version: int) -> None:
        pairs = self._made(array, version).apply_range(self.touched(array, version).reverse())
        other = isl.UnionMap(
            "{ [b, p, c, K, L] -> [b, p, d, M, N] : c < d or c > d or K < M or K > M or L < N or L > N }"
        )
        require(pairs.intersect(other).is_empty(), f"a tile loads elements of {array} that its launch writes")

    # Arrays that are made anew in each step --------------------------------------------------------
    def check_passed_on(self, array: str, order: isl.Schedule) -> None:
        reads, writes = self._uses(array)
        none = isl.UnionMap("{ }")
        flow = value_flow(order, reads, writes, none, none)
        time = self.place.apply_range(isl.UnionMap("{ [t, x, y] -> [t] }"))
        steps = flow.apply_domain(time).apply_range(time).deltas()
        require(steps.is_subset(isl.UnionSet("{ [0] }")), f"{array} is read in later steps than it is made in")
        (write,) = (w for w in self.plan["writes"] if w["array"] == array)
        first = reads.subtract_domain(flow.range()).range().intersect(writes.range())
        require(first.is_empty(), f"{array} is read before it is made")
        zero, unit = [(0, 0)] * self.dims, "[[t, x0, x1] -> [TILE]]"
        made = self._relation(write, zero, unit).range()
        for name in {r["statement"] for r in self.plan["reads"] if r["array"] == array}:
            hull = self._hull(name, array)
            assert hull is not None
            reader = self.writes[name]
            seen = self._relation(reader, hull, unit).range()
            earlier = made.unwrap().apply_domain(isl.UnionMap("{ [t, x, y] -> [s, x, y] : s >= t }")).wrap()
            lost = seen.subtract(made).intersect(earlier)
            require(lost.is_empty(), f"a tile reads {array} of another one, and has made it before")
            for corner in product(*hull):  # a reader elsewhere, of what stays in the tile by the rule of stores
                moved = [(d, d) for d in corner]
                inner = self._relation(reader, [(b, a) for a, b in hull], unit, shrinking=True).range()
                theirs = self._relation(reader, moved, unit).range()
                gone = made.intersect(inner).subtract(theirs)
                require(gone.is_empty(), f"a tile does not store {array}, which others read")
