"""Each C file here starts with the diagnostic that it must get: `// expect: LINE:COL: error: MESSAGE`.

Its second line may be the hint: `// hint: ...`."""

from __future__ import annotations

from pathlib import Path

import pytest

from polytile.diagnostics import UserError
from polytile.frontend.assemble import assemble
from polytile.frontend.extract import extract
from polytile.frontend.source import named, read_places

FILES = sorted(Path(__file__).parent.glob("*.c"))


def extract_all(file: Path) -> None:
    context, places = read_places(str(file))
    for name, place in named(context, places):
        extract(assemble(context, place, name))


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_refusal(file: Path) -> None:
    first, second, *_ = file.read_text().splitlines()
    expected = first.removeprefix("// expect: ")
    with pytest.raises(UserError) as caught:
        extract_all(file)
    error = caught.value
    assert error.location is not None
    assert error.location.file == str(file)
    assert f"{error.location.line}:{error.location.column}: error: {error.message}".startswith(expected)
    assert error.hint
    assert not second.startswith("// hint: ") or error.hint == second.removeprefix("// hint: ")
