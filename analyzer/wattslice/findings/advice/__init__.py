"""Places of a kernel that cost power, each with the watts and joules at stake (rules from PW040 on).

One file per rule; `facts.py` knows the launch and asks the model again with a cost removed.
"""
