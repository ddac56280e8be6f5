"""Orders of straight-line code: the values of a block as a graph, sequences of them, and how many are live at once."""
