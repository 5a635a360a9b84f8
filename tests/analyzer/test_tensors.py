# pyright: reportOptionalMemberAccess=false
# What is missing fails the test.

"""PyTorch extensions: kernels with accessors, sizes of tensors as named assumptions."""

from __future__ import annotations

import json
import re

import pytest

from wattslice import analyze_text
from wattslice.analysis import LaunchSource
from wattslice.cli import main as run

HEAD = "#include <torch/extension.h>\n#include <vector>\n"
SCALE = """
__global__ void scale(const float *x, float *y, float a, int64_t n) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
torch::Tensor scaled(const torch::Tensor& x, double a) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    auto y = torch::empty_like(x);
    int64_t n = BODY;
    auto stream = at::cuda::getCurrentCUDAStream();
    scale<<<(n + 255) / 256, 256, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), a, n);
    return y;
}
"""
ROWS = """
__global__ void rows(torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits> x,
                     torch::PackedTensorAccessor64<float, 1> sums) {
    float sum = 0;
    for (int i = threadIdx.x; i < x.size(1); i += blockDim.x) sum += x[blockIdx.x][i];
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
std::vector<torch::Tensor> summed(torch::Tensor x) {
    auto sums = torch::zeros({x.size(0)}, x.options());
    rows<<<x.size(0), 128>>>(x.packed_accessor32<float, 2, torch::RestrictPtrTraits>(),
                             sums.packed_accessor64<float, 1>());
    return {sums};
}
"""


def analysed(text, **settings):
    analysis = analyze_text(HEAD + text, gpu="v100", **settings)
    assert [told.message for told in analysis.diagnostics if told.rule not in ("PW030", "PW005")] == []
    return analysis.kernels


def test_a_size_is_a_named_assumption():
    (kernel,) = analysed(SCALE.replace("BODY", "x.numel()"))
    assert (kernel.launch.grid, kernel.launch.source) == ((1024, 1, 1), LaunchSource.ASSUMED)
    (told,) = kernel.assumptions
    assert told.fix == "--set x.numel=VALUE"
    assert "x.numel assumed 262144" in told.message
    assert kernel.work.counts_per_thread.fp32 == 1  # n of the kernel is the same


SET_SIZES = (
    ("x.numel()", ["x.numel=1000"], 4),
    ("x.size(0) * x.size(1)", ["x.size0=100", "x.size1=10"], 4),
    ("x.sizes()[0]", ["x.size0=257"], 2),
    ("x.size(-1)", ["x.size_1=513"], 3),
    ("y.numel()", ["x.numel=1000"], 4),
    ("x.contiguous().to(torch::kFloat).size(2)", ["x.size2=300"], 2),
    ("torch::empty({3, x.size(0)}).numel()", ["x.size0=100"], 2),
    ("torch::zeros({5, 1024}).size(1)", [], 4),
    ("torch::zeros(700).numel()", [], 3),
    ("torch::full(x.size(0), 7).size(0)", ["x.size0=700"], 3),
    ("torch::zeros({5, 300}).size(-1)", [], 2),
    ("x.transpose(0, 1).size(0)", ["x.size1=300"], 2),
    ("x.permute({2, 0, 1}).size(0)", ["x.size2=300"], 2),
    ("torch::empty({300, 5, 700}).permute({1, 2, 0}).size(1)", [], 3),
    ("x.narrow(1, 0, 300).size(1)", [], 2),
    ("x.narrow(1, 0, 300).size(0)", ["x.size0=700"], 3),
    ("torch::empty({4, 5, 60}).narrow(2, 0, 20).numel()", [], 2),
    ("torch::empty({700, 300}).select(0, 3).size(0)", [], 2),
    ("x.unsqueeze(0).size(1)", ["x.size0=700"], 3),
    ("torch::empty({1, 700}).squeeze(0).size(0)", [], 3),
    ("torch::empty({300, 2, 3}).permute({1, 2, 0}).contiguous().view({-1, 4}).size(0)", [], 2),
    ("torch::zeros({6, 1024}).view({-1, 512}).size(0) * 100", [], 5),
    ("x.transpose(-1, -2).size(0)", ["x.dim=2", "x.size1=300"], 2),
    ("torch::empty({3, 5, 700}).transpose(-1, 0).size(0)", [], 3),
    ("x.stride(0) * x.size(0)", ["x.size0=100", "x.size1=10", "x.dim=2"], 4),
    ("torch::empty({2, 300, 4}).stride(-3)", [], 5),
    ("x.numel() + x.size(2)", ["x.numel=300", "x.size2=300"], 3),
    ("x.numel() + x.size(0)", ["x.size0=300", "x.dim=1"], 3),
    ("x.numel() + x.size(-1)", ["x.size0=300", "x.size_1=2", "x.dim=2"], 3),
)
"""What is launched with, the sizes that are set, the grid."""


