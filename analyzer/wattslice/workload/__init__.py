"""What the machine executes for a launch: instructions, registers, occupancy, traffic."""
