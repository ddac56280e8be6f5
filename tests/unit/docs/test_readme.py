"""The documentation is true: its Python runs, its options exist, its C is accepted, its kernel is the one written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import polytile
from polytile.cli.main import main
from polytile.codegen.targets.cuda.cuda import print_kernel
from polytile.diagnostics import OpaqueCallError

ROOT = Path(__file__).resolve().parents[3]
README = ROOT / "README.md"
OPTIONS = (README, ROOT / "docs" / "command-line.md")
LANGUAGE = ROOT / "docs" / "input-language.md"


def blocks(file: Path, language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", file.read_text(), re.MULTILINE | re.DOTALL)


def names(text: str) -> set[str]:
    """The options in a text: `-v, --verbose`."""
    return set(re.findall(r"(?<![\w-])--?[A-Za-z][a-z-]*", text))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(blocks(README, "python"))))
def test_python_examples_run(number: int, tmp_path: Path) -> None:
    (tmp_path / "polybench").symlink_to(ROOT / "polybench")
    script = tmp_path / "example.py"
    script.write_text(blocks(README, "python")[number])
    environment = {**os.environ, "PYTHONPATH": str(Path(polytile.__file__).parents[1])}
    command = [sys.executable, str(script)]
    finished = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout


@pytest.mark.parametrize("file", OPTIONS, ids=lambda f: f.name)
def test_every_option_is_listed_and_every_listed_one_exists(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    known = [names(line) for line in re.findall(r"^  (-.*?)(?:  .*)?$", capsys.readouterr().out, re.MULTILINE)]
    tables = [line.partition("|")[2].split(" | ")[0] for line in file.read_text().splitlines() if line.startswith("|")]
    listed = {name for cell in tables for name in names(cell)}
    assert {name for option in known for name in option} >= listed
    assert [option for option in known if not listed & option] == []


@pytest.mark.slow
@pytest.mark.parametrize("text", blocks(LANGUAGE, "c"), ids=lambda text: " ".join(text.split())[:40])
def test_c_examples_are_right(text: str, tmp_path: Path) -> None:
    device = tmp_path / "device.cu"
    device.write_text("".join(blocks(LANGUAGE, "cuda")))
    autodetect = "#pragma scop" not in text
    program = polytile.compile(text, name="example.c", autodetect=autodetect, device_source=device)
    assert [str(refusal) for refusal in program.refusals if not isinstance(refusal, OpaqueCallError)] == []
    assert [found.scop for scop in program.scops for found in scop.validate(on="emulator", seed=1)]


def hot_loop(kernel: str) -> str:
    """The first loop of a kernel that runs batches."""
    found = re.search(r"^( *)for \(int k0 .*?^\1}$", kernel, re.MULTILINE | re.DOTALL)
    assert found is not None
    return textwrap.dedent(found.group())


def full_tile(loop: str) -> str:
    """What a hot loop does for a tile without borders."""
    found = re.search(r"^( *)if \(16 \* k0 \+ 16 <= nk\) \{\n(.*?)^\1\} else", loop, re.MULTILINE | re.DOTALL)
    assert found is not None
    return textwrap.dedent(found[2]).rstrip()


def test_kernel_in_the_documentation(request: pytest.FixtureRequest) -> None:
    program = polytile.compile(ROOT / "polybench" / "polybench" / "gemm.c").scops[0].program
    assert program is not None
    loop = hot_loop(print_kernel(program.kernels[0]))
    for page, kernel in ((ROOT / "docs" / "generated-code.md", loop), (README, full_tile(loop))):
        text, shown = page.read_text(), f"```cuda\n{kernel}\n```"
        if request.config.getoption("--update-golden"):
            text = re.sub(r"^```cuda\n.*?^```$", lambda _, shown=shown: shown, text, flags=re.MULTILINE | re.DOTALL)
            page.write_text(text)
        assert shown in text, f"{page}: run pytest --update-golden and look at the difference"


def test_explanation_in_the_readme() -> None:
    """The numbered source in the block is what is compiled, and what is explained of it."""
    shown = next(block for block in blocks(README, "text") if "|" in block)
    source = "void row_sums(int n, double A[n][n], double B[n][n])\n{\n"
    source += "\n".join(re.findall(r"^ *\d+ \|[^|]*\| (.*)$", shown, re.MULTILINE)) + "\n}\n"
    assert polytile.compile(source, name="rows.c").explain().startswith(shown)


def test_refusal_in_the_readme() -> None:
    squares = "    for (int i = 0; i < n; i++)\n        B[i * i] = A[i];\n"
    source = f"void f(int n, double *A, double *B)\n{{\n#pragma scop\n{squares}#pragma endscop\n}}\n"
    with pytest.raises(polytile.UserError) as refusal:
        polytile.compile(source, name="two.c")
    assert f"```text\n{refusal.value}\n```" in README.read_text()
