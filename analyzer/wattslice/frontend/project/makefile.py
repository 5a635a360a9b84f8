"""Makefiles as texts: variables, conditions, included files and rules, without make and without a shell.

What only make or a shell could tell (`$(shell ...)`) is `UNTOLD`: a word with it in it is known to nobody.
`$(wildcard src/*.cu)` stays the pattern that it is, a source is compared with it and no folder listed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from msgspec import Struct, field

from wattslice.frontend.inputs import file_bytes, followed, note_file, note_text
from wattslice.patterns import regex

UNTOLD = "\0"
MOST_BYTES = 1 << 20
_MOST_INCLUDED = 16
_DEEPEST = 20
_LONGEST = 1 << 16
_MOST_WORK = 100_000
_MOST_RULES = 2_000

_ASSIGNMENT = regex(
    r"(?:(?:export|override|private)\s+)*(?P<name>[^\s:#=+?!$(){}]+)\s*(?P<op>::?:?=|\?=|\+=|!=|=)\s*(?P<value>.*)",
    re.DOTALL,
)
_CONDITION = regex(r"(?P<else>else\b\s*)?(?P<what>ifeq|ifneq|ifdef|ifndef)\b\s*(?P<rest>.*)", re.DOTALL)
_INCLUDE = regex(r"^\s*[-s]?include\s", re.M)
_PAIR = regex(r"\((?P<a>.*),(?P<b>[^,]*)\)\s*$|[\"'](?P<c>[^\"']*)[\"']\s+[\"'](?P<d>[^\"']*)[\"']")


class Line(Struct, frozen=True):
    """A line with those that continue it, and the number of its first in its file."""

    text: str
    file: Path
    number: int


class Run(Struct, frozen=True):
    """A program, what it is given (None: a word that its place does not tell), and where that stands."""

    program: str
    words: tuple[str | None, ...]
    line: Line


class Rule(Struct, frozen=True):
    """Targets and prerequisites expanded, the recipe as written."""

    targets: tuple[str, ...]
    prerequisites: tuple[str, ...]
    recipe: list[Line]


class Makefile(Struct):
    """A Makefile with those that it includes. `folder`: where make would be started."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict[str, str])
    rules: list[Rule] = field(default_factory=list[Rule])
    of_targets: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """Variables that have a value of their own for a target."""
    _work: int = _MOST_WORK
    _recipes: tuple[tuple[Rule, tuple[str, ...]], ...] | None = None

    def recipes(self) -> tuple[tuple[Rule, tuple[str, ...]], ...]:
        """The rules with the lines of their recipes, expanded once: asked for each of many programs."""
        if self._recipes is None:
            self._recipes = tuple((rule, tuple(text for _, text in self.recipe(rule))) for rule in self.rules)
        return self._recipes

    def expanded(self, text: str, automatic: Iterable[tuple[str, str]] = ()) -> str:
        """`text` with its variables and functions; `automatic`: `@`, `<`, `^`, `*` of a rule."""
        return self._expand(text, dict(automatic), 0)

    def recipe(self, rule: Rule, source: str = "", target: str = "") -> Iterator[tuple[Line, str]]:
        """The lines of a recipe, expanded; `source` stands for the prerequisite of a pattern.

        `target`: what make was asked for.
        """
        first = source or (rule.prerequisites[0] if rule.prerequisites else "")
        stem = first.rpartition("/")[2].rpartition(".")[0]
        automatic = (
            ("@", rule.targets[0].replace("%", stem)),
            ("<", first),
            ("^", source if source and "%" in first else " ".join(rule.prerequisites)),
            ("*", stem),
            *self.of_targets.get(target, {}).items(),
            *self.of_targets.get(rule.targets[0], {}).items(),
        )
        for line in rule.recipe:
            yield line, self.expanded(line.text, automatic)

    def _expand(self, text: str, automatic: dict[str, str], depth: int) -> str:
        if depth > _DEEPEST:
            return UNTOLD
        pieces: list[str] = []
        position = length = 0
        while (dollar := text.find("$", position)) >= 0:
            self._work -= 1
            if self._work < 0 or length > _LONGEST:
                return UNTOLD
            pieces.append(text[position:dollar])
            sign = text[dollar + 1 : dollar + 2]
            if sign in ("(", "{"):
                end = _closing(text, dollar + 1)
                value = UNTOLD if end < 0 else self._value(text[dollar + 2 : end], automatic, depth + 1)
                position = len(text) if end < 0 else end + 1
            else:
                value = "$" if sign == "$" else self._variable(sign, automatic, depth + 1)
                position = dollar + 2
            pieces.append(value)
            length += len(value)
        pieces.append(text[position:])
        return "".join(pieces)

    def _variable(self, name: str, automatic: dict[str, str], depth: int) -> str:
        if name in automatic:
            return automatic[name]
        if name[:1] in "@<^*+?" and name[1:] in ("D", "F") and name[:1] in automatic:
            folder, _, last = automatic[name[0]].rpartition("/")
            return last if name[1] == "F" else folder or "."
        if name == "CURDIR":
            return str(self.folder)
        return self._expand(self.variables.get(name, ""), automatic, depth)

    def _value(self, inside: str, automatic: dict[str, str], depth: int) -> str:
        """What `$(inside)` is: a function, a substitution or a variable."""
        function, _, rest = inside.partition(" ")
        if function in _FUNCTIONS and rest:
            arguments = [self._expand(part, automatic, depth) for part in _at_commas(rest.strip())]
            return UNTOLD if len(arguments) < _FUNCTIONS[function][0] else _FUNCTIONS[function][1](arguments)
        if function == "foreach" and rest.count(",") > 1:
            name, words, text = rest.split(",", 2)
            found = self._expand(words, automatic, depth).split()
            name = name.strip()
            return " ".join(self._expand(text, {**automatic, name: word}, depth) for word in found)
        if function == "call" and rest:
            name, *given = [self._expand(part, automatic, depth) for part in _at_commas(rest.strip())]
            numbered = {str(number): value for number, value in enumerate(given, 1)}
            return self._expand(self.variables.get(name.strip(), UNTOLD), {**automatic, **numbered}, depth)
        if function in _OF_MAKE and rest:
            return UNTOLD
        name, colon, change = inside.partition(":")
        if colon and "=" in change:
            before, _, after = change.partition("=")
            if "%" not in before:
                before, after = f"%{before}", f"%{after}"
            words = self._variable(self._expand(name, automatic, depth).strip(), automatic, depth)
            parts = [self._expand(part, automatic, depth) for part in (before, after)]
            return _patsubst([*parts, words])
        return self._variable(self._expand(inside, automatic, depth).strip(), automatic, depth)


