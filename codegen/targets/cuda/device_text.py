"""The nodes of ir/gpu_ops.py as text: vectors, running pointers, shuffles, asynchronous copies, split barriers, mma."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field

from polytile.codegen.targets.cuda.device_functions import ATOMIC_NAMES, reduction_name
from polytile.codegen.targets.dialects import Dialect
from polytile.codegen.targets.expressions import Printer, is_truth_value, type_name
from polytile.codegen.targets.line_wrap import WIDTH, broken, wrapped
from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.arith import known, zero
from polytile.ir.c_text import one_line
from polytile.ir.expr import BOOL, LLONG, UINT, ULLONG, Access, Cast, CType, Expr, Literal, Stmt
from polytile.ir.gpu_ops import (
    Advance,
    Aligned,
    Arrive,
    AsyncCopy,
    Atomic,
    Await,
    AwaitLaunches,
    BlockIndex,
    BuiltIn,
    CommitCopies,
    GridExtent,
    InitBarrier,
    Leave,
    Load,
    MultiplyAccumulate,
    Offset,
    Pointer,
    Prefetch,
    PrivateArray,
    Shuffle,
    Store,
    ThreadIndex,
    WaitCopies,
    WarpReduce,
)
from polytile.ir.kernel import Barrier, Kernel
from polytile.ir.memory import Space
from polytile.ir.name_supply import fresh
from polytile.ir.reserved_names import identifier
from polytile.machine import WARP_SIZE

_PARTS = "xyzw"
_BUILT_IN: dict[type[BuiltIn], str] = {ThreadIndex: "threadIdx", BlockIndex: "blockIdx", GridExtent: "gridDim"}


@dataclass(slots=True)
class DeviceText:
    """Prints the nodes of one kernel; `taken` are the names it uses, `alone` its pointers that nothing aliases."""

    dialect: Dialect
    taken: set[str] = field(default_factory=set)
    alone: frozenset[str] = frozenset()
    vectors: int = 0  # named so far

    @staticmethod
    def of(kernel: Kernel, dialect: Dialect) -> DeviceText:
        return DeviceText(dialect, {identifier(n) for n in kernel.names}, unaliased(kernel))

    def value(self, expr: Expr, printer: Printer) -> str:
        """Print a value that only kernels have."""
        match expr:
            case BuiltIn(axis=axis):
                return f"{_BUILT_IN[type(expr)]}.{axis}"
            case Shuffle(kind=kind, value=value, by=by, width=width):
                return self.dialect.shuffled(kind, printer(value), printer(by), width)
            case WarpReduce(value=value, width=width, more=more):
                lanes = "" if width == WARP_SIZE else f"<{width}>"
                return f"polytile_{reduction_name(expr)}{lanes}({', '.join(map(printer, (value, *more)))})"
            case Aligned(addresses=addresses, bytes=size):
                return f"polytile_aligned<{size}>({', '.join(f'&{printer(a)}' for a in addresses)})"
            case Offset(base=base, by=by):
                return f"polytile_offset({printer(base)}, {printer(by)})"
        raise InternalError(f"no text for the expression {expr!r}")

    def statement(self, stmt: Stmt, printer: Printer) -> list[str]:
        """Print the lines of a statement that only kernels have."""
        match stmt:
            case PrivateArray() | Pointer() | Advance():
                return broken(self._name(stmt, printer))
            case Load():
                return self._load(stmt, printer)
            case Store():
                return self._store(stmt, printer)
            case Atomic():
                return broken(_atomic(stmt, printer))
            case Prefetch(source=source):
                return broken(f"polytile_prefetch(&{printer(source)});")
            case AsyncCopy(target=to, source=source, elements=elements, guard=guard):
                read = "true" if guard is None else printer(guard)
                start = f"polytile_copy_async<{elements * source.type.size}>("
                return wrapped(start, [f"&{printer(to)}", f"&{printer(source)}", read], ");")
            case MultiplyAccumulate(shape=shape, d=d, a=a, b=b):
                return wrapped(f"polytile_mma_{shape}(", [printer(r) for r in (*d, *a, *b)], ");")
        return [self._order(stmt, printer)]

    def _order(self, stmt: Stmt, printer: Printer) -> str:
        match stmt:
            case Barrier(reason=reason, scope=scope):
                return f"{self.dialect.barriers[scope]}  // {one_line(reason)}"
            case CommitCopies():
                return "polytile_commit_copies();"
            case WaitCopies(pending=pending, reason=reason):
                return f"polytile_wait_copies<{pending}>();  // {one_line(reason)}"
            case InitBarrier(barrier=barrier, arrivals=arrivals):
                return f"polytile_barrier_init(&{printer(barrier)}, {arrivals});"
            case Arrive(barrier=barrier, reason=reason):
                return f"polytile_arrive(&{printer(barrier)});  // {one_line(reason)}"
            case Await(barrier=barrier, parity=parity, reason=reason):
                return f"polytile_await(&{printer(barrier)}, {printer(parity)});  // {one_line(reason)}"
            case AwaitLaunches():
                return "polytile_await_launches();"
            case Leave(reason=reason):
                return f"return;  // {one_line(reason)}"
        raise InternalError(f"no text for the statement {stmt!r}")

    def _name(self, stmt: Stmt, printer: Printer) -> str:
        match stmt:
            case PrivateArray(name=name, type=ctype, extents=extents, value=value):
                sizes = "".join(f"[{e}]" for e in extents)
                start = "" if value is None else f" = {_filled(value, extents, printer)}"
                return f"{type_name(ctype)} {printer.name(name)}{sizes}{start};"
            case Pointer(name=name, target=target, const=const):
                alone = "__restrict__ " if name in self.alone else ""
                start = "const " if const else ""
                return f"{start}{type_name(target.type)} *{alone}{printer.name(name)} = &{printer(target)};"
            case Advance(pointer=pointer, by=by):
                constant = known(by)
                back = constant is not None and constant < 0
                amount = str(-constant) if constant is not None and back else printer(by)
                return f"{printer.name(pointer)} {'-' if back else '+'}= {amount};"
        raise InternalError(f"no text for the statement {stmt!r}")

    def _load(self, stmt: Load, printer: Printer) -> list[str]:
        """Print the load of an element or a vector.

        before: Load((x[0], x[1]), a[8], guard=i < n)
        after:  const double2 v0 = i < n ? *(const double2 *)&a[8] : make_double2(0.0, 0.0);
                x[0] = v0.x; x[1] = v0.y;
        """
        count, ctype, source = len(stmt.targets), stmt.source.type, printer(stmt.source)
        function = self.dialect.loads.get(stmt.cache)
        vector = type_name(ctype) if count == 1 else vector_name(ctype, count)
        address = f"&{source}" if count == 1 else f"(const {vector} *)&{source}"
        value = f"{function}({address})" if function else source if count == 1 else f"*{address}"
        if stmt.guard is not None:
            zeros = ", ".join([zero(ctype).text] * count)
            value = printer.choice(stmt.guard, value, zeros if count == 1 else f"make_{vector}({zeros})")
        if count == 1:
            return broken(f"{printer(stmt.targets[0])} = {value};")
        name = self._fresh()
        parts = [f"{printer(t)} = {name}.{p};" for t, p in zip(stmt.targets, _PARTS, strict=False)]
        return [*broken(f"const {vector} {name} = {value};"), *_packed(parts)]

    def _store(self, stmt: Store, printer: Printer) -> list[str]:
        """Print the store of an element or a vector.

        before: Store(b[8], (y[0], y[1]), "streaming", guard=own)
        after:  if (own) __stcs((double2 *)&b[8], make_double2(y[0], y[1]));
        """
        count, ctype, target = len(stmt.values), stmt.target.type, printer(stmt.target)
        function = self.dialect.stores.get(stmt.cache)
        values = [printer(v) for v in stmt.values]
        vector = type_name(ctype) if count == 1 else vector_name(ctype, count)
        value = values[0] if count == 1 else f"make_{vector}({', '.join(values)})"
        address = f"&{target}" if count == 1 else f"({vector} *)&{target}"
        if function:
            text = f"{function}({address}, {value});"
        else:
            text = f"{target if count == 1 else f'*{address}'} = {value};"
        return broken(text if stmt.guard is None else f"if ({printer.truth(stmt.guard)}) {text}")

    def _fresh(self) -> str:
        name = fresh(f"v{self.vectors}", self.taken)
        self.taken.add(name)
        self.vectors += 1
        return name


def vector_name(ctype: CType, count: int) -> str:
    """Return CUDA's type of `count` elements: `double2`, `uchar4`; raises InternalError where there is none.

    Those of `long` are called as those of `long long`, which have the same bits: loads and stores that go past the
    cache take no others.
    """
    if ctype.kind == "struct" or ctype == BOOL or count not in (2, 4):
        raise InternalError(f"there is no vector of {count} x {ctype}")
    name = f"{ctype.name} long" if ctype.name.endswith("long") and "long long" not in ctype.name else ctype.name
    return f"{name.removeprefix('signed ').replace('unsigned ', 'u').replace(' ', '')}{count}"


def _filled(value: Literal, extents: Sequence[int], printer: Printer) -> str:
    """Print the initialiser of an array whose elements all start with `value`: `{}` for zeros."""
    if value.text.rstrip("fFlLuU") in ("0", "0.", "0.0", ".0"):
        return "{}"
    inner = printer(value) if len(extents) == 1 else _filled(value, extents[1:], printer)
    return f"{{{', '.join([inner] * extents[0])}}}"


def _packed(statements: Iterable[str]) -> list[str]:
    """Join short statements, as many on a line as fit."""
    lines: list[str] = []
    for text in statements:
        if lines and len(lines[-1]) + 1 + len(text) <= WIDTH:
            lines[-1] += f" {text}"
        else:
            lines.append(text)
    return lines


def _atomic(stmt: Atomic, printer: Printer) -> str:
    """Print `atomicAdd(&A[i], x);`, through the type of that size which CUDA has the operation for.

    Threads of a warp that combine first add integers where sums do not overflow.
    """
    ctype, address, value = stmt.target.type, f"&{printer(stmt.target)}", stmt.value
    through = ctype
    if ctype.kind == "int" and ctype.size == 8:
        through = LLONG if ctype.signed and stmt.op in ("min", "max") else ULLONG
    elif ctype.size not in (4, 8) or ctype.kind == "struct" or (ctype.kind == "float" and stmt.op != "+"):
        raise InternalError(f"there is no atomic {stmt.op} of {ctype}")
    elif stmt.aggregated and stmt.op == "+" and ctype.kind == "int":
        through = UINT
    if through != ctype:
        address = f"({through} *){address}"
    if value.type != through or is_truth_value(value):
        value = Cast(through, value)
    old = "" if stmt.old is None else f"{printer(stmt.old)} = "
    name = ATOMIC_NAMES[stmt.op]
    function = f"polytile_atomic_{name}" if stmt.aggregated else f"atomic{name.capitalize()}"
    return f"{old}{function}({address}, {printer(value)});"


def unaliased(kernel: Kernel) -> frozenset[str]:
    """Return the running pointers that may be `__restrict__`.

    Their array is a parameter that nothing aliases, which the kernel never writes, or reaches through them alone.
    """
    free = {p.buffer for p in kernel.parameters if p.restrict}
    constant = {p.buffer for p in kernel.parameters if p.const}
    pointers = {n.name for n in kernel.nodes if isinstance(n, Pointer)}
    uses = {name: kernel.root(name).array for name in _used(kernel)} if pointers else {}
    alone = set()
    for name in pointers:
        root = kernel.root(name)
        others = {n for n, array in uses.items() if array == root.array} - {name}
        if root.space is Space.GLOBAL and root.array in free and (root.array in constant or not others):
            alone.add(name)
    return frozenset(alone)


def _used(kernel: Kernel) -> set[str]:
    """Return the arrays that are read or written, without those that a pointer only points to."""
    uses = Counter(n.array for n in kernel.nodes if isinstance(n, Access))
    return set(uses - Counter(n.target.array for n in kernel.nodes if isinstance(n, Pointer)))
