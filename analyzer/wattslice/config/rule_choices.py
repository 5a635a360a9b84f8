"""Which findings are told, and how severe they are: what `select`, `ignore` and `severity` say."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import PurePath

from msgspec import Struct

from wattslice.errors import WattsliceError
from wattslice.ir import Severity
from wattslice.patterns import regex

_ENTRY = regex(r"(PW[0-9*?]{1,3})(?:=(\w+))?(?:@(.+))?")


class RuleChoice(Struct, frozen=True):
    """What is said of the rules that match `rule` in the files that match `file`.

    Both are patterns with ``*`` and ``?``. One of a file without a slash is about the file's own name, any
    other about the end of its path.
    """

    rule: str
    file: str = "*"
    severity: Severity | None = None

    def holds_for(self, rule: str, file: str) -> bool:
        """Whether it is about a finding of `rule` in `file`."""
        if not fnmatchcase(rule, self.rule):
            return False
        path = PurePath(file).as_posix()
        if "/" not in self.file:
            return fnmatchcase(PurePath(file).name, self.file)
        return fnmatchcase(path, self.file) or fnmatchcase(path, f"*/{self.file.lstrip('/')}")


class RuleChoices(Struct, frozen=True):
    """`select`: what is told, everything when empty. `ignore`: what of that is not. `severities`: the last
    that holds for a finding counts.
    """

    select: tuple[RuleChoice, ...] = ()
    ignore: tuple[RuleChoice, ...] = ()
    severities: tuple[RuleChoice, ...] = ()

    def tells(self, rule: str, file: str) -> bool:
        """Whether a finding is told."""
        if any(one.holds_for(rule, file) for one in self.ignore):
            return False
        return not self.select or any(one.holds_for(rule, file) for one in self.select)

    def severity(self, rule: str, file: str, own: Severity) -> Severity:
        """How severe a finding is that is `own` by itself."""
        held = (one.severity for one in reversed(self.severities) if one.holds_for(rule, file))
        return next((severity for severity in held if severity is not None), own)


def rule_choices(select: tuple[str, ...], ignore: tuple[str, ...], severity: tuple[str, ...]) -> RuleChoices:
    """Reads ``PW041``, ``PW04*@tests/*``, ``PW041=note``. Raises `WattsliceError` for anything else."""
    return RuleChoices(
        tuple(_read("select", entry) for entry in select),
        tuple(_read("ignore", entry) for entry in ignore),
        tuple(_read("severity", entry) for entry in severity),
    )


def _read(option: str, entry: str) -> RuleChoice:
    grades = option == "severity"
    found = _ENTRY.fullmatch(entry.strip())
    if found is None or grades is not (found[2] is not None):
        example = "PW041=note or PW04*=note@tests/*" if grades else "PW041 or PW04*@tests/*"
        raise WattsliceError(f"--{option}: {entry!r} names no rule", remedy=f"such as {example}")
    known = {one.value: one for one in Severity}
    if grades and found[2] not in known:
        raise WattsliceError(
            f"--{option}: {entry!r}: unknown value {found[2]!r}", remedy=f"one of {', '.join(known)}"
        )
    return RuleChoice(found[1], found[3] or "*", known[found[2]] if grades else None)
