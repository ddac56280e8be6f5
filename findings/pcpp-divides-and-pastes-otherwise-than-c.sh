#!/usr/bin/env bash
# pcpp 1.30.
#
# Guess: a preprocessor decides `#if -7 % 2 == -1` as C does, and never makes one token of two.
# Seen: remainders of negative numbers are Python's, so that the condition is false, and `i -SHIFT` with
# `#define SHIFT -1` is printed as `i --1`, which decrements.
#
# polytile therefore computes conditions itself (frontend/conditional_directives.py), and puts blanks between tokens
# (frontend/macros.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pcpp==1.30
"$folder/venv/bin/python" - <<'PYTHON'
import io

from pcpp import Preprocessor

engine, output = Preprocessor(), io.StringIO()
engine.line_directive = None
engine.parse("#if -7 % 2 == -1\nas_c\n#else\nnot_as_c\n#endif\n#define SHIFT -1\ni -SHIFT\n")
engine.write(output)
lines = output.getvalue().split()
print(lines)
assert lines == ["not_as_c", "i", "--1"]
PYTHON
