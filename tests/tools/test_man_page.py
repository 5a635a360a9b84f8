import tomllib
from pathlib import Path

import click

from wattslice.commands.common import command_named
from wattslice.commands.table import COMMANDS
from wattslice_tools.man_page import man_page
from wattslice_tools.pages import write_page

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "wattslice.1"


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == man_page(), (
        "run python -m wattslice_tools.man_page docs/wattslice.1"
    )


def test_every_command_and_option_is_there_and_the_wheel_has_it():
    text = man_page()
    for name, *_ in COMMANDS:
        section = text.partition(f"\n.SS {name} ")[2].partition("\n.SS ")[0]
        for option in command_named(name).params:
            if isinstance(option, click.Option):
                spellings = (*option.opts, *option.secondary_opts)
                assert all(spelling.replace("-", "\\-") in section for spelling in spellings), (
                    name,
                    spellings,
                )
    assert not [line for line in text.splitlines() if line.startswith("'")]
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["shared-data"] == {"docs/wattslice.1": "share/man/man1/wattslice.1"}


def test_needs_one_file_to_write(tmp_path: Path, capsys):
    assert write_page([], "man_page", man_page) == 2
    assert write_page([str(tmp_path)], "man_page", man_page) == 2
    assert "usage" in capsys.readouterr().err
