"""What an advice proposes, done to the text: before and after, and that the finding is gone then."""

import pytest
from msgspec.structs import replace

from wattslice.analysis import Advice
from wattslice.findings.findings import Finding
from wattslice.ir import Severity
from wattslice.lsp.repairs import repair

from ..advised import advised
from .client import Client

PAD = "pad the rows of 'tile': 33 elements in place of 32"
SUM = "sum up in a local variable, and store it once behind the loop, or declare 'x' __restrict__"
RESTRICT = "load it into a local variable before the loop, or declare 'w' __restrict__"


def mended(rule: str, fix: str, text: str, at: int = -1, energy_j: float | None = None) -> str | None:
    lines = text.splitlines()
    finding = Finding(rule, Severity.WARNING, "a.cu", 1, "k", "", fix, energy_j=energy_j)
    found = repair(finding, lines, at % len(lines))
    if found is None:
        return None
    lines[found.number] = found.text
    return "\n".join(lines)


UNROLL = "index it by constants (unroll the loops over it), or keep it in shared memory"
HEAD = "__global__ void k(float *x, const float* w, int n)\nx += w[0];"


@pytest.mark.parametrize(
    ("rule", "fix", "before", "after"),
    [
        ("PW042", PAD, "__shared__ int tile[32][32];\ntile[t]", "__shared__ int tile[32][33];\ntile[t]"),
        ("PW042", PAD, "__shared__ T a[4], tile[2][K];\ntile", "__shared__ T a[4], tile[2][K + 1];\ntile"),
        ("PW042", PAD, "__shared__ T tile[2][K*2];\ntile", "__shared__ T tile[2][(K*2) + 1];\ntile"),
        ("PW042", PAD, "extern __shared__ float tile[];\nx = tile[t];", None),
        ("PW042", PAD, "DECLARE(tile, 32);\nx = tile[t];", None),
        ("PW045", "write 0.1f", "y = 0.1 * x + 10.1 + 0.1f;", "y = 0.1f * x + 10.1 + 0.1f;"),
        ("PW045", "write 2.0f, and call expf", "y = exp (2.0 * x);", "y = expf (2.0f * x);"),
        ("PW045", "call the function for floats, powf, with", "y = pow(x, z);", "y = powf(x, z);"),
        ("PW045", "make the constant a float: suffix f where it is defined", "y = K * x;", None),
        ("PW045", "write 0.1f", "y = TENTH * x;", None),
        ("PW051", UNROLL, "  for (;;)\n    a[i]++;", "  #pragma unroll\n  for (;;)\n    a[i]++;"),
        ("PW051", UNROLL, "#pragma unroll\nfor (;;)\na[i]++;", None),
        ("PW053", SUM, HEAD, HEAD.replace("*x", "*__restrict__ x")),
        ("PW054", RESTRICT, HEAD, HEAD.replace("* w", "* __restrict__ w")),
        ("PW054", RESTRICT, HEAD.replace("const float* w", "P w"), None),
        ("PW041", "let neighbouring threads access neighbouring elements", "x", None),
    ],
)
def test_repairs(rule: str, fix: str, before: str, after: str | None):
    assert mended(rule, fix, before) == after


@pytest.mark.parametrize(("also", "gain"), [((), " (predicted: 2.00 J less per launch)"), ((7,), "")])
def test_the_gain_of_several_lines_is_not_promised_for_one(also: tuple[int, ...], gain: str):
    told = Finding("PW045", Severity.WARNING, "a.cu", 1, "k", "", "write 0.1f", energy_j=2)
    finding = replace(told, also_lines=also)
    found = repair(finding, ["y = 0.1 * x;"], 0)
    assert found is not None
    assert found.title == f"Write 0.1f{gain}"


SUMS = """\
__global__ void sums(const float *in, float *out) {
    __shared__ float tile[32][32];
    unsigned x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = in[y * 65536 + blockIdx.x * 32 + x];
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < 32; ++k) sum += tile[x][k];
    out[blockIdx.x * 32 + x] = sum;
}
int main() { float *in, *out; sums<<<2048, dim3(32, 32)>>>(in, out); }
"""


def test_an_editor_pads_and_the_advice_is_gone(tmp_path):
    assert isinstance(advised(tmp_path, SUMS)["PW042"][0], Advice)
    with Client(tmp_path) as client:
        client.initialize()
        uri = client.open(tmp_path / "a.cu", SUMS)
        client.diagnostics(uri)
        (title,) = (title for title in client.actions(uri, 6) if title.startswith("Pad"))
        assert title.startswith("Pad the rows of 'tile' (predicted: ")
        assert title.endswith("J less per launch)")
        (edit,) = client.actions(uri, 6)[title]["edit"]["documentChanges"][0]["edits"]
    lines = SUMS.splitlines()
    assert edit["range"]["end"]["character"] == len(lines[1])
    lines[edit["range"]["start"]["line"]] = edit["newText"]
    assert lines[1] == "    __shared__ float tile[32][33];"
    assert "PW042" not in advised(tmp_path, "\n".join(lines))


SUM_IN_MEMORY = """\
__global__ void k(float *c, const float *a, const float *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < n; ++k) c[i] += a[k] * b[i];
}
int main() { float *a, *b, *c; k<<<4096, 256>>>(c, a, b, 512); }
"""


def test_restrict_keeps_a_sum_in_a_register(tmp_path):
    (told,) = advised(tmp_path, SUM_IN_MEMORY)["PW053"]
    after = mended("PW053", told.fix, SUM_IN_MEMORY, told.line - 1)
    assert after is not None
    assert "float *__restrict__ c" in after
    assert "PW053" not in advised(tmp_path, after)
