#!/usr/bin/env bash
# threads.sh [CALLS]: threads.c on a GPU in several ways, PASS or FAIL and the time for each. Eight threads must print what
# one prints, and under --fp strict what C prints. POLYTILE is the command, ON the place, ARCH of which kind; needs gcc, and nvcc for a GPU.
set -u
here=$(cd "$(dirname "$0")" && pwd); calls=${1:-1000}; failed=0
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
flags="-O2 -ffp-contract=off -fopenmp -DN=${N:-10000}"
gcc $flags "$here/threads.c" -o "$work/c" -lpthread && "$work/c" one "$calls" >"$work/expected-strict" || exit 1
for options in "" "--graphs" "--managed" "--graphs --managed" "--fp=strict --graphs"; do
    expected=expected
    case $options in *strict*) expected=expected-strict ;; *) rm -f "$work/expected" ;; esac
    POLYTILE_FLAGS="$options --on=${ON:-gpu}${ARCH:+ --arch=$ARCH}" ${POLYTILE:-polytile} cc $flags "$here/threads.c" -o "$work/program" -lpthread || exit 1
    for how in one pthreads openmp; do
        start=$(date +%s%N)
        "$work/program" $how "$calls" >"$work/output" 2>"$work/errors"
        status=$?
        took=$((($(date +%s%N) - start) / 1000000))
        [ -e "$work/$expected" ] || cp "$work/output" "$work/$expected"
        if [ $status = 0 ] && cmp -s "$work/output" "$work/$expected"; then verdict=PASS; else verdict=FAIL; failed=1; fi
        echo "$verdict ${options:-plain} $how: $took ms"
        [ $verdict = PASS ] || { head -n 3 "$work/errors"; diff "$work/output" "$work/$expected" | head -n 6; }
    done
done
exit $failed
