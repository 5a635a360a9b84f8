"""Kernels, published tables and measurements, each fact with its source."""
