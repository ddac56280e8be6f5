"""The tiled strategy: blocks take tiles of parallel loops, threads points of these, and sums run in tiles, too."""
