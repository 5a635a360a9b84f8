"""`wattslice lsp`"""

from __future__ import annotations

from importlib.util import find_spec

import click

from wattslice.commands.common import CONTEXT
from wattslice.errors import WattsliceError


@click.command(context_settings=CONTEXT)
@click.option("--stdio", is_flag=True, help="Speak over stdin and stdout. Always so; editors like to say it.")
def lsp(stdio: bool) -> int:
    """Serve an editor: watts at the lines, above the kernels and in what it explains.

    Speaks the Language Server Protocol over stdin and stdout, beside clangd or alone; editors start it, see
    docs/editors.md. Needs more packages: pip install 'wattslice[lsp]'.
    """
    if any(find_spec(name) is None for name in ("pygls", "lsprotocol")):
        raise WattsliceError("the language server needs pygls", remedy="pip install 'wattslice[lsp]'")
    from wattslice.lsp.stdio import serve_stdio

    serve_stdio()