def _closing(text: str, begin: int) -> int:
    """Where the bracket that opens at `begin` is closed; -1 nowhere."""
    opening = text[begin]
    closing = ")" if opening == "(" else "}"
    inner, end = begin, text.find(closing, begin)
    while end >= 0 and (inner := text.find(opening, inner + 1, end)) >= 0:
        end = text.find(closing, end + 1)
    return end


def _at_commas(text: str) -> list[str]:
    parts, level, begin = list[str](), 0, 0
    for position, char in enumerate(text):
        level += (char in "({") - (char in ")}")
        if char == "," and level == 0:
            parts.append(text[begin:position])
            begin = position + 1
    return [*parts, text[begin:]]


# ----------------------------------------------------------------------------- functions


def matches(pattern: str, word: str) -> str | None:
    """The stem that `%` stands for; None where the word does not fit the pattern."""
    before, percent, after = pattern.partition("%")
    if not percent:
        return "" if pattern == word else None
    fits = len(word) >= len(before) + len(after) and word.startswith(before) and word.endswith(after)
    return word[len(before) : len(word) - len(after)] if fits else None


def _patsubst(arguments: list[str]) -> str:
    pattern, replacement, words = arguments[0].strip(), arguments[1].strip(), arguments[2].split()
    found: list[str] = []
    for word in words:
        stem = matches(pattern, word)
        found.append(word if stem is None else replacement.replace("%", stem, 1))
    return " ".join(found)


def _each(change: Callable[[str], str]) -> Callable[[list[str]], str]:
    return lambda arguments: " ".join(change(word) for word in arguments[0].split())


def _filter(arguments: list[str], *, keeps: bool) -> str:
    patterns = arguments[0].split()
    words = arguments[1].split()
    return " ".join(w for w in words if any(matches(p, w) is not None for p in patterns) is keeps)


def _words(text: str, first: str, last: str) -> str:
    if not first.strip().isdigit() or not last.strip().isdigit():
        return UNTOLD
    return " ".join(text.split()[max(int(first) - 1, 0) : int(last)])


