"""Small rewrites that make kernels read as a person would write them; none changes what they compute."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from polytile.codegen.passes.dead_stores import without_dead_stores
from polytile.codegen.passes.plan import Context, LoweredPlan
from polytile.dataclass import dataclass
from polytile.ir.arith import known
from polytile.ir.def_use import (
    assigned_names,
    declared_names,
    integer_divisors,
    reads_memory,
    value_names,
    written_arrays,
)
from polytile.ir.expr import Access, Declare, Execution, Expr, If, Literal, Name, Scope, Stmt
from polytile.ir.expr_trees import walk, with_bodies
from polytile.ir.gpu_ops import Pointer, PrivateArray
from polytile.ir.kernel import Kernel
from polytile.ir.substitute import with_part


def clean_up(kernel: Kernel, _: LoweredPlan, __: Context) -> Kernel:
    """Replace executions of statements by their bodies, with names before the conditions that test them."""
    return replace(kernel, body=merge_scopes(tidy(without_executions(kernel.body))))


def remove_unused(kernel: Kernel, _: LoweredPlan, __: Context) -> Kernel:
    """Leave out values that nothing reads."""
    return replace(kernel, body=drop_unused(without_dead_stores(kernel)))


def flatten_scopes(kernel: Kernel, _: LoweredPlan, __: Context) -> Kernel:
    """Leave out scopes that declare nothing."""
    return replace(kernel, body=unscoped(kernel.body)) if kernel.wanted_registers else kernel


def without_executions(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Replace the executions of statements by their bodies."""
    found: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, Execution):
            found += stmt.body
        else:
            found.append(with_bodies(stmt, without_executions))
    return tuple(found)


def tidy(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Name the iterators before the conditions that test them, and drop braces that guard nothing.

    before: if (ti + 8 * bi < n) { { const int i = ti + 8 * bi; A[i] = 0; } }
    after:  const int i = ti + 8 * bi; if (i < n) { A[i] = 0; }
    """
    return tuple(_flat(_tidy(stmt) for stmt in body))


def drop_unused(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Leave out values that nothing reads: an iterator that only subscripted an array which became a register.

    before: const int i = ti + 8 * bi; const int j = tj; B[j] = t;
    after:  const int j = tj; B[j] = t;
    """
    kept: list[Stmt] = []
    behind, counted = set[str](), 0  # the names in the first statements that are kept
    for stmt in reversed([with_bodies(s, drop_unused) for s in body]):
        if isinstance(stmt, Declare) and stmt.value is not None and not reads_memory(stmt.value):
            behind |= value_names(*kept[counted:])
            counted = len(kept)
            if stmt.name not in behind:
                continue
        kept.append(stmt)
    return tuple(reversed(kept))


def _tidy(stmt: Stmt) -> list[Stmt]:
    if isinstance(stmt, Scope):
        return [Scope(tidy(stmt.body))]
    stmt = with_bodies(stmt, lambda body: _unwrapped(tidy(body)))
    return _hoisted(stmt) if isinstance(stmt, If) else [stmt]


def _flat(parts: Iterable[list[Stmt]]) -> Iterable[Stmt]:
    for part in parts:
        yield from part


def _unwrapped(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Drop the braces of an only statement: those of the loop or branch around it are enough."""
    if len(body) == 1 and isinstance(body[0], Scope):
        return body[0].body
    return body


def _hoisted(branch: If) -> list[Stmt]:
    """Move the leading declarations of the then-branch in front when the condition tests their values."""
    declared: list[Declare] = []
    for stmt in branch.then:
        if not isinstance(stmt, Declare) or stmt.value is None or _needs_condition(stmt.value):
            break
        declared.append(stmt)
    condition = branch.condition
    for d in declared:
        if d.value is not None and d.type == d.value.type and not isinstance(d.value, Literal):
            condition = with_part(condition, d.value, Name(d.name, d.type))
    used = value_names(condition)
    wanted = {d.name for d in declared}
    before = value_names(branch.condition)
    if not wanted & used or wanted & before or branch.otherwise:
        return [branch]
    return [Scope((*declared, If(condition, branch.then[len(declared) :], (), branch.location)))]


def _needs_condition(value: Expr) -> bool:
    """Return whether a value needs the condition: it reads memory, or divides by what may be 0."""
    return reads_memory(value) or any(known(by) is None for by in integer_divisors(value))


def merge_scopes(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Merge neighbouring scopes that open with the same declarations.

    What the first one does has to leave the values as they were.

    before: { const int i = c0; A[i] = 0; } { const int i = c0; B[i] = 0; }
    after:  { const int i = c0; A[i] = 0; B[i] = 0; }
    """
    merged: list[Stmt] = []
    changed: _Changed | None = None  # by the last of them, if that was asked for
    for stmt in body:
        stmt = _inside(stmt)
        previous = merged[-1] if merged else None
        if isinstance(stmt, Scope) and isinstance(previous, Scope):
            shared = _declarations(stmt)
            if shared and shared == _declarations(previous):
                changed = changed or _Changed.by(previous.body)
                if changed.leaves(shared):
                    rest = stmt.body[len(shared) :]
                    merged[-1], changed = Scope((*previous.body, *rest)), changed.also(_Changed.by(rest))
                    continue
        merged.append(stmt)
        changed = None
    return tuple(merged)


@dataclass(frozen=True, slots=True)
class _Changed:
    """The arrays that statements write, and the names that get another value."""

    arrays: frozenset[str]
    names: frozenset[str]

    @classmethod
    def by(cls, body: Sequence[Stmt]) -> _Changed:
        return cls(frozenset(written_arrays(*body)), frozenset(assigned_names(*body)))

    def also(self, other: _Changed) -> _Changed:
        return _Changed(self.arrays | other.arrays, self.names | other.names)

    def leaves(self, declared: Sequence[Stmt]) -> bool:
        """Return whether declarations have the same values afterwards; a counter, `int w = 0`, has not."""
        values = [s.value for s in declared if isinstance(s, Declare) and s.value is not None]
        read = {n.array for value in values for n in walk(value) if isinstance(n, Access)}
        if read & self.arrays or len(values) < len(declared):
            return False
        return not self.names & {*declared_names(*declared), *value_names(*values)}


def unscoped(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Put the statements of scopes that declare nothing in their places.

    before: { s += a; } { { t += b; } const int i = c0; x[i] = t; }
    after:  s += a; { t += b; const int i = c0; x[i] = t; }
    """
    found: list[Stmt] = []
    for stmt in body:
        stmt = with_bodies(stmt, unscoped)
        declares = isinstance(stmt, Scope) and any(isinstance(s, Declare | PrivateArray | Pointer) for s in stmt.body)
        found += stmt.body if isinstance(stmt, Scope) and not declares else [stmt]
    return tuple(found)


def _inside(stmt: Stmt) -> Stmt:
    if isinstance(stmt, Scope):
        return Scope(merge_scopes(stmt.body))
    return with_bodies(stmt, lambda body: _unwrapped(merge_scopes(body)))


def _declarations(scope: Scope) -> tuple[Stmt, ...]:
    """Return the declarations at the top of a scope."""
    count = next((i for i, s in enumerate(scope.body) if not isinstance(s, Declare)), len(scope.body))
    return scope.body[:count]
