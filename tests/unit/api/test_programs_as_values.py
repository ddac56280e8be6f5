"""Programs and SCoPs in a session: named, shown in a line, copied, pickled; settings as Python writes them; places."""

from __future__ import annotations

import copy
import pickle
import sys
import warnings
from typing import Any

import islpy as isl
import numpy as np
import pytest

import polytile
from polytile.execution import tell_of_the_emulator
from polytile.ir.expr import DOUBLE, Name
from polytile.ir.scop import Array
from polytile.recursion_limit import deep_recursion

SOURCE = """
static void smooth(int n, double a[n], double b[n])
{
#pragma scop
    for (int i = 1; i < n - 1; i++)
        b[i] = FACTOR * (a[i - 1] + a[i + 1]);
#pragma endscop
}
void twice(int n, double a[n], double b[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = 2 * b[i];
#pragma endscop
#pragma scop
    for (int i = 0; i < n; i++)
        b[i] = a[i] + i;
#pragma endscop
}
"""
LOOP = "void f(int n, double a[n]) {\n#pragma scop\nfor (int i = 0; i < n; i++) a[i] = i;\n#pragma endscop\n}\n"


@pytest.fixture(scope="module")
def program() -> polytile.Program:
    return polytile.compile(SOURCE, name="some/long/path/twice.c", defines={"FACTOR": 0.5}, tile=8, strict=True)


def test_scops_by_name(program: polytile.Program) -> None:
    smooth = program["smooth"]
    assert smooth is program.scops[0] is program[smooth.name]
    assert [s.name for s in program] == [smooth.name, "twice_scop0", "twice_scop1"]
    with pytest.raises(polytile.UsageError, match="there are 2 SCoPs in 'twice'") as error:
        program["twice"]
    assert error.value.hint == "the names are twice_scop0, twice_scop1"
    with pytest.raises(polytile.UsageError, match="there is no SCoP 'smoothe'") as error:
        program["smoothe"]
    assert smooth.name in str(error.value.hint)


def test_one_line_says_what_it_is(program: polytile.Program) -> None:
    names = ", ".join(s.name for s in program)
    assert repr(program) == f"<polytile.Program some/long/path/twice.c: {names}>"
    assert repr(program["twice_scop0"]) == (
        "<polytile.CompiledScop twice_scop0(int n, double a[n], double b[n]): 1 kernel>"
    )
    many = "".join(LOOP.replace(" f(", f" function_number_{k}_with_a_long_name(") for k in range(12))
    program = polytile.compile(many, name="x" * 300 + ".c", schedule="classic")
    assert all(len(text) < 200 and "\n" not in text for text in (repr(program), *map(repr, program)))


@pytest.mark.usefixtures("anew")
@pytest.mark.parametrize("again", [copy.deepcopy, copy.copy, lambda value: pickle.loads(pickle.dumps(value))])
def test_copies_are_compiled_anew(program: polytile.Program, again: Any) -> None:
    other = again(program)
    assert other is not program
    assert (other.cuda, other.host, other.options) == (program.cuda, program.host, program.options)
    scop = again(program["smooth"])
    assert scop.cuda == program["smooth"].cuda and scop.scop.source == program["smooth"].scop.source


@pytest.mark.usefixtures("anew")
def test_a_scop_without_c_is_pickled() -> None:
    scop = polytile.scop_from_isl(
        "scale",
        domain="[n] -> { S[i] : 0 <= i < n }",
        schedule="[n] -> { S[i] -> [i] }",
        reads="[n] -> { S[i] -> A[i] }",
        writes="[n] -> { S[i] -> A[i] }",
        bodies={"S": "A[i] *= 2;"},
        arrays=[Array("A", DOUBLE, (Name("n"),))],
    )
    compiled = polytile.compile_scop(scop, block="32")
    assert pickle.loads(pickle.dumps(compiled)).cuda == compiled.cuda


@pytest.mark.parametrize("tile", [8, "8", (8,), [8], np.int64(8), ("8",)])
def test_sizes(tile: Any) -> None:
    assert polytile.compile(LOOP, tile=tile).options.tile == (8,)
    assert polytile.compile(LOOP, tile="8, 4", block=[32]).options.tile == (8, 4)