_FUNCTIONS: dict[str, tuple[int, Callable[[list[str]], str]]] = {
    "patsubst": (3, _patsubst),
    "subst": (3, lambda given: given[2].replace(given[0], given[1]) if given[0] else given[2]),
    "strip": (1, lambda given: " ".join(given[0].split())),
    "addprefix": (2, lambda given: " ".join(given[0] + word for word in given[1].split())),
    "addsuffix": (2, lambda given: " ".join(word + given[0] for word in given[1].split())),
    "notdir": (1, _each(lambda word: word.rpartition("/")[2])),
    "dir": (1, _each(lambda word: word.rpartition("/")[0] + "/" if "/" in word else "./")),
    "basename": (1, _each(lambda word: os.path.splitext(word)[0])),  # noqa: PTH122  (a word, no path)
    "suffix": (1, _each(lambda word: os.path.splitext(word)[1])),  # noqa: PTH122
    "filter": (2, lambda given: _filter(given, keeps=True)),
    "filter-out": (2, lambda given: _filter(given, keeps=False)),
    "sort": (1, lambda given: " ".join(sorted(set(given[0].split())))),
    "words": (1, lambda given: str(len(given[0].split()))),
    "word": (2, lambda given: _words(given[1], given[0], given[0])),
    "wordlist": (3, lambda given: _words(given[2], given[0], given[1])),
    "firstword": (1, lambda given: " ".join(given[0].split()[:1])),
    "lastword": (1, lambda given: " ".join(given[0].split()[-1:])),
    "wildcard": (1, lambda given: given[0]),
    "abspath": (1, lambda given: given[0]),
    "realpath": (1, lambda given: given[0]),
    "if": (2, lambda given: given[1] if given[0].strip() else ",".join(given[2:])),
    "or": (1, lambda given: next((part for part in given if part.strip()), "")),
    "findstring": (2, lambda given: given[0] if given[0] in given[1] else ""),
}
_OF_MAKE = frozenset({"shell", "foreach", "call", "eval", "origin", "flavor", "value", "file", "guile",
                      "join", "and", "error", "warning", "info", "let"})  # fmt: skip


# ----------------------------------------------------------------------------- reading


def text_of_file(name: Path | str) -> str | None:
    """A text of a build; None where there is none, or it is too large or no regular file."""
    is_there = os.path.isfile(name)  # noqa: PTH113  (dozens; a name that is too long is none)
    note_file(name, is_there)
    if not is_there:
        return None
    path = Path(name)
    try:
        content = file_bytes(path, MOST_BYTES)
    except OSError:
        return None
    note_text(path, content)
    return content.decode("utf-8", "replace").replace("\r\n", "\n").replace(UNTOLD, " ")


def read_makefile(name: Path | str, top: Path) -> Makefile | None:
    """A Makefile, and what it includes below `top`; None where there is none."""
    text = text_of_file(name)
    if text is None:
        return None
    path = Path(name)
    if not _INCLUDE.search(text):
        return copy(_read_alone(path, top, text))  # its own budget of work, the rest is read only
    makefile = Makefile(path.parent)
    _read(makefile, path, text, top, [path])
    return makefile


@lru_cache(maxsize=64)
def _read_alone(path: Path, top: Path, text: str) -> Makefile:
    makefile = Makefile(path.parent)
    _read(makefile, path, text, top, [path])
    return makefile


def logical_lines(text: str, file: Path) -> Iterator[Line]:
    """Lines with those that continue them behind a backslash."""
    held, begin = list[str](), 0
    for number, line in enumerate(text.split("\n"), 1):
        begin = begin if held else number
        if line.endswith("\\"):
            held.append(line[:-1].rstrip())
            continue
        yield Line(" ".join((held[0], *(part.strip() for part in held[1:]), line.strip())) if held else line,
                   file, begin)  # fmt: skip
        held = []


