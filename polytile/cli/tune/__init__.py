"""`polytile tune`: the command line, what is shown while a search runs, and what it has found."""
