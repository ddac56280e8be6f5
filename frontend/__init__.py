"""C text in, Scops out."""
