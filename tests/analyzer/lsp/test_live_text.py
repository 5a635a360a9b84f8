"""What of a text is read, and which kernels still stand in it."""

import pytest

from wattslice.lsp.documents import definition_line, live_text

Q = "__global__ void q(float* a) {\n  a[0] = 1;\n}\n"


@pytest.mark.parametrize(
    "text",
    [
        "// " + Q,
        "/*\n" + Q + "*/\n",
        "#if 0\n" + Q + "#endif\n",
        "#if 1\n#elif X\n" + Q + "#endif\n",
        "#if 0\n#if X\n#else\n" + Q + "#endif\n#endif\n",
        "#ifdef X\n#elif 0\n" + Q + "#endif\n",
        'const char* s = "__global__ void q(float* a) {";\n',
        "__global__ void q(float* a);\n",
        "__global__ void other(float* q) {}\n",
        "__global__ void other(\n__global__ void queue(int n) {}\n",
        "void run() { q<<<1, 1>>>(a); }\n",
    ],
)
def test_no_kernel_stands_there(text):
    assert definition_line("q", live_text(text.splitlines(keepends=True))) is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (Q, 1),
        ("#if 0\n#else\n" + Q + "#endif\n", 3),
        ("#ifdef X\n" + Q + "#endif\n", 2),
        ("\n__global__ void\n__launch_bounds__((256), 2)\nq(float* a, {\n", 2),
        ("__global__ void a(\n__global__ void q\n", 2),
        ("template <class T>\r__global__ void q(T* a) {}\r", 2),
        ("#if 0\n#endif\n__global__ static void __launch_bounds__(N * (2)) q\n  int i;\n", 3),
    ],
)
def test_a_kernel_stands_there_read_or_not(text, line):
    lines = text.splitlines(keepends=True)
    assert definition_line("q", live_text(lines)) == line
    assert live_text(lines).count("\n") == len(lines) - lines[-1].endswith(("\n", "\r")) * 1
