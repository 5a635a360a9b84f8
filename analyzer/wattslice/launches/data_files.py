"""Data files of host code: what fopen, fgets, fscanf and fread give of files that lie in the repository.

A file is read only where the host code opens it by a name that is known, below the top of the repository,
and is no larger than `MOST_BYTES`. Everything else of a file is unknown. One that is absent is taken to be
there when the program runs, unless the host code goes on without it; what is read from it is unknown, and
says so.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import cast

from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.inputs import file_bytes, note_file, note_text, repository_root
from wattslice.launches.command_line import scanned, store_text, text_of, text_storage
from wattslice.launches.memory import INPUT_STREAMS, TEXT_STREAMS, Memory, Pointer, Storage, Unknown, Value

MOST_BYTES = 8 << 20
_WINDOW_BYTES = 4096
"""What one call sees of the rest of a file."""
_LARGEST_RECORD_BYTES = 256
_POSITION = -1
"""Where the storage of an open file keeps how many bytes have been read."""
_MOST_STEPS = 120_000
_STEPS_PER_READ = 32
"""What one read of a file is worth in steps of the interpreter: a loop that reads a file ends with it."""
_ENDED = -2
"""Where it keeps whether the end was met: what feof() tells."""
_FOLDERS = ("", "data", "../data", "../../data", "../../../Common/data")
"""Where the CUDA samples look for a data file, from the folder of the program."""

_LAYOUTS = {
    (ir.TypeKind.INT, 32): "%d",
    (ir.TypeKind.INT, 64): "%ld",
    (ir.TypeKind.FLOAT, 32): "%f",
    (ir.TypeKind.FLOAT, 64): "%lf",
}
"""How a stream reads a number, as scanf would be told."""

_Arguments = tuple[Value, ...]


class DataFiles:
    """The files that a program opens. `folder`: where it is started. `names`: of what was read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._steps_left = _MOST_STEPS
        self._steps = 0
        self._top: Path | None = None
        self._contents: dict[Storage, bytes] = {}
        self.names: dict[str, None] = {}
        self._streams: dict[tuple[Storage, str | None], Value] = {}
        self._functions: dict[str, Callable[[Memory, ir.Call, _Arguments], Value | None]] = {
            "fopen": self._open,
            "sdkFindFilePath": self._find,
            "fgets": self._line,
            "fscanf": self._scan,
            "fread": self._read,
            "rewind": self._rewind,
            "feof": self._ended,
            "fgetc": self._character,
            "getc": self._character,
            "fseek": self._seek,
            "ftell": self._tell,
            "fclose": lambda memory, node, arguments: 0,
            "open": self._open_stream,
            "operator>>": self._from_stream,
            "getline": self._text_line,
            "read": self._read_of_stream,
        }

    def call(self, memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
        """Value of a call that opens or reads a file, after its effect; None where it is none or unknown."""
        function = self._functions.get(node.name)
        found = None if function is None else function(memory, node, arguments)
        absent = (value.storage.absent for value in arguments if isinstance(value, Pointer))
        told = next(filter(None, absent), None)
        return self._lost(memory, arguments, told) if found is None and told is not None else found

    def _lost(self, memory: Memory, arguments: _Arguments, told: str) -> Unknown:
        """What a function reads of a file that is not there."""
        why = Unknown(f"read from {told}")
        for value in arguments:
            if isinstance(value, Pointer) and not value.storage.absent:
                memory.forget_behind(value, why)
        return why

    @property
    def _root(self) -> Path:
        self._top = repository_root(self._folder / "main") if self._top is None else self._top
        return self._top

    def _path(self, name: str) -> Path | None:
        """A regular file of the repository by its name in the host code; its content counts as read."""
        path = Path(os.path.realpath(self._folder / name))
        if "\0" in name or not path.is_relative_to(self._root):
            return None
        is_there = path.is_file()
        note_file(path, is_there)
        return path if is_there else None

    def _open(self, memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
        del memory, node
        mode = text_of(arguments[1]) if len(arguments) > 1 else None
        if not arguments or mode is None or mode[:1] != "r" or "+" in mode:
            return None
        return self._opened(text_of(arguments[0]), arguments[0])

    def _opened(self, name: str | None, given: Value) -> Value | None:
        path = None if name is None else self._path(name)
        storage = Storage("a file", {_POSITION: 0, _ENDED: 0})
        if path is None:
            told = None if name is None else f"{name}, which the repository does not have"
            if told is None and isinstance(given, Unknown):
                is_given = given.reason.startswith("given on")
                told = f"a file that is {given.reason}" if is_given else f"a file, named by {given.reason}"
            if told is None:
                return None
            return Pointer(replace(storage, absent=told), 0)
        try:
            content = file_bytes(path, MOST_BYTES)
        except OSError:
            return None
        note_text(path, content)
        self._contents[storage] = content
        self.names[os.path.relpath(path, self._root)] = None
        return Pointer(storage, 0)

    def _open_stream(self, memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
        """`stream.open(name)`: a stream is its file's name, until it is read."""
        if (
            len(arguments) < 2
            or not isinstance(arguments[0], Pointer)
            or not is_input(node.arguments[0].type)
        ):
            return None
        memory.set_cell(arguments[0].storage, arguments[0].offset, arguments[1])
        return 0

    def _from_stream(self, memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
        """`stream >> number`, where the value is the stream, and the second argument names the number."""
        stream, target = arguments[0], arguments[-1]
        if isinstance(stream, Unknown) and len(stream.around) == 1:
            (stream,) = stream.around  # what `stream >> other` gave
        if not isinstance(stream, Pointer) or not isinstance(target, Pointer) or len(arguments) < 2:
            return None
        if stream.storage.class_name in TEXT_STREAMS:  # of which nobody knows what is left
            return None
        file, type_ = self._file_of(stream), node.arguments[-1].type.element or ir.UNKNOWN_TYPE
        if isinstance(file, Pointer) and (missing := file.storage.absent):
            self._lost(memory, (target,), missing)
            return Unknown("whether something was left to read", around=(stream,))
        layout = _LAYOUTS.get((type_.kind, type_.bits))
        found = None if layout is None else self._scan_file(memory, file, layout, (target,))
        return None if found is None else stream

    def _file_of(self, stream: Pointer) -> Value:
        given = stream.storage.cells.get(stream.offset, 0)
        key = (stream.storage, name := text_of(given))
        if key not in self._streams:
            self._streams[key] = self._opened(name, given) or Unknown("a file that cannot be read")
        return self._streams[key]

    def _text_line(self, memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
        """getline(stream, text), whose addresses come last: a line without its end; 0 where none was left."""
        if len(arguments) != 4 or not is_input(node.arguments[0].type):
            return None
        stream, target = arguments[2:]
        if not isinstance(stream, Pointer) or not isinstance(target, Pointer):
            return None
        file = self._file_of(stream)
        if isinstance(file, Pointer) and (missing := file.storage.absent):
            return self._lost(memory, (target,), missing)
        if (found := self._rest(file)) is None:
            return None
        storage, position, rest = found
        line, end, _ = rest.partition(b"\n")
        if not end and len(rest) == _WINDOW_BYTES:
            return None
        self._move(memory, storage, position + len(line) + len(end), meets_end=not end)
        memory.set_cell(target.storage, target.offset, line.decode("latin-1"))
        return stream if rest else 0

    def _read_of_stream(self, memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
        """stream.read(where, bytes)."""
        if len(arguments) != 3 or not is_input(node.arguments[0].type):
            return None
        stream, where, size = arguments
        if not isinstance(stream, Pointer) or (found := self._rest(self._file_of(stream))) is None:
            return None
        return self._stored(memory, found, (where, 1, size), node.arguments[1]) and stream

    def _find(self, memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
        del memory, node
        name = text_of(arguments[0]) if arguments else None
        places = () if name is None else (os.path.join(folder, name) for folder in _FOLDERS)  # noqa: PTH118
        return next((text_storage(place) for place in places if self._path(place) is not None), None)

    def _rest(self, value: Value) -> tuple[Storage, int, bytes] | None:
        """An open file whose position is known: it, the position, and the next of what is left of it."""
        content = self._contents.get(value.storage) if isinstance(value, Pointer) else None
        position = value.storage.cells.get(_POSITION) if isinstance(value, Pointer) else None
        if content is None or not isinstance(position, int) or not isinstance(value, Pointer):
            return None
        return value.storage, position, content[position : position + _WINDOW_BYTES]

    def _line(self, memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
        del node
        if len(arguments) < 3:
            return None
        found = self._rest(arguments[2])
        if found is None or not isinstance(arguments[0], Pointer) or not isinstance(arguments[1], int):
            return None
        storage, position, rest = found
        line = rest[: max(0, arguments[1] - 1)].split(b"\n")[0]
        line += rest[len(line) : len(line) + 1] if len(line) < arguments[1] - 1 else b""
        is_short = not line.endswith(b"\n") and len(line) < arguments[1] - 1
        self._move(memory, storage, position + len(line), meets_end=is_short)
        if not line:
            return 0
        memory.forget_behind(arguments[0], Unknown("behind the end of a text"))
        store_text(memory, arguments[0], line.decode("latin-1"))
        return arguments[0]

    def _scan(self, memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
        del node
        if len(arguments) < 2 or (layout := text_of(arguments[1])) is None:
            return None
        return self._scan_file(memory, arguments[0], layout, arguments[2:])

    def _scan_file(self, memory: Memory, file: Value, layout: str, targets: _Arguments) -> Value | None:
        found = self._rest(file)
        if found is None:
            return None
        storage, position, rest = found
        read = scanned(memory, rest.decode("latin-1"), layout, targets)
        if read is None or read[1] == _WINDOW_BYTES:  # what is behind it may belong to the last word
            return None
        assigned, taken = read
        is_over = not (rest if "%c" in layout else rest.strip())
        behind = position + (len(rest) if is_over else taken)
        self._move(memory, storage, behind, meets_end=is_over or not layout.endswith("%c"))
        return -1 if is_over else assigned

    def _read(self, memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
        """A record or a few numbers, byte by byte as in the file; of anything longer only the position."""
        if len(arguments) < 4:
            return None
        found = self._rest(arguments[3])
        return None if found is None else self._stored(memory, found, arguments[:3], node.arguments[0])

    def _stored(
        self, memory: Memory, found: tuple[Storage, int, bytes], arguments: _Arguments, where: ir.Expr
    ) -> Value | None:
        """How many were read; `arguments`: to where, bytes of each, their number."""
        target, size, count = arguments
        if not isinstance(size, int) or not isinstance(count, int):
            return None
        storage, position, rest = found
        type_ = ir.strip_casts(where).type.element
        left = len(self._contents[storage]) - position
        self._move(memory, storage, position + min(size * count, left), meets_end=size * count > left)
        if not isinstance(target, Pointer):
            return Unknown("how much of a file was read")
        memory.forget_behind(target, Unknown("read from a file"))
        each = 0 if type_ is None else type_.size_bytes
        if type_ is not None and each and size * count <= min(len(rest), _LARGEST_RECORD_BYTES):
            for at in range(0, size * count - each + 1, each):
                _store_bytes(memory, replace(target, offset=target.offset + at), type_, rest[at:])
        return min(count, left // size) if size > 0 else 0

    def _rewind(self, memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
        del node
        file = arguments[0] if arguments else None
        if not isinstance(file, Pointer) or file.storage not in self._contents:
            return None
        memory.set_cell(file.storage, _POSITION, 0)
        memory.set_cell(file.storage, _ENDED, 0)
        return 0

    def _ended(self, memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
        del memory, node
        found = self._rest(arguments[0]) if arguments else None
        return None if found is None else found[0].cells.get(_ENDED)

    def _seek(self, memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
        """fseek(file, offset, origin), to a place in the file."""
        del node
        found = self._rest(arguments[0]) if arguments else None
        if found is None or len(arguments) < 3 or not isinstance(offset := arguments[1], int):
            return None
        storage, position, _ = found
        start = {0: 0, 1: position, 2: len(self._contents[storage])}.get(cast("int", arguments[2]))
        if start is None:
            return None
        memory.set_cell(storage, _POSITION, max(0, start + offset))
        memory.set_cell(storage, _ENDED, 0)
        return 0

    def _character(self, memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
        del node
        found = self._rest(arguments[0]) if arguments else None
        if found is None:
            return None
        storage, position, rest = found
        self._move(memory, storage, position + len(rest[:1]), meets_end=not rest)
        return rest[0] if rest else -1

    def _tell(self, memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
        del memory, node
        found = self._rest(arguments[0]) if arguments else None
        return None if found is None else found[1]

    def _move(self, memory: Memory, storage: Storage, position: int, *, meets_end: bool) -> None:
        """Go to a position; `meets_end`: where that is the end, the reader has looked beyond it."""
        is_end = position >= len(self._contents[storage])
        memory.set_cell(storage, _POSITION, position)
        if is_end and meets_end:
            memory.set_cell(storage, _ENDED, 1)
        if not is_end:
            self._steps += min(_STEPS_PER_READ, self._steps_left)
            self._steps_left -= min(_STEPS_PER_READ, self._steps_left)

    def steps_for_reading(self) -> int:
        """What the reads since the last call are worth."""
        steps, self._steps = self._steps, 0
        return steps


def _store_bytes(memory: Memory, target: Pointer, type_: ir.Type, content: bytes) -> None:
    for member in type_.fields:
        if member.bits is None:
            inner = replace(target, offset=target.offset + member.offset_bytes)
            _store_bytes(memory, inner, member.type, content[member.offset_bytes :])
    size = type_.size_bytes
    if type_.lanes > 1 or len(content) < size:
        return
    if type_.kind is ir.TypeKind.INT:
        value = int.from_bytes(content[:size], "little", signed=type_.signed)
        memory.write(target.storage, target.offset, value, type_)
    elif type_.is_float and size in (4, 8):
        number = struct.unpack("<f" if size == 4 else "<d", content[:size])[0]
        memory.write(target.storage, target.offset, number, type_)


def is_input(type_: ir.Type) -> bool:
    """True for `std::ifstream`, and a pointer to one."""
    named = type_ if type_.element is None else type_.element
    return named.name.removeprefix("const ").startswith(INPUT_STREAMS)


READS_FILES = frozenset({"sdkFindFilePath"})
"""Functions that are known here although a header of the program has their text."""
