"""`wattslice annotate`: whose heat a line shows, what the terminal gets, how it ends."""

import html
import io
import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from wattslice.analysis import SourceText
from wattslice.cli import main
from wattslice.config.config import Options, make_config
from wattslice.findings.findings import Finding
from wattslice.ir import Diagnostic, Severity, numbered_lines
from wattslice.pipeline.files import analyze_files
from wattslice.report.annotated import annotate_files, stake, stretches, write_annotated
from wattslice.report.source_text import TextKind, pieces

from .samples import ANALYSIS, EMPTY, UNKNOWN, changed

ROOT = Path(__file__).parents[2]
SAMPLE = "corpora/wattslice_corpora/kernels/linear_algebra/gemm_tiled.cu"

TWO_KERNELS = """\
#include "scale.cuh"

__device__ float twice(float x) {
    return x * 2.0f;
}

__global__ void small(float* a) {
    a[threadIdx.x] = twice(a[threadIdx.x]);
}

// 1
// 2
// 3
// 4
// 5
// 6
// 7

template <int N>
__global__ void large(float* a, float* b) {
    for (int i = 0; i < 4096; ++i) a[threadIdx.x] += twice(scale(b[i * N], N));
}

int main() {
    float *a, *b;
    cudaMalloc(&a, 1 << 20);
    cudaMalloc(&b, 1 << 24);
    small<<<1, 32>>>(a);
    large<2><<<64, 256>>>(a, b);
    large<4><<<640, 256>>>(a, b);
}
"""
SCALE = """\
__device__ inline float scale(float x, float f) {
    return x * f + 1.0f;
}
"""


@pytest.fixture(scope="module")
def analysis(tmp_path_factory):
    folder = tmp_path_factory.mktemp("annotate")
    (folder / "wattslice.toml").write_text("", encoding="utf-8")
    (folder / "two.cu").write_text(TWO_KERNELS, encoding="utf-8")
    (folder / "scale.cuh").write_text(SCALE, encoding="utf-8")
    return analyze_files(replace(make_config(Options(paths=(folder / "two.cu",))), keep_sources=True))


def line_of(file, text):
    return next(line for line in file.lines if text in line.text)


def test_lines_outside_of_kernels_show_who_spends_most_joules_and_name_the_others(analysis):
    main_file, header = annotate_files(analysis)
    shared = line_of(main_file, "return x * 2.0f;")
    assert shared.whose == ("large<4>", "large<2>", "small")
    joules = [mark.energy_j or 0.0 for mark in shared.marks]
    assert joules == sorted(joules, reverse=True)
    assert header.is_included
    assert line_of(header, "return x * f").whose == ("large<4>", "large<2>")


def test_lines_of_a_kernel_show_its_launch_with_most_joules(analysis):
    main_file, _ = annotate_files(analysis)
    small, large = main_file.kernels
    assert [analysis.kernels[index].source.qualified_name for index in large.launches] == [
        "large<4>",
        "large<2>",
    ]
    loop = line_of(main_file, "for (int i")
    assert loop.marks[0].launch == large.launches[0]
    assert loop.whose == ()
    assert line_of(main_file, "a[threadIdx.x] = twice").marks[0].launch == small.launches[0]


def test_every_watt_is_on_some_line(analysis):
    for index, kernel in enumerate(analysis.kernels):
        marks = [
            mark
            for file in annotate_files(analysis)
            for line in file.lines
            for mark in line.marks
            if mark.launch == index
        ]
        assert sum(mark.share for mark in marks) == pytest.approx(1.0)
        assert sum(mark.power_w for mark in marks) == pytest.approx(
            sum(heat.power_w for heat in kernel.hot_lines)
        )


def test_a_kernel_begins_with_its_template(analysis):
    file, _ = annotate_files(analysis)
    assert file.lines[file.kernels[1].line - 1].text == "template <int N>"


def test_an_included_kernel_without_heat_is_there_with_its_findings():
    kernel = changed(UNKNOWN, source={"file": "src/inside.cuh"})
    told = Diagnostic("PW014", Severity.ERROR, "src/inside.cuh", 50, "histogram: power unknown: too many")
    analysis = replace(ANALYSIS, kernels=(kernel,), diagnostics=(told,), files=("src/matmul.cu",))
    names = [file.file for file in annotate_files(analysis)]
    assert names == ["src/matmul.cu", "src/inside.cuh"]
    text = rendered(analysis)
    assert "── histogram ─" in text
    assert "too many (PW014)" in text


