"""Each C file of this folder has one mistake, and its first line says what polytile answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from polytile.diagnostics import UserError
from polytile.frontend.program import read_program

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.c"))


def _answer(file: Path, preprocessor: str) -> UserError:
    try:
        program = read_program(str(file), preprocessor=preprocessor)
    except UserError as error:
        return error
    assert len(program.refusals) == 1, f"{file.name} is accepted"
    return program.refusals[0].error


def _expected(file: Path) -> str:
    return file.read_text().splitlines()[0].removeprefix("// expect: ")


def _message(error: UserError) -> str:
    assert error.location is not None
    name = Path(error.location.file).name
    return f"{name}:{str(error.location).removeprefix(error.location.file + ':')}: error: {error.message}"


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_error_is_located_and_explained(file: Path) -> None:
    error = _answer(file, "auto")
    expected = _expected(file)
    assert _message(error) == (expected if expected.startswith("scop_in") else f"{file.name}:{expected}")
    assert error.hint, "a user error says what to write instead"
    assert error.location is not None and Path(error.location.file).is_file()


@pytest.mark.slow(but=8)
@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_pcpp_gives_the_same_line_and_message(file: Path) -> None:
    message, system = _answer(file, "pcpp"), _answer(file, "auto")
    assert message.location is not None and system.location is not None
    assert message.location.line == system.location.line
    assert message.message == system.message


def test_a_statement_without_an_end_in_front_of_a_pragma() -> None:
    hint = _answer(HERE / "pragma_without_semicolon.c", "auto").hint
    assert hint is not None and hint.startswith("end the statement before it")
