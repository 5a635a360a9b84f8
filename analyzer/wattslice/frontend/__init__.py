"""From source text to the intermediate representation."""
