"""`polytile check`: certificates of what was proven, and an independent checker for them."""
