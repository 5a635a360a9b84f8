from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from wattslice.commands.gate import gate
from wattslice.errors import WattsliceError
from wattslice.gate.baseline import read_baseline

KERNEL = """\
template <int N> __global__ void scale(float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = x[i * N % 1048576] * 2.0f;
}
void go(float *x) { scale<1><<<4096, 256>>>(x); scale<1><<<2048, 256>>>(x); }
"""


def run(*words: str) -> Result:
    result = CliRunner().invoke(gate, ["--gpu", "v100", *words], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "src" / "scale.cu"
    path.parent.mkdir()
    path.write_text(KERNEL)
    return path


def update(*paths: str) -> str:
    run("--update-baseline", *paths)
    return Path("watts.baseline").read_text()


def test_one_line_per_launch_and_the_same_bytes_again(source: Path):
    first = update("src")
    assert update("src") == first
    assert update(str(source.resolve())) == first  # wherever it is called from
    rows = [line.split("\t") for line in first.splitlines() if not line.startswith("#")]
    assert rows[0][:5] == ["file", "kernel", "launch", "grid", "block"]
    assert [row[:5] for row in rows[1:]] == [
        ["src/scale.cu", "scale<1>", "1", "2048x1x1", "256x1x1"],
        ["src/scale.cu", "scale<1>", "2", "4096x1x1", "256x1x1"],
    ]
    assert "# gpu v100\n" in first
    assert not list(Path().glob(".watts*"))


def test_what_got_worse_fails_and_what_did_not_passes(source: Path):
    update("src")
    assert run("--baseline", "watts.baseline", "src").return_value == 0
    source.write_text(KERNEL.replace("x[i] =", "x[i] = sinf(x[i]) +").replace("* N", "* N * 8"))
    result = run("--baseline", "watts.baseline", "src")
    assert result.return_value == 1
    assert "2 of 2 worse against watts.baseline" in " ".join(result.stdout.split())


def test_new_vanished_and_renamed_kernels_are_told_only(source: Path):
    update("src")
    source.write_text(KERNEL.replace("scale", "stretch"))
    words = " ".join(run("--baseline", "watts.baseline", "src").stdout.split())
    assert "stretch<1>: was scale<1> against watts.baseline" in words
    source.write_text(
        "__global__ void other(int *x) { atomicAdd(x, 1); }\nvoid go(int *x) { other<<<9, 32>>>(x); }"
    )
    result = run("--baseline", "watts.baseline", "src")
    words = " ".join(result.stdout.split())
    assert "other: new, not against watts.baseline" in words
    assert "scale<1>: vanished" in words
    assert result.return_value == 0


def test_lines_of_other_files_are_kept_while_the_files_exist(source: Path):
    other = source.with_name("more.cu")
    other.write_text(KERNEL.replace("scale", "more"))
    both = update("src")
    assert update("src/more.cu") == both
    other.unlink()
    assert "more" not in update("src/scale.cu")


def test_figures_of_another_gpu_or_other_settings_are_refused(source: Path):
    update("src")
    with pytest.raises(
        WattsliceError, match=r"another GPU .*recalculate it: wattslice gate --update-baseline"
    ):
        run("--gpu", "a100", "--baseline", "watts.baseline", "src")
    with pytest.raises(WattsliceError, match="other settings"):
        run("-D", "X=1", "--baseline", "watts.baseline", "src")
    path = Path("watts.baseline")
    text = path.read_text()
    path.write_text(text.replace("# coefficients ", "# coefficients 0"))
    with pytest.raises(WattsliceError, match="other coefficients"):
        run("--baseline", "watts.baseline", "src")
    for broken, line in (
        (text.replace("256x1x1", "256"), 7),
        ("watts\n", 1),
        (text.replace("energy_j\t", "joules\t"), None),
    ):
        path.write_text(broken)
        with pytest.raises(WattsliceError) as caught:
            run("--baseline", "watts.baseline", "src")
        assert (caught.value.line, "recalculate" in caught.value.remedy) == (line, True)


NAMES = [
    "#a.cu",
    "\ufeffa.cu",
    "a\rb.cu",
    "a\u2028b.cu",
    "a\x1c\x85\x0b\x0cb.cu",
    "a\\n\nb\t.cu",
    "a\udce9.cu",
]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_any_file_name_comes_back(name: str, source: Path):
    named = source.with_name(name)
    source.rename(named)
    Path("watts.baseline").unlink(missing_ok=True)
    run("--update-baseline", "--baseline", "src/watts.baseline", "src")
    made = Path("src/watts.baseline").read_bytes()
    assert [line.isprintable() for line in made.decode().replace("\t", "").split("\n")] == [True] * 9
    known = read_baseline(Path("src/watts.baseline"))
    assert [record.file for record in known.records] == [name, name]
    result = run("--baseline", "src/watts.baseline", "src")
    assert (result.return_value, "0 of 2 worse" in " ".join(result.stdout.split())) == (0, True)
    Path("src/watts.baseline").write_bytes(b"\xef\xbb\xbf" + made.replace(b"\n", b"\r\n"))
    assert read_baseline(Path("src/watts.baseline")).records == known.records


def test_kernels_of_headers_are_compared(source: Path):
    source.with_name("scale.cuh").write_text(KERNEL)
    source.write_text('#include "scale.cuh"\n')
    update("src")
    source.with_name("scale.cuh").write_text(
        KERNEL.replace("x[i] =", "x[i] = sinf(x[i]) +").replace("* N", "* N * 8")
    )
    result = run("--baseline", "watts.baseline", "src")
    assert "2 of 2 worse against watts.baseline" in " ".join(result.stdout.split())


def test_a_file_without_result_fails_unless_it_had_none_before(source: Path):
    source.with_name("scale.cuh").write_text(KERNEL)
    other = source.with_name("main.cu")
    other.write_text('#include "scale.cuh"\n')
    update("src")
    other.write_text('#include "/dev/zero"\n#include "scale.cuh"\n')
    result = run("--baseline", "watts.baseline", "src")
    assert (result.return_value, "main.cu cannot be analysed" in " ".join(result.stdout.split())) == (1, True)
    assert run("--baseline", "watts.baseline", "--unknown", "warn", "src").return_value == 0
    assert "# unread src/main.cu\n" in update("src")
    assert update("src/scale.cu") == update("src")  # those of other files are kept
    assert run("--baseline", "watts.baseline", "src").return_value == 0


def test_what_writing_a_baseline_ignores_is_refused(source: Path):
    for option, value in (
        ("--against", "HEAD"), ("--format", "sarif"), ("-o", "x"), ("--max-power", "3"),
        ("--unknown", "warn"),
    ):  # fmt: skip
        with pytest.raises(WattsliceError, match=f"no use for {option}"):
            run("--update-baseline", option, value, "src")
    assert not Path("watts.baseline").exists()


def test_the_settings_name_the_baseline(source: Path):
    Path("wattslice.toml").write_text('[gate]\nbaseline = "ci/watts.txt"\n')
    Path("ci").mkdir()
    run("--update-baseline", "src")
    assert "../src/scale.cu\tscale<1>" in Path("ci/watts.txt").read_text()
    assert run("src").return_value == 0


def test_a_yardstick_is_needed(source: Path):
    with pytest.raises(WattsliceError, match="gate needs a budget, a baseline or a revision"):
        run("src")


def test_a_baseline_knows_how_often_a_launch_is_made(source: Path):
    text = update("src")
    often = "for (int i = 0; i < 50; i++) scale<1><<<4096"
    source.write_text(KERNEL.replace("scale<1><<<4096", often))
    result = run("--baseline", "watts.baseline", "src")
    assert result.return_value == 1
    assert "1 of 2 worse" in " ".join(result.stdout.split())
    rows = (line if line.startswith("#") else line.rpartition("\t")[0] for line in text.splitlines())
    Path("watts.baseline").write_text(
        "".join(f"{row}\n" for row in rows)
    )  # made before there were such counts
    assert run("--baseline", "watts.baseline", "src").return_value == 0
