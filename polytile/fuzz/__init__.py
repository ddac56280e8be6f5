"""`polytile fuzz`: random programs of the input language, compiled, run in the emulator and compared with C.

`generate.py` draws a program as a tree (`tree.py`), `ranges.py` sizes its arrays so that no subscript leaves them, and
`printing.py` writes it as C. `trial.py` compiles and runs one program, `children.py` does so in a process that may
crash or hang, `campaign.py` makes a failing program small, and does all of it for many programs.
"""
