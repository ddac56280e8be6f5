"""The comparison of `polytile cc` with the C compiler: what it says of programs that agree and of those that differ."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polybench import conformance

LOOP = "int a[100]; int main(void) { for (int i = 0; i < 100; i++) a[i] = 2 * i; return a[7]; }"
# polytile's option -DOURS makes the second build another program.
PROGRAMS = {
    "kernels": (LOOP, conformance.KERNELS),
    "host": ("int main(void) { return 3; }", conformance.HOST),
    "status": ("int main(void) {\n#ifdef OURS\nreturn 1;\n#endif\nreturn 0; }", conformance.DIFFERS),
    "signal": ("void abort(void); int main(void) {\n#ifdef OURS\nabort();\n#endif\nreturn 0; }", conformance.CRASHES),
    "build": ("int main(void) {\n#ifdef OURS\nreturn x;\n#endif\nreturn 0; }", conformance.NOT_BUILT),
    "wrong C": ("int main(void) { return x; }", conformance.NO_REFERENCE),
    "unstable": (
        'int printf(const char *, ...); int getpid(void); int main(void) { printf("%d", getpid()); return 0; }',
        conformance.NO_REFERENCE,
    ),
}


def _rows(file: Path) -> dict[str, str]:
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return {Path(row["program"]).stem: row["outcome"] for row in rows}


@pytest.mark.slow
def test_each_kind_of_outcome(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite, results = tmp_path / "suite", tmp_path / "results.jsonl"
    suite.mkdir()
    for name, (text, _) in PROGRAMS.items():
        (suite / f"{name}.c").write_text(text + "\n")
    words = [str(suite), "--options=-DOURS", "--json", str(results)]
    assert conformance.main(words) == 1
    assert _rows(results) == {name: outcome for name, (_, outcome) in PROGRAMS.items()}
    assert f"signal.c: {conformance.CRASHES}: status -6 for 0" in capsys.readouterr().out
    before = results.read_bytes()
    assert conformance.main(words) == 1  # nothing is tried again
    assert results.read_bytes() == before


def test_agreement_is_status_0(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(LOOP + "\n")
    assert conformance.main([str(tmp_path)]) == 0
