#!/usr/bin/env bash
# g++ 12.2.0 with its libstdc++, the system's (the script ends with 2 where g++ is not of version 12).
#
# Guess: a file that includes <math.h> and uses nothing of it compiles no function, whatever -std says: templates are
# instantiated where they are used.
# Seen: from -std=c++17 on libstdc++ declares the special functions (beta, riemann_zeta, ..) as inline functions that
# call templates, all of which g++ instantiates at the end of each such file, though it then emits none of them. A
# precompiled header does not help: they are pending in it, and are instantiated anew in each file.
#
#   c++14 0
#   c++17 108
#
# polytile includes <math.h> without them where kernels are compiled for its emulator (_GLIBCXX_USE_STD_SPEC_FUNCS in
# runtime/emulator/include/cuda_runtime.h): half of the time of a small file.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if ! g++ --version | grep -q "Free Software Foundation" || [[ $(g++ -dumpversion) != 12* ]]; then
    echo "needs g++ 12" >&2
    exit 2
fi
echo '#include <math.h>' >"$folder/f.cpp"
templates() {  # STANDARD: the templates that are instantiated
    (cd "$folder" && g++ "-std=$1" -c -fdump-tree-original=out f.cpp -o f.o && { grep -cE '^;; Function .*std::__detail::__' out || true; })
}
before=$(templates c++14) since=$(templates c++17)
echo "c++14 $before"
echo "c++17 $since"
[[ $before == 0 ]]
((since > 80))
