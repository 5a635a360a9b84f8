"""Kernels that are larger than what is followed statement by statement: what repeats is folded into loops."""

from itertools import pairwise
from random import Random

import pytest

from wattslice import analyze_text
from wattslice.analysis import KernelAnalysis
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.lowering import folding, program, unit
from wattslice.frontend.cuda.lowering.context import Body
from wattslice.ir import Block
from wattslice.workload.instructions import pressure

from .samples import there

MAIN = "int main() {{ char *d; cudaMalloc(&d, 1 << 26); k<<<40, 128>>>({}); }}\n"


def test_calls_that_repeat_are_counted_each():
    """3 operations and an addition in each of 20 * 30 * 60 statements of `f`; a few lines of source."""
    inner = "".join(f"s = s * {k}.f + a * s - {k}.5f;" for k in range(60))
    outer = "".join(f"a += f(a, {k});" for k in range(30))
    source = (
        f"__device__ float f(float a, int k) {{ float s = a; {inner} return s; }}\n"
        f"__device__ float g(float a, int k) {{ {outer} return a; }}\n"
        "__global__ void k(float *x) { int t = blockIdx.x * blockDim.x + threadIdx.x; float a = x[t];"
        + "".join(f"a = g(a, {k});" for k in range(20))
        + "x[t] = a; }"
        + MAIN.format("(float *)d")
    )
    analysis = analyze_text(source, gpu="v100")
    (kernel,) = analysis.kernels
    assert there(kernel.work).counts_per_thread.fp32 == 20 * 30 * (60 * 4 + 1)
    assert (there(kernel.work).counts_per_thread.integer, there(kernel.work).counts_per_thread.control) == (
        2,
        0,
    )
    assert kernel.power_w is not None
    assert kernel.loops == ()
    assert any("counted as loops" in d.message for d in analysis.diagnostics)
    assert not any(d.rule == "PW005" for d in analysis.diagnostics)


@pytest.mark.parametrize("steps", [300, pytest.param(2600, marks=pytest.mark.slow)])
def test_thousands_of_statements_of_a_macro(steps: int):
    source = (
        "#define STEP(k) a = a * b + x[t + k]; b = b * c - a; c = c + a * 2.f; b = b + c;\n"
        "__global__ void k(float *x) { int t = blockIdx.x * blockDim.x + threadIdx.x;"
        f" float a = x[t], b = 1, c = 2; {''.join(f'STEP({k}) ' for k in range(steps))} x[t] = a + b + c; }}"
        + MAIN.format("(float *)d")
    )
    (kernel,) = analyze_text(source, gpu="v100").kernels
    assert there(kernel.work).counts_per_thread.fp32 == steps * 7 + 2
    assert there(kernel.work).counts_per_thread.global_load == steps + 1
    assert kernel.power_w is not None


@pytest.mark.parametrize(
    "statement",
    [
        "s += x[t + {k}] * 2.f;",
        "s += x[t * 40 + {k}];",
        "if (t < 60 * {k}) s *= 1.5f;",
        "s = s * {k}.25f + x[t];",
        "for (int i = 0; i < {k}; i++) s += x[i];",
        "s += f(s, {k} * 3 + 1);",
        "y[{k} * n + t] = s; s += 1.f;",
    ],
)
def test_folded_or_not_the_counts_are_the_same(statement: str, monkeypatch: pytest.MonkeyPatch):
    source = (
        "__device__ float f(float a, int k) { return k % 2 ? a * a : a + k; }\n"
        "__global__ void k(const float *x, float *y, int n) { int t = blockIdx.x * blockDim.x + threadIdx.x;"
        " float s = 0.f; "
        + "".join(statement.replace("{k}", str(k)) for k in range(40))
        + "y[t] = s; }"
        + MAIN.format("(float *)d, (float *)d, 5120")
    )
    (whole,) = analyze_text(source, gpu="v100").kernels
    monkeypatch.setattr(program, "UNFOLDED_NODES", 100)
    analysis = analyze_text(source, gpu="v100")
    (folded,) = analysis.kernels
    assert any("counted as loops" in d.message for d in analysis.diagnostics)
    assert there(folded.work).counts_per_thread == there(whole.work).counts_per_thread
    assert folded.power_w == pytest.approx(whole.power_w, rel=0.15)
    assert there(folded.work).bytes_per_thread == there(whole.work).bytes_per_thread


@pytest.mark.parametrize("body", ["s += x[t];", "for (int i = 0; i < 4; i++) s += x[t + i] * x[t - i];"])
def test_code_beyond_what_registers_are_counted_of_has_watts(body: str, monkeypatch: pytest.MonkeyPatch):
    """With loops, whose copies are then fewer, and with none that could have fewer."""
    source = (
        "__global__ void k(float *x) { int t = blockIdx.x * blockDim.x + threadIdx.x; float s = 0.f;"
        f" {body * 3} x[t] = s; }}" + MAIN.format("(float *)d")
    )
    monkeypatch.setattr(pressure, "MOST_INSTRUCTIONS", 3)
    analysis = analyze_text(source, gpu="v100")
    assert not any(d.rule == "PW099" for d in analysis.diagnostics)
    assert analysis.kernels[0].power_w is not None


