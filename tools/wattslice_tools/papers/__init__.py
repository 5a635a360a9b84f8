"""Writes ``docs/appendix/papers.md``: what a paper prints beside what its own equations give.

It lives in the analyzer because that is the one place that may see both the models and the published tables.
"""