def test_marks_name_the_slices_of_their_line(analysis):
    main_file, header = annotate_files(analysis)
    mark = line_of(main_file, "for (int i").marks[0]
    kernel = analysis.kernels[mark.launch]
    assert [kernel.slices[index].memory_space.value for index in mark.slices] == ["global"]
    assert all(mark.slices == () for mark in line_of(header, "return x * f").marks)


def test_stretches_cover_the_file_and_fold_what_is_cold(analysis):
    file, _ = annotate_files(analysis)
    parts = stretches(file, context=1, spread=3)
    assert [start for start, _, _ in parts[1:]] == [end for _, end, _ in parts[:-1]]
    assert (parts[0][0], parts[-1][1]) == (0, len(file.lines))
    folded = [
        file.lines[index].text for start, end, worth in parts if not worth for index in range(start, end)
    ]
    assert {f"// {number}" for number in range(1, 8)} <= set(folded)
    assert not any(line.marks for start, end, worth in parts if not worth for line in file.lines[start:end])


def rendered(analysis, show_all=False):
    file = io.StringIO()
    write_annotated(analysis, file, show_all=show_all)
    return file.getvalue()


@pytest.mark.slow
def test_golden(golden, monkeypatch):
    monkeypatch.chdir(ROOT)
    config = make_config(Options(paths=(Path(SAMPLE),), gpu="v100"))
    golden("annotate.txt", rendered(analyze_files(replace(config, keep_sources=True))))


