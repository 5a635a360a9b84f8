"""Frames of Python functions in one piece of memory: no depth at which each call is dear."""

import pytest

from wattslice.ir.walking import in_one_piece

resource = pytest.importorskip("resource", reason="nobody tells page faults here")


def faults_by_depth(depth: int, found: list[int]) -> None:
    """Page faults while a function is called 200 times, at every depth from here on."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(200):
        with_locals(1)
    found.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    if depth:
        faults_by_depth(depth - 1, found)


def with_locals(a):
    b = c = d = e = f = g = h = a
    return max((a, b), (c, d), (e, f), (g, h))


def test_no_depth_of_calls_is_dear():
    found: list[int] = []
    in_one_piece(lambda: faults_by_depth(300, found))
    assert len(found) == 301
    assert max(found[1:]) < 100
