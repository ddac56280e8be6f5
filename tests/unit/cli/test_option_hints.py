"""What a hint says can be typed: options with a number that none is, written as the hint says, are understood."""

from __future__ import annotations

import pytest

from polytile.cc.own_options import as_own, settings
from polytile.cli import arguments
from polytile.cli.tune import arguments as tune
from polytile.diagnostics import UsageError

WRITE = "write "
WRONG = ["--tile=x", "--block=8,x", "--time-tile=x", "--points=x", "--barriers=x", "--registers=x", "--param=n=x"]
WRONG += ["--param=n", "--param=1=2", "--max-shared-memory=x", "--min-compute=x", "--max-operations=x"]
WRONG += ["--max-seconds=1.5", "--seed=x", "--report=page.txt"]
TUNE = ["--param=n=x", "--param=n", "--evaluations=x", "--seconds=1.5", "--jobs=x", "--seed=x", "--report=page.txt"]


def hint_of(word: str, *, to: object) -> str:
    with pytest.raises(UsageError) as caught:
        to(["x.c", word])  # type: ignore[operator]
    assert caught.value.hint is not None and caught.value.hint.startswith(WRITE)
    return caught.value.hint.removeprefix(WRITE)


@pytest.mark.parametrize("word", WRONG)
def test_of_the_command(word: str) -> None:
    hint = hint_of(word, to=arguments.parse)
    assert hint.partition(" ")[0] == word.partition("=")[0]
    found = arguments.parse(["x.c", *hint.split()])
    for choice in arguments.CHOICES:
        choice.check(getattr(found.choices, choice.name))


@pytest.mark.parametrize("word", TUNE)
def test_of_tune(word: str) -> None:
    tune.parse(["x.c", *hint_of(word, to=tune.parse).split()])


@pytest.mark.parametrize("word", WRONG)
def test_of_the_compiler(word: str) -> None:
    """`write --param n=32` is `write --polytile-param=n=32` there."""
    typed = as_own(hint_of(word, to=arguments.parse))
    assert " " not in typed
    assert settings([typed]).words == ("--" + typed.removeprefix("--polytile-"),)


def test_of_a_size() -> None:
    assert hint_of("--param=n=x", to=arguments.parse) == "--param n=32"
