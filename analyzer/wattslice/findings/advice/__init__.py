"""The checks behind the rules that advise: places that cost power, with the watts and joules at stake.

`facts.py` knows the launch, asks the model again with a cost removed, and asks the checks of all rules.
"""
