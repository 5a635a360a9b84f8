"""PTX to the tree."""