@pytest.mark.slow
def test_sizes_that_are_set():
    """In one file, in which each has a kernel, a function and tensors of its own."""

    def own(text: str, number: int) -> str:
        return re.sub(r"(?<!\.)\b(?:[xy]|scaled?)\b", rf"\g<0>{number}", text)

    text = "".join(own(SCALE.replace("BODY", body), number) for number, (body, _, _) in enumerate(SET_SIZES))
    sizes = [own(one, number) for number, (_, set_, _) in enumerate(SET_SIZES) for one in set_]
    found = [(kernel.launch.grid, kernel.launch.source) for kernel in analysed(text, set=sizes)]
    assert found == [((grid, 1, 1), LaunchSource.HOST_CODE) for _, _, grid in SET_SIZES]


def test_accessors_have_the_sizes_of_their_tensor():
    (kernel,) = analysed(ROWS, set=["x.size0=64", "x.size1=1024"])
    assert (kernel.launch.grid, kernel.launch.source) == ((64, 1, 1), LaunchSource.HOST_CODE)
    assert [loop.trip_count for loop in kernel.loops] == [8]
    assert kernel.work.counts_per_thread.global_load == 8
    # 128 neighbours of a row: 4 sectors a request and no more
    assert kernel.work.bytes_per_thread == pytest.approx(8 * 4 + 4 / 128)
    assert kernel.assumptions == ()


def test_accessors_of_sizes_nobody_gives():
    (kernel,) = analysed(ROWS)
    assert kernel.launch.grid == (1024, 1, 1)
    assert "--set x.size0=VALUE" in {entry.fix for entry in kernel.assumptions}


def test_a_tensor_that_is_none(tmp_path, capsys):
    path = tmp_path / "k.cu"
    path.write_text(HEAD + SCALE.replace("BODY", "x.numel()"))
    assert run(["analyze", str(path), "--no-cache", "--format", "json", "--set", "x.numel=512"]) == 0
    assert json.loads(capsys.readouterr().out)["kernels"][0]["grid"] == [2, 1, 1]
    assert run(["analyze", str(path), "--no-cache", "--set", "z.numel=512"]) == 2
    assert "no kernel 'z'" in capsys.readouterr().err


INTERFACE = """
using torch::autograd::AutogradContext;
using torch::autograd::Variable;
struct Add : torch::autograd::Function<Add> {
    static torch::autograd::variable_list forward(AutogradContext *ctx, Variable x, int64_t dim) {
        ctx->saved_data["dim"] = dim; ctx->save_for_backward({x});
        return {x};
    }
};
torch::Tensor added(torch::Tensor x, const c10::optional<torch::Tensor>& bias, std::optional<int64_t> size) {
    at::TensorArg x_t{x, "x", 1};
    at::checkAllSameGPU("added", {x_t, x_t});
    c10::cuda::MaybeSetDevice(x.get_device());
    if (at::globalContext().deterministicAlgorithms()) TORCH_WARN("slow")
    const auto& b = bias.has_value() ? bias.value() : x;
    auto y = 2 * (x + b) * 0.5 - 1 == 0;
    y.masked_fill_(y > x, 3).max().item<float>();
    std::optional<torch::Tensor> none = std::nullopt;
    auto [first, second] = std::make_tuple(y, none);
    auto out = torch::zeros({x.size(0)}, at::device(x.device()).dtype(at::ScalarType::Int));
    for (auto i : c10::irange(3)) x += i;
    return Add::apply(out, size.value_or(0))[0];
}
static auto registry = torch::RegisterOperators().op("a::added", &added);
struct Held { int n; };
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    pybind11::class_<Held, std::shared_ptr<Held>>(m, "Held").def(py::init<>()).def_readwrite("n", &Held::n);
    m.def("added", &added, py::arg("x"), py::arg("size") = 0, py::call_guard<py::gil_scoped_release>());
    m.attr("EPS") = py::float_(1e-6f);
}
"""
INCLUDES = """
#include <Python.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/TensorAccessor.h>
#include <ATen/cuda/detail/IndexUtils.cuh>
#include <ATen/cuda/detail/TensorInfo.cuh>
#include <c10/util/complex.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/python.h>
"""


def test_what_extensions_use_of_the_interface_is_declared():
    text = INCLUDES + INTERFACE + SCALE.replace("BODY", "x.size(0)")
    (kernel,) = analysed(text, set=["x.size0=512"])
    assert (kernel.launch.grid, kernel.launch.source) == ((2, 1, 1), LaunchSource.HOST_CODE)


@pytest.mark.parametrize(
    ("change", "grid"),
    [
        ("resize_({64, 3})", 64),
        ("resize_(64)", None),
        ("squeeze_()", None),
        ("unsqueeze_(0)", None),
        ("t_()", None),
    ],
)
def test_sizes_that_a_tensor_is_given_later_are_not_those_that_it_had(change, grid):
    body = f"0; auto z = torch::zeros({{6, 1024}}); z.{change}; n = z.size(0) * 256"
    (kernel,) = analysed(SCALE.replace("BODY", body))
    if grid is None:
        assert f"what {change.partition('(')[0]}() made of it" in kernel.assumptions[0].message
    else:
        assert (kernel.launch.grid, kernel.launch.source) == ((grid, 1, 1), LaunchSource.HOST_CODE)


