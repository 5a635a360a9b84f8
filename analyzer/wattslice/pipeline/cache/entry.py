"""One kept result as bytes: a checksum, then compressed JSON of inputs and result, typed on reading.

Nothing of it is ever run, and nothing of it is believed before the checksum has been compared: a truncated,
corrupted or edited entry is no entry.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import Generic, NamedTuple, TypeVar, cast

from wattslice.frontend.inputs import Inputs
from wattslice_models.frozen_json import FrozenJsonError, decoded, encoded

Result = TypeVar("Result")
_MAGIC = b"wattslice result 1\n"
_MOST_BYTES = 512 << 20


class Kept(NamedTuple, Generic[Result]):
    """What an entry holds. The result is typed when asked for: only then it is known to be wanted."""

    inputs: Inputs
    document: object
    kind: type[Result]

    def result(self) -> Result | None:
        """The result; None when the entry is not what this version writes."""
        try:
            return decoded(self.kind, self.document, exact=True)
        except FrozenJsonError:
            return None


def entry_bytes(name: str, inputs: Inputs, result: object) -> bytes | None:
    """The entry called `name`; None for a result that JSON cannot hold (infinite or not a number)."""
    document = {"name": name, "inputs": encoded(inputs), "result": encoded(result)}
    try:
        text = json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):
        return None
    body = zlib.compress(text.encode(), 1)
    return b"".join((_MAGIC, hashlib.sha256(body).digest(), body))


def read_entry(name: str, content: bytes, kind: type[Result]) -> Kept[Result] | None:
    """What `entry_bytes` made; None for anything else."""
    begin = len(_MAGIC) + hashlib.sha256().digest_size
    digest, body = content[len(_MAGIC) : begin], content[begin:]
    if not content.startswith(_MAGIC) or hashlib.sha256(body).digest() != digest:
        return None
    try:
        unpacking = zlib.decompressobj()
        text = unpacking.decompress(body, _MOST_BYTES)
        document = json.loads(text)
        if not unpacking.eof or not isinstance(document, dict):
            return None
        entries = cast("dict[str, object]", document)
        if entries.get("name") != name:
            return None
        return Kept(decoded(Inputs, entries.get("inputs")), entries.get("result"), kind)
    except (zlib.error, ValueError, RecursionError):
        return None
