"""Random C programs: what polytile makes of them computes what C computes, bit for bit, in the emulator.

Each program is drawn from the input language: nests with triangular, strided and reversed loops, affine and
data-dependent conditions, scalars, local arrays, reductions, time loops and in-place updates. Subscripts are shifted
and arrays sized by interval arithmetic over n and m, so that no program leaves its arrays.
"""

from __future__ import annotations

import os
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

import polytile
from polytile.diagnostics import DeviceError, PolytileError, UserError
from polytile.runtime.emulator import host_compiler

SIZES = ((0, 1), (3, 2), (7, 9))
EXAMPLES = int(os.environ.get("POLYTILE_EXAMPLES", "40"))


def _no_compiler() -> str:
    try:
        host_compiler()
    except DeviceError as error:
        return error.message
    return ""


pytestmark = pytest.mark.skipif(bool(_no_compiler()), reason=f"needs a host compiler: {_no_compiler()}")


# Values with their ranges --------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Linear:
    """n*`n` + m*`m` + `c`."""

    n: int = 0
    m: int = 0
    c: int = 0

    def __add__(self, other: Linear) -> Linear:
        return Linear(self.n + other.n, self.m + other.m, self.c + other.c)

    def __mul__(self, by: int) -> Linear:
        return Linear(self.n * by, self.m * by, self.c * by)

    def most(self, other: Linear) -> Linear:
        """At least both, for n, m >= 0."""
        return Linear(max(self.n, other.n), max(self.m, other.m), max(self.c, other.c))

    def least(self, other: Linear) -> Linear:
        return Linear(min(self.n, other.n), min(self.m, other.m), min(self.c, other.c))

    @property
    def text(self) -> str:
        terms = [f"{k} * {name}" if k != 1 else name for k, name in ((self.n, "n"), (self.m, "m")) if k]
        return " + ".join([*terms, str(self.c)] if self.c or not terms else terms)


@dataclass(frozen=True)
class Value:
    """A C expression with bounds on its values."""

    text: str
    low: Linear
    high: Linear

    def plus(self, by: int) -> Value:
        if by == 0:
            return self
        sign = "+" if by > 0 else "-"
        return Value(f"{self.text} {sign} {abs(by)}", self.low + Linear(c=by), self.high + Linear(c=by))

    @property
    def never_negative(self) -> bool:
        return min(self.low.n, self.low.m, self.low.c) >= 0


def number(value: int) -> Value:
    return Value(str(value), Linear(c=value), Linear(c=value))


SIZE = (Value("n", Linear(n=1), Linear(n=1)), Value("m", Linear(m=1), Linear(m=1)))