WRONG = [
    ({"tyle": 8}, "there is no setting 'tyle'", "did you mean tile?"),
    ({"fp": "strict"}, "there is no setting 'fp'", "did you mean strict?"),
    ({"frobnicate": 8}, "there is no setting 'frobnicate'", "the settings are schedule, tile, "),
    ({"tile": 0}, "tile: 0 is out of range", "sizes run from 1"),
    ({"tile": "8x"}, "tile: '8x' is no list of sizes", 'write tile=8, tile=(8, 32) or tile="8,32"'),
    ({"tile": 8.5}, "tile: 8.5 is no list of sizes", "write tile=8"),
    ({"block": (8, None)}, "block: tuple is no list of sizes", "write block=8"),
    ({"block": 2048}, "block: 2048 = 2048 threads is larger than a GPU's block", "at most 1024 threads"),
    ({"time_tile": -1}, "time_tile: -1 is out of range", ""),
    ({"time_tile": "4"}, "time_tile must be an integer, not '4'", ""),
    ({"arch": 90}, 'arch must be a string, such as "sm_90", not 90', ""),
    ({"max_shared_memory": 10**9}, "max_shared_memory: a block of sm_90 cannot have 1000000000 bytes", "at most"),
    ({"load_schedule": 5}, "load_schedule must be the text of a schedule file, not 5", "Path(...).read_text()"),
    ({"strict": 3}, "strict must be True or False, not 3", ""),
    ({"schedule": b"auto"}, "schedule must be a string, not bytes", ""),
    ({"parameters": 5}, "parameters must be a mapping from names to integers, not 5", ""),
]


@pytest.mark.parametrize(("settings", "message", "hint"), WRONG, ids=[str(w[0]) for w in WRONG])
def test_wrong_settings_are_named_as_arguments(settings: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(polytile.UsageError) as error:
        polytile.compile(LOOP, **settings)
    assert error.value.message == message
    assert hint in str(error.value.hint or "") and "--" not in str(error.value)


def test_what_is_no_source() -> None:
    with pytest.raises(polytile.UsageError, match=r"must be C text or a pathlib\.Path, not bytes") as error:
        polytile.compile(LOOP.encode())  # type: ignore[arg-type]
    assert "decode" in str(error.value.hint)


def test_the_emulator_in_place_of_a_gpu_is_told_of_once(
    program: polytile.Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polytile.execution.cupy_available", lambda: False)
    a, b = np.zeros(20), np.arange(20.0)
    tell_of_the_emulator.cache_clear()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        program["twice_scop0"](a=a, b=b, on="emulator")
        assert not [one for one in told if one.category is RuntimeWarning]
        program["twice_scop0"](a=a, b=b)
        program["twice_scop1"](20, a, b, on="auto")
    assert np.array_equal(a, 2 * np.arange(20.0)) and np.array_equal(b, a + np.arange(20))
    (one,) = [one for one in told if one.category is RuntimeWarning]  # beside those of what is collected just now
    assert 'kernels run in the emulator, slowly (on="emulator" means it)' in str(one.message)
    assert one.filename == __file__


def test_places(program: polytile.Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polytile.runtime.engine.driver_arch", lambda: None)
    arrays = {"a": np.zeros(20), "b": np.zeros(20)}
    with pytest.raises(polytile.DeviceError, match="cannot run on the GPU: there is no GPU") as error:
        program["smooth"](**arrays, on="gpu")
    assert 'on="emulator"' in str(error.value.hint)
    with pytest.raises(polytile.UsageError, match="there is no place 'moon' to run on"):
        program["smooth"](**arrays, on="moon")


def test_an_argument_of_the_c_may_be_called_on() -> None:
    scop = polytile.compile(LOOP.replace("int n", "int on").replace("< n", "< on").replace("[n]", "[on]"))["f"]
    a = np.zeros(7)
    scop(on=5, a=a)
    assert list(a) == [0, 1, 2, 3, 4, 0, 0]


@pytest.mark.slow
def test_sums_of_a_thousand_terms_run_everywhere() -> None:
    total = " + ".join(f"p[i + {k % 9}]" for k in range(1200))
    text = f"void f(int n, int p[n + 9], int q[n])\n{{\nfor (int i = 0; i < n; i++) q[i] = {total};\n}}"
    scop = polytile.compile(text, autodetect=True)["f"]
    limit = sys.getrecursionlimit()
    assert scop.program is not None
    assert scop.validate(on="emulator")
    q = np.zeros(5, np.int32)
    scop(n=5, p=np.ones(14, np.int32), q=q, on="emulator")
    assert list(q) == [1200] * 5
    assert "q[i]" in scop.explain()
    assert sys.getrecursionlimit() == limit


def test_the_limit_on_recursion_is_for_whoever_still_needs_it() -> None:
    """It is one for all threads."""
    limit = sys.getrecursionlimit()
    with deep_recursion():
        with deep_recursion():
            pass
        assert sys.getrecursionlimit() > limit
    assert sys.getrecursionlimit() == limit


def test_a_kernel_of_one_instance_is_pickled() -> None:
    """isl prints a mark above a leaf as it does not read it."""
    tree = isl.Schedule('{ domain: "{ S[] }" }').get_root().first_child().insert_mark(isl.Id("kernel")).get_schedule()
    assert pickle.loads(pickle.dumps(tree)).to_str() == tree.to_str()
