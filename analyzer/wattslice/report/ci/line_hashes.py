"""The hash of a line by which GitHub's code scanning knows an alert again (`primaryLocationLineHash`).

The action that uploads SARIF computes it where it is missing, and warns where it finds another one; who
uploads without the action must bring it. It is a rolling hash over the first 100 UTF-16 units from the
beginning of the line, without spaces and tabs, every end of a line as a line feed, modulo 2^64 and base 37;
65535 ends the file and zeros follow. Equal hashes are counted from the top of the file.
Source of the algorithm: src/fingerprints.ts of https://github.com/github/codeql-action.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

_BLOCK = 100
_BASE = 37
_END = 65535
_LINE_FEED = 10
_POWERS = tuple(np.uint64(pow(_BASE, _BLOCK - 1 - place, 2**64)) for place in range(_BLOCK))


def line_hashes(text: str) -> list[str]:
    """One per line of `text` (ends of lines as the text has them): hexadecimal digits, a colon, its count."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace(" ", "").replace("\t", "")
    written = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), dtype="<u2").astype(np.uint64)
    units = np.concatenate((written, np.array([_END, *[0] * _BLOCK], dtype=np.uint64)))
    starts = np.concatenate((np.zeros(1, dtype=np.intp), np.flatnonzero(written == _LINE_FEED) + 1))
    values = np.zeros(len(starts), dtype=np.uint64)
    for place, power in enumerate(_POWERS):
        values += units[starts + place] * power  # modulo 2^64, as unsigned numbers are
    seen: Counter[int] = Counter()
    found: list[str] = []
    for value in values.tolist():
        seen[value] += 1
        found.append(f"{value:x}:{seen[value]}")
    return found
