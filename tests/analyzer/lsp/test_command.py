"""`wattslice lsp` before it serves anybody."""

import pytest

from wattslice.cli import main
from wattslice.commands import about


@pytest.mark.parametrize("missing", ["pygls", "lsprotocol", "tomlkit"])
def test_without_its_packages_it_says_how_to_get_them(missing, monkeypatch, capsys):
    def find(name: str) -> object:
        return None if name == missing else name

    monkeypatch.setattr(about, "find_spec", find)
    assert main(["lsp"]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == (
        "",
        "wattslice: the language server needs pygls and tomlkit (pip install '.[lsp]' in the checkout)\n",
    )