STRIDED = """
__global__ void strided(at::cuda::detail::TensorInfo<float, int> x, c10::complex<float> *z, int n) {
    int i = threadIdx.x;
    x.data[at::cuda::detail::IndexToOffset<float, int, 2>::get(i, x)] = 1;
    z[i] = z[i] * z[i + n] + z[i];
}
void launched(torch::Tensor x, c10::complex<float> *z) {
    strided<<<1, 32>>>(at::cuda::detail::getTensorInfo<float, int>(x), z, 32);
}
"""


def test_strided_tensors_and_complex_numbers_cost_what_their_formulas_cost():
    (kernel,) = analysed(STRIDED)
    assert kernel.work.counts_per_thread.fp32 == 8  # 4 products, 2 sums; 2 sums
    assert kernel.work.counts_per_thread.global_store == 3


_TWO_OF_ONE_NAME = """
__global__ void grown(const float *x, float *y, int64_t n, int64_t s) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) for (int64_t j = 0; j < s; j++) y[i] += x[j];
}
__global__ void walked(const float *x, float *y, int64_t n, int64_t s) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) for (int64_t j = 0; j < s; j++) y[i] += x[j];
}
void grow(torch::Tensor x, int64_t degree) {
    auto s = (int64_t)powf(degree + 1, x.size(1));
    grown<<<(s + 255) / 256, 256>>>(x.data_ptr<float>(), x.data_ptr<float>(), s, s);
}
void walk(torch::Tensor x, torch::Tensor g) {
    auto s = g.size(1);
    auto n = x.size(0);
    walked<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), x.data_ptr<float>(), n, s);
}
"""


def test_what_is_assumed_for_a_name_elsewhere_is_named_where_it_is_another_variable():
    """The s of grow() is assumed for its grid; that of walk(), the size of a tensor, nobody knows."""
    grown, walked = analysed(_TWO_OF_ONE_NAME)
    assert "--set s=VALUE" in {entry.fix for entry in grown.assumptions}
    assert {entry.fix for entry in walked.assumptions} == {"--set x.size0=VALUE", "--set g.size1=VALUE"}
    _, walked = analysed(_TWO_OF_ONE_NAME, set=["g.size1=7"])
    assert [loop.trip_count for loop in walked.loops] == [7]
    assert {entry.fix for entry in walked.assumptions} == {"--set x.size0=VALUE"}


_OF_FOUR_AXES = """
__global__ void moved(const float *x, float *y, int n) { y[threadIdx.x] = x[threadIdx.x] + n; }
__global__ void put(torch::PackedTensorAccessor32<float, 4> x, int n) { x[0][0][0][threadIdx.x] = n; }
void run(torch::Tensor x) {
    dim3 grid(x.size(3) / 32, x.size(1), x.size(0));
    moved<<<grid, 32>>>(x.data_ptr<float>(), x.data_ptr<float>(), 1);
    put<<<grid, 32>>>(x.packed_accessor32<float, 4>(), 1);
}
"""


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ((), []),  # 64 on each axis, else 1024
        (("x.size1=5", "x.size2=1024", "x.size3=1024"), ["--set x.size0=VALUE"]),
        (("x.size1=4", "x.size2=1024", "x.size3=1024"), []),
        (("x.size0=1024", "x.size1=5", "x.size2=1024", "x.size3=1024"), ["--gpu GPU"]),
    ],
)
def test_sizes_that_no_memory_holds_are_told(settings, told):
    """Five cubes of 1024 a side are more than 16 GiB, four are not."""
    for kernel in analysed(_OF_FOUR_AXES, set=list(settings)):
        found = [entry for entry in kernel.assumptions if "taken to fit" in entry.message]
        assert [entry.fix for entry in found] == told
        assert all("at least 2.15e+10 bytes" in entry.message for entry in found)


_OF_ONE_SIZE = """
__global__ void long_rows(const float *x, float *y, int K) {
    float sum = 0;
    for (int k = 0; k < K; k++) sum += x[k];
    y[threadIdx.x] = sum;
}
__global__ void each(const float *x, float *y) { y[threadIdx.x] = x[blockIdx.x]; }
void run(torch::Tensor x, torch::Tensor y) {
    const int K = x.size(1);
    each<<<K, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
    long_rows<<<16, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), K);
    long_rows<<<32, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), y.size(0));
}
"""


def _of_one_size(**settings):
    return sorted(analysed(_OF_ONE_SIZE, **settings), key=lambda one: (one.name, one.launch.grid))


def test_halves_beside_floats_are_floats_and_cost_one_conversion():
    """c10::Half with a float, double or integer: not the operators of cuda_fp16.h."""
    text = """
    template <class T> __global__ void mixed(const T *a, float *o, float s) {
        T x = a[threadIdx.x];
        float y = x - s;
        if (x > s) y += s * x;
        if (x == 0) y = at::numeric_limits<float>::lowest() + x / s;
        o[threadIdx.x] = y;
    }
    void run(at::Tensor x) {
        mixed<<<4, 64>>>(x.data_ptr<at::Half>(), x.data_ptr<float>(), 2.f);
        mixed<<<4, 64>>>(x.data_ptr<c10::BFloat16>(), x.data_ptr<float>(), 2.f);
        mixed<<<4, 64>>>(x.data_ptr<float>(), x.data_ptr<float>(), 2.f);
    }
    """
    half, brain, whole = (kernel.work.counts_per_thread for kernel in analysed(text))
    assert half.fp32 == brain.fp32
    assert half.fp32 + half.fp16 == whole.fp32  # the test against 0 is one of halves


