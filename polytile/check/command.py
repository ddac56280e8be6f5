"""`polytile check CERTIFICATE`: reads a certificate and checks it anew."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import islpy as isl

from polytile.check.checker import problems
from polytile.check.ranks import of_another_program, rank_problems
from polytile.check.reductions import steps_of
from polytile.check.relations import Check
from polytile.check.source import differences
from polytile.cli.option_parser import OptionParser
from polytile.diagnostics import EXIT_DONE, EXIT_USER, UserError

FORMAT, VERSIONS = "polytile certificate", (2, 3)
HINT = "write one with polytile INPUT.c --certificate FILE"


def main(words: Sequence[str]) -> int:
    """Run the command; returns the exit status. Raises UsageError, and UserError for what is no certificate."""
    parser = OptionParser(prog="polytile check", description="Check a certificate with isl alone.", allow_abbrev=False)
    parser.add_argument("certificate", metavar="CERTIFICATE", help="a file that --certificate wrote")
    parser.add_argument("--source", metavar="INPUT.c", help="the C file: the certificate must be about its accesses")
    parser.add_argument("-I", dest="include_dirs", metavar="DIR", action="append", default=[], help="as for polytile")
    found = parser.parse_args(list(words))
    content = _read(found.certificate)
    wrong = 0
    if found.source is not None:
        different = differences(content, found.source, found.include_dirs)
        wrong += _say(found.certificate, _lines(found.certificate, different))
    for scop in content["scops"]:
        if not isinstance(scop, dict):
            raise UserError(f"{found.certificate} is not a certificate", hint=HINT)
        where = f" for {scop['for']}" if "for" in scop else ""
        wrong += _say(f"{found.certificate}: {scop.get('name')}{where}", _lines(found.certificate, problems(scop)))
        for statement, array in scop.get("relaxed", {}).items():
            print(f"{found.certificate}: {scop['name']}: {statement} may combine its results in {array} in any order")
        for name, through in scop.get("atomic", ()):
            print(f"{found.certificate}: {scop['name']}: updates of {through} in {name} are trusted to be atomic")
        if scop.get("checked"):
            print(f"{found.certificate}: {scop['name']}: the program checks {scop['checked']} when it runs")
        if scop.get("limits"):
            limits = " && ".join(scop["limits"])
            print(f"{found.certificate}: {scop['name']}: kernels run where {limits}, as integers overflow elsewhere")
        for promise in scop.get("assumed", {}).get("independent", ()):
            what = promise["array"] or "all arrays"
            where = f"in the loop {promise['loop']}"
            print(f"{found.certificate}: {scop['name']}: {what} promised to be independent {where}")
        for call in scop.get("assumed", {}).get("calls", ()):
            accesses = call["summary"] or "takes and gives numbers"
            print(f"{found.certificate}: {scop['name']}: {call['function']} is trusted: {accesses}")
        for made in scop.get("program", {}).get("privatised", ()):
            print(f"{found.certificate}: {scop['name']}: {_trusted(made)}")
        for made in scop.get("program", {}).get("backwards", ()):
            names = [name for name, _ in steps_of(made)]
            order = "another order" if "first" in made else "the reverse order"
            what = f"{', '.join(names)} {'are' if names[1:] else 'is'} trusted"
            trusted = f"{what} to give the same in {order}, but for rounding"
            print(f"{found.certificate}: {scop['name']}: {trusted}")
    for claim in content.get("ranks", ()):
        lines = chain(of_another_program(claim, content["scops"]), rank_problems(claim))
        wrong += _say(f"{found.certificate}: {claim.get('name')} on ranks", _lines(found.certificate, lines))
    for name in content.get("on_host", ()):
        print(f"{found.certificate}: {name} stays sequential C")
    if not content["scops"]:
        print(f"{found.certificate}: nothing to check")
    return EXIT_USER if wrong else EXIT_DONE


def _trusted(made: Check) -> str:
    """Return the line on what a reduction in partial results does to single values, which is not in a certificate."""
    gathering = made.get("gathering") or {"initial": None, "total": None}
    names = [*(made[k] for k in ("initial", "update", "combine", "finish")), gathering["initial"], gathering["total"]]
    statements = (name for name in names if name)
    return f"{', '.join(statements)} are trusted to combine partial results of {made['array']} by {made['op']}"


def _say(what: str, lines: list[str]) -> int:
    for line in lines:
        print(f"{what}: {line}")
    if not lines:
        print(f"{what} holds")
    return len(lines)


def _lines(file: str, found: Iterator[str]) -> list[str]:
    """Return what is wrong, a line each. Raises UserError where the certificate is not made as certificates are."""
    try:
        return list(found)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise UserError(f"{file} is not a certificate: {type(error).__name__}: {error}", hint=HINT) from error
    except isl.Error as error:
        raise UserError(f"{file}: isl cannot read a relation of the certificate", hint=HINT) from error


def _read(name: str) -> Any:
    try:
        content = json.loads(Path(name).read_text())
    except OSError as error:
        raise UserError(f"cannot read {name}: {error.strerror}", hint=HINT) from error
    except ValueError as error:
        raise UserError(f"{name} is not a certificate: it is not JSON", hint=HINT) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT or not isinstance(content.get("scops"), list):
        raise UserError(f"{name} is not a certificate", hint=HINT)
    if content.get("version") not in VERSIONS:
        known = ", ".join(map(str, VERSIONS))
        message = f"{name} is a certificate of version {content.get('version')}, known are {known}"
        raise UserError(message, hint="write it anew")
    if any(isinstance(scop, dict) and scop.keys() & {"stream", "split"} for scop in content["scops"]):
        raise UserError(f"{name} has time tiles as before version 3", hint="write it anew")
    ranks = content.get("ranks", [])
    if not isinstance(ranks, list) or not all(isinstance(claim, dict) for claim in ranks):
        raise UserError(f"{name} is not a certificate: `ranks` is no list of plans", hint=HINT)
    return content
