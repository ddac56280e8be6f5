"""What a GPU has is said in polytile/machine.py, what measurements chose in polytile/tuning.py, and nowhere else."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("polytile", "frontend", "scheduling", "codegen")
PLACES = {"polytile/machine.py", "polytile/tuning.py"}
LIMITS = {1024: "threads of a block", 65535: "blocks along y and z", 48 * 1024: "bytes of static shared memory"}
FACT = re.compile(r"WARP|SECTOR|LINE_BYTES|CACHE|L[12]_|GRID|STATIC|SHARED|REGISTER|CLUSTER|THREADS")
OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
}
TEMPLATE_FACT = re.compile(r"\b(?:65535|2147483647)\b|% 32\b|\b32 \* half\b")


def sources() -> list[Path]:
    linked = {ROOT / "polytile" / folder for folder in FOLDERS}
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    return sorted(p for p in found if not linked & set(p.parents) and str(p.relative_to(ROOT)) not in PLACES)


def value(node: ast.expr) -> int | None:
    """The value of an integer that literals make."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if not isinstance(node, ast.BinOp) or type(node.op) not in OPERATIONS:
        return None
    left, right = value(node.left), value(node.right)
    if left is None or right is None or (isinstance(node.op, ast.Pow | ast.LShift) and not 0 <= right < 64):
        return None
    return OPERATIONS[type(node.op)](left, right)


def facts(text: str) -> Iterator[tuple[int, str]]:
    """Lines with a limit of the machine, or with a constant that is called like a fact of it."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and value(node) in LIMITS:
            yield node.lineno, f"{value(node)}: {LIMITS[value(node) or 0]}"
        given = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if given is not None and _is_number(given):
            yield from ((node.lineno, name) for name in _assigned(node) if name.isupper() and FACT.search(name))


def _assigned(node: ast.AST) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return (part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))


def _is_number(node: ast.expr) -> bool:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(value(part) is not None for part in parts)


@pytest.mark.slow
def test_no_fact_of_the_machine_outside_its_description() -> None:
    assert sources() and {str(path): found for path in sources() if (found := list(facts(path.read_text())))} == {}


@pytest.mark.parametrize("path", sorted((ROOT / "codegen" / "targets" / "templates").iterdir()), ids=lambda p: p.name)
def test_templates_have_them_from_there(path: Path) -> None:
    assert TEMPLATE_FACT.findall(path.read_text()) == []


WRONG = ["WARP = 32", "x = 48 * 1024", "f(65535)", "GRID: int = 7", "if n > 1 << 10: pass", "MAX_THREADS, N = 5, 6"]


@pytest.mark.parametrize("line", WRONG)
def test_each_kind_is_found(line: str) -> None:
    assert list(facts(line))