def test_a_size_that_a_kernel_gets_is_named_by_its_tensor_and_is_one_in_all_launches():
    each, of_x, of_y = _of_one_size()
    assert [(told.rule, told.fix) for told in each.assumptions] == [("PW011", "--set x.size1=VALUE")]
    assert [(told.rule, told.fix) for told in of_x.assumptions] == [("PW010", "--set x.size1=VALUE")]
    assert [(told.rule, told.fix) for told in of_y.assumptions] == [("PW010", "--set y.size0=VALUE")]
    assert {one.launch.source for one in (of_x, of_y)} == {LaunchSource.HOST_CODE}
    assert [loop.trip_count for loop in of_x.loops] == [each.launch.grid[0]]
    each, of_x, of_y = _of_one_size(set=["x.size1=300"])
    assert [loop.trip_count for one in (of_x, of_y) for loop in one.loops] == [300, 1024]


def test_equal_launches_tell_the_sizes_assumed_for_each():
    text = _OF_ONE_SIZE.replace("<<<32", "<<<16")
    (walked,) = (kernel for kernel in analysed(text, set=["x.size1=1024"]) if kernel.name == "long_rows")
    assert (walked.launch.times, {told.fix for told in walked.assumptions}) == (2, {"--set y.size0=VALUE"})


_IMAGES = """
__global__ void blur(int H, int W, int CH, const float *x, float *y) {
    int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y * 16 + threadIdx.y;
    if (i < W && j < H) for (int c = 0; c < CH; c++) y[(c * H + j) * W + i] = x[(c * H + j) * W + i];
}
void blurred(torch::Tensor x) {
    int B = x.size(0), CH = x.size(1), H = x.size(2), W = x.size(3);
    dim3 grid((W + 15) / 16, (H + 15) / 16, B), block(16, 16);
    blur<<<grid, block>>>(H, W, CH, x.data_ptr<float>(), x.data_ptr<float>());
}
"""


def test_images_have_few_channels_and_memory_holds_them():
    (kernel,) = analysed(_IMAGES)
    assert kernel.launch.grid == (64, 64, 64)  # 64 images of 16 channels of 1024 x 1024
    assert [loop.trip_count for loop in kernel.loops] == [16]
    assert "x.size1 assumed 16" in " ".join(told.message for told in kernel.assumptions)


_COLUMNS = """
__global__ void columns(PREFIXPackedTensorAccessor32<float, 2, PREFIXRestrictPtrTraits> x,
                        PREFIXPackedTensorAccessor64<float, 2> y,
                        PREFIXGenericPackedTensorAccessor<float, 3> z) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < x.size(1)) y[blockIdx.y][c] = x[blockIdx.y][c] + z[1][blockIdx.y][c];
}
"""
_COLUMNS_LAUNCHED = """
void run(torch::Tensor x, torch::Tensor y, torch::Tensor z) {
    columns<<<dim3(4, 64), 256>>>(x.packed_accessor32<float, 2, torch::RestrictPtrTraits>(),
                                  y.packed_accessor64<float, 2>(), z.packed_accessor<float, 3>());
}
"""


@pytest.mark.parametrize(("prefix", "launched"), [("torch::", ""), ("at::", ""), ("at::", _COLUMNS_LAUNCHED)])
def test_rows_of_accessors_whose_sizes_nobody_tells_are_contiguous(prefix, launched):
    (kernel,) = analysed(_COLUMNS.replace("PREFIX", prefix) + launched)
    assert not {told.rule for told in kernel.assumptions} & {"PW012", "PW016"}
    told = [entry for entry in kernel.assumptions if entry.rule == "PW010"]
    assert {"--set x.size1=VALUE", "--set y.size1=VALUE", "--set z.size2=VALUE"} <= {one.fix for one in told}
    assert kernel.work.bytes_per_thread == pytest.approx(12 * (1 if launched else 4 / kernel.launch.grid[0]))
    every = ["x.size0", "x.size1", "y.size0", "y.size1", "z.size0", "z.size1", "z.size2"]
    (kernel,) = analysed(_COLUMNS.replace("PREFIX", prefix) + launched, set=[f"{name}=512" for name in every])
    assert not [entry for entry in kernel.assumptions if entry.rule == "PW010"]


def test_shuffles_of_aten_are_those_of_cuda():
    text = """
    __global__ void sums(float *a) {
        float v = a[threadIdx.x];
        for (int lanes = C10_WARP_SIZE / 2; lanes > 0; lanes /= 2) v += SHUFFLE;
        a[threadIdx.x] = v;
    }
    void run(at::Tensor x) { sums<<<1, 64>>>(x.data_ptr<float>()); }
    """
    aten, cuda = (
        analysed(text.replace("SHUFFLE", way))[0].work.counts_per_thread
        for way in ("WARP_SHFL_XOR(v, lanes)", "__shfl_xor_sync(0xffffffff, v, lanes)")
    )
    assert aten == cuda


