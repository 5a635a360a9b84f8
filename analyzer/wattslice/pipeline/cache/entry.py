"""One kept result as bytes: a checksum, then compressed JSON of inputs and result, typed on reading.

Nothing of it is ever run, and nothing of it is believed before the checksum has been compared: a truncated,
corrupted or edited entry is none, nor is one with a number that no analysis gives, whatever its checksum.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from typing import Generic, NamedTuple, TypeVar, cast

from wattslice.frontend.inputs import Inputs
from wattslice_models.frozen_json import FrozenJsonError, decoded, encoded

Result = TypeVar("Result")
_MAGIC = b"wattslice result 1\n"
_MOST_BYTES = 512 << 20
_SHARES = frozenset(
    ("probability", "probability_low", "probability_high", "share", "share_of_power", "occupancy")
)
_MOST = sys.float_info.max
_MOST_SHARE = 1 + 1e-9  # sums of shares are rounded


class Kept(NamedTuple, Generic[Result]):
    """What an entry holds. The result is typed when asked for: only then it is known to be wanted."""

    inputs: Inputs
    document: object
    kind: type[Result]

    def result(self) -> Result | None:
        """The result; None when the entry is not what this version writes."""
        if not _is_possible(self.document):
            return None
        try:
            return decoded(self.kind, self.document, exact=True)
        except FrozenJsonError:
            return None


def _is_possible(document: object) -> bool:
    """Whether every number is one that an analysis may give: finite and not negative, shares up to 1.

    Only what advice saves may be negative.
    """
    waiting: list[tuple[str, object, float]] = [("", document, 0.0)]
    while waiting:
        name, value, least = waiting.pop()
        if isinstance(value, dict):
            waiting += [
                (key, entry, -_MOST if key == "advice" else least)
                for key, entry in cast("dict[str, object]", value).items()
            ]
        elif isinstance(value, list):
            items = cast("list[object]", value)
            waiting += [(name, entry, least) for entry in items if type(entry) is not str]
        elif isinstance(value, int | float) and not (
            least <= value <= (_MOST_SHARE if name in _SHARES else _MOST)
        ):
            return False
    return True


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