# Programs ------------------------------------------------------------------------------------------------------------
@dataclass
class Writer:
    """Draws one program; `arrays` collects the extents that its subscripts need."""

    draw: Any
    arrays: dict[str, list[Linear]] = field(default_factory=lambda: {a: [Linear(c=1)] * r for a, r in RANKS.items()})
    names: int = 0
    guarded: bool = False  # under a condition that depends on data

    def pick(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def chance(self, one_in: int) -> bool:
        return self.draw(st.integers(0, one_in - 1)) == one_in - 1

    def fresh(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    # Loops
    def loop(self, scope: list[Value], locals_: list[str], depth: int) -> list[str]:
        name = self.fresh("i")
        a, b = self.bound(scope, low=True), self.bound(scope, low=False)
        step = self.pick(1, 1, 1, 1, 2, 3)
        increment = "++" if step == 1 and self.chance(2) else f" += {step}"
        if self.chance(5):
            head = f"for (int {name} = {b.text}; {name} >= {a.text}; {name}{increment.replace('+', '-')})"
            inner = Value(name, a.low, b.high)
        else:
            head = f"for (int {name} = {a.text}; {name} < {b.text}; {name}{increment})"
            inner = Value(name, a.low, b.high.least(b.high + Linear(c=-1)))
        return [f"{head} {{", *indent(self.block([*scope, inner], list(locals_), depth - 1)), "}"]

    def bound(self, scope: list[Value], *, low: bool) -> Value:
        outer = [v.plus(self.pick(-1, 0, 0, 1, 2)) for v in scope[-2:]]
        if low:
            return self.pick(number(0), number(0), number(1), number(-2), *outer)
        size = self.pick(*SIZE)
        least = Value("(n < m ? n : m)", Linear(), Linear(n=1))
        half = Value("(n + m) / 2", Linear(), Linear(n=1, m=1))
        return self.pick(size, size, size, size.plus(-1), size.plus(2), number(5), least, half, *outer)

    def time_loop(self, depth: int) -> list[str]:
        name = self.fresh("t")
        steps = self.pick("m", "4", "n")
        body = [line for _ in range(self.pick(1, 2, 2)) for line in self.loop([], [], depth - 1)]
        return [f"for (int {name} = 0; {name} < {steps}; {name}++) {{", *indent(body), "}"]

    # Statements
    def block(self, scope: list[Value], locals_: list[str], depth: int) -> list[str]:
        lines: list[str] = []
        if scope and self.chance(5):
            name = self.fresh("s")
            lines.append(f"double {name} = {self.value(scope, locals_)};")
            locals_.append(name)
        if scope and not self.guarded and self.chance(12):
            lines += self.local_array(scope, locals_)
        for _ in range(self.pick(1, 1, 1, 2)):
            lines += self.statement(scope, locals_, depth)
        return lines

    def statement(self, scope: list[Value], locals_: list[str], depth: int) -> list[str]:
        if depth > 0 and not self.chance(3):
            return self.loop(scope, locals_, depth)
        if scope and self.chance(5):
            outer, (condition, depends) = self.guarded, self.condition(scope)
            self.guarded = outer or depends
            then = self.statement(scope, locals_, self.pick(0, 0, 0, 1))
            lines = [f"if ({condition}) {{", *indent(then), "}"]
            if self.chance(3):
                lines[-1] = "} else {"
                lines += [*indent(self.statement(scope, locals_, 0)), "}"]
            self.guarded = outer
            return lines
        if scope and self.chance(8):
            return [f"{self.whole(scope)} {self.pick('=', '+=', '^=')} 3 * {self.whole(scope)} + {self.whole(scope)};"]
        return [self.assignment(scope, locals_)]

    def local_array(self, scope: list[Value], locals_: list[str]) -> list[str]:
        name, index = self.fresh("w"), self.fresh("i")
        extent = self.pick(2, 5)
        fill = f"{name}[{index}] = {self.value([*scope, Value(index, Linear(), Linear(c=extent - 1))], locals_)};"
        locals_ += [f"{name}[{k}]" for k in (0, extent - 1)]
        return [f"double {name}[{extent}];", f"for (int {index} = 0; {index} < {extent}; {index}++)", f"    {fill}"]

    def assignment(self, scope: list[Value], locals_: list[str]) -> str:
        plain = [name for name in locals_ if "[" not in name]
        if plain and self.chance(4):
            target = self.pick(*plain)
        elif self.chance(8):
            target = "r"
        else:
            target = self.access(scope)
        kind = self.pick("=", "=", "=", "+=", "-=", "self")
        value = self.value(scope, locals_)
        if kind == "self":
            return f"{target} = 0.5 * {target} + {value};"
        return f"{target} {kind} {value};"

    def value(self, scope: list[Value], locals_: list[str]) -> str:
        left, right = self.operand(scope, locals_), self.operand(scope, locals_)
        form = self.pick(
            "{0}",
            "0.5 * ({0} + {1})",
            "{0} - 0.25 * {1}",
            "({0} > {1} ? {0} : 0.5 * {1})",
            "{0} + {1}",
            "fmax({0}, fabs({1}))",
        )
        return str(form.format(left, right))

    def operand(self, scope: list[Value], locals_: list[str]) -> str:
        kind = self.pick("array", "array", "array", "local", "iterator", "scalar")
        if kind == "local" and locals_:
            return str(self.pick(*locals_))
        if kind == "iterator" and scope:
            return f"(0.125 * {self.pick(*scope).text})"
        return str(self.pick("1.5", "alpha", "r")) if kind == "scalar" else self.access(scope)

    def whole(self, scope: list[Value]) -> str:
        """An unsigned operand, whose arithmetic wraps around."""
        return self.access(scope, "u")

    def access(self, scope: list[Value], name: str = "") -> str:
        name = name or self.pick("A", "A", "B", "C", "x")
        subscripts = []
        for k in range(RANKS[name]):
            value = self.subscript(scope)
            shift = value.low.least(Linear()) * -1
            self.arrays[name][k] = self.arrays[name][k].most(value.high + shift + Linear(c=1))
            subscripts.append(value.text if shift == Linear() else f"{value.text} + {shift.text}")
        return name + "".join(f"[{s}]" for s in subscripts)

    def subscript(self, scope: list[Value]) -> Value:
        if not scope or self.chance(10):
            return number(self.pick(0, 1, 3))
        value = self.pick(*scope[-3:]).plus(self.pick(0, 0, 0, 1, -1, 2))
        form = self.pick("plain", "plain", "plain", "plain", "plain", "sum", "minus", "double", "half", "mod")
        if form == "sum":
            other = self.pick(*scope)
            return Value(f"{value.text} + {other.text}", value.low + other.low, value.high + other.high)
        if form == "minus":
            size = self.pick(*SIZE)
            return Value(f"{size.text} - ({value.text})", size.low + value.high * -1, size.high + value.low * -1)
        if form == "double":
            return Value(f"2 * ({value.text})", value.low * 2, value.high * 2)
        if form == "half" and value.never_negative:
            return Value(f"({value.text}) / 2", Linear(), value.high)
        if form == "mod" and value.never_negative:
            return Value(f"({value.text}) % 3", Linear(), Linear(c=2))
        return value

    def condition(self, scope: list[Value]) -> tuple[str, bool]:
        """A condition, and whether it depends on data."""
        left, right = self.pick(*scope), self.pick(*scope[:-1], *SIZE)
        forms = (
            f"{left.text} < {right.text} - 1",
            f"{left.text} % {self.pick(2, 3)} == {self.pick(0, 1)}",
            f"{left.text} != {right.text}",
            f"{left.text} >= 2 && {right.text} <= {self.pick(3, 6)}",
            f"!({left.text} == {self.pick(0, 1, 2)}) || {right.text} > 4",
        )
        data = (f"{self.access(scope)} > 0.5", f"{self.access(scope)} < {self.access(scope)}")
        return (self.pick(*data), True) if self.chance(4) else (self.pick(*forms), False)


RANKS = {"A": 2, "B": 2, "C": 3, "x": 1, "u": 1}


def indent(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def write_program(writer: Writer) -> str:
    """The text of a C file with one SCoP."""
    body: list[str] = []
    for _ in range(writer.pick(1, 1, 2)):
        depth = writer.pick(1, 2, 2, 3)
        body += writer.time_loop(depth + 1) if depth < 3 and writer.chance(3) else writer.loop([], [], depth)
    types = {"u": "unsigned", "B": "float"}
    arrays = ", ".join(
        f"{types.get(a, 'double')} {a}{''.join(f'[{e.text}]' for e in extents)}" for a, extents in writer.arrays.items()
    )
    lines = [
        "#include <math.h>",
        f"double f(int n, int m, double alpha, {arrays})",
        "{",
        "    double r = alpha;",
        "#pragma scop",
        *indent(body),
        "#pragma endscop",
        "    return r;",
        "}",
    ]
    return "\n".join(lines) + "\n"


@st.composite
def programs(draw: Any) -> str:
    return write_program(Writer(draw))


@st.composite
def sizes(draw: Any) -> dict[str, Any]:
    tile = draw(st.sampled_from([(), (), (1,), (3,), (4, 2), (2, 3, 5)]))
    block = draw(st.sampled_from([(), (), (4,), (2, 4), (2, 2, 3)]))
    return {"tile": tile, "block": block, "strict": draw(st.booleans())}


# Checks --------------------------------------------------------------------------------------------------------------
def compile_and_validate(text: str, chosen: dict[str, Any]) -> None:
    """Raises when the program is refused or computes something else."""
    try:
        program = polytile.compile(text, name="random.c", **chosen)
    except UserError as error:
        if "contains no statement" in error.message:  # every loop or condition is known to be empty
            return
        raise
    assert not program.refusals
    check_saved_schedules(text, program, chosen)
    for n, m in SIZES:
        for scop in program.scops:
            used = {p.name: {"n": n, "m": m}[p.name] for p in scop.scop.parameters}
            scop.validate(on="emulator", parameters=used, seed=n + 1)


def check_saved_schedules(text: str, program: polytile.Program, chosen: dict[str, Any]) -> None:
    """What --save-schedule writes gives the same kernels when it is loaded."""
    if program.schedules:
        loaded = polytile.compile(text, name="random.c", load_schedule=program.schedules, **chosen)
        shapes = [[(k.block, k.barriers) for p in made.programs for k in p.kernels] for made in (program, loaded)]
        assert shapes[0] == shapes[1]


def in_a_child(text: str, chosen: dict[str, Any]) -> str:
    """What went wrong, or nothing. Kernels that write out of bounds end the child, not the test run."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        message = ""
        try:
            compile_and_validate(text, chosen)
        except PolytileError as error:
            message = f"{type(error).__name__}: {error}"
        except BaseException:
            message = traceback.format_exc()
        os.write(writer, message.encode()[:60000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        message = pipe.read()
    _, status = os.waitpid(child, 0)
    return message or (f"the process ended with status {status}" if status else "")


@settings(
    max_examples=EXAMPLES,
    derandomize="POLYTILE_EXAMPLES" not in os.environ,
    deadline=None,
    database=None,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
@given(programs(), sizes())
def test_random_programs(text: str, chosen: dict[str, Any]) -> None:
    note(f"{text}\n{chosen}")
    problem = in_a_child(text, chosen)
    assert not problem, f"{problem}\nfor {chosen} in\n{text}"


REGRESSIONS = sorted((Path(__file__).parent / "regressions").glob("*.c"))


@pytest.mark.parametrize("file", REGRESSIONS, ids=lambda f: f.stem)
@pytest.mark.parametrize("tile", [(), (3,), (4, 2)], ids=str)
def test_regressions(file: Path, tile: tuple[int, ...]) -> None:
    problem = in_a_child(file.read_text(), {"tile": tile, "strict": True})
    assert not problem, problem


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
