"""Running a distribution plan on the ranks of an MPI communicator: local arrays, messages, and the loop over steps.

Zhang and Mueller, CGO 2012, section 4. mpi4py is imported where a communicator is asked for (`mpi.py`), and nowhere
else.
"""
