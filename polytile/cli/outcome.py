"""What a compilation leaves, as text: what the cache keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from polytile.cli.report import Said
from polytile.dataclass import dataclass
from polytile.diagnostics import Diagnostic, Location


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is said, and the exit status; where that is 0 also the texts of the written files, by their names, and of
    what may be written beside them, by what it is."""

    said: Sequence[Said]
    status: int
    files: Mapping[str, str]
    beside: Mapping[str, str]

    def to_text(self) -> str:
        return json.dumps(
            {
                "said": [[one.line, *_facts(one.diagnostic)] for one in self.said],
                "status": self.status,
                "files": dict(self.files),
                "beside": dict(self.beside),
            }
        )

    @classmethod
    def from_text(cls, text: str) -> Outcome:
        """Parse an outcome. Raises ValueError for another text."""
        try:
            found = json.loads(text)
            said = [Said(_diagnostic(*facts), line) for line, *facts in found["said"]]
            return cls(said, found["status"], found["files"], found["beside"])
        except (KeyError, TypeError) as error:
            raise ValueError(str(error)) from None


def _facts(diagnostic: Diagnostic) -> list[object]:
    place = diagnostic.location
    located = None if place is None else [place.file, place.line, place.column]
    return [diagnostic.severity, diagnostic.message, located, diagnostic.hint]


def _diagnostic(severity: str, message: str, place: Sequence[object] | None, hint: str | None) -> Diagnostic:
    return Diagnostic(severity, message, None if place is None else Location(*place), hint)  # type: ignore[arg-type]
