"""The server as an editor meets it: a process, its pipes, and what it says of texts that change."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from .client import Client, Message, applied, edit, span
from .sources import HOT, LAUNCHED, LOOP, SAXPY


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="module")
def shared(folder):
    """One server for the tests that leave it as they found it."""
    with Client(folder, {"debounceMs": 20}) as client:
        client.initialize()
        yield client
        assert client.leave() == 0
        assert client.errors == []


@pytest.fixture
def opened(shared, folder, request):
    """A document of its own: `opened(text)` is its uri, analysed."""
    uris: list[str] = []

    def open_document(text: str, name: str = "", language: str = "cuda") -> str:
        path = folder / (name or f"{request.node.name.replace('[', '_').strip(']')}_{len(uris)}.cu")
        uris.append(shared.open(path, text, language))
        return uris[-1]

    yield open_document
    for uri in uris:
        shared.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        assert shared.diagnostics(uri) == []


def refreshed(message: Message) -> bool:
    return message.get("method") == "workspace/inlayHint/refresh"


def lines_of(hints: list[Message]) -> list[int]:
    return [hint["position"]["line"] for hint in hints]


def line_of_lens(lens: Message) -> int:
    return lens["range"]["start"]["line"]


def test_it_offers_only_what_lives_beside_clangd(folder):
    with Client(folder) as client:
        told = client.initialize()["capabilities"]
        assert told["positionEncoding"] == "utf-8"
        assert {name for name in told if name.endswith("Provider")} == {
            "codeActionProvider",
            "codeLensProvider",
            "executeCommandProvider",
            "hoverProvider",
            "inlayHintProvider",
        }
        assert told["executeCommandProvider"] == {"commands": ["wattslice.writeSettings"]}
        client.wait(lambda message: message.get("method") == "client/registerCapability")
        (watching,) = client.asked[-1]["params"]["registrations"]
        globs = {watcher["globPattern"] for watcher in watching["registerOptions"]["watchers"]}
        assert {"**/wattslice.toml", "**/pyproject.toml"} <= globs
        assert client.leave() == 0


def test_hints_lenses_and_hover(shared, opened):
    uri = opened(LAUNCHED)
    assert shared.diagnostics(uri) == []
    (hint,) = hints = shared.hints(uri)
    assert hint["position"] == {"line": HOT, "character": len(LAUNCHED.splitlines()[HOT])}
    assert re.fullmatch(r"[\d.]+ W · 9\d %", hint["label"])
    assert shared.hints(uri, 0, HOT - 1) == [hint for hint in hints if hint["position"]["line"] < HOT]
    (lens,) = shared.ask("codeLens", uri)
    assert lens["range"]["start"] == {"line": 0, "character": 0}
    assert "limited by DRAM bandwidth" in lens["command"]["title"]
    line = shared.hover(uri, HOT, 20)
    assert "operations draw in `saxpy`" in line
    assert "| global | `" in line
    for column in (17, 21):  # both ends of the name
        assert "`saxpy<<<4096, 256>>>` host code, line 5" in shared.hover(uri, 0, column)
    assert "fp32 2.00" in shared.hover(uri, 4, 32)  # where it is launched, too
    assert "data live" in shared.hover(uri, 0, 18)
    assert shared.hover(uri, 3) == ""


def test_typing_moves_hints_and_changes_them(shared, opened):
    uri = opened(LAUNCHED)
    shared.diagnostics(uri)
    before = shared.hints(uri)
    shared.change(uri, edit(span(0, 0, 0, 0), "// one more\n\n"))
    at_once = shared.hints(uri)  # of the last result, at the lines as they are now
    assert lines_of(at_once) == [line + 2 for line in lines_of(before)]
    assert [hint["label"] for hint in at_once] == [hint["label"] for hint in before]
    shared.wait(refreshed)
    assert shared.hints(uri) == at_once
    shared.change(uri, edit(span(HOT + 2, 4, HOT + 2, 14), ""))  # without `if (i < n)`
    shared.wait(refreshed)
    assert HOT + 2 in lines_of(shared.hints(uri))
    assert "Taken" not in shared.hover(uri, HOT + 2)


def test_two_documents_do_not_mix(shared, opened):
    first, second = opened(LAUNCHED), opened(SAXPY.replace("saxpy", "other"))
    _, told = shared.all_diagnostics(first, second)
    assert [entry["code"] for entry in told] == ["PW011", "PW010"]
    assert "saxpy" in shared.hover(first, 0, 18)
    assert shared.hover(second, 0, 18).startswith("**other**")


def test_torn_text_keeps_the_last_figures_and_says_so(shared, opened):
    uri = opened(LAUNCHED)
    shared.diagnostics(uri)
    before = shared.hints(uri)
    shared.change(uri, edit(span(1, 0, 1, 0), "    if (\n"))
    told = shared.diagnostics(uri)
    assert any(
        entry["code"] == "PW001" and "last text that could be read" in entry["message"] for entry in told
    )
    assert [hint["label"] for hint in shared.hints(uri)] == [hint["label"] for hint in before]
    shared.change(uri, edit(span(0, 0, 1, 0), "__global__ void saxpy\n"))  # no kernel any more
    assert "last text that could be read" in json.dumps(shared.diagnostics(uri))
    assert shared.ask("codeLens", uri)
    shared.notify("textDocument/didSave", {"textDocument": {"uri": uri}})  # it is meant
    shared.wait(refreshed)
    assert shared.ask("codeLens", uri) == []


TWO = """\
__global__ void k(float *a) { a[threadIdx.x] += 1; }
__global__ void q(float *a) {
  a[threadIdx.x] += sinf(1.f * a[1]);
}
int main() { float *a; k<<<64, 256>>>(a); q<<<64, 256>>>(a); }
"""
Q = "__global__ void q(float *a) {\n  a[threadIdx.x] += sinf(1.f * a[1]);\n}\n"


@pytest.mark.parametrize("off", ["".join(f"// {line}" for line in Q.splitlines(True)), f"#if 0\n{Q}#endif\n"])
def test_a_kernel_that_is_switched_off_holds_nothing_up(shared, opened, off):
    uri = opened(TWO)
    shared.diagnostics(uri)
    shared.change(uri, {"text": TWO.replace(Q, off)})
    told = shared.diagnostics(uri)
    assert "last text that could be read" not in json.dumps(told)
    assert [lens["range"]["start"]["line"] for lens in shared.ask("codeLens", uri)] == [0]
    assert lines_of(shared.hints(uri)) == [0]


def test_what_is_typed_in_one_kernel_leaves_the_other_current(shared, opened):
    uri = opened(TWO)
    shared.diagnostics(uri)
    k_before, q_before = shared.ask("codeLens", uri)
    torn = TWO.replace("q(float *a) {", "q(float *a {").replace("+= 1", "+= cosf(a[2]) * tanf(a[3])")
    shared.change(uri, {"text": torn})
    told = [entry for entry in shared.diagnostics(uri) if "last text" in entry["message"]]
    assert [(entry["code"], entry["range"]["start"]["line"]) for entry in told] == [("PW001", 1)]
    assert "q" in told[0]["message"].split(": the watts")[0]
    k, q = sorted(shared.ask("codeLens", uri), key=line_of_lens)
    assert k["command"]["title"] != k_before["command"]["title"]
    assert (q["range"], q["command"]) == (q_before["range"], q_before["command"])
    assert "**q**" in shared.hover(uri, 1, 17)
    shared.change(uri, {"text": TWO})
    assert "last text" not in json.dumps(shared.diagnostics(uri))
    assert shared.ask("codeLens", uri) == [k_before, q_before]


def test_nothing_left_of_the_text(shared, opened):
    uri = opened(LAUNCHED)
    shared.diagnostics(uri)
    shared.change(uri, {"text": "  \n"})
    assert shared.diagnostics(uri) == []
    assert shared.hints(uri) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain.cuh", "#pragma once\n__device__ float twice(float x) { return 2 * x; }\n"),
        (
            "host.c",
            "int sum(const int* a, int n) { int s = 0; for (int i = 0; i < n; ++i) s += a[i]; return s; }\n",
        ),
        ("page.md", SAXPY),
    ],
)
def test_quiet_about_what_holds_nothing_to_analyse(shared, opened, name, text):
    uri = opened(text, name, "c" if name.endswith("c") else "other")
    assert shared.diagnostics(uri) == []
    assert (shared.hints(uri), shared.ask("codeLens", uri), shared.hover(uri, 0, 5)) == ([], [], "")


def test_a_text_that_was_never_saved(shared):
    uri = shared.open("untitled:Untitled-1", SAXPY, "cuda-cpp")
    assert [entry["code"] for entry in shared.diagnostics(uri)] == ["PW011", "PW010"]
    assert shared.hints(uri)
    shared.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert shared.diagnostics(uri) == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_columns_beyond_ascii_and_crlf(folder, encoding):
    text = LAUNCHED.replace("if (i < n) ", "/*\t😀é*/ ").replace("\n", "\r\n")
    line = text.split("\r\n")[HOT]
    codec = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[encoding]
    unit = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]

    def units(part: str) -> int:
        return len(part.encode(codec)) // unit

    with Client(folder, {"debounceMs": 0}) as client:
        told = client.initialize({"general": {"positionEncodings": ["x", encoding]}})
        assert told["capabilities"]["positionEncoding"] == encoding
        uri = client.open(folder / "é ☃.cu", text)
        (hint,) = [hint for hint in client.hints(uri) if hint["position"]["line"] == HOT]
        assert hint["position"]["character"] == units(line)
        at = units(line[: line.index("y[i]")])
        client.change(uri, edit(span(HOT, at, HOT, at + 4), "y[n - i]"))
        (hint,) = [hint for hint in client.hints(uri) if hint["position"]["line"] == HOT]  # waits: no refresh
        assert hint["position"]["character"] == units(line) + 4
        assert "saxpy" in client.hover(uri, HOT, at)


def test_a_setting_is_written_and_obeyed(folder, tmp_path):
    source = tmp_path / "hops.cu"
    source.write_text(LOOP)
    with Client(tmp_path, {"debounceMs": 20}) as client:
        client.initialize()
        uri = client.open(source, LOOP)
        told = {entry["code"]: entry for entry in client.diagnostics(uri)}
        assert told["PW013"]["severity"] == 3
        assert told["PW013"]["source"] == "wattslice"
        assert "settled by `--set hops.trip_L4=VALUE`" in client.hover(uri, 3, 6)
        # There is no settings file: the action creates one at the root.
        (title,) = [title for title in client.actions(uri, 3) if title.startswith("Set hops.")]
        create, change = client.actions(uri, 3)[title]["edit"]["documentChanges"]
        target = tmp_path / "wattslice.toml"
        assert create == {
            "kind": "create",
            "uri": target.as_uri(),
            "options": {"overwrite": False, "ignoreIfExists": True},
        }
        (trips,) = tomllib.loads(applied("", change))["set"]
        assert trips.startswith("hops.trip_L4=")
        target.write_text("# ours\nset = [\n  'hops.trip_L4=3',  # measured\n]\n")
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": target.as_uri(), "type": 1}]})
        assert "PW013" not in {entry["code"] for entry in client.diagnostics(uri)}
        assert "runs **3.00** times" in client.hover(uri, 3, 6)
        # Now there is one: the next entry goes into it, comments and all.
        assert "settled by `--set n=VALUE`" in client.hover(uri, 11, 0)
        (title,) = [title for title in client.actions(uri, 11) if title.startswith("Set n=")]
        (change,) = client.actions(uri, 11)[title]["edit"]["documentChanges"]
        assert change["textDocument"] == {"uri": target.as_uri(), "version": None}
        written = applied(target.read_text(), change)
        assert written.startswith("# ours\nset = [\n  'hops.trip_L4=3',  # measured\n  \"n=")
        target.write_text(written)
        client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        assert {entry["code"]: entry["severity"] for entry in client.diagnostics(uri)} == {"PW016": 4}
        # A mistake in it is told where somebody sees it, and the figures stay.
        target.write_text("gpuu = 3\n")
        client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        (told,) = [entry for entry in client.diagnostics(uri) if "gpuu" in entry["message"]]
        assert "did you mean gpu?" in told["message"]
        assert client.hints(uri)
        target.write_text("[gate]\nmax-power = 20\n")
        client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        (told,) = [entry for entry in client.diagnostics(uri) if entry["code"] == "PW020"]
        assert (told["range"]["start"]["line"], told["severity"]) == (0, 2)
        client.settings = {"gpu": "h100"}
        target.unlink()
        client.notify("workspace/didChangeConfiguration", {"settings": None})
        assert "PW020" not in {entry["code"] for entry in client.diagnostics(uri)}
        assert "H100" in client.hover(uri, 0, 18)


def test_a_finding_is_silenced_where_it_stands(shared, opened):
    text = LOOP.replace("\n", "\r\n")
    uri = opened(text)
    shared.diagnostics(uri)
    (change,) = shared.actions(uri, 3)["Ignore PW013 here"]["edit"]["documentChanges"]
    assert change["textDocument"]["uri"] == uri
    assert change["edits"][0]["newText"] == "    // wattslice: ignore[PW013] reason\r\n"
    assert change["edits"][0]["range"] == span(3, 0, 3, 0)
    shared.change(uri, edit(span(3, 0, 3, 0), "    // wattslice: ignore[PW040] reason\r\n"))
    assert "PW024" in {entry["code"] for entry in shared.diagnostics(uri)}  # it covers nothing yet
    (change,) = shared.actions(uri, 4)["Ignore PW013 here"]["edit"]["documentChanges"]
    place = len("    // wattslice: ignore[PW040")
    assert change["edits"] == [{"range": span(3, place, 3, place), "newText": ", PW013"}]
    shared.change(uri, edit(change["edits"][0]["range"], ", PW013"))
    assert "PW013" not in {entry["code"] for entry in shared.diagnostics(uri)}
    context = {"diagnostics": [], "only": ["source"]}
    assert shared.ask("codeAction", uri, range=span(4, 0, 4, 0), context=context) == []


def test_an_editor_that_speaks_of_created_files_alone(tmp_path):
    # Neovim says resourceOperations and not documentChanges, of which they are a part.
    source = tmp_path / "hops.cu"
    edits = {"workspaceEdit": {"resourceOperations": ["create", "rename", "delete"]}}
    with Client(tmp_path) as client:
        client.initialize({"workspace": edits}, initializationOptions={"gpu": "h100"})
        uri = client.open(source, LOOP)
        told = client.wait(lambda message: message.get("method") == "$/wattslice/analyzed")["params"]
        assert (told["uri"], told["gpu"], told["launches"]) == (uri, "h100", 1)
        assert "H100" in told["gpuName"]
        assert told["timeMs"] > 0
        assert any(title.startswith("Set ") for title in client.actions(uri, 3))


@pytest.mark.slow
def test_a_header_that_appears_is_found(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "inc").mkdir()
    text = f'#include "size.h"\n{LAUNCHED}'.replace("1 << 20", "SIZE")
    with Client(tmp_path) as client:
        client.initialize()
        uri = client.open(tmp_path / "a.cu", text)
        assert "PW002" in {entry["code"] for entry in client.diagnostics(uri)}
        (tmp_path / "inc" / "size.h").write_text("#define SIZE (1 << 20)\n")
        created = (tmp_path / "inc" / "size.h").as_uri()
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": created, "type": 1}]})
        assert client.diagnostics(uri) == []


@pytest.mark.slow
def test_a_header_that_is_not_saved_counts_for_who_includes_it(tmp_path):
    (tmp_path / "inc").mkdir()
    header, between = tmp_path / "inc" / "size.cuh", tmp_path / "inc" / "all.cuh"
    header.write_text("#define SIZE (1 << 20)\n")
    between.write_text('#include "size.cuh"\n')
    text = f'#include "inc/all.cuh"\n{LAUNCHED}'.replace("4096", "SIZE >> 8")
    with Client(tmp_path) as client:
        client.initialize()
        uri = client.open(tmp_path / "a.cu", text)
        client.diagnostics(uri)
        before = client.ask("codeLens", uri)[0]["command"]["title"]
        edited = client.open(header, header.read_text())
        client.diagnostics(edited)
        client.change(edited, {"text": "#define SIZE (1 << 24)\n"})
        client.diagnostics(uri)
        after = client.ask("codeLens", uri)[0]["command"]["title"]
        assert after != before
        client.notify("textDocument/didClose", {"textDocument": {"uri": edited}})
        client.all_diagnostics(uri)
        assert client.ask("codeLens", uri)[0]["command"]["title"] == before


@pytest.mark.slow
def test_a_launch_that_is_not_saved_counts_for_its_kernel(tmp_path):
    (tmp_path / "k.cuh").write_text(
        "__global__ void k(float *x) { x[blockIdx.x * 256 + threadIdx.x] = 1; }\n"
    )
    host = '#include "k.cuh"\nvoid f(float *x) { k<<<BLOCKS, 256>>>(x); }\n'
    (tmp_path / "main.cu").write_text(host.replace("BLOCKS", "64"))
    with Client(tmp_path) as client:
        client.initialize()
        uri = client.open(tmp_path / "k.cuh", (tmp_path / "k.cuh").read_text())
        client.diagnostics(uri)
        assert "<<<64, 256>>>" in client.hover(uri, 0, 16)
        edited = client.open(tmp_path / "main.cu", (tmp_path / "main.cu").read_text())
        client.diagnostics(edited)
        client.change(edited, {"text": host.replace("BLOCKS", "4096")})
        client.all_diagnostics(uri, edited)
        assert "<<<4096, 256>>>" in client.hover(uri, 0, 16)


def test_wishes_of_the_client(tmp_path):
    wishes = {"codeLens": False, "diagnostics": False, "minShare": 1, "gpu": "h100", "model": 3}
    with Client(tmp_path) as client:
        client.initialize({"general": {}}, initializationOptions={"wattslice": wishes})
        uri = client.open(tmp_path / "a.cu", SAXPY)
        assert client.hints(uri) == []
        assert client.ask("codeLens", uri) == []
        assert "H100" in client.hover(uri, 0, 18)
        shown = [message for message in client.asked if message["method"] == "window/showMessage"]
        assert "wattslice.model: expected a text" in shown[0]["params"]["message"]
        told = [m for m in client.asked if m["method"] == "textDocument/publishDiagnostics"]
        assert all(message["params"]["diagnostics"] == [] for message in told)


def test_plain_c_with_settings(tmp_path):
    (tmp_path / "wattslice.toml").write_text("")
    text = "void scale(float* a) { for (int i = 0; i < 1000; ++i) a[i] *= 2; }\n"
    text += "int main() { float a[1000]; scale(a); }\n"
    with Client(tmp_path, {"debounceMs": 0}) as client:
        client.initialize({})
        uri = client.open(tmp_path / "a.c", text, "c")
        assert client.hints(uri)
        client.change(uri, edit(span(0, 0, 0, 1), ""))
        assert client.hints(uri)  # "oid scale" is no C, and the last figures stand
        assert any("last text" in entry["message"] for entry in client.asked[-1]["params"]["diagnostics"])


def test_settings_that_name_no_variable_of_their_kernel(tmp_path):
    target = tmp_path / "wattslice.toml"
    target.write_text('set = ["saxpy.zzz=3", "other.zzz=3", "zzz=3"]\n')
    with Client(tmp_path, {"set": ["saxpy.alpha=2"]}) as client:
        client.initialize()
        uri = client.open(tmp_path / "a.cu", LAUNCHED)
        client.wait(lambda message: message.get("method") == "$/wattslice/analyzed")
        client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        client.wait(lambda message: message.get("method") == "$/wattslice/analyzed")
        told = client.diagnostics(uri)
        assert [entry["range"]["start"]["line"] for entry in told] == [0, 0]
        assert "no variable 'zzz' in kernel 'saxpy'" in told[0]["message"]
        assert "no variable 'alpha' in kernel 'saxpy'" in told[1]["message"]
        assert client.hints(uri)
        client.change(uri, edit(span(1, 0, 1, 0), "    if (\n"))  # who knows what stands there
        assert "zzz" not in json.dumps(client.diagnostics(uri))
        client.settings = {"set": ["saxpy.alpha"]}
        client.notify("workspace/didChangeConfiguration", {"settings": None})
        (error,) = [entry for entry in client.diagnostics(uri) if entry["severity"] == 1]
        assert "the editor's settings: wattslice.set: 'saxpy.alpha' cannot be read" in error["message"]


def test_lines_that_end_as_on_old_macs(shared, opened):
    text = LAUNCHED.replace("if (i < n) ", "if (i < n)\n")
    expected = opened(text)
    shared.diagnostics(expected)
    uri = opened(text.replace("\n", "\r"))
    shared.diagnostics(uri)
    assert shared.hints(uri) == shared.hints(expected) != []
    assert shared.ask("codeLens", uri) == shared.ask("codeLens", expected)
