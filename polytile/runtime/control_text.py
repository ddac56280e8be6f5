"""The control flow of a kernel as a Python function, which says what runs for one thread.

before: int i = ti + 128 * bi; if (n >= i + 2) A[i] = B[i];
after:  n_i = n_ti + 128 * n_bi
        if way(3, n_n >= n_i + 2):
            work += 5

`walk(scope, place, parts)` takes the values of the launch, the place (of block, grid and thread, x y z each) and a set,
to which it adds (kernel, number, which way or how often) for each comparison, `min`, `max`, branch and loop that it
meets; it returns how many nodes were executed. Conditions on data run both branches, loops some of their iterations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.arith import known
from polytile.ir.def_use import value_names
from polytile.ir.expr import (
    COMPARISONS,
    Access,
    Binary,
    Call,
    Cast,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Name,
    Stmt,
    Ternary,
    Unary,
)
from polytile.ir.expr_trees import bodies, expressions, statements, walk
from polytile.ir.fold import folded
from polytile.ir.gpu_ops import Aligned, BuiltIn, Offset, Shuffle
from polytile.ir.integer_constants import literal_value
from polytile.ir.kernel import Kernel
from polytile.ir.memory import Space
from polytile.ir.trip_count import trips

_PLAIN = ("+", "-", "*", "<<", ">>", "&", "|", "^")
_CALLS = {"floord": "{0} // {1}", "pmod()": "{0} % {1}", "min": "least({n}, {0}, {1})", "max": "most({n}, {0}, {1})"}
_HEAD = ["block_x", "block_y", "block_z", "grid_x", "grid_y", "grid_z", "thread_x", "thread_y", "thread_z"]


def control_text(kernel: Kernel) -> str:
    """Print the function's text; the caller has `way`, `least`, `most`, `runs`, `some`, `divide` and `remainder`."""
    return _Writer(kernel).text()


@dataclass(frozen=True, slots=True)
class _Lines:
    """Lines of Python, whether they ask anything, and the work of statements that are not in them."""

    text: tuple[str, ...] = ()
    asks: bool = False
    work: int = 0

    def inside(self) -> _Lines:
        """Indent the body of a Python statement, with all of its work added."""
        work = (f"work += {self.work}",) if self.work else ()
        return _Lines(tuple(f"    {line}" for line in (*self.text, *work)) or ("    pass",), self.asks)

    def __add__(self, other: _Lines) -> _Lines:
        return _Lines(self.text + other.text, self.asks or other.asks, self.work + other.work)