def _read(makefile: Makefile, path: Path, text: str, top: Path, included: list[Path]) -> None:
    rule: Rule | None = None
    conditions: list[
        tuple[bool, bool]
    ] = []  # whether this branch is in, and whether one of the condition was
    in_definition = False
    for line in logical_lines(text, path):
        stripped = line.text.strip()
        if in_definition or re.match(r"(?:override\s+)?define\b", stripped):
            in_definition = not stripped.startswith("endef")
            continue
        if _condition(makefile, stripped, conditions) or not all(is_in for is_in, _ in conditions):
            continue
        if line.text.startswith("\t") and rule is not None:
            rule.recipe.append(Line(stripped, path, line.number))
            continue
        plain = re.sub(r"(?:^|(?<=[^\\]))#.*", "", stripped, flags=re.DOTALL).strip()
        if not plain:
            continue
        assignment = _ASSIGNMENT.match(plain)
        if assignment is not None:
            _assign(makefile, assignment["name"], assignment["op"], assignment["value"])
        elif (asked := re.match(r"(?:-|s)?include\s+(.*)", plain)) is not None:
            for name in makefile.expanded(asked[1]).split():
                _include(makefile, path.parent, name, top, included)
        elif ":" in plain:
            rule = _rule(makefile, plain, line) or rule


def _include(makefile: Makefile, folder: Path, name: str, top: Path, included: list[Path]) -> None:
    if UNTOLD in name or len(included) >= _MOST_INCLUDED:
        return
    for base in dict.fromkeys((makefile.folder, folder)):
        path = followed(base / name)
        if path.is_relative_to(top) and path not in included:
            text = text_of_file(path)
            if text is not None:
                included.append(path)
                _read(makefile, path, text, top, included)
                return


def _condition(makefile: Makefile, text: str, conditions: list[tuple[bool, bool]]) -> bool:
    """Whether the line belongs to a condition; follows it."""
    if re.match(r"endif\b", text):
        if conditions:
            conditions.pop()
        return True
    found = _CONDITION.match(text)
    if found is None and not re.match(r"else\b", text):
        return False
    if found is None or found["else"]:
        if not conditions:
            return True
        _, was_in = conditions.pop()
        holds = not was_in and (found is None or _holds(makefile, found["what"], found["rest"]))
        conditions.append((holds, was_in or holds))
        return True
    holds = _holds(makefile, found["what"], found["rest"])
    conditions.append((holds, holds))
    return True


def _holds(makefile: Makefile, what: str, rest: str) -> bool:
    if what in ("ifdef", "ifndef"):
        return bool(makefile.variables.get(makefile.expanded(rest).split("#")[0].strip())) is (
            what == "ifdef"
        )
    pair = _PAIR.match(rest.split("#")[0].strip())
    if pair is None:
        return False
    left, right = (pair["a"], pair["b"]) if pair["a"] is not None else (pair["c"], pair["d"])
    left, right = makefile.expanded(left).strip(), makefile.expanded(right).strip()
    return UNTOLD not in left + right and (left == right) is (what == "ifeq")


def _assign(makefile: Makefile, name: str, op: str, value: str) -> None:
    variables = makefile.variables
    match op:
        case "?=":
            variables.setdefault(name, value)
        case "+=":
            variables[name] = f"{variables[name]} {value}"[:_LONGEST] if name in variables else value
        case "!=":
            variables[name] = UNTOLD
        case "=":
            variables[name] = value
        case _:
            variables[name] = makefile.expanded(value).replace("$", "$$")


def _rule(makefile: Makefile, text: str, line: Line) -> Rule | None:
    head, _, recipe = text.partition(";")
    targets, _, behind = makefile.expanded(head).partition(":")
    behind = behind.removeprefix(":")
    if (own := _ASSIGNMENT.match(text.partition(":")[2].strip())) is not None:  # a variable for one target
        for target in targets.split():
            values = makefile.of_targets.setdefault(target, {})
            before = values.get(own["name"], makefile.variables.get(own["name"], ""))
            values[own["name"]] = f"{before} {own['value']}" if own["op"] == "+=" else own["value"]
        return None
    if behind.count(":") == 1:  # a static pattern: the prerequisites of its targets
        pattern, _, wanted = behind.partition(":")
        behind = " ".join(
            _patsubst([pattern, part, target]) for target in targets.split() for part in wanted.split()
        )
    if not targets.split():
        return None
    rule = Rule(tuple(targets.split()), tuple(behind.replace("|", " ").split()), [])
    if recipe.strip():
        rule.recipe.append(Line(recipe.strip(), line.file, line.number))
    if len(makefile.rules) < _MOST_RULES:
        makefile.rules.append(rule)
    return rule


def fits(word: str, name: str) -> bool:
    """Whether a word of a Makefile means the file of this name (without folders); it may be a pattern."""
    last = word.rpartition("/")[2].replace("%", "*")
    return last == name or ("*" in last and fnmatchcase(name, last))
