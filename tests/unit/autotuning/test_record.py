"""Records: what is kept is found again, by the point and by the kernels; claims; lines of others; damage."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from polytile.autotuning import record as claims
from polytile.autotuning.conditions import Conditions, kernel_key, source_key
from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.record import Record, read_record
from polytile.autotuning.record_lines import Claim, to_line
from polytile.diagnostics import UsageError
from polytile.options import Options

POINT = (("schedule", "tiled"), ("rows", 2), ("ring", True))
HERE = Conditions({"n": 512}, "H200", "580.1", "nvrtc 13.0", ("-arch=sm_90",))
OUTCOME = Outcome(
    POINT, Status.MEASURED, "", (1.5, 1.25), "k1", 1.0, (32, 40), (0, 8), (1024, 0), {"compile": 0.5}, bound="memory"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.tune.jsonl"


def test_what_is_kept_is_found_by_the_point_and_by_the_kernels(path: Path) -> None:
    with Record(path, "s", HERE) as record:
        assert record.find(POINT) is None
        record.append(OUTCOME)
    with Record(path, "s", HERE) as record:
        expected = replace(OUTCOME, reused=True)
        assert record.find(POINT) == record.find(tuple(reversed(POINT))[::-1]) == expected
        assert record.known("k1") == expected
        assert record.find(POINT[:2]) is None
    with Record(path, "another source", HERE) as record:
        assert record.find(POINT) is None and record.known("k1") is not None
    with Record(path, None, HERE) as record:
        assert record.find(POINT) is None
    [entry] = read_record(path)
    assert entry.outcome == OUTCOME and entry.conditions == HERE and entry.source == "s" and entry.date


def test_a_line_is_an_object_of_json_with_all_of_it(path: Path) -> None:
    with Record(path, "s", HERE) as record:
        record.append(OUTCOME)
    [line] = path.read_text().splitlines()
    found = json.loads(line)
    assert found["version"] == 1 and found["point"] == {"schedule": "tiled", "rows": 2, "ring": True}
    assert found["gpu"] == "H200" and found["sizes"] == {"n": 512} and found["milliseconds"] == [1.5, 1.25]


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.HELD])
def test_every_kind_of_outcome_comes_back(path: Path, status: Status) -> None:
    one = Outcome(POINT, status, "why", key="" if status is Status.REFUSED else "k")
    with Record(path, "s", HERE) as record:
        record.append(one)
        record.append(Outcome((), Status.HELD, key="other"))
    assert [e.outcome for e in read_record(path)] == [one]


def test_a_claim_holds_until_there_is_an_outcome(path: Path) -> None:
    with Record(path, "s", HERE) as one, Record(path, "s", HERE) as other:
        assert one.known("k1") is None
        for record in (one, other):
            held = record.known("k1")
            assert held is not None and held.status is Status.HELD and held.key == "k1"
            assert record.look("k1") == held
        one.append(OUTCOME)
        found = other.known("k1")
        assert found is not None and found.milliseconds == OUTCOME.milliseconds
        assert other.look("k2") is None is other.known("k2")


def test_a_claim_is_given_up_at_the_end(path: Path) -> None:
    with Record(path, "s", HERE) as one:
        assert one.known("k1") is None
    with Record(path, "s", HERE) as other:
        assert other.known("k1") is None


def test_claims_of_the_dead_do_not_hold(path: Path) -> None:
    child = os.fork()
    if child == 0:
        Record(path, "s", HERE).known("k1")
        os._exit(0)
    os.waitpid(child, 0)
    with Record(path, "s", HERE) as record:
        assert record.known("k1") is None


@pytest.mark.parametrize(
    ("change", "held"),
    [
        ({}, True),
        ({"started": "before"}, False),  # another process had the same number
        ({"time": claims.HELD_SECONDS + 1}, False),
        ({"host": "elsewhere"}, True),
        ({"host": "elsewhere", "time": claims.HELD_SECONDS + 1}, False),
        ({"released": True}, False),
    ],
)
def test_which_claims_hold(change: dict[str, object], held: bool) -> None:
    claim = claims.own_claim("k")
    aged = change.pop("time", 0.0)
    assert isinstance(aged, float)
    assert claims.holds(replace(claim, time=claim.time - aged, **change)) == held  # type: ignore[arg-type]


def test_a_torn_line_is_dropped_and_cut_off(path: Path) -> None:
    with Record(path, "s", HERE) as record:
        record.append(OUTCOME)
        whole = path.read_bytes()
        with open(path, "ab") as file:
            file.write(whole[: len(whole) // 2])
        assert record.find(POINT) is not None and path.read_bytes() == whole
        with open(path, "ab") as file:
            file.write(b'{"ver')
        record.append(replace(OUTCOME, point=(), key="k2"))
    assert [e.outcome.point for e in read_record(path)] == [POINT, ()]
    path.write_bytes(path.read_bytes()[:-1])
    assert [e.outcome.point for e in read_record(path)] == [POINT]
    path.write_bytes(b'{"versi')
    assert read_record(path) == ()
    with Record(path, "s", HERE):
        assert path.read_bytes() == b""


def test_lines_of_other_versions_are_left_alone_with_a_remark(path: Path) -> None:
    with Record(path, "s", HERE) as record:
        record.append(OUTCOME)
    line = path.read_text()
    others = [line.replace('"version": 1', '"version": 2'), '{"version": 1, "claims": 4}\n', "{}\n", "[\n"]
    path.write_text(line + "".join(others))
    with Record(path, "s", HERE) as record:
        assert record.find(POINT) is not None
        assert [r.message.removeprefix(f"{path}: ") for r in record.remarks] == [
            "1 line of version 2, which another polytile has written, left out",
            "3 lines left out that cannot be read",
        ]
    assert path.read_text() == line + "".join(others)


@pytest.mark.parametrize("text", ["int main(void)\n{\n}\n", "int", '{"cache": 1}\n', "\n"])
def test_a_file_of_something_else_is_not_touched(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(UsageError, match="is no record"):
        Record(path, "s", HERE)
    with pytest.raises(UsageError, match="is no record"):
        read_record(path)
    assert path.read_text() == text


def test_a_record_that_cannot_be_written_is_an_error_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in (tmp_path, tmp_path / "file" / "x"):
        with pytest.raises(UsageError, match="cannot write the record") as error:
            Record(name, "s", HERE)
        assert error.value.hint == "--record F names another file"
    with pytest.raises(UsageError, match="cannot read the record"):
        read_record(tmp_path / "none")


def test_a_file_system_without_locks_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    with pytest.raises(UsageError, match=r"cannot lock the record .*: No locks available"):
        Record(path, "s", HERE)


def test_a_full_disk_leaves_whole_lines(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    with Record(path, "s", HERE) as record:
        record.append(OUTCOME)
        whole = path.read_bytes()
        monkeypatch.setattr(os, "write", lambda file, line: write(file, line[:20]))
        with pytest.raises(UsageError, match="the disk is full"):
            record.append(replace(OUTCOME, key="k2"))
        assert path.read_bytes() == whole
        monkeypatch.undo()


def test_finals_are_found_for_the_same_points_alone(path: Path) -> None:
    runs = {(): (2.0, 2.0), POINT: (1.0,)}
    with Record(path, "s", HERE) as record:
        assert record.finals([(), POINT]) is None
        record.append_finals(runs)
        assert record.finals([(), POINT]) == runs
        assert record.finals([()]) is None
    with Record(path, "t", HERE) as record:
        assert record.finals([(), POINT]) is None
    assert read_record(path) == ()


def test_keys_tell_everything_apart_that_a_time_depends_on() -> None:
    other = [
        replace(HERE, gpu="H100"),
        replace(HERE, driver="581"),
        replace(HERE, compiler="nvcc 12.8"),
        replace(HERE, flags=()),
        replace(HERE, sizes={"n": 513}),
    ]
    assert len({kernel_key("text", one) for one in (HERE, *other)}) == 6
    assert len({source_key("text", Options(), one) for one in (HERE, *other)}) == 6
    assert kernel_key("text", HERE) == kernel_key("text", replace(HERE)) != kernel_key("other text", HERE)
    plain = source_key("text", Options(), HERE)
    assert plain == source_key("text", Options(schedule="tiled", registers=64), HERE)
    assert plain != source_key("text", Options(strict=True), HERE)


def test_a_claim_that_is_read_is_what_was_written() -> None:
    line = to_line(Claim("k", "h", 3, "77", 1.5))
    assert json.loads(line) == {
        "version": 1, "claim": "k", "host": "h", "process": 3, "started": "77", "time": 1.5,
    }  # fmt: skip
