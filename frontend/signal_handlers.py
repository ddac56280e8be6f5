"""Functions that signals run: amid anything, and so amid memory allocation or another kernel, too.

before: void count(int s) { for (i = 0; i < n; i++) seen[i]++; }    signal(SIGALRM, count);
after:  the same: the loop stays C, as neither CUDA nor allocation may be called in a signal handler
"""

from __future__ import annotations

from collections.abc import Iterator

from pycparser import c_ast

from polytile.frontend.callees import called_name
from polytile.frontend.parse import ParsedFile, nodes_below

_REGISTERING = frozenset(("signal", "sigset", "bsd_signal", "sysv_signal", "__sysv_signal", "ssignal"))
_FIELDS = frozenset(("sa_handler", "sa_sigaction"))


def run_by_signals(file: ParsedFile) -> frozenset[str]:
    """Find the functions of a file that are given to `signal` or to `sigaction`, and those that they call or
    mention."""
    bodies = {f.decl.name: f.body for f in file.tree.ext if isinstance(f, c_ast.FuncDef)}
    found: set[str] = set()
    waiting = [name for node in nodes_below(file.tree) for name in _handlers(node)]
    while waiting:
        name = waiting.pop()
        if name in bodies and name not in found:
            found.add(name)
            waiting += _mentioned(bodies[name])
    return frozenset(found)


def _handlers(node: c_ast.Node) -> Iterator[str]:
    """Find the functions that a node of the tree makes handlers of signals."""
    match node:
        case c_ast.FuncCall() if called_name(node) in _REGISTERING and node.args is not None:
            yield from _mentioned(node.args)
        case c_ast.Assignment(lvalue=c_ast.StructRef(field=c_ast.ID(name=name)), rvalue=value) if name in _FIELDS:
            yield from _mentioned(value)
        case c_ast.NamedInitializer(name=[*_, c_ast.ID(name=name)], expr=value) if name in _FIELDS:
            yield from _mentioned(value)


def _mentioned(node: c_ast.Node) -> Iterator[str]:
    return (str(n.name) for n in nodes_below(node) if isinstance(n, c_ast.ID))
