"""Split tiling: time and space in tiles that start together and compute nothing twice [Grosser et al. 2013]."""
