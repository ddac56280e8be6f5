"""What is said of the exchange that `auto` chooses."""

from __future__ import annotations

import pytest

from polytile.distribution.explain import was_chosen, will_be_chosen
from polytile.distribution.transfers import ExchangeMode


@pytest.mark.parametrize(
    ("ranks", "gpus", "said"),
    [
        (4, 0, "auto: overlap, as no ranks share a GPU"),
        (4, 4, "auto: overlap, as no ranks share a GPU"),
        (4, 1, "auto: diagonal, as 4 ranks share 1 GPU"),
        (4, 3, "auto: diagonal, as 4 ranks share 3 GPUs"),
    ],
)
def test_what_was_chosen(ranks: int, gpus: int, said: str) -> None:
    assert was_chosen(None, ranks, gpus) == said
    assert was_chosen(ExchangeMode.BASIC, ranks, gpus) == will_be_chosen(ExchangeMode.BASIC) == "basic"
