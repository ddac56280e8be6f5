"""The command line: words in; files, messages and an exit status out."""
