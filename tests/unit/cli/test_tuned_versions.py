"""Where sizes are not known, a tuned schedule is a version that the host takes near those that it was measured with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import polytile
from polytile.check.checker import problems
from polytile.cli.main import main
from polytile.compiled_scop import CompiledScop
from polytile.diagnostics import UserError
from polytile.ir.version_conditions import NearSizes, split_tuned
from polytile.options import TunedVersion
from polytile.runtime.launches import each_version, launches_of
from tests.unit.cli.test_tuned import SIZES, STENCIL, text_of, tuned_file

ASKED: dict[str, Any] = {"schedule": "classic", "tile": (4, 32), "points": (1, 2, 1), "registers": 64}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("polytile.runtime.gpu_identity.gpu_identity", lambda: None)
    (tmp_path / "f.json").write_text(tuned_file(STENCIL, SIZES, **ASKED)[0].to_text())
    return tmp_path / "f.json"


def compiled(file: Path, **settings: Any) -> CompiledScop:
    return polytile.compile(STENCIL, name="x.c", tuned=file, **settings).scops[0]


def launched(scop: CompiledScop, **sizes: int) -> set[str]:
    assert scop.program is not None
    return {kernel.kernel for kernel in launches_of(scop.program, sizes) if kernel.launches}


TUNED = {"smooth_scop0_k0_tuned", "smooth_scop0_k1_tuned"}


@pytest.mark.slow(but=("sizes0-False", "sizes1-True"))
@pytest.mark.parametrize(
    ("sizes", "tuned"),
    [
        ({"n": 999, "steps": 100}, False),
        ({"n": 1000, "steps": 100}, True),
        ({"n": 4000, "steps": 1}, True),
        ({"n": 4001, "steps": 100}, False),
        ({"n": 2000, "steps": 100_000}, True),  # which does not decide
    ],
)
def test_the_host_takes_it_near_the_sizes_that_were_measured(file: Path, sizes: dict[str, int], tuned: bool) -> None:
    found = launched(compiled(file), **sizes)
    assert found == TUNED if tuned else found and not found & TUNED


def test_remarks_and_explanations_name_it(file: Path) -> None:
    scop = compiled(file)
    said = [remark.message for remark in scop.remarks]
    assert said[0].endswith("n = 2000, steps = 100; taken where 1000 <= n <= 4000")
    where = "sizes near n = 2000, steps = 100"
    assert said[-1].startswith(f"smooth_scop0: loaded schedule for {where}, 2 kernels; legality: proven")
    assert f"  {where}:" in scop.explain().splitlines()
    assert scop.program is not None
    assert {k.name for k in scop.facts.kernels} == {k.name for k in scop.program.kernels}
    assert "__maxnreg__(64)" in scop.cuda


@pytest.mark.slow
def test_known_sizes_need_no_version(file: Path) -> None:
    assert compiled(file, parameters={"n": 2000}).compilation.versions == ()
    assert len(compiled(file, parameters={"steps": 9}).compilation.versions) == 1


@pytest.mark.slow
def test_both_versions_are_validated(file: Path) -> None:
    scop = compiled(file)
    assert scop.program is not None and len(each_version(scop.program)) == 2
    (found,) = scop.validate(on="emulator", parameters={"n": 45, "steps": 3})
    assert {run.kernel for run in found.kernels if run.launches} >= TUNED | {"smooth_scop0_k0"}


@pytest.mark.slow
def test_a_saved_schedule_has_it(file: Path) -> None:
    scop = compiled(file)
    saved = scop.saved_schedule
    assert "# for sizes near n = 2000, steps = 100:\n# choices {" in saved
    again = polytile.compile(STENCIL, name="x.c", load_schedule=saved)
    assert text_of(again.scops[0].cuda) == text_of(scop.cuda)
    with pytest.raises(UserError, match="a size m, which is no parameter"):
        polytile.compile(STENCIL, load_schedule=saved.replace("near n =", "near m ="))


@pytest.mark.slow
def test_a_certificate_has_it(file: Path, tmp_path: Path) -> None:
    source, certificate = tmp_path / "x.c", tmp_path / "x.json"
    source.write_text(STENCIL)
    command = [str(source), "-o", str(tmp_path), "--tuned", str(file), "--certificate", str(certificate)]
    assert main([*command, "--no-cache"]) == 0
    tuned, general = json.loads(certificate.read_text())["scops"]
    assert tuned["for"] == "sizes near n = 2000, steps = 100" and "for" not in general
    assert list(problems(tuned)) == [] == list(problems(general))
    assert main(["check", str(certificate), "--source", str(source)]) == 0


def test_an_illegal_version_is_refused(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = file.read_text()
    assert "[(t)]" in text
    file.write_text(text.replace("[(t)]", "[(-t)]"))
    (tmp_path / "x.c").write_text(STENCIL)
    with pytest.raises(UserError) as error:
        compiled(file)
    assert main([str(tmp_path / "x.c"), "-o", str(tmp_path), "--tuned", str(file), "--no-cache"]) == 1
    said = capsys.readouterr().err
    assert error.value.message in said and "t=" in said.replace(" ", "")
    assert not list(tmp_path.glob("*.cu"))


@pytest.mark.slow
def test_what_copies_something_else_is_left_out(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polytile.stages.versions.for_sizes", lambda *_: None)
    scop = compiled(file)
    assert scop.compilation.versions == ()
    assert "no version for sizes near n = 2000, steps = 100: it keeps other arrays" in scop.remarks[-1].message


def test_ranges_are_half_to_twice_the_sizes() -> None:
    near = NearSizes((("n", 5), ("steps", 7)), frozenset("n"))
    assert near.ranges == (("n", 3, 10),)
    assert near.far({"n": 2, "steps": 99}) == ["n"] and near.far({"n": 3}) == [] == near.far({})


def test_texts_are_parted() -> None:
    assert split_tuned("domain: ..\n") == ("domain: ..\n", None)
    text = "a\n# for grids of fewer than 9 cells:\nb\n# for sizes near n = 8, m = -1:\n# choices {}\nc\n"
    own = "a\n# for grids of fewer than 9 cells:\nb\n"
    assert split_tuned(text) == (own, TunedVersion("# choices {}\nc\n", (("n", 8), ("m", -1))))