def _analysed_folded(lines: str, monkeypatch: pytest.MonkeyPatch) -> tuple[KernelAnalysis, int]:
    """The analysis of a kernel of these lines, and how many statements' trees were walked to fold it."""
    walked: list[object] = []
    monkeypatch.setattr(program, "UNFOLDED_NODES", 40)

    class Counted(folding._Tree):
        def __init__(self, body, statement):
            walked.append(statement)
            super().__init__(body, statement)

    with monkeypatch.context() as patch:
        patch.setattr(folding, "_Tree", Counted)
        source = (
            "#define PASTED(n) r##n = x[n]\n"
            "#define NAMED(n) r0 = x[0] * v##n\n"
            "#define CHOSEN(n) r0 = x[n] * C##n\n"
            "#define C0 s\n#define C1 s\n#define C2 s\n#define C3 (s + 1.f)\n"
            "__global__ void k(float *x) { int t = threadIdx.x; unsigned char c = 0; float s = 0.f;"
            f"float r0 = 0, r1 = 0, r2 = 0, r3 = 0, v0 = 1, v1 = s, v2 = s, v3 = s;\n{lines}\n"
            "x[t] = s + c + r0 + r1 + r2 + r3; }\n" + MAIN.format("(float *)d")
        )
        analysis = analyze_text(source, gpu="v100")
    (kernel,) = analysis.kernels
    assert not any(d.rule == "PW002" for d in analysis.diagnostics)
    return kernel, len(walked)


def _no_text(_body: object, _nodes: object) -> None:
    return None


@pytest.mark.parametrize(
    ("statement", "fp32"),
    [
        ("s = s * 1.5f + x[t + {k}];", 80),
        ("s = s * {k}.5f + x[t] * x[{k}];", 120),
        ("if (t < {k} * 2) s += x[{k}];", None),
    ],
)
def test_few_trees_are_walked_of_statements_that_repeat(statement, fp32, monkeypatch):
    lines = "\n".join(statement.replace("{k}", str(k)) for k in range(40))
    read, walked = _analysed_folded(lines, monkeypatch)
    if fp32 is not None:
        assert there(read.work).counts_per_thread.fp32 == fp32 + 5
        assert walked < 15
    monkeypatch.setattr(folding, "_text_around", _no_text)
    whole, all_walked = _analysed_folded(lines, monkeypatch)
    assert all_walked > 40
    assert whole == read


@pytest.mark.parametrize(
    "lines",
    [
        "\n".join(f"s += {one}; PASTED({k % 4});" for k in range(40) for one in ["x[t]"]),
        "\n".join(f"s = s + 1.f, PASTED({k % 4});" for k in range(40)),
        "\n".join(f"s = s + 1.f, CHOSEN({k % 4});" for k in range(40)),
        "\n".join(f"s = s + 1.f, NAMED({min(k, 3)});" for k in range(40)),
        "\n".join(f"c = {k + 250};" for k in range(40)),
        "\n".join(f"for (int i = 0; i < 0{k}5; i++) s += 1.f;" for k in range(8)),
        "\n".join(f"s += x[{k}]; // {k} of x" for k in range(40)),
        "\n".join(f"s += x[{k} /* {40 - k} */];" for k in range(40)),
        "s += v0 + x[1];\n" * 20 + "#define v0 (v1 * v1)\n" + "s += v0 + x[1];\n" * 20 + "#undef v0",
        "\n".join(f"s += x[{k}ull];\ns += x[{k}];" for k in range(20)),
        "\n".join(f"s += x[{k}]; {{ float s = x[{k}]; r0 += s; }}" for k in range(20)),
        "\n".join(f"s += x[__LINE__ + {k}];" for k in range(40)),
        "\n".join(f"s = s + 1.f, r{k % 4} += x[{k}];" for k in range(40)),
    ],
)
def test_text_and_tree_say_the_same_of_what_repeats(lines, monkeypatch):
    read, _ = _analysed_folded(lines, monkeypatch)
    monkeypatch.setattr(folding, "_text_around", _no_text)
    whole, _ = _analysed_folded(lines, monkeypatch)
    assert whole == read


@pytest.mark.slow
def test_ten_thousand_statements_that_do_not_repeat():
    lines = "".join(
        f"double q{k} = q{k * 7 % k if k > 9 else 0} * {k}.5 + q{k - 1 - k % min(k, 5)};"
        for k in range(1, 10_000)
    )
    source = (
        f"__global__ void k(double *x) {{ int t = threadIdx.x; double q0 = x[t]; {lines} x[t] = q9999; }}"
        + MAIN.format("(double *)d")
    )
    (kernel,) = analyze_text(source, gpu="v100").kernels
    assert there(kernel.work).counts_per_thread.fp64 == 2 * 9999
    assert kernel.power_w is not None


