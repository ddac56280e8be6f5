"""What happens to one SCoP, in the order of polytile/pipeline.py: analysis, choice of a schedule, realisation."""