_PRODUCT = """
__global__ void each(const float *x, float *y, int64_t n, int64_t s) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) for (int64_t j = 0; j < s; j++) y[i] += x[j];
}
void run(torch::Tensor x, const torch::Tensor& v) {
    CHECKS
    int64_t n = x.numel(), s = LENGTH;
    each<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), x.data_ptr<float>(), n, s);
}
"""


def _product(length, checks="", **settings):
    return analysed(_PRODUCT.replace("CHECKS", checks).replace("LENGTH", length), **settings)


@pytest.mark.parametrize(
    ("length", "grid", "trips"),
    [
        ("x.size(1)", 4096, 1024),  # 1024 x 1024
        ("x.size(-1)", 4096, 1024),
        ("x.numel() / x.size(-1)", 4096, 1024),
        ("x.numel() / x.size(0)", 4096, 1024),
        ("x.sizes()[1]", 4096, 1024),
        ("x.view({x.size(0), -1}).size(1)", 4096, 1024),
        ("x.reshape({-1, x.size(-1)}).size(0)", 4096, 1024),
        ("x.stride(0)", 4096, 1024),
    ],
)
def test_elements_are_the_product_of_the_sizes_that_are_named(length, grid, trips):
    (kernel,) = _product(length)
    assert (kernel.launch.grid, kernel.launch.source) == ((grid, 1, 1), LaunchSource.ASSUMED)
    assert [loop.trip_count for loop in kernel.loops] == [trips]
    assert "x.dim assumed 2" in " ".join(told.message for told in kernel.assumptions)
    assert "--set x.dim=VALUE" in {told.fix for told in kernel.assumptions}


_FLAT = """
__global__ void flat(torch::PackedTensorAccessor32<float, 3> x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[0][0][i] = 1;
}
void run(torch::Tensor x) {
    auto n = x.numel();
    flat<<<(n + 255) / 256, 256>>>(x.packed_accessor32<float, 3>(), n);
}
"""


def test_dimensions_that_an_accessor_states_are_not_assumed():
    (kernel,) = analysed(_FLAT, set=["x.size0=2", "x.size1=6"])
    assert kernel.launch.grid == (768, 1, 1)  # 2 x 6 x 16384, which fills the GPU
    assert {told.fix for told in kernel.assumptions} == {"--set x.size2=VALUE"}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("x.transpose(0, 1).stride(0)", "of what transpose() made"),
        ("x.view({x.size(0), 512, -1}).size(2)", "of more elements than the tensor has"),
    ],
)
def test_sizes_and_strides_that_nobody_can_tell(body, why):
    (kernel,) = analysed(SCALE.replace("BODY", body), set=["x.dim=2", "x.size0=4", "x.size1=4"])
    assert why in " ".join(told.message for told in kernel.assumptions)


def test_what_is_made_contiguous_has_the_strides_of_its_sizes():
    (kernel,) = _product("x.t().contiguous().stride(0)", set=["x.size0=256", "x.size1=64", "x.dim=2"])
    assert [loop.trip_count for loop in kernel.loops] == [256]
    assert kernel.assumptions == ()


_NEIGHBOURS = """
__global__ void neighbours(int n, int m, int most, const float *x, const float *y, int *idx) {
    x += blockIdx.x * n; y += blockIdx.x * m; idx += blockIdx.x * m * most;
    for (int j = threadIdx.x; j < m; j += blockDim.x)
        for (int k = 0; k < n; k++)
            for (int l = 0; l < MOST; STEP) idx[j * most + l] = x[k] < y[j];
    for (int k = 0; k < n; k++) idx[k] = 0;
}
void run(torch::Tensor x, torch::Tensor y, int64_t most) {
    neighbours<<<x.size(0), 256>>>(x.size(1), y.size(1), most, x.data_ptr<float>(), y.data_ptr<float>(),
                                   y.data_ptr<int>());
}
"""


@pytest.mark.parametrize(
    ("most", "step", "settings", "sizes"),
    [
        ("4", "l++", (), (1024, 1024, 1024)),  # 1024^3 x 4 steps
        ("16", "l++", (), (256, 1024, 1024)),  # batches are smaller first
        ("64", "l += 16", (), (1024, 1024, 1024)),
        ("16", "l = l + 1", (), (256, 1024, 1024)),
        ("most", "l++", (), (16, 256, 256)),  # and all when these are 16
        ("most", "l++", ("x.size0=1024",), (1024, 64, 64)),
        ("most", "l++", ("x.size0=1024", "x.size1=1024", "y.size1=1024"), (1024, 1024, 1024)),
    ],
)
def test_sizes_of_launches_that_would_take_minutes_are_smaller(most, step, settings, sizes):
    (kernel,) = analysed(_NEIGHBOURS.replace("MOST", most).replace("STEP", step), set=list(settings))
    loops = [loop.trip_count or 0 for loop in kernel.loops]
    assert (kernel.launch.grid[0], loops[1], loops[0] * 256) == sizes
    told = " ".join(entry.message for entry in kernel.assumptions)
    names = ("x.size0", "x.size1", "y.size1")
    given = {setting.partition("=")[0] for setting in settings}
    assert all(
        f"{name} assumed {size}" in told or name in given for name, size in zip(names, sizes, strict=True)
    )


