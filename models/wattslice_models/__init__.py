"""What turns slice features into watts: GPU facts, models and trained coefficients."""
