import io
from pathlib import Path

import pytest
from msgspec.structs import replace

from wattslice.analysis import Advice, Suppression
from wattslice.config.config import Config, Options, make_config
from wattslice.config.gpu_choice import GpuChoice
from wattslice.findings.findings import all_findings, findings_of, told_by
from wattslice.findings.suppressions import read_suppressions
from wattslice.pipeline.files import analyze_files
from wattslice.report.text import write_text

from .samples import ANALYSIS, MATMUL, UNKNOWN


def read(text: str) -> list[tuple[int, int, tuple[str, ...], str]]:
    found = read_suppressions("a.cu", text).suppressions
    return [(entry.line, entry.comment_line, entry.rules, entry.reason) for entry in found]


def complaints(text: str) -> list[str]:
    found = read_suppressions("a.cu", text)
    assert not found.suppressions
    assert {entry.rule for entry in found.diagnostics} <= {"PW025"}
    return [entry.message for entry in found.diagnostics]


def test_a_comment_behind_code_covers_its_line():
    assert read("int a;\nint b; // wattslice: ignore[PW010] small\n") == [(2, 2, ("PW010",), "small")]
    assert read("int b; /* wattslice: ignore[PW010] small */ int c;") == [(1, 1, ("PW010",), "small")]
    assert read("/* wattslice: ignore[PW010] small */ int c;") == [(1, 1, ("PW010",), "small")]
    assert read("/* wattslice: ignore[PW010]\n small */ int c;") == [(2, 1, ("PW010",), "small")]


def test_a_comment_alone_covers_the_next_code_and_several_may_stand_above_it():
    text = "// wattslice: ignore[PW010] one\n\n// or\n/* wattslice: ignore[pw012, PW013]\n two */\nx();\n"
    assert read(text) == [(6, 1, ("PW010",), "one"), (6, 4, ("PW012", "PW013"), "two")]


@pytest.mark.parametrize(
    "text",
    [
        'const char *s = "// wattslice: ignore[PW010] text";',
        'auto s = R"x(\n// wattslice: ignore[PW010] text\n)x";',
        'auto c = \'"\'; const char *s = "// wattslice: ignore[PW010] text";',
    ],
)
def test_strings_are_no_comments(text: str):
    assert read(text) == []


def test_quotes_between_digits_open_nothing():
    assert read("int n = 1'000; f('\\''); // wattslice: ignore[PW010] x") == [(1, 1, ("PW010",), "x")]


def test_ill_formed_ones_are_told():
    assert "names the rules" in complaints("x(); // wattslice: ignore this")[0]
    assert "names no rule" in complaints("x(); // wattslice: ignore[] because")[0]
    assert "unknown rule PW01 (did you mean PW0" in complaints("x(); // wattslice: ignore[PW01] because")[0]
    assert "needs a reason" in complaints("x(); // wattslice: ignore[PW010]")[0]
    assert "PW099 cannot be suppressed" in complaints("x(); // wattslice: ignore[PW099] because")[0]
    assert "no code follows" in complaints("x();\n// wattslice: ignore[PW010] because\n")[0]
    assert complaints("// about wattslice: ignored files") == []


def test_suppressed_findings_are_kept_with_their_reason_and_not_told():
    quiet = Suppression("src/matmul.cu", 18, 17, ("PW010",), "n is 1024")
    analysis = replace(ANALYSIS, suppressions=(quiet,))
    assert {f.rule for f in findings_of(ANALYSIS)} - {f.rule for f in findings_of(analysis)} == {"PW010"}
    assert [f.suppressed for f in all_findings(analysis) if f.rule == "PW010"] == ["n is 1024"]


def test_unused_suppressions_are_pw024_where_the_rule_could_have_fired():
    def unused(line: int, rule: str) -> list[str]:
        entry = Suppression("src/matmul.cu", line, line, (rule,), "why")
        found = findings_of(replace(ANALYSIS, suppressions=(entry,)))
        return [finding.message for finding in found if finding.rule == "PW024"]

    assert unused(19, "PW010") == ["unused suppression: there is no PW010 on line 19"]
    assert unused(18, "PW010") == []
    assert unused(19, "PW020") == []  # the gate's own: analyze cannot know
    assert unused(UNKNOWN.source.line + 1, "PW012") == []  # a kernel nobody could analyse


