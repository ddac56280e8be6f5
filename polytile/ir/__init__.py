"""The vocabulary every stage shares: data only, no search and no text."""
