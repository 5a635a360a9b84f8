"""The HTML page as a parser reads it: complete, self-contained, escaped."""

import base64
import hashlib
import re
import sys
import time
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec.structs import replace

from wattslice.analysis import LineHeat, SourceText
from wattslice.cli import main
from wattslice.config.config import Options, make_config
from wattslice.pipeline.files import analyze_files
from wattslice.report.html import page as html
from wattslice.report.html.page import render_html
from wattslice.units import printable

from .samples import ANALYSIS, EMPTY, MATMUL, UNKNOWN, changed

KERNELS = Path(__file__).parents[2] / "corpora" / "wattslice_corpora" / "kernels"
CSS = (Path(html.__file__).parent / "assets" / "page.css").read_text(encoding="utf-8")
VOID = {"meta", "link", "br", "img", "input", "hr"}
OPTIONAL_END = {"td", "th", "dt", "dd"}


class Page(HTMLParser):
    """Elements with their attributes, the text of lines, and that everything opened is closed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.lines: dict[str, str] = {}
        self.texts: list[str] = []
        self._open: list[str] = []
        self._line = ""
        self._code = 0
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        assert len(found) == len(attrs), (tag, attrs)
        self.elements.append((tag, found))
        if tag in VOID or tag in OPTIONAL_END:
            return
        self._open.append(tag)
        if "l" in (found.get("class") or "").split():
            self._line = found["id"] or ""
        if found.get("class") == "t":
            self._code = len(self._open)
            self.lines[self._line] = ""

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag in OPTIONAL_END:
            return
        if self._code == len(self._open):
            self._code = 0
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._code:
            self.lines[self._line] += data
        self.texts.append(data)

    def having(self, attribute):
        return [found[attribute] for _, found in self.elements if attribute in found]


def analyzed(*paths):
    return analyze_files(replace(make_config(Options(paths=paths)), keep_sources=True))


@pytest.fixture(scope="module")
def corpus():
    return analyzed(KERNELS / "linear_algebra" / "gemm_tiled.cu", KERNELS / "wang2013" / "scan.cu")


@pytest.mark.slow
def test_every_line_is_there_as_written(corpus):
    page = Page(render_html(corpus))
    for index, source in enumerate(corpus.sources):
        for number, text in enumerate(source.lines, 1):
            assert page.lines[f"f{index}L{number}"] == printable(text)


def test_the_page_loads_nothing(corpus):
    text = render_html(corpus)
    page = Page(text)
    assert not {tag for tag, _ in page.elements} & {
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "base",
        "form",
    }
    for attribute in ("src", "srcset", "data", "action", "style", "xlink:href", "poster"):
        assert page.having(attribute) == []
    assert not [name for _, found in page.elements for name in found if name.startswith("on")]
    assert all(str(href).startswith("#") for href in page.having("href"))
    assert "//" not in re.sub(r"<span class=\"k-comment\">.*?</span>", "", text)
    assert not re.search(r"@import|url\(|fetch\(|XMLHttp|WebSocket|@font-face", text)


def test_the_policy_names_exactly_the_style_and_the_script_of_the_page(corpus):
    text = render_html(corpus)
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    policy = policy.replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.S)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy


def test_ids_are_unique_and_links_lead_somewhere(corpus):
    page = Page(render_html(corpus))
    ids = Counter(page.having("id"))
    assert [name for name, number in ids.items() if number > 1] == []
    assert {str(href)[1:] for href in page.having("href")} <= set(ids)
    slices = page.having("data-slice")
    assert len(slices) == len(set(slices)) > 0
    assert {one for ids in page.having("data-s") for one in str(ids).split()} <= set(slices)


def test_every_mark_is_told_with_its_share(corpus):
    page = Page(render_html(corpus))
    told = "\n".join(str(words) for words in page.having("data-d"))
    for kernel in corpus.kernels:
        assert sum(heat.share for heat in kernel.hot_lines) == pytest.approx(1.0)
    marks = re.findall(r"^(\w+) <<<(.*?)>>>: ", told, re.M)
    assert len(marks) == sum(len(kernel.hot_lines) for kernel in corpus.kernels)


def test_the_index_stands_over_several_kernels_only(corpus):
    assert '<table class="index">' in render_html(corpus)
    assert '<table class="index">' not in render_html(replace(corpus, kernels=corpus.kernels[:1]))


def test_the_same_analysis_gives_the_same_page(corpus):
    assert render_html(corpus) == render_html(corpus)


def test_rooflines_have_the_point_or_say_why_not(corpus):
    text = render_html(corpus)
    assert text.count("<title>Time roofline</title>") == len(corpus.kernels)
    assert "Energies of the power line: the energy model carried over from measured boards." in text
    with_points = sum(kernel.roofline.point is not None for kernel in corpus.kernels)
    assert text.count('<circle class="point"') == 2 * with_points > 0
    without = render_html(analyzed(KERNELS / "wang2013" / "transpose.cu"))
    assert '<circle class="point"' not in without
    assert "No point: it has no floating-point operations" in without


HOSTILE = (
    "</script></style><script>alert(1)</script>\" onload='x' & \x00 \u202e\u2066 \ud800 <!-- ]]> {{ 7 * 7 }}"
)


def hostile():
    heat = (LineHeat(HOSTILE, 2, 90.0, 0.9, HOSTILE),)
    kernel = changed(
        MATMUL,
        name=HOSTILE,
        source={"qualified_name": HOSTILE, "file": HOSTILE, "line": 1, "end_line": 3},
        hot_lines=heat,
        limited_by="</td>",
        slices=tuple(replace(part, variables=(HOSTILE,), lines=(2,)) for part in MATMUL.slices),
        assumptions=tuple(replace(entry, message=HOSTILE, fix=HOSTILE) for entry in MATMUL.assumptions),
    )
    told = tuple(replace(entry, message=HOSTILE, file=HOSTILE) for entry in ANALYSIS.diagnostics)
    sources = (SourceText(HOSTILE, (HOSTILE, f"{HOSTILE} /* {HOSTILE}", HOSTILE + "x" * 5000)),)
    return replace(
        ANALYSIS, gpu_name=HOSTILE, files=(HOSTILE,), kernels=(kernel,), diagnostics=told, sources=sources
    )


def test_nothing_hostile_gets_through():
    text = render_html(hostile())
    page = Page(text)
    tags = Counter(tag for tag, _ in page.elements)
    assert (tags["script"], tags["style"]) == (1, 1)
    assert page.having("onload") == []
    assert not any(sign in text for sign in "\x00\u202e\u2066\ud800")
    assert page.lines["f0L1"] == printable(HOSTILE)
    assert "more characters)" in page.lines["f0L3"]
    text.encode("utf-8")


def test_without_the_text_there_are_the_lines_with_heat_and_it_is_said():
    page = Page(render_html(ANALYSIS))
    assert page.lines["f0L29"] == "            sum += tileA[ty][k] * tileB[k][tx];"
    assert "its text was not kept: lines with heat only" in "".join(page.texts)


def test_unknown_power_is_unknown_with_its_reason():
    text = render_html(ANALYSIS)
    assert "2048 threads per block, at most 1024 can run (PW014)" in text
    assert re.search(r'<div class="figure">unknown</div>', text)


def test_links_lead_somewhere_for_kernels_of_included_files_as_well():
    kernels = (MATMUL, changed(UNKNOWN, source={"file": "src/inside.cuh"}))
    page = Page(render_html(replace(ANALYSIS, kernels=kernels, files=("src/matmul.cu",))))
    assert {str(href)[1:] for href in page.having("href")} <= set(page.having("id"))


def test_equal_names_are_told_apart_on_narrow_pages_as_well():
    rows = re.findall(r'<td class="name">(.*?)<td class="place">(.*?)<td', render_html(ANALYSIS))
    assert len(rows) >= 2
    assert all(f'<span class="at">{place}</span>' in name for name, place in rows)
    narrow = re.search(r"@media \(max-width:640px\)\{.*", CSS, re.S)
    assert narrow is not None
    assert ".index .at{display:block}" in narrow[0]


def test_kernels_of_one_name_keep_their_own_advice(tmp_path):
    text = """
