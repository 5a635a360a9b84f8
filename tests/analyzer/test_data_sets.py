"""Data specs: what they make of a kernel's arguments, and what they say when they cannot."""

import os
from typing import Any

import numpy as np
import pytest

from wattslice.config.config import Config
from wattslice.config.gpu_choice import GpuChoice
from wattslice.errors import WattsliceError
from wattslice.profiling.data_sets.arguments import prepare
from wattslice.profiling.data_sets.skeleton import skeleton
from wattslice.profiling.data_sets.spec import read_spec, shape_of
from wattslice.profiling.interpreted import known_launches
from wattslice.profiling.interpreter.launch import Addressing, Launch
from wattslice.profiling.interpreter.machine import DeviceMemory
from wattslice.profiling.interpreter.run import interpret

SOURCE = """
#include <cuda_fp16.h>
struct Node { int start; float weight[2]; short kind; };
struct Grid { int n; float3 low; const float *cells; };
__constant__ int table[2][4];
__device__ float bias;
__global__ void k(const int *keys, float4 *points, Node *nodes, Grid grid, unsigned char *text,
                  half *halves, double scale, int n, float3 up, cudaTextureObject_t image) {
    int i = threadIdx.x;
    points[i].x = keys[i] * scale + nodes[i].weight[1] + grid.cells[i] + text[i] + (float)halves[i] + n + up.x
        + table[0][i % 4] + bias + tex2D<float>(image, i, i);
}
int main() {
    k<<<3, 32>>>(nullptr, nullptr, nullptr, Grid(), nullptr, nullptr, 0.5, 7, make_float3(0, 0, 0), 0);
}
"""
ARGUMENTS = {
    "keys": '{ size = 4, generator = "iota", start = 5, step = 2 }',
    "points": "{ size = 2 }",
    "nodes": '{ size = 2, members = { start = [1, 2], weight = { generator = "iota" }, kind = [-1, -2] } }',
    "grid": "{ n = 3, low = [1.0, 2.0, 3.0], cells = [0.5, 0.25] }",
    "text": '"ab"',
    "halves": "[1.0, 0.5]",
    "up": "[1.0, 2.0, 3.0]",
    "image": '{ texture = [3, 2], generator = "iota", addressing = "border", linear = true }',
}


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    path = tmp_path_factory.mktemp("k") / "k.cu"
    path.write_text(SOURCE)
    return known_launches(path, Config((path,), GpuChoice("v100")))


