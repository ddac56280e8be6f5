"""Colours that are told apart with any kind of colour vision (Okabe and Ito's, light enough for dark text)."""

PAPER = "#ffffff"  # under everything, so that a picture reads on a dark page too
INK = "#1a1a1a"
SOFT = "#5a5a5a"
KERNELS = ("#56b4e9", "#f0a830", "#4dbf99", "#dd9ac0", "#f2e66b", "#e8865a", "#8fb3d9", "#c4c4c4")


def kernel_colour(position: int) -> str:
    return KERNELS[position % len(KERNELS)]


def mixed(colour: str, other: str, share: float) -> str:
    """Mix a `share` of a colour with another one."""
    pairs = ((int(c[k : k + 2], 16) for c in (colour, other)) for k in (1, 3, 5))
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)
