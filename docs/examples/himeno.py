from pathlib import Path

import numpy as np
from mpi4py import MPI

import polytile

comm = MPI.COMM_WORLD
(himeno,) = polytile.compile(Path("polybench/cluster/himeno-19pt.c"))
himeno = himeno.distribute(comm, steps_per_exchange=2)

if comm.rank == 0:
    random = np.random.default_rng(1)
    coefficients = ("a0", "a1", "a2", "a3", "b0", "b1", "b2", "c0", "c1", "c2", "wrk1", "bnd")
    arrays = {name: random.random((24, 22, 20)) / 10 for name in coefficients}
    p = random.random((2, 24, 22, 20))
    himeno(tsteps=6, omega=0.8, p=p, **arrays)
    print(f"the mean pressure is {p[0].mean():.3f}")
else:
    himeno()

sent = himeno.record.between
print(f"rank {comm.rank} sent {sent.messages} messages, {sent.bytes} bytes, in {himeno.record.steps} steps")
