"""Files that move their lines: after `#line 1` places are not those of the text, where SCoPs are replaced."""

from __future__ import annotations

import re

from polytile.diagnostics import Location, UserError
from polytile.frontend.tokens import blank_comments

_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:line\b|\d)", re.MULTILINE)


def refuse_line_directives(path: str, text: str) -> None:
    """Refuse a text with `#line 7` or the `# 7 "x.c"` of preprocessed files, be it where nothing reads it."""
    if not _DIRECTIVE.search(text):
        return
    plain = blank_comments(text)
    found = _DIRECTIVE.search(plain)
    if found is not None:
        line, column = plain.count("\n", 0, found.start()) + 1, found.group().index("#") + 1
        raise UserError(
            "beside '#line' no SCoP can be found in the text of the file",
            location=Location(path, line, column),
            hint="remove the '#line' directives of the file, or move the SCoP into a file without them",
        )
