"""`polytile tune`: its words, its lines, its files and its exit status. Times are made up."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from polytile.autotuning import scop_search, spaces
from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.record import ENDING
from polytile.autotuning.search.named import SEARCHES
from polytile.autotuning.space import Point
from polytile.cli.main import main
from polytile.cli.tune import arguments, command
from polytile.diagnostics import EXIT_DEVICE, EXIT_DONE, EXIT_USAGE, EXIT_USER, DeviceError
from polytile.runtime.driver import driver_arch
from tests.unit.autotuning.made_up_bench import BEST, MadeUpBench, outcome_of
from tests.unit.report.html_checks import checked

TWO = """
void scale(int n, double *a, double *b)
{
#pragma scop
    for (int i = 0; i < n; i++)
        b[i] = 2.0 * a[i];
#pragma endscop
}

void add(int n, int m, double *a, double *b)
{
#pragma scop
    for (int i = 0; i < n; i++)
        b[i] = a[i] + a[i + m];
#pragma endscop
}

int main(void) { return 0; }
"""
SERIAL = """
void walk(int n, int *next, int *order)
{
#pragma scop
    for (int i = 1; i < n; i++)
        order[i] = next[order[i - 1]];
#pragma endscop
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "two.c"
    file.write_text(TWO)
    return file


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> MadeUpBench:
    """What is tuned on in place of a GPU."""
    made = MadeUpBench()
    monkeypatch.setattr(command, "require_gpu", lambda: None)
    monkeypatch.setattr(command, "evaluator", made.evaluator)
    monkeypatch.setattr(scop_search, "space_of", made.space)
    return made


def tune(*words: object) -> int:
    return main(["tune", *map(str, words)])


@pytest.mark.slow
def test_where_nothing_runs_times_may_be_zero(
    source: Path, bench: MadeUpBench, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bench.outcome = lambda point: replace(outcome_of(point), milliseconds=(0.0, 0.0))
    page, record = tmp_path / "page.html", tmp_path / "record.jsonl"
    words = ("--param", "n=0", "--scop", "scale", "--record", record, "--report", page, "--evaluations", "1")
    assert tune(source, *words, "--search", "model") == EXIT_DONE
    out = capsys.readouterr().out
    assert "1.00 times as fast" in out and "; 1 evaluation in " in out
    assert checked(page.read_text())
    for search in SEARCHES:
        assert tune(source, *words[:-1], "9", "--search", search, "--json") == EXIT_DONE
        assert json.loads(capsys.readouterr().out)["scops"][0]["speedup"] == 1.0


def test_each_scop_is_tuned_and_the_result_can_be_typed(
    source: Path, bench: MadeUpBench, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune(source, "--param", "n=4000", "--param", "m=7") == EXIT_DONE
    lines = capsys.readouterr().out.splitlines()
    assert [dict(workload.sizes) for workload in bench.workloads] == [{"n": 4000}, {"n": 4000, "m": 7}]
    assert "scale_scop0: measured 2.00 ms: the default" in lines
    assert "1 of 9: measured 1.75 ms, 1.14 times as fast: classic: tile 8, block 32" in lines
    assert "3 of 9: resources: classic: tile 8, block 128: 300 registers of 255" in lines
    assert "scale_scop0: the best 5 and the default are timed again, in turns" in lines
    (found,) = (line for line in lines if line.startswith("scale_scop0: 1.00 ms"))
    assert "2.00 times as fast as the default (2.00 ms); 9 evaluations in " in found
    assert lines[lines.index(found) + 1] == "  --schedule classic --tile 16 --block 64"
    assert lines[lines.index(found) + 2] == "  7 measured, 3 resources"
    written = source.with_name("two.tuned.json")
    assert lines[-2] == f"wrote {written}; all that was measured is in {source}.tune.jsonl"
    assert lines[-1] == f"next: polytile {source} --tuned {written} --build two"
    assert written.exists() and all(evaluator.closed for evaluator in bench.evaluators)


@pytest.mark.skipif(driver_arch() is not None, reason="the times are of a GPU that was made up")
def test_the_result_is_taken_by_the_command_that_is_printed(
    source: Path, bench: MadeUpBench, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune(source, "--param", "n=4000", "--param", "m=7", "-q") == EXIT_DONE
    command = capsys.readouterr().out.splitlines()[-1].removeprefix("next: polytile ")
    words = command.partition(" --build")[0].split()
    assert main([*words, "-o", str(source.parent / "out")]) == EXIT_DONE
    said = "".join(capsys.readouterr())
    assert "scale_scop0: tuned, 1 ms beside 2 of the compiler's own choice on made up, n = 4000" in said
    assert "add_scop0: tuned, " in said
    kernels = (source.parent / "out" / "two_kernel.cu").read_text()
    assert "__launch_bounds__(64) scale_scop0_k0_tuned(" in kernels and "__launch_bounds__(64) add_scop0_k0" in kernels


def test_the_same_command_measures_nothing_twice(
    source: Path, bench: MadeUpBench, capsys: pytest.CaptureFixture[str]
) -> None:
    words = source, "--scop", "scale", "--param", "n=4000", "--search", "exhaustive"
    assert tune(*words, "--evaluations", "4") == EXIT_DONE
    first = capsys.readouterr().out
    assert tune(*words) == EXIT_DONE
    second = capsys.readouterr().out
    assert "4 evaluations in " in first and "known" not in first
    assert "9 evaluations in " in second and "4 of them known from earlier" in second
    assert len(bench.evaluators[0].asked) == 5 and len(bench.evaluators[1].asked) == 5
    assert not set(bench.evaluators[0].asked) & set(bench.evaluators[1].asked)


@pytest.mark.parametrize("option", ["--output", "--record", "--report"])
@pytest.mark.parametrize("place", ["/proc/x.html", "/proc/no/x.html", "{}/two.c/x.html"])
def test_files_that_cannot_be_made_are_told_before_anything_is_measured(
    source: Path, bench: MadeUpBench, capsys: pytest.CaptureFixture[str], option: str, place: str
) -> None:
    assert tune(source, "--param", "n=4000", "--param", "m=7", option, place.format(source.parent)) == EXIT_USER
    out, err = capsys.readouterr()
    assert not out and not bench.evaluators and "  note: " in err
    assert "cannot write /proc/" in err or "is not a folder" in err or "cannot be written" in err


def test_quiet_prints_what_was_found_alone(
    source: Path, bench: MadeUpBench, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune(source, "--scop", "scale", "--param", "n=4000", "-q") == EXIT_DONE
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "scale_scop0",
        "  --schedule classic --tile 16 --block 64",
        "  7 measured, 3 resources",
        lines[3].split(":")[0],
        "next",
    ]


def test_json_is_one_object(source: Path, bench: MadeUpBench, capsys: pytest.CaptureFixture[str]) -> None:
    report = source.with_name("two.html")
    assert tune(source, "--scop", "add", "--param", "n=40", "--param", "m=3", "--json", "--report", report) == EXIT_DONE
    found = json.loads(capsys.readouterr().out)
    (scop,) = found["scops"]
    assert scop["name"] == "add_scop0" and scop["sizes"] == {"n": 40, "m": 3}
    assert scop["point"] == dict(BEST) and scop["speedup"] == 2.0 and scop["milliseconds"] == 1.0
    assert scop["choices"] == {"schedule": "classic", "tile": [16], "block": [64]}
    assert scop["outcomes"] == {"measured": 7, "resources": 3} and scop["points"] == 9
    assert found["exit_status"] == 0 and found["next"].startswith("polytile ")
    assert found["files"] == [str(source.with_name("two.tuned.json")), str(report)]
    assert "add_scop0" in checked(report.read_text()).words


def test_a_default_that_nothing_beats_stays(
    source: Path, bench: MadeUpBench, capsys: pytest.CaptureFixture[str]
) -> None:
    def slower(point: Point) -> Outcome:
        return Outcome((), Status.MEASURED, milliseconds=(0.5,), key="d") if not point else outcome_of(point)

    bench.outcome = slower
    assert tune(source, "--scop", "scale", "--param", "n=4000", "-q") == EXIT_DONE
    assert "scale_scop0: the default, 0.500 ms, is not beaten; 9 evaluations" in capsys.readouterr().out


def test_ctrl_c_keeps_what_was_found(
    source: Path, bench: MadeUpBench, capsys: pytest.CaptureFixture[str]
) -> None:
    def until(point: Point) -> Outcome:
        if point == BEST:
            raise KeyboardInterrupt
        return outcome_of(point)

    bench.outcome = until
    assert tune(source, "--param", "n=40", "--param", "m=3") == command.EXIT_INTERRUPTED
    out = capsys.readouterr().out
    assert "scale_scop0: interrupted; " in out and "add_scop0" not in out
    assert source.with_name("two.tuned.json").exists()


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--param", "n=4"], EXIT_USAGE, "add --param m=N"),
        ([], EXIT_USAGE, "add --param n=N"),
        (["--param", "n=4", "--param", "k=4"], EXIT_USAGE, "there is no parameter 'k'"),
        (["--param", "n"], EXIT_USAGE, "not a parameter and its value"),
        (["--scop", "other"], EXIT_USAGE, "the names are scale_scop0, add_scop0"),
        (["--search", "best"], EXIT_USAGE, "--search"),
        (["--space", "best"], EXIT_USAGE, "some of classic,superposed"),
        (["--report", "page.txt"], EXIT_USAGE, "--report FILE.html"),
        (["--jobs", "0"], EXIT_USAGE, "the least value is 1"),
        (["--parm", "n=4"], EXIT_USAGE, "did you mean --param?"),
        (["-D", "2"], EXIT_USAGE, "a macro needs a name"),
        (["--fp", "strict", "--atomics", "--param", "n=4"], EXIT_USAGE, "one of the two"),
        (["--output", "two.c"], EXIT_USER, "would overwrite the input"),
        (["--output", "same.html", "--report", "same.html"], EXIT_USER, "two outputs are called same.html"),
    ],
)
def test_wrong_words(
    words: list[str],
    status: int,
    message: str,
    source: Path,
    bench: MadeUpBench,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(source.parent)
    assert tune("two.c", *words) == status
    assert message in capsys.readouterr().err
    assert not bench.evaluators


def test_a_scop_that_fails_leaves_what_others_have_found(
    source: Path, bench: MadeUpBench, capsys: pytest.CaptureFixture[str]
) -> None:
    def lost(point: Point) -> Outcome:
        if len(bench.workloads) == 2:
            raise DeviceError("the GPU is gone")
        return outcome_of(point)

    bench.outcome = lost
    assert tune(source, "--param", "n=40", "--param", "m=3") == EXIT_DEVICE
    said = capsys.readouterr()
    assert "the GPU is gone" in said.err and "scale_scop0: 1.00 ms" in said.out
    assert source.with_name("two.tuned.json").exists()


def test_a_space_without_points_is_an_error(
    source: Path, bench: MadeUpBench, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune(source, "--param", "n=40", "--param", "m=3", "--space", "split,streaming") == EXIT_USER
    assert "scale_scop0 has no kernels of split, streaming to choose from" in capsys.readouterr().err


def test_spaces_are_those_that_there_are() -> None:
    assert arguments.SPACES == spaces.PARTS and arguments.SEARCHES == SEARCHES
    assert arguments.RECORD_ENDING == ENDING


def test_standard_input_cannot_be_tuned(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("-") == EXIT_USAGE
    assert "name a C file" in capsys.readouterr().err


def test_without_kernels_there_is_nothing_to_tune(
    tmp_path: Path, bench: MadeUpBench, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "walk.c"
    file.write_text(SERIAL)
    assert tune(file, "--param", "n=100") == EXIT_USER
    assert "nothing to tune" in capsys.readouterr().err


@pytest.mark.skipif(driver_arch() is not None, reason="there is a GPU")
def test_without_a_gpu_it_says_what_it_needs(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(source, "--param", "n=4", "--param", "m=1") == EXIT_DEVICE
    message = capsys.readouterr().err
    assert "NVIDIA GPU" in message and "CuPy" in message


def test_wrong_words_are_in_the_json_object_too(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(source, "--json", "--jobs", "0") == EXIT_USAGE
    found = json.loads(capsys.readouterr().out)
    assert found["diagnostics"][0]["message"] == "--jobs: 0 is too small"


@pytest.mark.skipif(driver_arch() is not None, reason="there is a GPU")
def test_errors_are_in_the_json_object(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(source, "--param", "n=4", "--param", "m=1", "--json") == EXIT_DEVICE
    found = json.loads(capsys.readouterr().out)
    assert found["exit_status"] == EXIT_DEVICE and found["diagnostics"][0]["severity"] == "error"