def test_all_sizes_that_are_smaller_are_told():
    text = (
        _NEIGHBOURS.replace("MOST", "64")
        .replace("STEP", "l++")
        .replace("<<<x.size(0)", "<<<x.size(0) * y.size(0)")
    )
    (kernel,) = analysed(text, set=["x.size1=1024", "y.size1=1024"])
    assert kernel.launch.grid == (256, 1, 1)
    assert {told.fix for told in kernel.assumptions if told.rule == "PW011"} == {
        "--set x.size0=VALUE",
        "--set y.size0=VALUE",
    }


@pytest.mark.parametrize(
    ("check", "length", "grid", "trips", "fixes"),
    [
        ("TORCH_CHECK(x.dim() == 3, x);", "x.size(-1)", 4096, 256, {"x.size0", "x.size1", "x.size2"}),
        ("AT_ASSERTM(x.ndimension() == 1);", "3", 1024, 3, {"x.size0"}),
        ("TORCH_CHECK(x.dim() == 2 && x.size(1) == 3);", "x.size(1)", 1024, 3, {"x.size0"}),
        ("AT_ASSERT(x.dim() == 2); TORCH_CHECK(3 == x.size(-1));", "x.size(1)", 1024, 3, {"x.size0"}),
        ("CHECK_EQ(x.dim(), 2); CHECK_EQ(x.size(1), v.size(0));", "3", 4096, 3, {"x.size0", "v.size0"}),
        ("TORCH_CHECK_EQ(x.size(0), 4); TORCH_CHECK(x.dim() == 2)", "x.size(0)", 1024, 4, {"x.size1"}),
        ("TORCH_CHECK(v.sizes() == x.sizes())", "v.size(1)", 4096, 1024, {"x.dim", "x.size0", "x.size1"}),
        (
            "TORCH_CHECK(x.sizes().equals(v.sizes()))",
            "v.size(0)",
            4096,
            1024,
            {"v.dim", "v.size0", "v.size1"},
        ),
        (
            "TORCH_CHECK(v.numel() == 0 || (v.dim() == 1 && v.size(0) == 7))",
            "v.size(0) + 0 * x.size(1)",
            4096,
            7,
            {"x.dim", "x.size0", "x.size1"},
        ),
        (
            "TORCH_CHECK(x.dim() == 2 || x.size(1) == 3)",
            "x.size(1)",
            4096,
            1024,
            {"x.dim", "x.size0", "x.size1"},
        ),
    ],
)
def test_sizes_that_checks_state_are_not_assumed(check, length, grid, trips, fixes):
    (kernel,) = _product(length, check)
    assert {told.fix for told in kernel.assumptions} == {f"--set {name}=VALUE" for name in fixes}
    assert [loop.trip_count for loop in kernel.loops] == [trips]


def test_a_size_that_users_state_holds_where_a_check_says_otherwise():
    check = "TORCH_CHECK(x.dim() == 2 && x.size(1) == 3 && v.size(0) == x.size(0));"
    (kernel,) = _product("v.size(0)", check, set=["x.size0=100", "x.size1=10"])
    assert (kernel.launch.grid, [loop.trip_count for loop in kernel.loops]) == ((4, 1, 1), [100])


def test_sizes_that_are_equal_follow_those_that_users_state():
    check = "TORCH_CHECK(v.sizes() == x.sizes());"
    for name in ("x", "v"):
        settings = [f"{name}.dim=2", f"{name}.size0=100", f"{name}.size1=10"]
        (kernel,) = _product("v.size(1)", check, set=settings)
        assert (kernel.launch.grid, [loop.trip_count for loop in kernel.loops]) == ((4, 1, 1), [10])


@pytest.mark.parametrize(
    ("check", "trips", "fixes"),
    [
        ("k == 5", 5, set()),
        ("k == 2 || k == 3 || k == 4", 2, {"k"}),
        ("(k == 6 || k == 3) && x.is_cuda()", 6, {"k"}),
        ("k > 0", 1024, {"each.s"}),
    ],
)
def test_numbers_that_checks_state(check, trips, fixes):
    text = _PRODUCT.replace("v)", "v, int k)").replace("CHECKS", f"TORCH_CHECK({check});")
    (kernel,) = analysed(text.replace("LENGTH", "k"), set=["x.numel=1024"])
    assert [loop.trip_count for loop in kernel.loops] == [trips]
    assert {told.fix for told in kernel.assumptions} == {f"--set {name}=VALUE" for name in fixes}


@pytest.mark.parametrize("function", ["at::ceil_div", "at::cuda::ATenCeilDiv", "ATenCeilDiv", "THCCeilDiv"])
@pytest.mark.parametrize(
    "form",
    [
        "{}(n, (int64_t)256)",
        "std::min({}(n, (int64_t)256), (int64_t)4096)",
        "std::min({}((int)n, 256), 4096)",
    ],
)
def test_what_pytorch_declares_and_nobody_defines_rounds_up(function, form):
    text = SCALE.replace("BODY", "x.numel()").replace("(n + 255) / 256", form.format(function))
    (kernel,) = analysed(text, set=["x.numel=1000"])
    assert (kernel.launch.grid, kernel.launch.source) == ((4, 1, 1), LaunchSource.HOST_CODE)