def test_in_a_pipe_lines_are_whole_and_all_means_all(analysis):
    text = rendered(analysis, show_all=True)
    for line in (*TWO_KERNELS.splitlines(), *SCALE.splitlines()):
        assert f"│ {line}".rstrip() in text
    folded = rendered(analysis)
    assert "lines without heat" in folded
    assert "// 4" not in folded
    assert all(line == line.rstrip() for line in text.splitlines())


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("columns", [40, 60, 100, 160])
def test_a_terminal_is_never_overrun(analysis, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    write_annotated(analysis, terminal)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
    assert all(cell_len(line) <= columns for line in plain.splitlines())
    assert "large<4>" in plain


def test_colour_is_that_of_the_space_and_never_with_no_color(analysis, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = Terminal()
    write_annotated(analysis, terminal)
    assert "38;2;204;75;0" in terminal.getvalue()  # global memory
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    write_annotated(analysis, terminal)
    assert "38;" not in terminal.getvalue()


def test_source_cannot_steer_the_terminal():
    sources = (SourceText("src/matmul.cu", ("\x1b[2J\x07\u202e x",) * 60),)
    text = rendered(replace(ANALYSIS, sources=sources), show_all=True)
    assert not any(ord(sign) < 32 and sign != "\n" for sign in text)
    assert "\u202e" not in text


def test_without_the_text_the_lines_with_heat_remain():
    text = rendered(ANALYSIS)
    assert "not kept: lines with heat only" in text
    assert all(f"── {name} ─" in text for name in ("matMul<16>", "histogram", "gpu::burn<float, 4>"))
    assert "sum += tileA[ty][k] * tileB[k][tx];" in text


def test_no_kernel_at_all_is_no_crash():
    assert "0 launches" in rendered(EMPTY)


def test_findings_stand_below_their_line():
    sources = (SourceText("src/matmul.cu", tuple(f"line {number}" for number in range(1, 60))),)
    lines = rendered(replace(ANALYSIS, sources=sources)).splitlines()
    at = next(index for index, line in enumerate(lines) if line.endswith("│ line 18"))
    assert "└ PW010 trip count of the loop" in lines[at + 1]
    assert "→ --set matMul.n=..." in lines[at + 2]


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wattslice.toml").write_text("", encoding="utf-8")
    (tmp_path / "two.cu").write_text(TWO_KERNELS, encoding="utf-8")
    (tmp_path / "scale.cuh").write_text(SCALE, encoding="utf-8")
    return tmp_path / "two.cu"


def test_one_kernel_alone(source, capsys):
    assert main(["annotate", "two.cu", "--kernel", "small"]) == 0
    printed = capsys.readouterr().out
    assert "── small" in printed
    assert "── large" not in printed
    assert main(["annotate", "two.cu", "--kernel", "small", "--gpu", "gtx_480"]) == 0
    assert "PW030 large" not in capsys.readouterr().out
    assert main(["annotate", "two.cu", "--gpu", "gtx_480"]) == 0
    assert "PW030 large" in capsys.readouterr().out
    assert main(["annotate", "two.cu", "--kernel", "smal"]) == 2
    assert "no kernel 'smal' here (there is small" in capsys.readouterr().err


def test_exit_statuses_and_output(source, capsys):
    assert main(["annotate", "two.cu", "-o", "page.html", "--format", "html"]) == 0
    assert (source.parent / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    (source.parent / "none.cu").write_text("int x;\n", encoding="utf-8")
    assert main(["annotate", "none.cu"]) == 2
    assert "no kernel found in none.cu" in capsys.readouterr().err
    assert main(["annotate", "absent.cu"]) == 2
    assert main(["annotate", "two.cu", "--format", "pdf"]) == 2


def test_lines_are_numbered_as_compilers_number_them():
    assert numbered_lines("a\fb\r\nc\rd\u2028e\n") == ("a\fb", "c", "d\u2028e")
    assert numbered_lines("") == ()
    assert numbered_lines("\n\n") == ("", "")
    assert numbered_lines("\ufeffa\n\ufeffb\n") == ("a", "\ufeffb")  # only a mark at the beginning is one


TRIPLE = "inline float triple(float x) { return x * 3.0f; }\n"


@pytest.mark.parametrize(
    ("name", "header", "text"),
    [
        (
            "k.cu",
            f"__device__ {TRIPLE}",
            '#include "h.h"\n__global__ void k(float *y) { y[0] = triple(y[0]); }\n',
        ),
        ("k.c", "#define F 3.0f\n", '#include "h.h"\nvoid k(float *y) { y[0] = F * y[0]; }\n'),
    ],
)
def test_a_byte_order_mark_shows_nowhere(tmp_path, capsys, monkeypatch, name, header, text):
    monkeypatch.chdir(tmp_path)
    Path("wattslice.toml").write_text("")
    Path("h.h").write_text(header, encoding="utf-8-sig")
    Path(name).write_text(text, encoding="utf-8-sig")
    (kernel,) = analyze_files(make_config(Options(paths=(Path(name),)))).kernels
    lines = {"h.h": header.splitlines(), name: text.splitlines()}
    heat = [(line.file, line.line, line.text) for line in kernel.hot_lines]
    assert (name, 2) in {place[:2] for place in heat}
    assert all(told == lines[Path(file).name][number - 1] for file, number, told in heat)
    for page in ("text", "html"):
        assert main(["annotate", name, "--format", page]) == 0
        told = capsys.readouterr().out
        assert '"h.h"' in html.unescape(re.sub("<[^>]*>", "", told))
        assert "\ufeff" not in told
        assert "\N{REPLACEMENT CHARACTER}" not in told


def test_a_form_feed_moves_no_line(source):
    source.write_text(TWO_KERNELS.replace("// 1\n", "// 1\f\n"), encoding="utf-8")
    (heat,) = {
        heat.text
        for kernel in analyze_files(make_config(Options(paths=(source,)))).kernels
        for heat in kernel.hot_lines
        if "for (int" in heat.text
    }
    assert heat.startswith("    for (int i = 0; i < 4096; ++i)")


def test_pieces_make_up_the_line():
    lines = [
        '#include "a.h" // b',
        "x = 'a' + \"s // no comment\" /* c */ + 1e-3f; /* over",
        "two */ for (;;) __syncthreads__",
        'unclosed "string \\',
        "a /*/ b",
        "*/ 1'000",
    ]
    found = list(pieces(lines))
    assert ["".join(piece.text for piece in line) for line in found] == lines
    kinds = [[(piece.kind, piece.text) for piece in line] for line in found]
    assert (TextKind.DIRECTIVE, "#include") in kinds[0]
    assert (TextKind.STRING, '"s // no comment"') in kinds[1]
    assert (TextKind.COMMENT, "/* over") in kinds[1]
    assert kinds[2][0] == (TextKind.COMMENT, "two */")
    assert (TextKind.KEYWORD, "for") in kinds[2]
    assert (TextKind.COMMENT, "/*/ b") in kinds[4]
    assert kinds[5][0] == (TextKind.COMMENT, "*/")


def test_what_is_at_stake_is_said_with_its_sign():
    finding = Finding("PW041", Severity.WARNING, "a.cu", 3, "k", "strided")
    assert stake(finding) == ""
    assert (
        stake(replace(finding, energy_j=0.0112, power_w=-18.6)) == " (without it 11.2 mJ less, 18.6 W more)"
    )
