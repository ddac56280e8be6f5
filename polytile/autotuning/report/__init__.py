"""What tuning found, as a page of HTML: times over evaluations, over each parameter, and over pairs of parameters."""

from polytile.autotuning.report.history import History
from polytile.autotuning.report.page import page

__all__ = ["History", "page"]