@pytest.mark.parametrize(
    ("elements", "change", "grid"),
    [
        ("torch::empty({1000, 3000}).numel()", ("", ""), 11719),  # x 256 threads
        ("torch::empty({10, 30}).numel()", ("", ""), 640),  # which fill the GPU
        ("torch::empty({1000, 3000}).numel()", ("if (i < n)", "if (i >= n) return;"), 11719),
        ("torch::empty({1000, 3000}).numel()", ("if (i < n)", "for (; i < n; i += 256 * gridDim.x)"), 640),
    ],
)
def test_a_grid_that_is_assumed_covers_what_is_known(elements, change, grid):
    text = SCALE.replace("BODY", elements).replace(change[0] or "BODY", change[1])
    (kernel,) = analysed(text.replace("(n + 255) / 256", "blocks_of_a_missing_header()"))
    assert (kernel.launch.grid, kernel.launch.source) == ((grid, 1, 1), LaunchSource.ASSUMED)
    assert "grid unknown: the result of blocks_of_a_missing_header()" in kernel.assumptions[-1].message


_HANDED_ON = """
__global__ void each(const float *x, int n) {}
struct Layer { torch::Tensor weight, bias; int n; };
void launched(torch::Tensor w, const at::Tensor& q, int n) {
    each<<<w.size(1) * q.size(0), 32>>>(w.data_ptr<float>(), n);
}
void run(torch::Tensor input, const at::Tensor other, Layer layer) {
    CALL
}
"""


@pytest.mark.parametrize(
    ("call", "settings", "grid", "fixes"),
    [
        ("launched(input.contiguous(), other, 1);", [], 1024 * 1024, {"input.size1", "other.size0"}),
        ("launched(input.contiguous(), other, 1);", ["input.size1=5", "other.size0=7"], 35, set()),
        ("launched(input.contiguous(), other, 1);", ["w.size1=5", "q.size0=7"], 35, set()),
        ("launched(input, other, 1);", ["w.size1=5"], 5 * 1024, {"other.size0"}),
        ("launched(input, other, 1);", ["input.size1=5"], 5 * 1024, {"other.size0"}),
        ("launched(layer.weight, layer.bias, 1);", ["layer.bias.size0=7"], 7 * 1024, {"layer.weight.size1"}),
        ("launched(layer.weight, layer.bias, 1);", ["layer.bias.size0=7", "w.size1=9"], 63, set()),
    ],
)
def test_tensors_go_by_the_names_of_their_callers_and_of_functions_and_members(call, settings, grid, fixes):
    (kernel,) = analysed(_HANDED_ON.replace("CALL", call), set=settings)
    assert kernel.launch.grid == (grid, 1, 1)
    assert {told.fix for told in kernel.assumptions} == {f"--set {name}=VALUE" for name in fixes}


def test_a_member_of_an_object_that_is_none(tmp_path, capsys):
    path = tmp_path / "k.cu"
    path.write_text(HEAD + _HANDED_ON.replace("CALL", "launched(layer.weight, layer.bias, 1);"))
    assert run(["analyze", str(path), "--no-cache", "--set", "layer.weight.size1=512"]) == 0
    assert run(["analyze", str(path), "--no-cache", "--set", "sheet.weight.size1=512"]) == 2
    assert "'sheet.weight'" in capsys.readouterr().err


def test_nobody_assumes_tensors_of_a_thousand_dimensions():
    (kernel,) = _product("x.dim()")
    assert [loop.trip_count for loop in kernel.loops] == [2]
    assert {told.fix for told in kernel.assumptions} == {"--set x.numel=VALUE", "--set x.dim=VALUE"}


_CONVOLVED = """
__global__ void columns(int OH, int kH, int stride, const float *x, float *y) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= OH) return;
    for (int k = 0; k < kH; k++) y[i] += x[i * stride + k];
}
void unfolded(torch::Tensor x, int kH, int64_t stride, int padH, int border) {
    int OH = (x.size(0) + 2 * padH - kH - BORDER) / stride + 1;
    columns<<<GRID, 64, 4 * kH>>>(OH, kH, stride, x.data_ptr<float>(), x.data_ptr<float>());
}
"""


def test_numbers_beside_tensors_are_small_where_their_names_tell_a_role():
    (kernel,) = analysed(_CONVOLVED.replace("BORDER", "0").replace("GRID", "OH"))
    assert kernel.launch.grid == (1024, 1, 1)
    told = " ".join(told.message for told in kernel.assumptions)
    assert all(one in told for one in ("kH assumed 3", "stride assumed 1", "padH assumed 1"))
    assert [loop.trip_count for loop in kernel.loops] == [3]
    assert "do nothing" not in told
    assert "shared memory" not in told  # its bytes follow from kH


