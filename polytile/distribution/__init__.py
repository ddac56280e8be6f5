"""Distribution of iterated stencils over ranks: who owns what, which halos, which messages.

Zhang and Mueller, CGO 2012, section 4. Plans are made with isl, without MPI; `runtime/ranks` runs them.
"""
