"""Where in a TOML file a place stands."""

import pytest

from wattslice.documents import line_of

TEXT = """\
# settings of our own
gpu = "v100"
set = [
  "n=4",
  "m=8",
]

[gate]
max-power = 250

[[gate.budget]]
kernel = "k"
[[gate.budget]]
file = "x"
limits = { a = 1 }
"""


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("gpu", 2),
        ("set", 3),
        ("set[1]", 3),
        ("gate", 8),
        ("gate.max-power", 9),
        ("gate.budget[0]", 11),
        ("gate.budget[1]", 13),
        ("gate.budget[1].file", 14),
        ("gate.budget[1].limits.a", 15),
        ("gate.budget[2]", None),
        ("gpus", None),
        ("gpu.name", None),
    ],
)
def test_lines(tmp_path, place, line):
    path = tmp_path / "a.toml"
    path.write_text(TEXT)
    assert line_of(path, place) == line


def test_what_is_no_toml_has_no_lines(tmp_path):
    assert line_of(tmp_path / "none.toml", "a") is None
    for name, text in (("a.json", '{"a": 1}'), ("large.toml", "a = 1\n" + "# x\n" * 9999)):
        (tmp_path / name).write_text(text)
        assert line_of(tmp_path / name, "a") is None
