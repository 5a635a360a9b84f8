"""What generated code costs `wattslice analyze`, by its form and size: seconds of the processor and memory.

    python -m wattslice_tools.wild.generated [FORM...] [--sizes 500,1000,2000] [--gpu a100]

What doubles with the size is linear. `tests/tools/test_generated.py` counts the work of the same `FORMS`.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

from wattslice_tools.wild.file_costs import cost_of

_INDEX = "int t = blockIdx.x * blockDim.x + threadIdx.x;"


def _kernel(line: Callable[[int], str], size: int, before: str = "", after: str = "") -> str:
    lines = "\n".join(map(line, range(size)))
    return f"""__global__ void k(float *x, const int *c, int n) {{ {_INDEX}
float s = x[t], u = 2.f; int q = c[t];
{before}
{lines}
{after}
x[t] = s + u + q; }}
int main() {{ float *x; int *c; cudaMalloc(&x, 1 << 26); cudaMalloc(&c, 1 << 26);
k<<<4096, 256>>>(x, c, 1 << 20); }}
"""


def _statement(at: int) -> str:
    draw = random.Random(at)
    one, other = draw.sample("su", 2)
    forms = (
        f"{one} = {other} * {one} + {at}.5f;",
        f"{one} += x[t + {draw.randrange(999)}];",
        f"x[t + {draw.randrange(999)}] = {one};",
        f"{one} = sqrtf({other}) / {at + 2}.f;",
    )
    return draw.choice(forms)


def _members(size: int) -> str:
    record = "struct S { " + " ".join(f"float m{at};" for at in range(size)) + " };\n"
    return record + _kernel(lambda at: f"r.m{at} = x[t + {at}] * s; s += r.m{at // 2};", size, "S r;")


def _templates(size: int) -> str:
    calls = "\n".join(f"k<{at}><<<4096, 256>>>(x);" for at in range(1, size + 1))
    body = f"{_INDEX} float s = 0; for (int i = 0; i < 8; i++) s += x[t + i * N]; x[t] = s;"
    main = f"int main() {{ float *x; cudaMalloc(&x, 1 << 26);\n{calls} }}\n"
    return f"template <int N> __global__ void k(float *x) {{ {body} }}\n{main}"


def _launches(size: int) -> str:
    calls = "\n".join(f"k<<<{4096 - at}, 256>>>(x);" for at in range(size))
    main = f"int main() {{ float *x; cudaMalloc(&x, 1 << 26);\n{calls} }}\n"
    return f"__global__ void k(float *x) {{ {_INDEX} x[t] *= 2.f; }}\n{main}"


FORMS: dict[str, Callable[[int], str]] = {
    "statements": lambda n: _kernel(_statement, n),
    "ifs on threads": lambda n: _kernel(lambda k: f"if (t % {k % 97 + 2} == 1) s += {k}.f * u;", n),
    "ifs on data": lambda n: _kernel(lambda k: f"if (s > {k}.f) u = u * {k}.5f + s; else s -= u;", n),
    "else-if": lambda n: _kernel(lambda k: f"{'else ' * (k > 0)}if (q == {k}) s += {k}.f;", n),
    "cases": lambda n: _kernel(lambda k: f"case {k}: s += {k}.f; break;", n, "switch (q) {", "}"),
    "nested ifs": lambda n: _kernel(lambda k: f"if (t % {k + 2}) {{ s += {k}.f;", n, after="}" * n),
    "returns": lambda n: _kernel(lambda k: f"if (c[t + {k}] == {k}) return; s *= u;", n),
    "loops": lambda n: _kernel(lambda k: f"for (int i = 0; i < {k % 9 + 2}; i++) s += x[t + i * {k}];", n),
    "asm": lambda n: _kernel(lambda _: 'asm("fma.rn.f32 %0, %0, %1, %0;" : "+f"(s) : "f"(u));', n),
    "terms": lambda n: _kernel(lambda k: f"{'s =' if k == 0 else '+'} x[t + {k}]", n, after=";"),
    "members": _members,
    "launches": _launches,
    "templates": _templates,
}
"""By name: the source of so many statements, branches, ... of one form."""


def main() -> None:
    """Print a row for each form and size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("forms", nargs="*", metavar="FORM", help=f"of {', '.join(FORMS)}; all without")
    parser.add_argument("--sizes", default="500,1000,2000")
    parser.add_argument("--gpu", default="a100")
    options = parser.parse_args()
    print("| form | size | processor time | memory |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "generated.cu"
        for form in options.forms or FORMS:
            for size in map(int, options.sizes.split(",")):
                path.write_text(FORMS[form](size))
                cost = cost_of(path, options.gpu, Path(folder) / "answer.json")
                told = f"{cost.cpu_s:.2f} s | {cost.peak_bytes / 1e6:.0f} MB"
                print(f"| {form} | {size} | {told} |", flush=True)


if __name__ == "__main__":
    main()
