"""The version of polytile."""

__version__ = "0.1.0"