_UNFOLDED = """
__global__ void unfolded(int n, int volume, const float *x, float *y, bool is_last) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) for (int k = 0; k < volume; k++) y[i + k] = x[i * 2 + is_last];
}
void unfold(torch::Tensor x, int channels, int height, int width, int ksize_h, int ksize_w, int pad_h,
            int pad_w, int stride_h, int stride_w, int imgs, int scale_factor, int kernel_volume) {
    int rows = (height + 2 * pad_h - ksize_h) / stride_h + 1;
    int columns = (width + 2 * pad_w - ksize_w) / stride_w + 1;
    int num_kernels = channels * rows * columns * imgs * scale_factor;
    unfolded<<<(num_kernels + 255) / 256, 256>>>(num_kernels, kernel_volume, x.data_ptr<float>(),
                                                 x.data_ptr<float>(), imgs > 1);
}
"""


def test_a_product_of_many_sizes_is_a_number():
    """Ten variables one after the other, whose product is more than an int holds with 1024 for each."""
    (kernel,) = analysed(_UNFOLDED)
    assert kernel.launch.grid == (2 * 64**4 // 256, 1, 1)
    told = " ".join(told.message for told in kernel.assumptions)
    sizes = ("channels assumed 64", "height assumed 64", "width assumed 64", "imgs assumed 64")
    roles = ("ksize_w assumed 3", "scale_factor assumed 2", "kernel_volume assumed 27")
    assert all(one in told for one in (*sizes, *roles))
    assert "num_kernels assumed" not in told


def test_numbers_beside_tensors_are_what_their_names_say():
    text = """
    __global__ void wide(const float *x, int n, int k) { }
    void run(torch::Tensor x, int up_x, int down_x, int pad_x0, int top_k, int batch_size) {
        int n = batch_size * (x.size(0) * up_x + pad_x0) / down_x;
        wide<<<n, 16 * top_k>>>(x.data_ptr<float>(), n, top_k);
    }
    """
    (kernel,) = analysed(text)
    told = " ".join(told.message for told in kernel.assumptions)
    small = ("up_x assumed 1", "down_x assumed 1", "pad_x0 assumed 1", "batch_size assumed 16")
    assert all(f"{one}:" in told for one in small)
    assert kernel.launch.block == (64, 1, 1)


def test_elements_of_a_pack_cannot_be_set_one_by_one():
    text = """
    template <class... A> __global__ void each(float *p, int n, A... more) {
        for (int i = 0; i < n + (more + ...); i++) p[i] = 1;
    }
    void run(float *p) { each<<<4, 64>>>(p, *(int *)p, *(int *)p, *(int *)p); }
    """
    (kernel,) = analysed(text)
    assert {told.fix for told in kernel.assumptions} == {"", "--set each.n=VALUE"}


def test_a_truth_that_nobody_gives_is_true():
    (kernel,) = analysed(_UNFOLDED.replace("imgs > 1", "x.is_sparse()"), set=["imgs=1", "kernel_volume=1"])
    assert "value of parameter 'is_last' unknown: is_last assumed 1" in {
        t.message for t in kernel.assumptions
    }


def test_a_padded_length_is_no_padding():
    text = _CONVOLVED.replace("BORDER", "0").replace("GRID", "OH").replace("padH", "padded_n")
    (kernel,) = analysed(text)
    assert "padded_n assumed 1024" in " ".join(told.message for told in kernel.assumptions)


def test_a_role_does_not_give_way_to_what_a_loop_covers():
    text = _CONVOLVED.replace("BORDER", "0").replace("GRID", "8").replace("k = 0", "k = threadIdx.x")
    (kernel,) = analysed(text.replace("4 * kH", "0").replace("k++", "k += 64"))
    assert "kH assumed 3" in " ".join(told.message for told in kernel.assumptions)


@pytest.mark.parametrize("bound", ["OH", "4 * OH", "(long)kH * OH * stride"])
def test_a_bound_that_assumptions_make_negative_is_told(bound):
    text = _CONVOLVED.replace(">= OH", f">= {bound}").replace("BORDER", "2 * border")
    text = text.replace("GRID", "x.size(0) / 64 + border / 64")
    told = [told for kernel in analysed(text) for told in kernel.assumptions if "do nothing" in told.message]
    (one,) = told
    assert "what is assumed makes argument OH -1024, with which columns compares" in one.message
    assert one.fix == "--set columns.OH=VALUE"


def test_dispatch_macros_that_ask_for_the_type_as_torch_does():
    source = """#include <torch/extension.h>
template <class T> __global__ void k(T *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }
#define CASE(TYPE, T, ...) case TYPE: { using scalar_t = T; return __VA_ARGS__(); }
#define DISPATCH(TENSOR, ...) [&] { at::ScalarType type = ::detail::scalar_type(TENSOR.scalar_type()); \\
  switch (type) { CASE(at::ScalarType::Double, double, __VA_ARGS__) \\
    CASE(at::ScalarType::Float, float, __VA_ARGS__) default: break; } }()
void f(torch::Tensor a) {
  int n = a.size(0);
  DISPATCH(a, ([&] { k<scalar_t><<<n / 256, 256>>>(a.data_ptr<scalar_t>(), n); }));
}"""
    found = analyze_text(source, gpu="v100").kernels
    assert sorted(one.source.qualified_name for one in found) == ["k<double>", "k<float>"]
    assert {told.fix for one in found for told in one.assumptions if told.rule == "PW011"} == {
        "--set a.size0=VALUE"
    }
