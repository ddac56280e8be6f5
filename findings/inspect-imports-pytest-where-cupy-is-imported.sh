#!/usr/bin/env bash
# CuPy 14.2.0 for CUDA 13 with pytest 9.1.0, Python 3.11 and later; no GPU is needed.
#
# Guess: `inspect.getmodule` looks a frame's module up, and runs no code of modules.
# Seen: `import cupy` leaves `cupy.testing` in `sys.modules` as a module of importlib's LazyLoader. `inspect.getmodule`
# asks each module there for `__file__`, where no file says whose code it is, which runs that of `cupy.testing`, which
# imports pytest, which imports `py`: a script of the user's that is called `py.py` runs a second time.
#
#   after import cupy:          pytest is not imported
#   after inspect.getmodule():  pytest is imported, and py.py, if there is one, has run as a module
#
# torch 2.14 asks so when it first uses a GPU, where it registers operators, and fails where that script uses the GPU.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet cupy-cuda13x==14.2.0 pytest==9.1.0
cat > "$folder/main.py" <<'PYTHON'
import inspect
import sys

print(f"a script runs as {__name__}")
if __name__ == "__main__":
    import cupy  # noqa: F401

    print("after import cupy, pytest:", "pytest" in sys.modules)
    scope = {"sys": sys}
    exec(compile("def made(): return sys._getframe()", "<made>", "exec"), scope)
    print("its module:", inspect.getmodule(scope["made"]()))
    print("after inspect.getmodule, pytest:", "pytest" in sys.modules)
PYTHON
mkdir "$folder/other"
cp "$folder/main.py" "$folder/other/py.py"
"$folder/venv/bin/python" "$folder/main.py" > "$folder/said" 2> /dev/null
"$folder/venv/bin/python" "$folder/other/py.py" > "$folder/other/said" 2> /dev/null || true
head -3 "$folder/other/said" >> "$folder/said"
cat "$folder/said"
diff "$folder/said" - <<'TEXT'
a script runs as __main__
after import cupy, pytest: False
its module: None
after inspect.getmodule, pytest: True
a script runs as __main__
after import cupy, pytest: False
a script runs as py
TEXT
