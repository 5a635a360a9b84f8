"""Places of a kernel that cost power, each with the watts and joules at stake (rules PW040 to PW059).

One file per rule; `facts.py` knows the launch and asks the model again with a cost removed.
"""
