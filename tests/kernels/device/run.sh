#!/bin/bash
# Runs all binaries, or those named, one after another; adds to results.jsonl.
cd "$(dirname "$0")" || exit 1
if [ -z "$CUBLAS_LIB" ]; then
    for found in /usr/local/cuda*/lib64/libcublas.so.* $(python3 -c 'import nvidia; print(*nvidia.__path__)' 2>/dev/null | xargs -rn1 -I{} find {} -name 'libcublas.so.*' 2>/dev/null); do
        [ -e "$found" ] && CUBLAS_LIB=$found && break
    done
fi
[ -n "$CUBLAS_LIB" ] && export CUBLAS_LIB LD_LIBRARY_PATH="$(dirname "$CUBLAS_LIB"):$LD_LIBRARY_PATH"
for source in $(if [ $# -gt 0 ]; then printf 'cases/%s.cu ' "$@"; else echo cases/*.cu; fi); do
    name=$(basename "$source" .cu)
    timeout "${LIMIT:-60}" "bin/$name" >> results.jsonl 2>> errors.log
    status=$?
    [ $status -eq 0 ] || echo "{\"name\": \"$name\", \"error\": \"exit status $status\"}" >> results.jsonl
done
wc -l results.jsonl
grep -c '"error"' results.jsonl
true
