# %% [markdown]
# # A stencil, from C to its report
#
# A rod is heated at its left end. Each step computes every cell from three of the step before, and there are many
# steps: a *stencil* in a loop over time. The C is short; the question is what a GPU can do at once.

# %%
import numpy as np
from IPython.display import SVG, display

import polytile

SOURCE = """
void rod(int steps, int n, double now[n], double next[n])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            next[i] = 0.25 * now[i - 1] + 0.5 * now[i] + 0.25 * now[i + 1];
        for (int i = 1; i < n - 1; i++)
            now[i] = next[i];
    }
#pragma endscop
}
"""

# %% [markdown]
# ## One step a launch
#
# `classic` is the plain way: loops over space go to blocks and threads, the loop over time stays on the host and
# launches kernels one after another.

# %%
classic = polytile.compile(SOURCE, name="rod.c", schedule="classic", tile=16)
for loop in classic["rod"].loops:
    print(f"line {loop.line}: {loop.iterator} is {loop.kind}: {', '.join(loop.where)}")

# %% [markdown]
# Why is `t` serial? Because of these two iterations:

# %%
witness = classic["rod"].loops[0].witness
print(witness.array, witness.kind, dict(witness.source.iteration), "->", dict(witness.sink.iteration))

# %% [markdown]
# In the picture space goes to the right and time upwards. A colour is a kernel, a box is what one block runs in one
# launch, and the shade is all that the instance at the circle needs: it gets wider with every step back, and that is
# why a block cannot simply run several steps on its own.

# %%
SVG(classic.draw({"n": 50, "steps": 6}))

# %% [markdown]
# ## Several steps a launch
#
# Tiles may lean. `split` cuts time into bands; in each, tiles that shrink start together, and then tiles that grow
# fill the gaps. Nothing is computed twice, and arrays are fetched once a band, not once a step.

# %%
split = polytile.compile(SOURCE, name="rod.c", schedule="split", tile=16, time_tile=4)
SVG(split.draw({"n": 50, "steps": 8}))

# %% [markdown]
# The loop over time is serial all the same, as it has to be; how many steps of it a kernel runs is said beside it:

# %%
print("\n".join(line for line in split.explain().splitlines() if "steps of it" in line))

# %% [markdown]
# ## Right, and how we know
#
# Both schedules were proven before any kernel was made. The kernels themselves are run against the C on random inputs,
# with the emulator's checks for races, stray addresses and memory that nobody set:

# %%
for result in split["rod"].validate(on="emulator", seed=1, sanitize="all"):
    print(result.line)

# %% [markdown]
# ## Called from Python

# %%
now = np.zeros(200)
now[0] = 100.0
split["rod"](steps=300, now=now, next=now.copy(), on="emulator")
print(np.round(now[:8], 1))

# %%
expected = np.zeros(200)
expected[0] = 100.0
for _ in range(300):
    expected[1:-1] = 0.25 * expected[:-2] + 0.5 * expected[1:-1] + 0.25 * expected[2:]
assert np.allclose(now, expected)

# %% [markdown]
# ## All of it on a page
#
# A program shows itself in a notebook: loops, kernels, and folded below them accesses, proof, schedule and code.
# `split.report("rod.html")` writes it as a page for a browser, as `--report` does; the [gallery](../gallery.md) has
# five of them.

# %%
display(split)
