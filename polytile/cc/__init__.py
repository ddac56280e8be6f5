"""`polytile cc`: a C compiler that runs the SCoPs of its sources on a GPU, for `CC` of Make and CMake.

before: polytile cc -O2 -Iinclude -c blur.c -o blur.o
after:  one object, with the functions of blur.c and the kernels of its SCoPs

The command line is the host compiler's; options of polytile's own begin with `--polytile-`. What has no SCoP goes to
the host compiler as it came.
"""
