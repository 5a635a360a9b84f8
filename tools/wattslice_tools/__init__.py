"""Maintainers' tools: papers, public data sets, accuracy pages, checks on public code. Not in the wheel."""
