"""What polytile says while it compiles for `polytile cc`: in gcc's form, and as gcc's warnings.

before: two.c:14:11: error: the subscript `p[i]` of `B` is not affine
after:  two.c:14:11: warning: the subscript `p[i]` of `B` is not affine [-Wpolytile]
           14 |     B[p[i]] = A[i];
              |       ^

before: two.c:14: smooth_scop0: the schedule is the compiler's own choice: two.tuned.json was measured on ..
after:  two.c:14:9: note: smooth_scop0: the schedule is ..
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from polytile.cli.report import Report, Said
from polytile.dataclass import dataclass
from polytile.diagnostics import Diagnostic, Location, source_line


@dataclass(slots=True)
class CompilerReport(Report):
    """Says warnings and notes on standard error; results only where they are asked for, there too.

    `warn`: warnings and notes are shown. `fatal`: they are errors, and `failed` is set by the first.
    """

    warn: bool = True
    fatal: bool = False
    failed: bool = False

    def line(self, text: str) -> None:
        if self.verbose:
            print(f"polytile: {text}", file=sys.stderr)

    def say(self, said: Iterable[Said]) -> None:
        for one in said:
            if one.diagnostic.severity == "note":
                self.diagnostic(one.diagnostic)
            else:
                Report.say(self, (one,))

    def diagnostic(self, diagnostic: Diagnostic) -> None:
        self.diagnostics.append(diagnostic)
        sys.stdout.flush()
        if diagnostic.severity == "error":
            self.failed = True
            print(rendered(diagnostic, "error"), file=sys.stderr)
        elif diagnostic.severity == "warning":
            self.failed |= self.fatal
            if self.warn:
                flag = "[-Werror=polytile]" if self.fatal else "[-Wpolytile]"
                print(rendered(diagnostic, "error" if self.fatal else "warning", flag), file=sys.stderr)
        elif self.verbose or (diagnostic.severity == "note" and self.warn):
            print(rendered(diagnostic, "note"), file=sys.stderr)


def rendered(diagnostic: Diagnostic, severity: str, flag: str = "") -> str:
    """Format a message as gcc does, with the line, a caret, and the hint as a note."""
    place = diagnostic.location if diagnostic.location and diagnostic.location.line else None
    where = f"{place}: " if place else "polytile: "
    lines = [f"{where}{severity}: {diagnostic.message}{f' {flag}' if flag else ''}"]
    lines += _excerpt(place) if place else []
    if diagnostic.hint:
        lines.append(f"{where}note: {diagnostic.hint}")
    return "\n".join(lines)


def _excerpt(place: Location) -> list[str]:
    text = source_line(place)
    if text is None:
        return []
    shown = [f"{place.line:5} | {text}"]
    if place.column:
        pad = "".join("\t" if c == "\t" else " " for c in text[: place.column - 1])
        shown.append(f"      | {pad}^")
    return shown