def test_advice_in_a_header_is_suppressed_there():
    advice = Advice("PW016", 3, "gather", "none", file="src/tile.cuh")
    quiet = Suppression("src/tile.cuh", 3, 3, ("PW016",), "few")
    analysis = replace(ANALYSIS, kernels=(replace(MATMUL, advice=(advice,)),), suppressions=(quiet,))
    assert [f.suppressed for f in all_findings(analysis) if f.rule == "PW016"] == ["few"]


def test_each_line_of_a_merged_finding_can_be_suppressed():
    advice = Advice("PW041", 20, "strided", "fix", 3.0, 1e-3, also_lines=(22, 25))

    def found(*lines: int) -> list[tuple[int, str, str | None]]:
        quiet = tuple(Suppression("src/matmul.cu", line, line, ("PW041",), f"why {line}") for line in lines)
        every = all_findings(
            replace(ANALYSIS, kernels=(replace(MATMUL, advice=(advice,)),), suppressions=quiet)
        )
        return [(one.line, one.message, one.suppressed) for one in every if one.rule in ("PW041", "PW024")]

    assert found() == [(20, "strided; also in lines 22, 25", None)]
    includes = "still counted in what is at stake"
    assert found(25) == [(20, f"strided; also in line 22; suppressed in line 25, {includes}", None)]
    assert found(20, 22) == [(25, f"strided; suppressed in lines 20, 22, {includes}", None)]
    assert found(22, 20, 25) == [(20, "strided; also in lines 22, 25", "why 20")]
    unused = "unused suppression: there is no PW041 on line 23"
    assert (23, unused, None) in found(23)


def test_comments_are_found_in_file_and_header(tmp_path: Path):
    (tmp_path / "walk.cuh").write_text(
        "__device__ int walk(const int *next, int i) {\n"
        "    while (i >= 0)  // wattslice: ignore[PW013] lists are short\n"
        "        i = next[i];\n"
        "    return i;\n"
        "}\n"
    )
    main = tmp_path / "a.cu"
    main.write_text(
        '#include "walk.cuh"\n'
        "template <int N>\n"
        "__global__ void k(const int *next, int *out, int n) {\n"
        "    // wattslice: ignore[PW012] nearly always\n"
        "    if (out[threadIdx.x] > N) out[threadIdx.x] = walk(next, 7);\n"
        "}\n"
        "void go(const int *a, int *b, int n) { k<3><<<n, 256>>>(a, b, n); }\n"
    )
    analysis = analyze_files(Config((main,), GpuChoice("v100")))
    assert {(Path(s.file).name, s.line, s.rules) for s in analysis.suppressions} == {
        ("a.cu", 5, ("PW012",)),
        ("walk.cuh", 2, ("PW013",)),
    }
    told = {finding.rule for finding in findings_of(analysis)}
    assert not told & {"PW012", "PW013", "PW024"}
    assert {"PW012", "PW013"} <= {finding.rule for finding in all_findings(analysis)}


def test_above_a_template_the_kernel_itself_is_covered():
    text = "// wattslice: ignore[PW020] on purpose\ntemplate <typename T, int N>\n__global__ void k();"
    assert read(text) == [(3, 1, ("PW020",), "on purpose")]


def test_a_partly_suppressed_finding_is_still_known_to_come_from_its_advice():
    advice = Advice("PW041", 20, "strided", "fix", also_lines=(22,))
    quiet = Suppression("src/matmul.cu", 20, 20, ("PW041",), "why")
    kernels = (replace(MATMUL, advice=(advice,)),)
    (left,) = (
        one
        for one in findings_of(replace(ANALYSIS, kernels=kernels, suppressions=(quiet,)))
        if one.rule == "PW041"
    )
    assert told_by(left, kernels[0], advice)
    assert not told_by(left, kernels[0], replace(advice, also_lines=(23,)))
    assert not told_by(left, kernels[0], replace(advice, message="other"))


def test_the_terminal_lists_nothing_that_is_suppressed(tmp_path: Path):
    def told(comment: str) -> str:
        source = tmp_path / "s.cu"
        source.write_text(
            "__global__ void k(float *a, float *b, int n) {\n"
            "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            f"  {comment}\n"
            "  if (i < n) b[i] = a[i * 32];\n}\n"
            "void run(float *a, float *b, int n) { k<<<4096, 256>>>(a, b, n); }\n"
        )
        analysis = analyze_files(make_config(Options(paths=(source,), gpu="v100")))
        file = io.StringIO()
        write_text(analysis, file)
        return file.getvalue()

    assert "PW041" in told("// strided on purpose")
    assert "PW041" not in told("// wattslice: ignore[PW041] strided on purpose")
