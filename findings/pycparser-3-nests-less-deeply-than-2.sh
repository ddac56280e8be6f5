#!/usr/bin/env bash
# pycparser 3.12 beside 2.22, both with Python's usual recursion limit of 1000.
#
# Guess: the parser was written anew without PLY and reads the same C; what 2.22 parses, 3 parses.
# Seen: 2.22 keeps a stack of its own and parses thousands of levels. 3 is recursive, with five to ten Python functions
# a level: valid C that generators and macros write ends in RecursionError, from 150 parentheses or calls inside each
# other on (C asks compilers for 63). Long sums, which are no deeper for a reader, are parsed by both. Only case labels
# in a row fail in 2.22, too.
#
#   levels of            2.22          3.12
#   parentheses          5000          RecursionError at 150
#   calls                5000          RecursionError at 150
#   blocks               5000          RecursionError at 250
#   else if in a row     5000          RecursionError at 400
#   loops                5000          RecursionError at 400
#   labels in a row      5000          RecursionError at 400
#   casts                5000          RecursionError at 1000
#   terms of a sum       5000          5000
#   case labels          RecursionError at 1000   RecursionError at 400
#
# polytile therefore raises Python's recursion limit while it parses (polytile/recursion_limit.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/nest.py" <<'PYTHON'
import sys

from pycparser import c_parser

assert sys.getrecursionlimit() == 1000
KINDS = {
    "parentheses": lambda n: "int f(int x) { return " + "(" * n + "x" + ")" * n + "; }",
    "calls": lambda n: "int f(int); int g(int x) { return " + "f(" * n + "x" + ")" * n + "; }",
    "blocks": lambda n: "void f(void) { " + "{ " * n + "} " * n + "}",
    "else if in a row": lambda n: "void f(int x) { " + "else ".join(f"if (x == {k}) x = 1; " for k in range(n)) + "}",
    "loops": lambda n: "void f(void) { " + "for (;;) " * n + "; }",
    "labels in a row": lambda n: "void f(void) { " + "".join(f"l{k}: " for k in range(n)) + "; }",
    "casts": lambda n: "int f(int x) { return " + "(int) " * n + "x; }",
    "terms of a sum": lambda n: "int f(int x) { return " + " + ".join(["x"] * n) + "; }",
    "case labels": lambda n: "void f(int x) { switch (x) { " + "".join(f"case {k}: " for k in range(n)) + "; } }",
}
for name, text in KINDS.items():
    found = "5000"
    for levels in (50, 100, 150, 200, 250, 300, 400, 500, 700, 1000, 2000, 5000):
        try:
            c_parser.CParser().parse(text(levels))
        except RecursionError:
            found = f"RecursionError at {levels}"
            break
    print(f"{name:20} {found}")
PYTHON
for version in 2.22 3.12; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" install --quiet pycparser==$version
    echo "pycparser $version"
    "$folder/$version/bin/python" "$folder/nest.py" | tee "$folder/$version.txt"
done
test "$(grep -c 5000 "$folder/2.22.txt")" = 8
grep -q "case labels .*RecursionError at 1000" "$folder/2.22.txt"
grep -q "terms of a sum .*5000" "$folder/3.12.txt"
for kind in parentheses calls blocks "else if in a row" loops "labels in a row" casts "case labels"; do
    grep -q "^$kind .*RecursionError" "$folder/3.12.txt"
done