def test_templates_that_do_not_fit_are_not_tried_a_thousand_times(monkeypatch: pytest.MonkeyPatch):
    """Twelve instances of which one fits: eight others are tried, then no more; another template still is.

    First eight of the twelve are, then all of them, since they are launched.
    """
    begun: list[str] = []
    plain = program._lower_body  # pyright: ignore[reportPrivateUsage]

    def lower_body(body: Body, function: Node) -> Block:
        begun.append(function.spelling)
        return plain(body, function)

    monkeypatch.setattr(program, "_lower_body", lower_body)
    monkeypatch.setattr(unit, "FILE_BUDGET_NODES", 80)
    statements = "x[N] = x[N] * 2.f + x[N + 1] * 3.f; " * 2
    launches = "".join(f"k<{n}><<<1, 32>>>(x);" for n in range(12))
    source = (
        f"template <int N> __global__ void k(float *x) {{ {statements} }}\n"
        "template <int N> __global__ void other(float *x) { x[N] = 1; }\n"
        f"int main() {{ float *x; cudaMalloc(&x, 4096); {launches} other<1><<<1, 32>>>(x); }}\n"
    )
    kernels = analyze_text(source, gpu="v100").kernels
    known = [(kernel.name, kernel.power_w is not None) for kernel in kernels]
    assert known == [("k", True), *[("k", False)] * 11, ("other", True)]
    first, again = 2 * (program.MOST_INSTANCES - 1), 2 * program.MOST_REFUSED  # twice: folded, too
    assert begun == ["k", *["k"] * first, "other", *["k"] * again]  # what was read is remembered


def test_an_instance_that_is_launched_is_followed_however_many_there_are():
    """The file is read again for it: the same work as where it is the only one."""
    pieces = (
        "template <int N> __global__ void k(float *x) { for (int i = 0; i < N; ++i) x[i] = 2 * x[i] + 1; }\n"
        "void run(float *x, int n, int m) { switch (n) { ",
        " } }\nint main() { float *x; cudaMalloc(&x, 4096); k<12><<<5, 32>>>(x); run(x, ",
    )
    every = " ".join(f"case {n}: k<{n}><<<m, 32>>>(x); break;" for n in range(1, 21))
    many, alone = (
        analyze_text(f"{ladder.join(pieces)}{end}", gpu="v100").kernels
        for ladder, end in ((every, "0, 0); }"), ("", "0, 0); }"))
    )
    (one,) = alone
    known = [kernel for kernel in many if kernel.launch.grid == (5, 1, 1)]
    assert [(kernel.work, kernel.power_w) for kernel in known] == [(one.work, one.power_w)]
    assert len(many) == 9
    assert all(kernel.power_w is not None for kernel in many)


def repetition(looks: list[folding.Looks], at: int) -> tuple[int, int]:
    """What `Repeats.longest` says, looked for repetition by repetition."""
    for period in range(1, folding.LONGEST_PERIOD + 1):
        first = [look.key for look in looks[at : at + period]]
        if None in first:
            break
        times = 1
        while [look.key for look in looks[at + times * period :][:period]] == first:
            times += 1
        if times >= folding.FEWEST_TIMES and times * period >= folding.FEWEST_FOLDED:
            for k in range(at, at + period):
                for values in zip(
                    *(look.values for look in looks[k : at + times * period : period]), strict=True
                ):
                    deltas = {b - a for a, b in pairwise(values)}
                    if len(deltas) > 1 or (
                        deltas != {0} and max(map(abs, values)) >= 1000 - abs(min(deltas))
                    ):
                        return 1, 1
            return period, times
    return 1, 1


@pytest.mark.slow
def test_repetitions_are_found_as_by_looking_at_each(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(folding, "MOST_LITERAL", 1000)
    draw, found = Random(18), set[tuple[int, int]]()
    for _ in range(60):
        looks: list[folding.Looks] = []
        while len(looks) < 150:
            period, step = draw.choice((1, 1, 2, 3)), draw.choice((0, 1, 5, -40))
            keys = [draw.choice((1, 2, 3, None)) if draw.random() < 0.3 else 1 for _ in range(period)]
            for repetition_ in range(draw.choice((1, 3, 40))):
                looks += (
                    folding.Looks(key, () if key is None else (key, 7 + step * repetition_)) for key in keys
                )
        repeats = folding.Repeats(looks)
        for at in range(len(looks)):
            assert repeats.longest(at) == repetition(looks, at)
            found.add(repetition(looks, at))
    assert len({period for period, _ in found}) >= 3
