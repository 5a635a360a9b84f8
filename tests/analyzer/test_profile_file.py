import json

import pytest

from wattslice.profile_file import BranchProfileError, read_branch_profile

ENTRY = {"file": "match.cu", "line": 27, "arm": "then", "probability": 0.03}


def written(tmp_path, branches, version=1):
    path = tmp_path / "profile.json"
    path.write_text(json.dumps({"schema_version": version, "branches": branches}), encoding="utf-8")
    return path


def test_lookup_by_the_tail_of_the_path(tmp_path):
    deeper = ENTRY | {"file": "b/match.cu", "probability": 0.5}
    profile = read_branch_profile(written(tmp_path, [ENTRY, deeper]))
    assert profile.lookup("/src/match.cu", 27, "then") == 0.03
    assert profile.lookup("/src/b/match.cu", 27, "then") == 0.5
    assert profile.lookup("match.cu", 27, "then") == 0.03
    assert profile.lookup("rematch.cu", 27, "then") is None
    assert profile.lookup("match.cu", 28, "then") is None
    assert profile.lookup("match.cu", 27, "else") is None


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"line": 0}, r"branches\[1\].line"),
        ({"line": True}, r"branches\[1\].line"),
        ({"arm": "maybe"}, r"branches\[1\].arm"),
        ({"arm": "case x"}, r"branches\[1\].arm"),
        ({"probability": 1.5}, r"branches\[1\].probability"),
        ({"probability": None}, r"branches\[1\].probability"),
        ({"file": ""}, r"branches\[1\].file"),
        ({"extra": 1}, r"branches\[1\]: unknown key 'extra'"),
        ({}, r"branches\[1\]: arm 'then' of line 27 was given in branches\[0\]"),
        ({"arm": "else", "probability": 0.98}, "add up to 1.01"),
    ],
)
def test_errors_name_file_and_json_path(tmp_path, change, place):
    with pytest.raises(BranchProfileError, match=rf"profile\.json: .*{place}"):
        read_branch_profile(written(tmp_path, [ENTRY, ENTRY | change]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not valid JSON"),
        (b"{\n]", "profile.json:2: not valid JSON"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"[]", "expected an object, found a list"),
        (b"{}", "'schema_version' is missing"),
        (b'{"schema_version": 2, "branches": []}', "schema_version: 2 is not supported"),
        (b'{"schema_version": 1, "branches": {}}', "branches: expected a list"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_profile(tmp_path, content, message):
    path = tmp_path / "profile.json"
    path.write_bytes(content)
    with pytest.raises(BranchProfileError, match=message):
        read_branch_profile(path)


def test_a_missing_profile(tmp_path):
    with pytest.raises(BranchProfileError, match="cannot read the profile: No such file"):
        read_branch_profile(tmp_path / "none.json")


def test_arms_that_add_up_to_one_despite_rounding(tmp_path):
    arms = [ENTRY | {"arm": f"case {i}", "probability": 0.1} for i in range(10)]
    loop = ENTRY | {"arm": "loop", "probability": 0.99}
    assert len(read_branch_profile(written(tmp_path, [*arms, loop])).arms) == 11
