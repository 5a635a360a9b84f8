"""The rooms of the analyzer: what they import, and the way of a value through them.

``python -m wattslice_tools.rooms [-o FILE] [FOLDER]`` tells files, lines, circles and arrows, and draws the
rooms. ``--way MODULE:CLASS -- analyze k.cu`` runs a command, and tells the rooms whose functions are given
a value of that class. A room is a folder of the package, or a module at its root.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from itertools import pairwise
from pathlib import Path
from types import FrameType
from xml.sax.saxutils import escape

from msgspec import Struct

import wattslice

PACKAGE = Path(wattslice.__file__).parent
_ROW, _HALF, _REACH = 22, 70, 240
_STYLE = (
    "svg{background:#fff}text{font:12px sans-serif;fill:#222}rect{fill:#eceff1;stroke:#90a4ae}"
    "path{fill:none;stroke:#607d8b;stroke-opacity:.5}.up{stroke:#d9822b;stroke-opacity:.9}"
    ".ring{stroke:#d64545;stroke-width:2}"
)


class House(Struct, frozen=True):
    """Lines of each module of a package, and the modules that it imports, wherever the import stands."""

    lines: Mapping[str, int]
    imports: Mapping[str, Set[str]]

    @property
    def rooms(self) -> Counter[str]:
        """Lines of each room."""
        found: Counter[str] = Counter()
        for module, number in self.lines.items():
            found[room_of(module)] += number
        return found

    @property
    def arrows(self) -> Counter[tuple[str, str]]:
        """From a room to another that it imports: how many of their modules."""
        return Counter(
            (room_of(module), room_of(other))
            for module, others in self.imports.items()
            for other in others
            if room_of(module) != room_of(other)
        )


def room_of(module: str) -> str:
    """``launches`` of ``launches.overrides``."""
    return module.partition(".")[0]


def read_house(folder: Path) -> House:
    """The modules below `folder` by their names inside; what the package itself re-exports is no import."""
    trees = {
        _name(path.relative_to(folder)): (path, path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.py"))
    }
    lines = {name: text.count("\n") for name, (_, text) in trees.items()}
    imports = {
        name: {
            known
            for asked in _imported(ast.parse(text), folder.name, name, path.name == "__init__.py")
            if (known := _known(asked, lines)) is not None and known not in ("", name)
        }
        for name, (path, text) in trees.items()
        if name
    }
    return House({name: number for name, number in lines.items() if name}, imports)


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.Module, package: str, name: str, is_folder: bool) -> Iterator[str]:
    """What a module imports of the package, as ``folder.module.name``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (
                alias.name.partition(".")[2] for alias in node.names if alias.name.startswith(f"{package}.")
            )
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                above = name.split(".")[: len(name.split(".")) - node.level + is_folder]
                origin = ".".join((package, *above, *filter(None, (origin,))))
            if origin == package or origin.startswith(f"{package}."):
                inside = origin.partition(".")[2]
                yield from (f"{inside}.{alias.name}".lstrip(".") for alias in node.names)


def _known(asked: str, modules: Mapping[str, int]) -> str | None:
    while asked and asked not in modules:
        asked = asked.rpartition(".")[0]
    return asked or None


