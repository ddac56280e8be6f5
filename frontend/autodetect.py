"""Looking for SCoPs in a file without pragmas, or in a marked one that calls what may do anything: outermost loops that
extraction accepts, neighbours joined."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import field
from itertools import groupby

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.diagnostics import UserError
from polytile.frontend.assemble import FileContext
from polytile.frontend.counted_loops import counts
from polytile.frontend.find_scops import ScopPlace, functions
from polytile.frontend.independence import promised
from polytile.frontend.loop_text import loops_span
from polytile.frontend.macro_arguments import check_names, placed
from polytile.frontend.parse import location_of
from polytile.frontend.scope import Scope
from polytile.frontend.signal_handlers import run_by_signals
from polytile.frontend.trees import block_items
from polytile.ir.expr import For, While
from polytile.ir.expr_trees import walk
from polytile.ir.scop import Scop

_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
_Path = tuple[c_ast.Node, ...]
_Result = Scop | tuple[UserError, ScopPlace]


@dataclass(frozen=True, slots=True)
class Detection:
    """The SCoPs found, the loops that are none with the reason, and why each outermost loop that is left as it is was
    left out, in the order of the file."""

    scops: tuple[Scop, ...]
    refused: tuple[tuple[UserError, ScopPlace], ...]
    left_out: tuple[UserError, ...] = ()


def detect(context: FileContext, taken: Collection[str], attempt: Callable[[ScopPlace], Scop]) -> Detection:
    """Try the loops of every function that is not in `taken`; `attempt` raises `UserError` for what is no SCoP.

    Neighbouring loops become one SCoP when they can. Below a loop that is refused, inner loops are tried.
    """
    search = _Search(context, attempt, signals=run_by_signals(context.file))
    for function, scope in functions(context.file):
        if function.decl.name not in taken and location_of(function).file == context.file.source.path:
            search.block(function, function.body, scope.child(), ())
    return Detection(tuple(search.scops), tuple(search.refused), tuple(search.left_out))


def detect_inside(context: FileContext, place: ScopPlace, attempt: Callable[[ScopPlace], Scop]) -> Detection:
    """The same below the statements of one place."""
    search = _Search(context, attempt)
    search.items(place.function, list(place.items), place.following, place.scope.child(), place.path)
    return Detection(tuple(search.scops), tuple(search.refused))


@dataclass(slots=True)
class _Search:
    context: FileContext
    attempt: Callable[[ScopPlace], Scop]
    scops: list[Scop] = field(default_factory=list)
    refused: list[tuple[UserError, ScopPlace]] = field(default_factory=list)
    left_out: list[UserError] = field(default_factory=list)
    signals: frozenset[str] = frozenset()  # functions
    promises: dict[int, list[c_ast.Node]] = field(default_factory=dict)  # of loops, by their ids

    def block(self, function: c_ast.FuncDef, block: c_ast.Node, scope: Scope, path: _Path) -> None:
        self.items(function, block_items(block), (), scope, (*path, block))

    def items(
        self,
        function: c_ast.FuncDef,
        items: list[c_ast.Node],
        following: Sequence[c_ast.Node],
        scope: Scope,
        path: _Path,
    ) -> None:
        start = 0
        items = self._without_promises(items)
        for is_loop, group in groupby(items, key=_is_loop):
            members = list(group)
            end = start + len(members)
            if is_loop:
                self._run(function, members, [*items[end:], *following], scope, path)
            else:
                for item in members:
                    scope.bind(item)
                    self._below(function, item, scope, path)
            start = end

    def _without_promises(self, items: Sequence[c_ast.Node]) -> list[c_ast.Node]:
        """The statements without promises of independence, which are noted with the loops behind them."""
        kept: list[c_ast.Node] = []
        ahead: list[c_ast.Node] = []
        for item in items:
            if promised(item) is not None:
                ahead.append(item)
                continue
            if ahead and _is_loop(item):
                self.promises[id(item)] = ahead
            ahead = []
            kept.append(item)
        return kept

    def _below(self, function: c_ast.FuncDef, node: c_ast.Node | None, scope: Scope, path: _Path) -> None:
        match node:
            case c_ast.Compound():
                self.block(function, node, scope.child(), path)
            case c_ast.While() | c_ast.DoWhile():
                if not any(isinstance(around, _LOOPS) for around in path):
                    self.left_out.append(_of_unknown_end(node))
                self._statement(function, node.stmt, scope, (*path, node))
            case c_ast.If():
                self._statement(function, node.iftrue, scope, (*path, node))
                self._statement(function, node.iffalse, scope, (*path, node))

    def _statement(self, function: c_ast.FuncDef, node: c_ast.Node | None, scope: Scope, path: _Path) -> None:
        """A statement under a header; it need not be a block."""
        if node is not None and _is_loop(node):
            self._run(function, [node], [], scope, path)
        else:
            self._below(function, node, scope, path)

    def _run(
        self,
        function: c_ast.FuncDef,
        loops: list[c_ast.Node],
        following: list[c_ast.Node],
        scope: Scope,
        path: _Path,
    ) -> None:
        """Neighbouring loops: all as one SCoP, else the longest accepted stretches, else each alone."""
        whole = self._try(function, loops, following, scope, path)
        if isinstance(whole, Scop):
            self.scops.append(whole)
            return
        if len(loops) == 1:
            self._refuse(function, loops[0], whole, scope, path)
            return
        alone = [self._try(function, [n], [*loops[k + 1 :], *following], scope, path) for k, n in enumerate(loops)]
        for good, group in groupby(range(len(loops)), key=lambda k: isinstance(alone[k], Scop)):
            members = list(group)
            after = [*loops[members[-1] + 1 :], *following]
            if good and 1 < len(members) < len(loops):
                joined = self._try(function, [loops[k] for k in members], after, scope, path)
                if isinstance(joined, Scop):
                    self.scops.append(joined)
                    continue
            for k in members:
                self._keep(function, loops[k], alone[k], scope, path)

    def _keep(self, function: c_ast.FuncDef, loop: c_ast.Node, result: _Result, scope: Scope, path: _Path) -> None:
        if isinstance(result, Scop):
            self.scops.append(result)
        else:
            self._refuse(function, loop, result, scope, path)

    def _refuse(
        self, function: c_ast.FuncDef, loop: c_ast.Node, reason: tuple[UserError, ScopPlace], scope: Scope, path: _Path
    ) -> None:
        self.refused.append(reason)
        if not any(isinstance(around, _LOOPS) for around in path):
            self.left_out.append(reason[0])
        inner = scope.child()
        if isinstance(loop, _LOOPS):
            if isinstance(loop, c_ast.For) and isinstance(loop.init, c_ast.DeclList):
                inner.bind(loop.init)
            self._statement(function, loop.stmt, inner, (*path, loop))

    def _try(
        self,
        function: c_ast.FuncDef,
        loops: Sequence[c_ast.Node],
        following: Sequence[c_ast.Node],
        scope: Scope,
        path: _Path,
    ) -> _Result:
        source = self.context.file.source
        items = tuple(item for loop in loops for item in (*self.promises.get(id(loop), ()), loop))
        place = ScopPlace(function, scope.frozen(), items, tuple(following), path, location_of(loops[0]), None)
        try:
            self._refuse_in_handlers(place)
            span = placed(source, loops_span(source.raw, source.path, loops), loops[0])
            scop = self.attempt(place.at(span))
            if span.in_arguments:
                check_names(source, scop)
        except UserError as error:
            return error, place
        hidden = _hidden_loops(scop)
        return scop if hidden is None else (hidden, place)

    def _refuse_in_handlers(self, place: ScopPlace) -> None:
        if place.function_name in self.signals:
            raise UserError(
                f"a signal handler runs this loop, in '{place.function_name}', where no kernel may be launched",
                location=place.location,
                hint="move the work out of the handler: let it set a flag",
            )


def _is_loop(node: c_ast.Node) -> bool:
    """Whether a statement is a loop that may be extracted: a `for` loop, or another one that counts."""
    return isinstance(node, c_ast.For) or counts(node)


def _of_unknown_end(node: c_ast.Node) -> UserError:
    """Why a loop without an iterator is not tried, though what is inside of it is."""
    return UserError(
        "when this loop ends is only known as it runs: it is left as it is, and loops inside of it are tried",
        location=location_of(node),
        hint="mark it with `#pragma scop` if it is to be one step of a SCoP",
    )


def _hidden_loops(scop: Scop) -> UserError | None:
    """Why loops inside of one that data end had better be tried alone: nothing around it may run in parallel."""
    for statement in scop.statements:
        outer = next((n for n in walk(*statement.body) if isinstance(n, While)), None)
        if outer is not None and not statement.iterators and any(isinstance(n, For) for n in walk(outer)):
            return UserError(
                "when this loop ends is only known as it runs: what is inside would be one statement",
                location=outer.location,
                hint="its inner loops are tried; mark the whole with `#pragma scop` if it is to be one SCoP",
            )
    return None
