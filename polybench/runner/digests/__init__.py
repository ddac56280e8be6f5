"""`digests`: what of the generated text a change of the compiler changes, kernel by kernel."""
