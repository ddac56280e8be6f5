# %% [markdown]
# # Another compiler's isl
#
# A compiler with a front end of its own needs no C file: it hands over what it knows in isl's notation, and gets
# kernels, a schedule and a proof. Here it has a convolution over one dimension, with several channels:
#
# ```
# out[c, x] = sum over k of weight[c, k] * data[x + k]
# ```
#
# ## The program, as relations
#
# Two statements: `init` sets an element, `add` adds one product to it. Domains are sets of instances, reads and writes
# are relations from instances to elements, and the schedule says in which order the other compiler would run them:
# `init` of an element before its `add`s.

# %%
import numpy as np

import polytile

scop = polytile.scop_from_isl(
    "convolution",
    domain="""[channels, width, taps] -> {
        init[c, x] : 0 <= c < channels and 0 <= x < width;
        add[c, x, k] : 0 <= c < channels and 0 <= x < width and 0 <= k < taps }""",
    schedule="{ init[c, x] -> [c, x, 0, 0]; add[c, x, k] -> [c, x, 1, k] }",
    reads="{ add[c, x, k] -> out[c, x]; add[c, x, k] -> weight[c, k]; add[c, x, k] -> data[x + k] }",
    writes="{ init[c, x] -> out[c, x]; add[c, x, k] -> out[c, x] }",
    bodies={"init": "out[c][x] = 0;", "add": "out[c][x] += weight[c][k] * data[x + k];"},
    arrays=[
        polytile.Array("out", "double", ("channels", "width")),
        polytile.Array("weight", "double", ("channels", "taps")),
        polytile.Array("data", "double", (None,)),  # as long as its subscripts need it
    ],
)

# %% [markdown]
# ## Compiled
#
# The representation has the arguments of a call. Sizes follow from the shapes of arrays.

# %%
convolution = polytile.compile_scop(scop)
print(convolution)

# %% [markdown]
# Blocks have tiles of `out`, and threads keep several elements each in registers; what they all read is copied to
# shared memory a piece at a time. This is the loop of a full tile, as it is written:

# %%
kernel = convolution.cuda
begin = kernel.index("if (16 * k0 + 16 <= taps)")
print(kernel[begin : kernel.index("} else", begin)])

# %% [markdown]
# The mapped schedule is an isl tree, whose marks say what blocks and threads are:

# %%
print(convolution.schedule)

# %% [markdown]
# ## Called
#
# NumPy's arrays are changed where they are. The emulator runs the kernels here, so that this page needs no GPU.

# %%
weight, data = np.random.rand(3, 5), np.random.rand(44)
out = np.empty((3, 40))
convolution(out=out, weight=weight, data=data, on="emulator")
np.allclose(out, [np.correlate(data, row) for row in weight])

# %% [markdown]
# ## A schedule of one's own
#
# Other tools may bring the schedule, too, as a tree in isl's notation. It is proven like ours, and so is its claim that
# loops are parallel (`coincident`). With all of `add` before all of `init` it is refused, with two instances that show
# why.

# %%
INIT = """
  - filter: "{ init[c, x] }"
    child:
      schedule: "[{ init[c, x] -> [(c)] }, { init[c, x] -> [(x)] }]"
      permutable: 1
      coincident: [ 1, 1 ]
"""
ADD = """
  - filter: "{ add[c, x, k] }"
    child:
      schedule: "[{ add[c, x, k] -> [(c)] }, { add[c, x, k] -> [(x)] }, { add[c, x, k] -> [(k)] }]"
      permutable: 1
      coincident: [ 1, 1, 0 ]
"""


def in_sequence(*parts):
    return f'domain: "{scop.domain}"\nchild:\n  sequence:' + "".join(part.rstrip() for part in parts)


try:
    polytile.compile_scop(scop, load_schedule=in_sequence(ADD, INIT))
except polytile.IllegalSchedule as error:
    print(error)

# %% [markdown]
# The other way round it is legal. It has no marks, so polytile gives its loops to blocks and threads:

# %%
print(polytile.compile_scop(scop, load_schedule=in_sequence(INIT, ADD), block=(4, 32)).remarks[-1].message)
