"""Reports: the facts of a compilation as a page of HTML, and as what a notebook shows. They know nothing else of it."""

from polytile.report.page import fragment, page

__all__ = ["fragment", "page"]
