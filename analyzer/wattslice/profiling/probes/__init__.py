"""Branch probabilities by running a program: counters in its source (Wang & Chen 2013, section 4.4)."""
