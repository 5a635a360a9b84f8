"""An entry more in a settings file, and every other character of it as it was."""

import tomllib

import pytest

from wattslice.lsp.settings_files import with_entry

CASES = {
    "empty": ("", 'set = ["n=4"]\n'),
    "no end": ('gpu = "h100"', 'gpu = "h100"\nset = ["n=4"]\n'),
    "new key": (
        '# ours\ngpu = "h100"  # the big one\n',
        '# ours\ngpu = "h100"  # the big one\nset = ["n=4"]\n',
    ),
    "before tables": (
        'gpu = "x"\n\n[gate]\nmax-power = 9\n',
        'gpu = "x"\nset = ["n=4"]\n\n[gate]\nmax-power = 9\n',
    ),
    "only a table": ("[gate]\nmax-power = 9\n", 'set = ["n=4"]\n\n[gate]\nmax-power = 9\n'),
    "one line": ('set = ["a=1"] # [x]\n', 'set = ["a=1", "n=4"] # [x]\n'),
    "one line, comma": ("set = ['a=1', ]\n", "set = ['a=1', \"n=4\" ]\n"),
    "empty list": ("set = []\n", 'set = ["n=4"]\n'),
    "lines": ('set = [\n  "a=1",  # why\n  "b=2",\n]\n', 'set = [\n  "a=1",  # why\n  "b=2",\n  "n=4",\n]\n'),
    "lines, no comma": ('set = [\n  "a=1",\n  "b=2"\n]\n', 'set = [\n  "a=1",\n  "b=2",\n  "n=4"\n]\n'),
    "comment last": ('set = [\n\t"b=2", # it]\n]\n', 'set = [\n\t"b=2", # it]\n\t"n=4",\n]\n'),
    "comment, no comma": ('set = [\n "b=2" # it\n]\n', 'set = [\n "b=2", # it\n "n=4"\n]\n'),
    "crlf": ('gpu = "x"\r\n', 'gpu = "x"\r\nset = ["n=4"]\r\n'),
    "strings with brackets": ('std = "]["\nset = ["a=\'1]"]\n', 'std = "]["\nset = ["a=\'1]", "n=4"]\n'),
    "multi-line string": ('std = """\nset = ["x"]\n"""\n', 'std = """\nset = ["x"]\n"""\nset = ["n=4"]\n'),
}


@pytest.mark.parametrize("name", CASES)
def test_one_entry_more(name):
    before, after = CASES[name]
    found = with_entry(before, "set", "n=4", is_pyproject=False)
    assert found == after
    assert "n=4" in tomllib.loads(after)["set"]


PYPROJECTS = {
    "table": (
        "[tool.x]\nset = []\n[tool.wattslice]\n[z]\n",
        '[tool.x]\nset = []\n[tool.wattslice]\nset = ["n=4"]\n[z]\n',
    ),
    "key": ('[tool.wattslice]\nset = ["a=1"]\n', '[tool.wattslice]\nset = ["a=1", "n=4"]\n'),
    "inline": (
        '[tool]\nwattslice = {set = ["a=1"], gpu = "x"} # ours\n',
        '[tool]\nwattslice = {set = ["a=1", "n=4"], gpu = "x"} # ours\n',
    ),
    "spaced": ('[ tool . "wattslice" ]\ngpu = "x"\n', '[ tool . "wattslice" ]\ngpu = "x"\nset = ["n=4"]\n'),
    "subtable": (
        "[tool.wattslice]\ngpu='x'\n[tool.wattslice.gate]\n",
        "[tool.wattslice]\ngpu='x'\nset = [\"n=4\"]\n\n[tool.wattslice.gate]\n",
    ),
}


@pytest.mark.parametrize("name", PYPROJECTS)
def test_in_a_pyproject(name):
    before, after = PYPROJECTS[name]
    found = with_entry(before, "set", "n=4", is_pyproject=True)
    assert found == after


@pytest.mark.parametrize(
    "text",
    [
        'set = ["n=4"]\n',  # there already
        "set = 3\n",
        "set = [\n",
        "[tool.other]\n",
    ],
)
def test_what_cannot_be_kept_is_not_touched(text):
    assert with_entry(text, "set", "n=4", is_pyproject="tool" in text) is None


def test_quotes_in_values():
    found = with_entry("", "launch", 'k<"\\">=1:1', is_pyproject=False)
    assert found is not None
    assert tomllib.loads(found) == {"launch": ['k<"\\">=1:1']}
