"""Projection of a workflow of components onto nodes: time-to-solution against energy-to-solution."""
