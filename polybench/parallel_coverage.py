"""Which SCoPs run in parallel: `python polybench/parallel_coverage.py FILE ... [--checkout DIR] [--json FILE]`.

Each C file (and each of the folders that are named) is compiled by `polytile FILE --keep-going --json`. A SCoP has
kernels or stays C; one of its kernels may have a single thread that runs a loop over data, `for (i < n)`, which is as
slow as C or slower. Loops of 32 iterations at most, which the kernel's text says, are none over data. `--options` are
further words for polytile, `--checkout` is another checkout of polytile, to be compared with this one: `--json` appends
each result to a file, and files that are there already are not compiled again; `--before FILE` lists where results
differ from these. Exit status 1 where a SCoP has lost its kernels, or has a loop in one thread that it had not.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from polybench.conformance import programs
from polytile.dataclass import dataclass
from polytile.process import RunawayError, run_bounded

FEW = 32  # iterations of a loop that are none over data
_LOOP = re.compile(r"\bfor \([^;]*; *[^;]*?(?:<=?|>=?) *([^;]*);|\bwhile \(")


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one file: SCoPs, refusals, the SCoPs that stay C, the kernels of one thread with a loop over data
    and the first message of each refusal; `failed` where nothing could be read, or polytile ended otherwise."""

    file: str
    scops: int = 0
    refused: int = 0
    host: tuple[str, ...] = ()
    one_thread: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    failed: str = ""

    def worse_than(self, other: Row) -> bool:
        """Return whether SCoPs have lost kernels, or the threads of one."""
        lost = set(self.host) - set(other.host), set(self.one_thread) - set(other.one_thread)
        return any(lost) or self.refused > other.refused or bool(self.failed and not other.failed)


def examined(source: Path, options: Sequence[str], checkout: Path, seconds: float) -> Row:
    """Compile one file."""
    with tempfile.TemporaryDirectory(prefix="polytile-coverage-") as folder:
        words = [sys.executable, "-m", "polytile", str(source.resolve()), "--keep-going", "--json", "-o", folder]
        environment = {**os.environ, "PYTHONPATH": ".", "POLYTILE_CACHE": "0"}
        try:
            result = run_bounded([*words, *options], directory=str(checkout), environment=environment, timeout=seconds)
            said = json.loads(result.output)
        except RunawayError as error:
            return Row(str(source), failed=str(error))
        except ValueError:
            return Row(str(source), failed=result.errors.decode(errors="replace")[-300:])
        text = "\n".join(file.read_text() for file in sorted(Path(folder).glob("*.cu")))
    return _row(source, said, text)


def _row(source: Path, said: Mapping[str, Any], text: str) -> Row:
    scops = said.get("scops", [])
    host = tuple(scop["name"] for scop in scops if not scop.get("kernels"))
    alone = (kernel["name"] for scop in scops for kernel in scop.get("kernels", ()) if _is_one_thread(kernel))
    refused = [refusal["message"] for refusal in said.get("refusals", ())]
    slow = tuple(name for name in alone if has_loop_over_data(kernel_text(text, name)))
    status, errors = said.get("exit_status"), [e["message"] for e in said.get("diagnostics", ())]
    failed = "" if status == 0 or (status == 1 and (scops or refused)) else f"exit status {status}: {errors[:1]}"
    return Row(str(source), len(scops), len(refused), host, slow, tuple(refused), failed)


def _is_one_thread(kernel: Mapping[str, Any]) -> bool:
    return all(str(size) == "1" for size in (*kernel["grid"], *kernel["block"]))


def kernel_text(text: str, name: str) -> str:
    """Return the text of a kernel's body in that of a .cu file."""
    found = re.search(rf"\b{re.escape(name)}\([^;{{]*\)\s*\{{(.*?)^\}}", text, re.MULTILINE | re.DOTALL)
    return found.group(1) if found else ""


def has_loop_over_data(body: str) -> bool:
    """Return whether a kernel has a loop that does not end at a small constant."""
    ends = (found.group(1) for found in _LOOP.finditer(body))
    return any(end is None or not end.strip().isdigit() or int(end) > FEW for end in ends)


def main(words: Sequence[str] | None = None) -> int:
    """Compile and count; returns the exit status."""
    arguments = _parsed(words)
    rows, before = _read(arguments.json), _read(arguments.before)
    for source in programs(arguments.inputs):
        if str(source) not in rows:
            options = shlex.split(arguments.options)
            row = rows[str(source)] = examined(source, options, arguments.checkout, arguments.seconds)
            _kept(row, arguments.json)
    shown = [rows[name] for name in rows]
    for line in (*_counted(shown), *_compared(shown, before)):
        print(line)
    return int(any(row.worse_than(before[row.file]) for row in shown if row.file in before))


def _counted(rows: Sequence[Row]) -> Iterator[str]:
    scops, host = sum(row.scops for row in rows), sum(len(row.host) for row in rows)
    yield f"{len(rows):6} files, {sum(bool(row.failed) for row in rows)} failed"
    yield f"{scops:6} SCoPs, {sum(row.refused for row in rows)} more refused"
    yield f"{scops - host:6} with kernels"
    yield f"{host:6} stay C"
    yield f"{sum(len(row.one_thread) for row in rows):6} kernels of one thread with a loop over data"


def _compared(rows: Sequence[Row], before: Mapping[str, Row]) -> Iterator[str]:
    for row in rows:
        was = before.get(row.file)
        if was is not None and (row.host, row.one_thread, row.failed) != (was.host, was.one_thread, was.failed):
            what = "worse" if row.worse_than(was) else "better"
            now = f"host {list(was.host)} -> {list(row.host)}, one thread {list(was.one_thread)} -> "
            yield f"{row.file}: {what}: {now}{list(row.one_thread)}{row.failed and f', failed: {row.failed}'}"


def _parsed(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="parallel_coverage", description="Count SCoPs on the host and in one thread.")
    parser.add_argument("inputs", nargs="+", metavar="FILE", help="C files, and folders of them")
    parser.add_argument("--options", default="", help="further options of polytile")
    parser.add_argument("--checkout", type=Path, default=Path(__file__).parents[1], help="of polytile (this one)")
    parser.add_argument("--seconds", type=float, default=120, help="for a file (%(default)g)")
    parser.add_argument("--json", type=Path, help="append each result to this file, and leave out those it has")
    parser.add_argument("--before", type=Path, help="results to compare with")
    return parser.parse_args(words)


def _read(file: Path | None) -> dict[str, Row]:
    if file is None or not file.exists():
        return {}
    return {row.file: row for row in map(_from_json, file.read_text().splitlines())}


def _from_json(line: str) -> Row:
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in json.loads(line).items()}
    return Row(**values)


def _kept(row: Row, file: Path | None) -> None:
    if file is not None:
        with file.open("a") as log:
            log.write(json.dumps(asdict(row)) + "\n")


if __name__ == "__main__":
    sys.exit(main())
