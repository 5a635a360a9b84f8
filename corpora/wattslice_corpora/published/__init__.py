"""Typed readers for tables printed in papers, which lie in one folder per paper, each with its source."""