def spec_of(tmp_path, arguments=(), head="", more="", launch=""):
    path = tmp_path / "k.toml"
    lines = [head, launch, "[[data]]", 'name = "one"', more, "[data.arguments]"]
    lines += [
        f"{name} = {value}" for name, value in (ARGUMENTS | dict(arguments)).items() if value is not None
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return read_spec(path)


def prepared(known, tmp_path, memory_mib=64, **arguments) -> tuple[Any, DeviceMemory]:
    program, (entry,) = known
    spec, memory = spec_of(tmp_path, arguments), DeviceMemory()
    return prepare(spec, spec.data[0], entry.launch, program, memory, memory_mib), memory


def array(known, tmp_path, name, dtype, text):
    """What the kernel finds behind a pointer."""
    found, memory = prepared(known, tmp_path, **{name: text})
    index = [parameter.name for parameter in known[1][0].launch.kernel.parameters].index(name)
    return memory.contents(found.arguments[index]).view(dtype).tolist()


def test_arguments_lie_as_the_kernel_reads_them(known, tmp_path):
    found, memory = prepared(known, tmp_path)
    keys, points, nodes, grid, text, halves, scale, n, up, image = found.arguments
    assert memory.contents(keys).view(np.int32).tolist() == [5, 7, 9, 11]
    assert memory.contents(points).size == 2 * 16
    record = np.dtype([("start", "i4"), ("weight", "f4", 2), ("kind", "i2"), ("", "V2")])
    rows = memory.contents(nodes).view(record)
    assert rows["start"].tolist() == [1, 2]
    assert rows["weight"].tolist() == [[0, 1], [2, 3]]
    assert rows["kind"].tolist() == [-1, -2]
    assert grid[:4].view(np.int32) == [3]
    assert grid[4:16].view(np.float32).tolist() == [1, 2, 3]
    assert memory.contents(int(grid[16:24].view(np.int64)[0])).view(np.float32).tolist() == [0.5, 0.25]
    assert memory.contents(text).tobytes() == b"ab"
    assert memory.contents(halves).view(np.float16).tolist() == [1.0, 0.5]
    assert (scale, n) == (0.5, 7)  # as the host code passes them
    assert up.view(np.float32).tolist() == [1, 2, 3]
    ((number, texture),) = found.textures
    assert number == image
    assert texture.texels.shape == (1, 2, 3, 1)
    assert texture.texels[0, 1, 2, 0] == 5
    assert texture.addressing[0] is Addressing.BORDER
    assert texture.is_linear


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{ size = 3, generator = "zeros" }', [0, 0, 0]),
        ('{ size = 3, generator = "constant", value = 4 }', [4, 4, 4]),
        ('{ size = 4, generator = "one_of", values = [7], weights = [2] }', [7] * 4),
        ("[1, 2, 3]", [1, 2, 3]),
    ],
)
def test_generators_that_leave_no_choice(known, tmp_path, text, expected):
    assert array(known, tmp_path, "keys", np.int32, text) == expected


def test_generators_have_the_order_and_range_that_they_promise(known, tmp_path):
    def keys(text):
        return array(known, tmp_path, "keys", np.int32, f"{{ size = 64, {text} }}")

    uniform = keys('generator = "uniform", low = 3, high = 9')
    assert set(uniform) == set(range(3, 9))
    ordered = keys('generator = "sorted", low = 0, high = 1000')
    assert ordered == sorted(ordered) != sorted(set(ordered))[:1] * 64
    pieces = keys('generator = "sorted", low = 0, high = 1000, segment = 16')
    assert pieces != sorted(pieces)
    assert all(pieces[k : k + 16] == sorted(pieces[k : k + 16]) for k in range(0, 64, 16))
    assert sorted(keys('generator = "permutation"')) == list(range(64))
    assert set(keys('generator = "one_of", values = [1, 5, 9], weights = [1, 0, 1]')) == {1, 9}
    text = array(known, tmp_path, "text", np.uint8, '{ size = 200, generator = "text", alphabet = "xyz" }')
    assert set(text) == set(b"xyz")


def test_seeds_decide_and_arrays_differ(known, tmp_path):
    random = '{ size = 8, generator = "uniform", high = 100%s }'
    first = array(known, tmp_path, "keys", np.int32, random % "")
    assert first == array(known, tmp_path, "keys", np.int32, random % "")
    assert first != array(known, tmp_path, "keys", np.int32, random % ", seed = 5")
    halves = '{ size = 8, generator = "uniform", low = 0, high = 100 }'
    assert first != np.floor(array(known, tmp_path, "halves", np.float16, halves)).tolist()


def test_the_arrays_of_a_graph_belong_together(known, tmp_path):
    def keys(name):
        text = f'{{ generator = "{name}", nodes = 50, mean_degree = 4 }}'
        return array(known, tmp_path, "keys", np.int32, text)

    offsets, degrees, edges = keys("csr_offsets"), keys("csr_degrees"), keys("csr_edges")
    assert len(offsets) == 51
    assert np.diff(offsets).tolist() == degrees
    assert offsets[:-1] == keys("csr_starts")
    assert len(edges) == offsets[-1] == sum(degrees)
    assert set(edges) <= set(range(50))
    assert 0 <= min(degrees) < max(degrees) <= 8