class _Writer:
    """Writes the function of one kernel; each place that asks has a number, in the order of the text."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.numbers = 0
        self.known = _known_names(kernel)
        self.needed: frozenset[str] = frozenset()
        self.used: set[str] = set()

    def text(self) -> str:
        self.body(self.kernel.body)  # once to see which names conditions use
        self.needed, self.numbers = _closed(self.kernel, self.used), 0
        scalars = [p.name for p in self.kernel.parameters if p.buffer is None and p.name in self.known]
        start = [f"{', '.join(_HEAD)} = place", "work = 0"]
        start += [f"n_{name} = scope[{name!r}]" for name in scalars if name in self.needed]
        start += [f"n_{c.name} = {self.expr(c.source)}" for c in self.kernel.coordinates if c.name in self.needed]
        lines = (_Lines(tuple(start)) + self.body(self.kernel.body)).inside()
        return "\n".join(("def walk(scope, place):", *lines.text, "    return work", ""))

    # Statements ---------------------------------------------------------------------------------------
    def body(self, body: Iterable[Stmt]) -> _Lines:
        """Print a block of statements."""
        found = _Lines()
        for stmt in body:
            work = sum(1 for e in expressions(stmt) for _ in walk(e)) if not isinstance(stmt, For) else 1
            found += (self.statement(stmt) if bodies(stmt) else self.straight(stmt)) + _Lines(work=work)
        return found

    def statement(self, stmt: Stmt) -> _Lines:
        match stmt:
            case For():
                return self.loop(stmt)
            case If(condition=condition, then=then, otherwise=otherwise) if self.knows(condition):
                test = self.asked("way", self.expr(condition))
                branches = self.body(then).inside()
                if otherwise:
                    branches += _Lines(("else:",)) + self.body(otherwise).inside()
                return _Lines((f"if {test}:",), True) + branches
        found = _Lines()
        for block in bodies(stmt):
            found += self.body(block)
        return found

    def straight(self, stmt: Stmt) -> _Lines:
        """Print the conditions in a statement without nested ones, and its updates of names that conditions need."""
        found = _Lines()
        if isinstance(stmt, Declare) and stmt.value is not None and stmt.name in self.needed & self.known:
            before = self.numbers
            return _Lines((f"n_{stmt.name} = {self.expr(stmt.value)}",), self.numbers > before)
        for node in walk(stmt):
            conditions = node.condition if isinstance(node, Ternary) else getattr(node, "guard", None)
            if isinstance(conditions, Expr) and self.knows(conditions):
                found += _Lines((self.asked("way", self.expr(conditions)),), True)
        return found

    def loop(self, loop: For) -> _Lines:
        """Print some iterations of a loop; none where nothing in it has a condition to record."""
        if not self.counts(loop):
            return self.body(loop.body)
        fixed = _constant_trips(loop)
        inside = self.body(loop.body)
        if fixed is not None:
            if not inside.asks:
                return _Lines(work=inside.work * len(fixed))
            return _Lines((f"for n_{loop.iterator} in {tuple(_some(fixed))}:",)) + inside.inside()
        number = self.number()
        head = _Lines(
            (f"r{number} = runs({number}, {self.expr(loop.lower)}, {self.end(loop)}, {self.step(loop)})",), True
        )
        if not inside.asks:
            return head + _Lines((f"work += {inside.work} * len(r{number})",))
        loop_head = (f"s{number} = some(r{number})", f"w{number} = work", f"for n_{loop.iterator} in s{number}:")
        scaled = f"work = w{number} + (work - w{number}) * len(r{number}) / (len(s{number}) or 1)"
        return head + _Lines(loop_head) + inside.inside() + _Lines((scaled,))

    def end(self, loop: For) -> str:
        """Print the bound that the iterator stays below, or above."""
        found = trips(loop)
        bound = _bound(loop)
        ends = [self.expr(e) for e in found.ends] if found is not None else [self.expr(bound)] if bound else []
        return ends[0] if len(ends) == 1 else f"{'min' if _counts_up(loop) else 'max'}({', '.join(ends)})"

    def step(self, loop: For) -> str:
        return self.expr(loop.step) if isinstance(loop.step, Name) else str(loop.step)

    # Values -------------------------------------------------------------------------------------------
    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def asked(self, function: str, *values: str) -> str:
        return f"{function}({self.number()}, {', '.join(values)})"

    def knows(self, expr: Expr) -> bool:
        return _integer(expr, self.known, self.kernel)

    def counts(self, loop: For) -> bool:
        """Return whether the iterations are numbers that are known."""
        return _counted(loop, self.known, self.kernel)

    def expr(self, expr: Expr) -> str:
        match expr:
            case Literal(text=text) if (value := literal_value(text)) is not None:
                return str(value)
            case BuiltIn(name=name):
                return name.replace(".", "_")
            case Name(name=name):
                self.used.add(name)
                return f"n_{name}"
            case Unary(op="!", operand=x):
                return f"(not {self.expr(x)})"
            case Unary(op=op, operand=x):
                return f"({op}{self.expr(x)})"
            case Binary(op="&&", left=a, right=b):
                return f"(bool({self.expr(a)}) & bool({self.expr(b)}))"
            case Binary(op="||", left=a, right=b):
                return f"(bool({self.expr(a)}) | bool({self.expr(b)}))"
            case Binary(op=op, left=a, right=b) if op in COMPARISONS:
                return self.asked("way", f"{self.expr(a)} {op} {self.expr(b)}")
            case Binary(op=op, left=a, right=b) if op in _PLAIN:
                return f"({self.expr(a)} {op} {self.expr(b)})"
            case Binary(op=op, left=a, right=b):
                return f"{'divide' if op == '/' else 'remainder'}({self.expr(a)}, {self.expr(b)})"
            case Ternary(condition=c, then=a, otherwise=b):
                return f"({self.expr(a)} if {self.expr(c)} else {self.expr(b)})"
            case Cast(type=ctype, operand=x):
                return f"({self.expr(x)} & {(1 << 8 * ctype.size) - 1})" if not ctype.signed else self.expr(x)
            case Call(function=function, arguments=(a, b)):
                shown = _CALLS[function].format(self.expr(a), self.expr(b), n=self.number())
                return f"({shown})"
            case Offset(base=a, by=b):
                return f"({self.expr(a)} + {self.expr(b)})"
            case Shuffle(value=value):
                return self.expr(value)
            case Aligned(addresses=addresses, bytes=size):
                return self.asked("way", " and ".join(f"{self.address(a)} % {size} == 0" for a in addresses))
        raise InternalError(f"not known from the launch: {expr}")

    def address(self, access: Access) -> str:
        """Print the distance of an element from the beginning of its buffer, in bytes."""
        storage, distance = self.kernel.root(access.array), ""
        for subscript, extent in zip(self.kernel.subscripts(access), storage.extents, strict=True):
            shown = self.expr(subscript)
            distance = f"({distance} * {self.expr(extent)} + {shown})" if distance and extent is not None else shown
        return f"{distance or 0} * {storage.element.size}"


def _counts_up(loop: For) -> bool:
    return isinstance(loop.step, Name) or loop.step > 0


def _constant_trips(loop: For) -> Sequence[int] | None:
    """Return the values of an iterator that are the same whatever the sizes are; None where they are not."""
    found = trips(loop)
    if found is None or isinstance(loop.step, Name):
        return None
    first, ends = known(folded(loop.lower)), [known(folded(e)) for e in found.ends]
    least = [e for e in ends if e is not None]
    if first is None or len(least) < len(ends):
        return None
    return range(first, min(least) if loop.step > 0 else max(least), loop.step)


def _some(values: Sequence[int]) -> Sequence[int]:
    return values if len(values) <= 8 else (*values[:3], values[len(values) // 2], *values[-2:])


def _bound(loop: For) -> Expr | None:
    """Return the exclusive upper bound of the iterator of a loop whose step is a name, or None."""
    match loop.condition:
        case Binary(op="<" | "<=" as op, left=Name(name=name), right=bound) if name == loop.iterator:
            return bound if op == "<" else Binary("+", bound, Literal("1"))
    return None


def _integer(expr: Expr, known: frozenset[str] | set[str], kernel: Kernel) -> bool:
    """Return whether the value is computed from known names by operations on integers."""
    for node in walk(expr):
        match node:
            case Name(name=name) if not isinstance(node, BuiltIn):
                if name not in known:
                    return False
            case Literal(type=ctype) | Cast(type=ctype):
                if ctype.kind != "int":
                    return False
            case Call(function=function):
                if function not in _CALLS:
                    return False
            case Aligned(addresses=addresses):
                return all(_addressed(a, known, kernel) for a in addresses)
            case Shuffle() | Offset() | Unary() | Binary() | Ternary() | BuiltIn():
                pass
            case _:
                return False
    return True


def _addressed(access: Access, known: frozenset[str] | set[str], kernel: Kernel) -> bool:
    storage = kernel.storage_of(access.array)
    parts = (*access.subscripts, *(e for e in storage.extents[1:] if e is not None))
    plain = storage.space is Space.GLOBAL and access.field is None and storage.element.kind != "struct"
    return plain and all(_integer(p, known, kernel) for p in parts)


def _counted(loop: For, known: frozenset[str] | set[str], kernel: Kernel) -> bool:
    ends = trips(loop)
    bound = _bound(loop) if ends is None else None
    parts = [loop.lower, *(ends.ends if ends is not None else ())] + ([bound] if bound is not None else [])
    named = [loop.step] if isinstance(loop.step, Name) else []
    return (ends is not None or bound is not None) and all(_integer(p, known, kernel) for p in (*parts, *named))


def _known_names(kernel: Kernel) -> frozenset[str]:
    """Find the names that only ever have integers as values that follow from the launch, the block and the thread."""
    lost = set(kernel.changing)
    while True:
        found = {p.name for p in kernel.parameters if p.buffer is None and p.type.kind == "int"}
        found |= {c.name for c in kernel.coordinates}
        found -= lost
        before = len(lost)
        for stmt in statements(*kernel.body):  # parents and earlier ones first
            match stmt:
                case For(iterator=name):
                    (found if name not in lost and _counted(stmt, found, kernel) else lost).add(name)
                case Declare(name=name, value=value):
                    sound = name not in lost and value is not None and _integer(value, found, kernel)
                    (found if sound else lost).add(name)
        if len(lost) == before:
            return frozenset(found - lost)


def _closed(kernel: Kernel, names: Iterable[str]) -> frozenset[str]:
    """Return these names, and those that their values are computed from."""
    sources: dict[str, set[str]] = {c.name: value_names(c.source) for c in kernel.coordinates}
    for stmt in statements(*kernel.body):
        if isinstance(stmt, Declare) and stmt.value is not None:
            sources.setdefault(stmt.name, set()).update(value_names(stmt.value))
    found, waiting = set(names), list(names)
    while waiting:
        more = sources.get(waiting.pop(), set()) - found
        found |= more
        waiting += more
    return frozenset(found)
