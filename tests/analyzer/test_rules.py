import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import wattslice
from wattslice.errors import WattsliceError
from wattslice.findings.rules import RULES, checks, find_rule

PACKAGE = Path(wattslice.__file__).parent
SOURCES = tuple(PACKAGE.rglob("*.py"))
TABLE = PACKAGE / "findings" / "rules.py"


@cache
def told_in(folder: Path) -> set[str]:
    """Ids that stand as texts of their own in the code of a folder."""
    return {
        str(node.value)
        for path in folder.rglob("*.py")
        if path != TABLE
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and re.fullmatch(r"PW\d{3}", str(node.value))
    }


def told_from(path: Path, function: str) -> set[str]:
    """Ids in a function and in what it uses of its own module."""
    parts: dict[str, ast.stmt] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = (getattr(node, "name", None), getattr(node, "target", None), *getattr(node, "targets", ()))
        parts |= {str(getattr(target, "id", target)): node for target in targets if target is not None}
    seen: set[str] = set()
    waiting, found = [function], set[str]()
    while waiting:
        name = waiting.pop()
        if name in parts and name not in seen:
            seen.add(name)
            for node in ast.walk(parts[name]):
                if isinstance(node, ast.Name):
                    waiting.append(node.id)
                elif isinstance(node, ast.Constant):
                    found.add(str(node.value))
    return found


def test_ids_and_names_are_unique_and_sorted():
    ids = [rule.id for rule in RULES]
    assert ids == sorted(set(ids))
    assert all(re.fullmatch(r"PW\d{3}", rule_id) for rule_id in ids)
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_says_what_why_example_and_remedy(rule):
    for text in (rule.what, rule.why, rule.remedy):
        assert len(text) > 20
        assert text.rstrip(")`").endswith((".", "?")) or "`" in text
    assert rule.example


def test_every_rule_the_analyzer_may_report_is_explained():
    used = {
        rule
        for path in SOURCES
        if path != TABLE
        for rule in re.findall(r"\bPW\d{3}\b", path.read_text(encoding="utf-8"))
    }
    assert used <= {rule.id for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_row_names_what_finds_it(rule):
    if not rule.check:
        assert rule.id in told_in(PACKAGE / rule.told_by)
        return
    module, function = rule.check.split(".")
    assert rule.load_check() in checks()
    assert rule.id in told_from(PACKAGE / "findings" / "advice" / f"{module}.py", function)
    assert rule.can_be_suppressed


def test_advice_is_told_by_checks_of_the_table_alone():
    assert told_in(PACKAGE / "findings" / "advice") == {rule.id for rule in RULES if rule.check}


NEW_RULE = """
import sys, types
from pathlib import Path
from wattslice.findings import rules
from wattslice.ir import Severity

row = rules.Rule(
    id="PW070", name="always-there", severity=Severity.NOTE, what="There is a kernel.", why="It draws power.",
    example="k<<<1, 32>>>();", remedy="Do without it.", check="new.always",
)
rules.RULES = (*rules.RULES, row)

from wattslice.findings.advice import facts  # noqa
new = types.ModuleType("wattslice.findings.advice.new")
new.always = lambda one: iter([one.advice("PW070", one.kernel.span, "a kernel", "do without it", None)])
sys.modules[new.__name__] = new

from wattslice.cli import main  # noqa
import wattslice_tools.rules_page as page  # noqa

assert "### PW070 always-there" in page.rules_page()
for arguments in (["explain", "always-there"], ["analyze", "--format", "sarif", "k.cu"]):
    assert main(arguments) == 0, arguments
"""


def test_a_new_rule_is_one_row(tmp_path):
    """Explanation, page, suppression, SARIF and the analysis itself follow from the row and its check."""
    (tmp_path / "k.cu").write_text(
        "// wattslice: ignore[PW070] wanted\n__global__ void hushed(float *x) { x[threadIdx.x] = 1.0f; }\n"
        "__global__ void told(float *x) { x[threadIdx.x] = 2.0f; }\n"
        "int main() { float *x; cudaMalloc(&x, 128); hushed<<<1, 32>>>(x); told<<<1, 32>>>(x); }\n"
    )
    command = [sys.executable, "-c", NEW_RULE]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "PW070 always-there" in done.stdout
    assert '"id":"PW070","name":"always-there"' in done.stdout
    assert done.stdout.count('"ruleId":"PW070"') == 2
    assert done.stdout.count('"justification":"wanted"') == 1


def test_found_by_id_in_either_case_and_by_name():
    assert find_rule("pw010") is find_rule("PW010") is find_rule("size-assumed")


def test_unknown_rule_names_close_matches():
    with pytest.raises(WattsliceError, match="PW010"):
        find_rule("PW10")
    with pytest.raises(WattsliceError, match="lists all"):
        find_rule("zzzzzzzz")
