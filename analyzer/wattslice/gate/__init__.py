"""What `wattslice gate` judges: budgets, and what became worse since a baseline or another revision."""
