"""What an idle reading is worth: the committed table, and one board made anew."""

import re
from pathlib import Path

import pytest

from wattslice_tools.accuracy.idle_readings import BEGIN, END, gains, section

PAGE = Path(__file__).parents[2] / "docs" / "appendix" / "accuracy.md"


def test_the_table_says_that_no_idle_reading_costs_more_than_one_percent():
    table = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert len(re.findall(r"^\| `", table, re.MULTILINE)) == 11
    changes = [float(text) for text in re.findall(r"([+-]\d+\.\d)%", table)]
    assert len(changes) == 13  # one a board, and both ends of the one that was measured
    assert max(changes) <= 1.0
    assert min(changes) < -1.0


@pytest.mark.slow
def test_every_measured_idle_reading_of_a_board_left_out_helps_or_costs_nearly_nothing():
    (found,) = gains(("gtx_titan_x",))
    assert len(found.measured) == 32
    assert max(found.measured) - found.without < 0.01
    assert sum(found.measured) / 32 < found.without - 0.004
    assert found.asleep > found.without + 0.03  # so it has to be told from one awake
    assert "| `gtx_titan_x` | 11." in section((found,))
