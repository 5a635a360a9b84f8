"""Energy per PTX instruction, and of a kernel's instructions."""
