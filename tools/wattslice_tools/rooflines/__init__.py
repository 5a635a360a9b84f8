"""Energy rooflines fitted to intensity sweeps."""
