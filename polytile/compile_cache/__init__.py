"""A cache of compilations on disk: what a command said of a file and wrote, kept for the same command on the same file.

Entries are texts under a key; `key.py` says of what the key is made, `entries.py` how they are kept.
"""
