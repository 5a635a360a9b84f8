"""Actions on settings, one after the other, while what they write lies unsaved in the editor."""

import tomllib
from pathlib import Path

import pytest

from wattslice.lsp.settings_files import with_entry

from .client import CAPABILITIES, Client, Message, applied

TWO_LOOPS = """\
__global__ void k(float *a, int n, int m) {
  for (int i = 0; i < n; i++) a[threadIdx.x] += i;
  for (int i = 0; i < m; i++) a[threadIdx.x] *= i;
}
int main(int c, char **v) { float *a; int n = atoi(v[1]), m = atoi(v[2]); k<<<100, 64>>>(a, n, m); }
"""
APPLIES: Message = {**CAPABILITIES, "workspace": {**CAPABILITIES["workspace"], "applyEdit": True}}


class Buffer:
    """The settings file as an editor that creates files at once and saves nothing by itself has it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text() if path.exists() else ""

    def __call__(self, edit: Message) -> None:
        for change in edit["documentChanges"]:
            if change.get("kind") == "create":
                if not self.path.exists():
                    self.path.write_text("")
            else:
                assert change["textDocument"]["uri"] == self.path.as_uri()
                self.text = applied(self.text, change)


def run(client: Client, action: Message) -> None:
    command = action["command"]
    client.request("workspace/executeCommand", {k: command[k] for k in ("command", "arguments")})


def sets(client: Client, uri: str) -> dict[str, Message]:
    found = {title: action for line in range(5) for title, action in client.actions(uri, line).items()}
    return {title: action for title, action in found.items() if title.startswith("Set ")}


@pytest.mark.parametrize("before", [None, 'set = ["q=1"]\n', 'gpu = "v100"\n[gate]\n'])
def test_two_in_a_row_without_saving(tmp_path, before):
    target = tmp_path / "wattslice.toml"
    if before is not None:
        target.write_text(before)
    with Client(tmp_path) as client:
        client.initialize(APPLIES)
        client.applies = buffer = Buffer(target)
        uri = client.open(tmp_path / "a.cu", TWO_LOOPS)
        client.diagnostics(uri)
        first, second = [title for title in sets(client, uri) if title.startswith("Set k.")]
        run(client, sets(client, uri)[first])
        assert first not in sets(client, uri)  # it stands in the buffer
        run(client, sets(client, uri)[second])
        names = [entry.partition("=")[0] for entry in tomllib.loads(buffer.text)["set"]]
        assert sorted(names) == sorted(["k.m", "k.n", *(["q"] if before and "q" in before else [])])
        # Thrown away in the editor, and something else saved: the disk counts again.
        buffer.text = "# nothing of it\n"
        target.write_text(buffer.text)
        run(client, sets(client, uri)[first])
        assert len(tomllib.loads(buffer.text)["set"]) == 1


def test_all_at_once(tmp_path):
    with Client(tmp_path) as client:
        client.initialize(APPLIES)
        client.applies = buffer = Buffer(tmp_path / "wattslice.toml")
        uri = client.open(tmp_path / "a.cu", TWO_LOOPS)
        client.diagnostics(uri)
        (title,) = [title for title in sets(client, uri) if title.startswith("Set all 2 missing values")]
        run(client, sets(client, uri)[title])
        assert len(tomllib.loads(buffer.text)["set"]) == 2
        assert sets(client, uri) == {}
        (tmp_path / "wattslice.toml").write_text(buffer.text)
        client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        assert not any("assumed" in entry["message"] for entry in client.diagnostics(uri))


@pytest.fixture(scope="module")
def unmoved(tmp_path_factory):
    """One server for the tests in which nothing is written."""
    with Client(tmp_path_factory.mktemp("workspace")) as client:
        client.initialize(APPLIES)
        yield client


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["x", []],
        [3, 4],
        ["URI", [{"key": "gpu", "value": "h100"}, 3]],
        ["URI", [{"key": "set", "value": "]"}]],
    ],
)
def test_what_no_action_of_ours_says_is_not_written(unmoved, tmp_path, arguments):
    unmoved.applies = buffer = Buffer(unmoved.root / "wattslice.toml")
    uri = unmoved.open(unmoved.root / f"{tmp_path.name}.cu", TWO_LOOPS)
    unmoved.diagnostics(uri)
    arguments = [uri if argument == "URI" else argument for argument in arguments]
    unmoved.request(
        "workspace/executeCommand", {"command": "wattslice.writeSettings", "arguments": arguments}
    )
    assert buffer.text == ""


def test_a_byte_order_mark_in_front(tmp_path):
    target = tmp_path / "wattslice.toml"
    target.write_bytes(b'\xef\xbb\xbfgpu = "h100"\n')
    with Client(tmp_path) as client:
        client.initialize(APPLIES)
        client.applies = buffer = Buffer(target)
        buffer.text = 'gpu = "h100"\n'  # editors keep the mark to themselves
        uri = client.open(tmp_path / "a.cu", TWO_LOOPS)
        client.diagnostics(uri)
        assert "H100" in client.hover(uri, 0, 16)
        run(client, next(iter(sets(client, uri).values())))
        assert tomllib.loads(buffer.text)["gpu"] == "h100"


@pytest.mark.parametrize("before", ["[tool.wattslice.gate]\nmax-power = 3\n", "[tool.wattslice.gate]"])
def test_only_a_table_within_ours(before):
    found = with_entry(before, "set", "n=4", is_pyproject=True)
    assert found is not None
    table = tomllib.loads(found)["tool"]["wattslice"]
    assert table["set"] == ["n=4"]
    assert before in found
    assert "gate" in table
