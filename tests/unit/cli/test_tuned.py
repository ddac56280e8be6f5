"""Tuned schedules: taken where they hold, with a remark elsewhere, and proven like any schedule that is given."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import polytile
from polytile.cli.arguments import parse
from polytile.cli.prepare import prepare
from polytile.diagnostics import UsageError, UserError
from polytile.frontend.program import read_program
from polytile.runtime import gpu_identity
from polytile.runtime.gpu_identity import GpuIdentity
from polytile.scop_of_file import compile_one
from polytile.settings import options_of
from polytile.tuned_file import TunedFile, TunedMachine, read_tuned, tuned_scop

STENCIL = """void smooth(int n, int steps, double A[n][n], double B[n][n])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                B[i][j] = 0.2 * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i - 1][j] + A[i + 1][j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                A[i][j] = B[i][j];
    }
#pragma endscop
}
"""
PRODUCT = """void product(double A[96][64], double B[64][80], double C[96][80])
{
#pragma scop
    for (int i = 0; i < 96; i++)
        for (int j = 0; j < 80; j++)
            for (int k = 0; k < 64; k++)
                C[i][j] += A[i][k] * B[k][j];
#pragma endscop
}
"""
HERE = GpuIdentity("NVIDIA H200", "580.95.05")
SIZES = {"n": 2000, "steps": 100}
ASKED: dict[str, Any] = {"schedule": "tiled", "tile": (8, 64), "registers": 96}


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    on_gpu(monkeypatch, HERE)


def on_gpu(monkeypatch: pytest.MonkeyPatch, gpu: GpuIdentity | None) -> None:
    monkeypatch.setattr(gpu_identity, "gpu_identity", lambda: gpu)


def text_of(cuda: str) -> str:
    """Kernels without the name of the strategy in their comments."""
    return re.sub(r"(?m)^ *// .*schedule(;.*)?$", "", cuda)


def tuned_file(text: str, sizes: dict[str, int], **asked: Any) -> tuple[TunedFile, str]:
    """What tuning would write when these choices are fastest, and their kernels."""
    source = read_program("x.c", text)
    options = options_of({**asked, "parameters": sizes})
    (scop,) = source.scops
    found = compile_one(source, scop, options)
    assert not isinstance(found, Exception)
    times = {"milliseconds": 1.25, "default_milliseconds": 2.0, "evaluations": 40, "date": "2026-11-30"}
    one = tuned_scop(scop, options, found.saved_schedule, sizes, point={"rows": 2}, **times)
    return TunedFile(TunedMachine("sm_90", HERE.name, HERE.driver, "NVRTC 13.0"), (one,)), text_of(found.cuda)


@pytest.fixture
def product(tmp_path: Path) -> tuple[Path, str]:
    file, kernels = tuned_file(PRODUCT, {}, **ASKED)
    (tmp_path / "x.tuned.json").write_text(file.to_text())
    return tmp_path / "x.tuned.json", kernels


def remark(program: polytile.Program) -> str:
    return program.scops[0].remarks[0].message


def changed(file: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))
    return file


def test_a_file_is_read_as_it_was_written() -> None:
    file, _ = tuned_file(STENCIL, SIZES, registers=64, disable_pass=("loop-carry",))
    assert read_tuned(file.to_text(), "F") == replace(file, name="F")


def test_the_kernels_are_those_that_were_measured(product: tuple[Path, str]) -> None:
    file, kernels = product
    found = polytile.compile(PRODUCT, name="x.c", tuned=file)
    plain = polytile.compile(PRODUCT, name="x.c")
    assert text_of(found.scops[0].cuda) == kernels != text_of(plain.scops[0].cuda)
    assert remark(found) == (
        "product_scop0: tuned, 1.25 ms beside 2 of the compiler's own choice on NVIDIA H200"
    )
    assert "__maxnreg__(96)" in found.cuda
    assert "proven" in found.scops[0].remarks[-1].message
    (validated,) = found.scops[0].validate(on="emulator")
    assert validated.unrun == ()


@pytest.mark.slow(but="classic")
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"schedule": "overlapped", "time_tile": 4},
        {"schedule": "split", "time_tile": 8},
        {"schedule": "classic", "tile": (4, 32), "points": (1, 2, 1)},
        {"registers": 64, "max_shared_memory": 100_000, "graphs": False},
    ],
    ids=["auto", "overlapped", "split", "classic", "registers"],
)
def test_each_strategy_comes_back(tmp_path: Path, asked: dict[str, Any]) -> None:
    file, kernels = tuned_file(STENCIL, SIZES, **asked)
    (tmp_path / "f").write_text(file.to_text())
    found = polytile.compile(STENCIL, name="x.c", tuned=tmp_path / "f", parameters=SIZES)
    assert text_of(found.scops[0].cuda) == kernels
    assert remark(found).endswith("on NVIDIA H200, n = 2000, steps = 100")
    again = polytile.compile(STENCIL, name="x.c", tuned=str(tmp_path / "f"), parameters={"n": 1000, "steps": 9})
    assert "tuned, 1.25 ms" in remark(again)


@pytest.mark.slow
def test_options_that_ask_for_something_count_more(product: tuple[Path, str]) -> None:
    found = polytile.compile(PRODUCT, tuned=product[0], registers=128, schedule="classic")
    assert "__maxnreg__(128)" in found.cuda and "tuned, 1.25 ms" in remark(found)


def test_options_for_schedules_hold_where_the_file_says_nothing(product: tuple[Path, str]) -> None:
    """They neither change what was measured nor are they lost: a remark says which are not asked."""
    asked: dict[str, Any] = {"schedule": "classic", "tile": (16, 16)}
    taken = polytile.compile(PRODUCT, name="x.c", tuned=product[0], **asked)
    assert text_of(taken.scops[0].cuda) == product[1]
    assert remark(taken).endswith("on NVIDIA H200; --schedule and --tile say nothing here")
    elsewhere = polytile.compile(PRODUCT, name="x.c", tuned=product[0], arch="sm_80", **asked)
    assert "the schedule is that of --schedule and --tile: " in remark(elsewhere)
    plain = polytile.compile(PRODUCT, name="x.c", arch="sm_80", **asked)
    assert elsewhere.scops[0].schedule == plain.scops[0].schedule


@pytest.mark.slow
def test_options_for_schedules_hold_for_sizes_that_were_not_measured(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(tuned_file(STENCIL, SIZES, schedule="overlapped", time_tile=2)[0].to_text())
    found = polytile.compile(STENCIL, name="x.c", tuned=tmp_path / "f", schedule="classic")
    assert remark(found).endswith("; taken where 1000 <= n <= 4000, --schedule elsewhere")
    assert found.scops[0].schedule == polytile.compile(STENCIL, name="x.c", schedule="classic").scops[0].schedule


@pytest.mark.slow(
    but=(
        "<lambda>-settings0-on NVIDIA H100, and this is NVIDIA H200",
        "<lambda>-settings6-it has changed since ",
    )
)
@pytest.mark.parametrize(
    ("change", "settings", "said"),
    [
        (lambda f: f["machine"].update(gpu="NVIDIA H100"), {}, "on NVIDIA H100, and this is NVIDIA H200"),
        (lambda f: f["machine"].update(driver="570.1"), {}, "with driver 570.1, and this is 580.95.05"),
        (lambda f: f["machine"].update(polytile="9"), {}, f"with polytile 9, and this is {polytile.__version__}"),
        (lambda f: None, {"arch": "sm_80"}, "for sm_90, and this is sm_80"),
        (lambda f: None, {"strict": True}, "with strict=False, and this is strict=True"),
        (lambda f: None, {"cflags": "-fwrapv"}, "with cflags=, and this is cflags=-fwrapv"),
        (lambda f: f["scops"][0].update(source="0"), {}, "it has changed since "),
        (lambda f: f["scops"][0].update(name="other"), {}, "does not have it"),
        (lambda f: f["scops"].clear(), {}, "does not have it"),
    ],
)
def test_elsewhere_there_is_a_remark_and_the_default(
    product: tuple[Path, str], change: Callable[[dict[str, Any]], None], settings: dict[str, Any], said: str
) -> None:
    found = polytile.compile(PRODUCT, tuned=changed(product[0], change), **settings)
    assert said in remark(found) and "the schedule is the compiler's own choice: " in remark(found)
    assert found.scops[0].schedule == polytile.compile(PRODUCT, **settings).scops[0].schedule


def test_without_a_gpu_the_architecture_counts(product: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    on_gpu(monkeypatch, None)
    assert "tuned, 1.25 ms" in remark(polytile.compile(PRODUCT, tuned=product[0]))
    assert "and this is sm_80" in remark(polytile.compile(PRODUCT, tuned=product[0], arch="sm_80"))


@pytest.mark.slow
def test_far_sizes_get_the_default(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(tuned_file(STENCIL, SIZES, **ASKED)[0].to_text())
    for n, near in ((999, False), (1000, True), (4000, True), (4001, False)):
        found = polytile.compile(STENCIL, tuned=tmp_path / "f", parameters={"n": n, "steps": 5000})
        assert ("tuned, 1.25" in remark(found)) == near
        assert near or f"with n = 2000, and {n} is not near that" in remark(found)


def test_comments_and_places_do_not_make_another_scop(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(tuned_file(PRODUCT, {}, **ASKED)[0].to_text())
    moved = "/* more */\n\n" + PRODUCT.replace("for (int k", "/* inner */  for (int k")
    assert "tuned, 1.25" in remark(polytile.compile(moved, tuned=tmp_path / "f"))
    for text in (PRODUCT.replace("64; k", "63; k"), PRODUCT.replace("double A", "float A")):
        assert "it has changed" in remark(polytile.compile(text, tuned=tmp_path / "f"))


ILLEGAL = """void sum(double A[100])
{
#pragma scop
    for (int i = 1; i < 100; i++)
        for (int j = 0; j < 100; j++)
            A[j] = A[j] + i;
#pragma endscop
}
"""


def test_an_edited_schedule_is_refused_with_a_pair_of_iterations(tmp_path: Path) -> None:
    file, _ = tuned_file(ILLEGAL, {}, schedule="classic")

    def backwards(content: dict[str, Any]) -> None:
        lines = content["scops"][0]["schedule"]
        assert any("-> [(i)]" in line for line in lines)
        content["scops"][0]["schedule"] = [line.replace("-> [(i)]", "-> [(-i)]") for line in lines]

    (tmp_path / "f").write_text(file.to_text())
    changed(tmp_path / "f", backwards)
    with pytest.raises(UserError, match=r"illegal|before") as error:
        polytile.compile(ILLEGAL, name="x.c", tuned=tmp_path / "f")
    assert error.value.location is not None and error.value.location.line
    loaded = polytile.compile(ILLEGAL, name="x.c", schedule="classic")
    schedule = loaded.schedules.replace("-> [(i)]", "-> [(-i)]")
    with pytest.raises(UserError) as other:
        polytile.compile(ILLEGAL, name="x.c", load_schedule=schedule)
    assert other.value.message == error.value.message


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"polytile_tuned": 1}', '{"polytile_tuned": 1, "machine": 3}', "\x00"]
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "f").write_text(text)
    with pytest.raises(UsageError, match="has no tuned schedules") as error:
        polytile.compile(PRODUCT, tuned=tmp_path / "f")
    assert error.value.hint == "name a file that `polytile tune` has written"


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "change", [{"milliseconds": "1"}, {"default_milliseconds": []}, {"name": 3}, {"source": None}, {"sizes": {"n": ""}}]
)
def test_fields_of_other_types_are_refused(product: tuple[Path, str], change: dict[str, Any]) -> None:
    file = changed(product[0], lambda content: content["scops"][0].update(change))
    with pytest.raises(UsageError, match="has no tuned schedules"):
        polytile.compile(PRODUCT, tuned=file)


def test_negative_sizes_are_near_those_of_half_and_twice_the_amount(tmp_path: Path) -> None:
    text = "void f(int m, double A[64])\n{\n#pragma scop\n" + (
        "    for (int i = 0; i < 64; i++)\n        if (i > m)\n            A[i] = 0;\n#pragma endscop\n}\n"
    )
    (tmp_path / "f").write_text(tuned_file(text, {"m": -8}, schedule="classic")[0].to_text())
    for m, near in ((-3, False), (-4, True), (-16, True), (-17, False), (5, False)):
        found = polytile.compile(text, tuned=tmp_path / "f", parameters={"m": m})
        assert ("tuned, 1.25" in remark(found)) == near
        assert near or f"with m = -8, and {m} is not near that" in remark(found)


def test_what_is_wrong_with_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*none: No such file"):
        polytile.compile(PRODUCT, tuned=tmp_path / "none")
    (tmp_path / "f").write_text('{"polytile_tuned": 2}')
    with pytest.raises(UsageError, match=r"error: \S+ was written by another version of polytile"):
        polytile.compile(PRODUCT, tuned=tmp_path / "f")
    with pytest.raises(UsageError, match="int is no path"):
        polytile.compile(PRODUCT, tuned=3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="both say what the schedules are"):
        polytile.compile(PRODUCT, tuned=tmp_path / "f", load_schedule="x")
    with pytest.raises(UsageError, match="both say what the schedules are"):
        prepare(parse(["x.c", "--tuned", "f", "--load-schedule", "g"]))


def test_kernels_for_some_values_alone_are_for_these(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(tuned_file(STENCIL, SIZES, specialize=True, schedule="classic")[0].to_text())
    for n, said in ((2000, "tuned, 1.25 ms"), (2001, "with kernels for other values alone")):
        sizes = {**SIZES, "n": n}
        assert said in remark(polytile.compile(STENCIL, tuned=tmp_path / "f", parameters=sizes, specialize=True))