def circles(imports: Mapping[str, Set[str]]) -> list[frozenset[str]]:
    """Groups of two or more that import each other, however far round (Tarjan 1972)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    open_: list[str] = []
    found: list[frozenset[str]] = []

    def visit(one: str) -> None:
        number[one] = low[one] = len(number)
        open_.append(one)
        for other in imports.get(one, ()):
            if other not in number:
                visit(other)
                low[one] = min(low[one], low[other])
            elif other in open_:
                low[one] = min(low[one], number[other])
        if low[one] == number[one]:
            at = open_.index(one)
            if len(open_) - at > 1:
                found.append(frozenset(open_[at:]))
            del open_[at:]

    for one in sorted(imports):
        if one not in number:
            visit(one)
    return found


def ordered(rooms: Mapping[str, int], arrows: Set[tuple[str, str]]) -> list[str]:
    """Rooms so that few arrows run back up, none where there is no circle (Eades, Lin, Smyth 1993)."""
    left, first, last = set(rooms), list[str](), list[str]()
    while left:
        inside = [(one, other) for one, other in arrows if one in left and other in left]
        out, into = Counter(one for one, _ in inside), Counter(other for _, other in inside)
        sinks = [room for room in left if not out[room]]
        sources = [room for room in left if not into[room]]
        if sinks:
            last[:0] = sorted(sinks)
            left -= set(sinks)
        else:
            chosen = sorted(sources) or [max(left, key=lambda room: (out[room] - into[room], room))]
            first += chosen
            left -= set(chosen)
    return first + last


def drawn(house: House) -> str:
    """A box for each room; at the right the arrows down to what it imports, at the left those back up."""
    arrows = set(house.arrows)
    place = {room: _ROW * at + 16 for at, room in enumerate(ordered(house.rooms, arrows))}
    rings = {room_of(module) for ring in circles(house.imports) for module in ring}
    left = _REACH if any(place[one] > place[other] for one, other in arrows) else 0
    middle, height = left + _HALF + 8, _ROW * len(place) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {middle + _HALF + _REACH} {height}">',
        f"<style>{_STYLE}</style>",
    ]
    for one, other in sorted(arrows):
        start, end = place[one], place[other]
        side = 1 if start < end else -1
        edge = middle + side * _HALF
        far = edge + side * min(300.0, 12.0 + abs(end - start) * 0.55)
        way = f"M{edge} {start}C{far:.0f} {start} {far:.0f} {end} {edge} {end}"
        parts.append(f'<path class="{"down" if side > 0 else "up"}" d="{way}"/>')
    for room, y in place.items():
        name = "ring" if room in rings else "room"
        parts.append(
            f'<rect class="{name}" x="{middle - _HALF}" y="{y - 9}" width="{2 * _HALF}" height="18"/>'
        )
        parts.append(f'<text x="{middle}" y="{y + 4}" text-anchor="middle">{escape(room)}</text>')
    return "\n".join((*parts, "</svg>\n"))


def told(house: House) -> str:
    """The figures of a package in a line each."""
    arrows = house.arrows
    place = {room: at for at, room in enumerate(ordered(house.rooms, set(arrows)))}
    up = sum(place[one] > place[other] for one, other in arrows)
    root = sum("." not in name and not _is_folder(name, house) for name in house.lines)
    return "\n".join(
        (
            f"{len(house.lines)} modules, {sum(house.lines.values())} lines, {root} modules at the root",
            f"{len(house.rooms)} rooms, {len(arrows)} arrows between them, {up} of these back up",
            f"{len(circles(house.imports))} circles of modules",
        )
    )


def _is_folder(name: str, house: House) -> bool:
    return any(other.startswith(f"{name}.") for other in house.lines)


class Way(Struct, frozen=True):
    """The rooms that a value was handed to, one after the other, each change of room once."""

    rooms: tuple[str, ...]

    @property
    def returns(self) -> int:
        """How often it came back to a room where it had been."""
        return len(self.rooms) - len(set(self.rooms))


def way_of(kind: type, words: list[str]) -> Way:
    """Runs ``wattslice`` with `words`; the rooms whose functions are given a `kind` beside ``self``."""
    from wattslice.cli import main as command

    os.environ["WATTSLICE_CACHE"] = "off"  # what a command said before would be told without any work
    rooms: list[str] = []

    def see(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)):
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            if any(name != "self" and type(frame.f_locals.get(name)) is kind for name in names):
                rooms.append(room_of(_name(Path(code.co_filename).relative_to(PACKAGE))))

    sys.setprofile(see)
    try:
        command(words)
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
    return Way((*rooms[:1], *(after for before, after in pairwise(rooms) if before != after)))


def main(arguments: list[str]) -> int:
    """Prints the figures, and writes the picture where one is asked for."""
    parser = argparse.ArgumentParser(prog="python -m wattslice_tools.rooms")
    parser.add_argument("folder", nargs="?", type=Path, default=PACKAGE)
    parser.add_argument("-o", dest="picture", type=Path)
    parser.add_argument("--way", metavar="MODULE:CLASS")
    words = arguments[arguments.index("--") + 1 :] if "--" in arguments else []
    given = parser.parse_args(arguments[: len(arguments) - len(words) - bool(words)])
    if given.way:
        module, _, name = str(given.way).partition(":")
        found = way_of(getattr(importlib.import_module(module), name), words)
        print(f"{len(set(found.rooms))} rooms, {found.returns} returns: {' '.join(found.rooms)}")
        return 0
    house = read_house(given.folder)
    print(told(house))
    if given.picture is not None:
        given.picture.write_text(drawn(house), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
