"""Random contractions, convolutions and stencils, with definitions in NumPy that owe nothing to their C."""