def test_files(known, tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1, 2], [3, 4]], np.int64))
    (tmp_path / "a.bin").write_bytes(np.array([1, 2, 3, 4], np.int32).tobytes())
    (tmp_path / "a.csv").write_text("1,2\n3, 4\n")
    for name in ("a.npy", "a.bin", "a.csv"):
        assert array(known, tmp_path, "keys", np.int32, f'{{ file = "{name}" }}') == [1, 2, 3, 4]
        assert array(known, tmp_path, "keys", np.int32, f'{{ file = "{name}", size = 3 }}') == [1, 2, 3]
    np.save(tmp_path / "evil.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(WattsliceError, match=r"keys\.file: .*evil\.npy cannot be used"):
        prepared(known, tmp_path, keys='{ file = "evil.npy" }')


def test_the_first_elements_of_a_large_file_fit(known, tmp_path):
    """4 MiB of each, a budget of 1 MiB."""
    numbers = np.arange(1 << 20, dtype=np.int32)
    np.save(tmp_path / "a.npy", numbers)
    numbers.tofile(tmp_path / "a.bin")
    (tmp_path / "a.txt").write_text(" ".join(str(number) for number in range(1 << 19)))
    for name in ("a.npy", "a.bin", "a.txt"):
        found, memory = prepared(known, tmp_path, 1, keys=f'{{ file = "{name}", size = 32 }}')
        assert memory.contents(found.arguments[0]).view(np.int32).tolist() == list(range(32))
        with pytest.raises(WattsliceError, match="the memory budget of 1 MiB"):
            prepared(known, tmp_path, 1, keys=f'{{ file = "{name}" }}')


def test_words_that_two_chunks_share_are_read_whole(known, tmp_path):
    (tmp_path / "a.csv").write_text(",\n".join(str(number) for number in range(50_000)))
    assert array(known, tmp_path, "keys", np.int32, '{ file = "a.csv" }') == list(range(50_000))


def test_columns_first(known, tmp_path):
    np.save(tmp_path / "a.npy", np.asfortranarray([[1, 2], [3, 4]]))
    assert array(known, tmp_path, "keys", np.int32, '{ file = "a.npy", size = 3 }') == [1, 2, 3]


def test_files_that_lie_or_never_end(known, tmp_path):
    os.mkfifo(tmp_path / "pipe.bin")
    (tmp_path / "zeros.bin").symlink_to("/dev/zero")
    with (tmp_path / "claims.npy").open("wb") as file:
        header = {"descr": "<i4", "fortran_order": False, "shape": (999_999_999_999,)}
        np.lib.format.write_array_header_1_0(file, header)
    np.save(tmp_path / "complex.npy", np.array([1 + 2j]))
    np.save(tmp_path / "endless.npy", np.array([np.inf]))
    (tmp_path / "long.txt").write_text("9" * 30)
    for name, message in (
        ("pipe.bin", "no regular file"),
        ("zeros.bin", "no regular file"),
        ("claims.npy", r"its header says \[999999999999\] numbers of int32, 0 bytes follow"),
        ("complex.npy", "elements of type complex128"),
        ("endless.npy", "numbers of inf do not fit 32 bits"),
        ("long.txt", "long.txt cannot be used"),
    ):
        with pytest.raises(WattsliceError, match=message):
            prepared(known, tmp_path, keys=f'{{ file = "{name}" }}')


def test_one_array_under_two_names_and_its_length(known, tmp_path):
    found, memory = prepared(
        known, tmp_path, points='{ same_as = "nodes", offset = 1 }', n='{ length_of = "keys" }'
    )
    assert found.arguments[1] == found.arguments[2] + 16
    assert found.arguments[7] == 4
    del memory


def test_a_pointer_into_an_array(known, tmp_path):
    found, memory = prepared(known, tmp_path, keys='{ size = 4, generator = "iota", offset = 1 }')
    address = found.arguments[0]
    assert memory.contents(address - 4).view(np.int32).tolist() == [0, 1, 2, 3]
    with pytest.raises(WattsliceError, match=r"keys\.offset: expected a whole number from 0 to 4, found 5"):
        prepared(known, tmp_path, keys="{ size = 4, offset = 5 }")


def test_an_array_of_arrays(tmp_path):
    path = tmp_path / "rows.cu"
    path.write_text("__global__ void k(float **rows) { rows[0][threadIdx.x] = 1; }")
    program, (entry,) = known_launches(path, Config((path,), GpuChoice("v100")))
    (tmp_path / "k.toml").write_text(
        '[[data]]\nname = "a"\narguments = { rows = [[1.5, 2.5], { size = 3 }] }'
    )
    spec, memory = read_spec(tmp_path / "k.toml"), DeviceMemory()
    found: Any = prepare(spec, spec.data[0], entry.launch, program, memory, 64)
    first, second = memory.contents(found.arguments[0]).view(np.int64)
    assert memory.contents(int(first)).view(np.float32).tolist() == [1.5, 2.5]
    assert memory.contents(int(second)).size == 12


def test_globals(known, tmp_path):
    program, (entry,) = known
    path = tmp_path / "k.toml"
    spec_of(tmp_path)
    path.write_text(f"{path.read_text()}\n[data.globals]\ntable = [1, 2, 3, 4, 5]\nbias = 0.5\n")
    spec = read_spec(path)
    found: Any = prepare(spec, spec.data[0], entry.launch, program, DeviceMemory(), 64)
    contents = {variable.name: bytes_ for variable, bytes_ in found.globals}
    assert contents["table"].view(np.int32).tolist() == [1, 2, 3, 4, 5, 0, 0, 0]
    assert contents["bias"].view(np.float32) == [0.5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"keys": None},
            r"k\.toml:\d+: data\[0\]\.arguments: no value for the parameter keys .*such as keys = ",
        ),
        ({"keys": None, "text": None}, "for the parameters keys, text"),
        ({"kyes": "1"}, r"k has no parameter 'kyes' \(did you mean keys\?\)"),
        ({"keys": "3"}, r"arguments\.keys: expected an array, found a number"),
        ({"keys": '{ size = 4, generator = "unifrom" }'}, r"keys\.generator: .* is no generator .*uniform\?"),
        ({"keys": '{ generator = "iota" }'}, "keys: 'size' is missing"),
        ({"keys": "{ size = -1 }"}, r"keys\.size: expected a whole number from 0, found -1"),
        ({"keys": "{ size = 4, lenght = 3 }"}, "keys: unknown key 'lenght'"),
        ({"keys": '{ size = 4, generator = "uniform", low = 3, high = 3 }'}, r"keys\.high: must be above"),
        ({"keys": '{ size = 4, generator = "uniform" }'}, "keys: 'high' is missing"),
        ({"keys": '{ size = 4, generator = "constant", value = 0.5 }'}, r"keys\.value: expected a whole"),
        ({"keys": '{ size = 4, generator = "constant", value = 3000000000 }'}, "do not fit 32 bits"),
        ({"keys": "[1, 3000000000]"}, r"keys\[1\]: 3000000000 does not fit 32 bits"),
        ({"keys": '{ size = 5, generator = "sorted", high = 9, segment = 2 }'}, r"segment: the size of 5"),
        ({"keys": '"abc"'}, "keys: text is for arrays of characters"),
        ({"keys": '{ file = "none.npy" }'}, r"keys\.file: .*none\.npy cannot be read: No such file"),
        ({"keys": '{ same_as = "pionts" }'}, "no array 'pionts' in this data set"),
        (
            {"keys": "{ size = 100000000 }"},
            r"keys\.size: .* MiB .* the memory budget of 64 MiB .*--memory-mib",
        ),
        ({"n": "1.5"}, r"arguments\.n: expected a whole number, found 1\.5"),
        ({"n": "true"}, None),
        ({"scale": '"much"'}, r"arguments\.scale: expected a number, found text"),
        ({"nodes": "{ size = 2, members = { strat = [1, 2] } }"}, "members: unknown key 'strat' .*start"),
        ({"nodes": "{ members = { start = [1, 2], kind = [3] } }"}, r"members\.kind: 1 elements, expected 2"),
        ({"nodes": '{ size = 2, generator = "iota" }'}, r"the elements are structs \(start, weight, kind\)"),
        ({"grid": "{ m = 3 }"}, "grid: unknown key 'm'"),
        ({"grid": "3"}, "grid: expected a table of its members"),
        ({"image": '{ texture = [2, 2], element = "int7" }'}, "'int7' is no element"),
        ({"image": "{ texture = [2, 2], values = [1] }"}, "unknown key 'values'"),
    ],
)
def test_errors_name_the_file_and_the_place(known, tmp_path, arguments, message):
    if message is None:
        prepared(known, tmp_path, **arguments)
        return
    with pytest.raises(WattsliceError, match=message):
        prepared(known, tmp_path, **arguments)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no \\[\\[data\\]\\]"),
        ("[[data]\n", "not TOML"),
        ("[[data]]\n", r"data\[0\]: 'name' is missing"),
        ('[[data]]\nname = "a"\n[[data]]\nname = "a"\n', r"data\[1\]: another one is called 'a'"),
        ('[[data]]\nname = "a"\nseeds = 3\n', r"unknown key 'seeds' .*did you mean seed\?"),
        ("[launch]\nblock = [2000]\n[[data]]\n", "from 1 to 1024, found 2000"),
        ("[launch]\nblock = [64, 64]\n[[data]]\n", "4096 threads; no GPU"),
        ("[launch]\ngrid = [1, 2, 3, 4]\n[[data]]\n", "expected one to three numbers"),
        ("a = " + "[" * 5000, "nested too deeply|not TOML"),
    ],
)
def test_what_is_no_spec(tmp_path, text, message):
    path = tmp_path / "k.toml"
    path.write_text(text)
    with pytest.raises(WattsliceError, match=message):
        read_spec(path)


