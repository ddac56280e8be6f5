"""`polytile cc`, and builds with it."""
