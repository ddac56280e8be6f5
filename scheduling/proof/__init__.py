"""What is proven of a compilation, whoever made it: nothing here imports what it proves."""