def test_the_launch_comes_from_the_data_set_the_spec_or_the_host_code(known, tmp_path):
    (entry,) = known[1]

    def shape(launch="", more="", is_certain=True):
        spec = spec_of(tmp_path, launch=launch, more=more)
        return shape_of(spec, spec.data[0], entry.launch, is_certain=is_certain)

    assert (shape().grid, shape().block) == ((3, 1, 1), (32, 1, 1))
    given = shape("[launch]\ngrid = [2, 2]\nshared_bytes = 64", "launch = { grid = 5 }")
    assert (given.grid, given.block, given.shared_bytes) == ((5, 1, 1), (32, 1, 1), 64)
    with pytest.raises(WattsliceError, match=r"the block of k cannot be read .*block = \[x, y, z\]"):
        shape("[launch]\ngrid = 1", is_certain=False)


def test_the_skeleton_of_a_kernel_can_be_run(known, tmp_path):
    program, (entry,) = known
    path = tmp_path / "skeleton.toml"
    text = skeleton(program, ((entry.launch, entry.is_certain),))
    path.write_text(text)
    spec = read_spec(path)
    found = prepare(spec, spec.data[0], entry.launch, program, DeviceMemory(), 64)
    assert len(found.arguments) == 10
    assert {variable.name for variable, _ in found.globals} == {"table", "bias"}
    assert "n = 7  # int32, as in the host code" in text
    assert 'image = { texture = [64, 64], element = "float32"' in text
    memory = DeviceMemory()
    found = prepare(spec, spec.data[0], entry.launch, program, memory, 64)
    interpret(
        Launch(entry.launch.kernel, (3, 1, 1), (32, 1, 1), 0, found.arguments, (), found.textures), memory
    )
