#!/bin/sh
# Builds and runs every program of this folder; appends one JSON line each to results.jsonl.
# TIMEOUT: seconds for each program (1800). JOBS: parallel builds (all cores). NVCC, CC, ARCH: see the Makefile.
# PARALLEL: programs at a time (1): their sequential references run side by side, the GPU serves one of them at a time.
# POLYTILE_WIDE_SECONDS: a sequential reference that takes longer (300) is not run again in long double; the tolerance is
# then a guess from the sizes, not the measured rounding error.
# CHECK: tools of compute-sanitizer ("memcheck racecheck"), under each of which every program runs first.
cd "$(dirname "$0")" || exit 4

# Run one program, whose folder has a file `head` with the beginning of its line.
if [ "$1" = --one ]; then
    folder=$(dirname "$2")
    if [ ! -x "$folder/driver" ]; then
        tail='"error": "it did not compile: see build.log in its folder and make.log"'
    else
        tail=$(timeout -k 5 "${TIMEOUT:-1800}" "$folder/driver" 2>"$folder/stderr.log")
        status=$?
        if [ -z "$tail" ]; then
            case $status in
                0) reason="it printed nothing" ;;
                124 | 137) reason="timeout: did not end within ${TIMEOUT:-1800} s" ;;
                *) reason="it ended with status $status" ;;
            esac
            tail="\"error\": \"$reason\""
        fi
        for tool in $CHECK; do
        [ -x "$folder/driver" ] || break
        timeout -k 5 "${TIMEOUT:-1800}" "${SANITIZER:-compute-sanitizer}" --tool "$tool" --error-exitcode 86 \
            "$folder/driver" >"$folder/$tool.log" 2>&1
        case $? in
            0) tail="\"$tool\": \"clean\", $tail" ;;
            86) tail="\"error\": \"$tool found something: see $tool.log in its folder\"" ;;
            *) tail="\"error\": \"$tool did not end well: see $tool.log in its folder\"" ;;
        esac
    done
    [ -f "$folder/seconds" ] && tail="\"nvcc_s\": $(cat "$folder/seconds"), $tail"
    fi
    printf "%s, %s}\n" "$(cat "$2")" "$tail" | tee -a results.jsonl
    case $tail in *'"error"'*) exit 1 ;; esac
    exit 0
fi

command -v "${NVCC:-nvcc}" >/dev/null || { echo "run.sh: ${NVCC:-nvcc} was not found: put it on PATH or set NVCC" >&2; exit 4; }
command -v "${CC:-cc}" >/dev/null || { echo "run.sh: ${CC:-cc} was not found: install a C compiler or set CC" >&2; exit 4; }

make -s -k -j "${JOBS:-$(nproc)}" >make.log 2>&1
POLYTILE_GPU_LOCK=$PWD/gpu.lock
export POLYTILE_GPU_LOCK
set -- */head
printf '%s\n' "$@" | xargs -n 1 -P "${PARALLEL:-1}" sh "./$(basename "$0")" --one && exit 0
echo "run.sh: $(tail -n $# results.jsonl | grep -c '"error"') failed" >&2
exit 1