__global__ void k(float *y) {{ y[(blockIdx.x * 256 + threadIdx.x) * 32] += {}.0f; }}
int main() {{ k<<<1000, 256>>>(0); }}
"""
    files = tmp_path / "a.cu", tmp_path / "b.cu"
    for number, file in enumerate(files):
        file.write_text(text.format(number))
    analysis = analyzed(*files)
    first, second = ({entry.message for entry in kernel.advice} for kernel in analysis.kernels)
    assert first & second  # else nothing could be mixed up
    section = re.search(r'<h4>Advice</h4><ul class="said">(.*?)</ul>', render_html(analysis), re.S)
    assert section is not None
    rules = re.findall(r'<span class="rule">(PW\d+)<', section[1])
    assert Counter(rules) == Counter(entry.rule for entry in analysis.kernels[0].advice)


def test_bars_are_there_where_colours_are_forced():
    """Backgrounds are what forced colours take away, and a bar of the margin is nothing else."""
    (rules,) = re.findall(r"@media \(forced-colors:active\)\{(.*)\}", CSS)
    assert ".b i{forced-color-adjust:none;background:CanvasText}" in rules


def test_no_kernel_gives_a_page_as_well():
    assert "0 launches" in render_html(EMPTY)


@pytest.mark.slow
def test_five_thousand_lines_are_quick(tmp_path):
    lines = tuple(f"    x[{number}] = y[{number}] * 2.0f; // line {number}" for number in range(5000))
    heat = tuple(LineHeat("src/matmul.cu", number, 0.02, 0.0002, lines[0]) for number in range(1, 5001))
    big = replace(
        ANALYSIS,
        kernels=(changed(MATMUL, source={"line": 1, "end_line": 5000}, hot_lines=heat),) * 3,
        sources=(SourceText("src/matmul.cu", lines),),
    )
    start = time.process_time()
    text = render_html(big)
    assert time.process_time() - start < 5.0
    assert len(text) < 8_000_000


def test_without_jinja_the_remedy_is_named(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("importlib.util.find_spec", {}.get)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    file = tmp_path / "k.cu"
    file.write_text("__global__ void k(float* a) { a[threadIdx.x] = 1.0f; }\n", encoding="utf-8")
    for command in ("annotate", "analyze"):
        assert main([command, str(file), "--format", "html"]) == 2
        assert "pip install '.[report]' in the checkout" in capsys.readouterr().err
