"""--launch and --set: what is read, and what is said when it cannot be."""

from __future__ import annotations

import pytest

from wattslice import ir
from wattslice.cli import main as run
from wattslice.frontend.cuda.read import read_cuda
from wattslice.launches.launch import MAX_THREADS_PER_BLOCK
from wattslice.launches.overrides import (
    OverrideError,
    check_overrides,
    known_names,
    parse_launch,
    parse_overrides,
    parse_setting,
    unmatched_settings,
)
from wattslice.launches.resolver import resolve_launches
from wattslice_models.gpu import gpu_ids, load_gpu

SPAN = ir.Span("a.cu", 1, 1, 1)


@pytest.mark.parametrize(
    ("text", "grid", "block", "shared"),
    [
        ("k=4:32", (4, 1, 1), (32, 1, 1), None),
        ("k=4,5,6:32,8,2", (4, 5, 6), (32, 8, 2), None),
        (" k = 0x10 : 64 : 48 ", (16, 1, 1), (64, 1, 1), 48),
    ],
)
def test_launch(text, grid, block, shared):
    found = parse_launch(text)
    assert (found.kernel, found.grid, found.block, found.dynamic_shared_bytes) == ("k", grid, block, shared)


@pytest.mark.parametrize(
    "name", ["k<float>", "a::k<float, 4>", "k<s<int> >", "s<int>::k", "k<(Op)1>", "k<-1>"]
)
def test_names_of_template_instances(name):
    assert parse_launch(f"{name}=7:64").kernel == name
    setting = parse_setting(f"{name}.n=7")
    assert (setting.kernel, setting.name) == (name, "n")


@pytest.mark.parametrize(
    "text",
    ["k<float=4:32", "k>=4:32", "<float>=4:32", "k<float>x=4:32",
     "k", "k=4", "=4:32", "k=4:32:1:2", "k=0:32", "k=4:-1", "k=a:32", "k=1,2,3,4:32", "k=4:32:-5", "k=4:32:x",
     "k=1:2000", "k=1:32,32,2", "k=1,70000:32", "k=1:1,1,65"],
)  # fmt: skip
def test_bad_launch(text):
    with pytest.raises(OverrideError) as caught:
        parse_launch(text)
    assert text in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("text", "kernel", "name", "value"),
    [("n=5", None, "n", 5), ("k.n=-5", "k", "n", -5), ("a::k.n=4K", "a::k", "n", 4096),
     ("x=1.5e3", None, "x", 1500.0),
     ("trip_L42=0x10", None, "trip_L42", 16)],
)  # fmt: skip
def test_setting(text, kernel, name, value):
    found = parse_setting(text)
    assert (found.kernel, found.name, found.value) == (kernel, name, value)
    assert type(found.value) is type(value)


@pytest.mark.parametrize(
    "text", ["n", "=5", "n=", "n=five", "n=inf", "n=nan", ".n=5", "k.=5", "1n=5", "n<int>=5"]
)
def test_bad_setting(text):
    with pytest.raises(OverrideError) as caught:
        parse_setting(text)
    assert caught.value.remedy


def test_contradictions():
    with pytest.raises(OverrideError, match=r"contradictory --set: k\.n=1 and k\.n=2"):
        parse_overrides((), ("k.n=1", "k.n=2"))
    found = parse_overrides((), ("n=1", "n=1", "k.n=2"))
    assert [(s.kernel, s.value) for s in found.settings] == [(None, 1), ("k", 2)]


def program():
    parameter = ir.Variable("width", ir.INT32, ir.MemorySpace.REGISTER, ir.VariableRole.PARAMETER, SPAN)
    nothing = ir.Block((), 1, SPAN)
    loops = [
        ir.Loop(ir.LoopKind.WHILE, (), None, None, nothing, None, 2, 3, 4, ir.Span(file, line, 1, line))
        for file, line in (("a.cu", 7), ("b.h", 8))
    ]
    body = ir.Block(tuple(loops), 0, SPAN)
    kernel = ir.Kernel("blur", "blur<3>", "_Z4blur", (parameter,), body, SPAN, 1, 0, (), None, None, True)
    return ir.Program("a.cu", (kernel,), (), (), (), ())


@pytest.mark.parametrize(
    ("launches", "settings", "message"),
    [
        (("blurr=1:1",), (), "did you mean blur"),
        ((), ("blurr.width=1",), "did you mean blur"),
        ((), ("blur.widht=1",), "did you mean width"),
        ((), ("nowhere=1",), "no variable 'nowhere'"),
        ((), ("trip_L8=1",), "no loop 'trip_L8'.*trip_L7"),
        ((), ("blur.trip_L9@b.h=1",), "no loop"),
    ],
)
def test_names_that_occur_nowhere(launches, settings, message):
    with pytest.raises(OverrideError, match=message):
        check_overrides(parse_overrides(launches, settings), [known_names(program())])


def test_names_that_occur():
    overrides = parse_overrides(("blur=1:1",), ("blur.width=3", "width=2", "trip_L7=1", "blur.trip_L8@b.h=4"))
    check_overrides(overrides, [known_names(program())])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("launches", "error"),
    [
        (
            "k<<<4, 64>>>(7); other<<<5, 64>>>(8);",
            "--set n=5 changes nothing: every launch of k gives 'n' a value",
        ),
        ("k<<<4, 64>>>(7); k<<<5, 64>>>(atoi(argv[1]));", ""),
        ("k<<<4, 64>>>(7); other<<<5, 64>>>(atoi(argv[1]));", ""),
        ("int n = 7; k<<<4, 64>>>(n);", ""),
    ],
)
def test_a_setting_of_what_every_launch_gives_is_said_to_change_nothing(tmp_path, capsys, launches, error):
    kernels = "__global__ void k(int n) {}\n__global__ void other(int n) {}\n"
    path = tmp_path / "a.cu"
    path.write_text(f"#include <cstdlib>\n{kernels}int main(int argc, char **argv) {{ {launches} }}\n")
    command = ["analyze", str(path), "--gpu", "v100", "--no-cache"]
    assert run([*command, "--set", "n=5"]) == (2 if error else 0)
    told = capsys.readouterr().err
    assert error in told
    assert ("--set k.n=5 says another" in told) is bool(error)
    assert run([*command, "--set", "k.n=5"]) == 0


def test_settings_of_a_file_that_its_own_kernels_do_not_have():
    texts = ("blur.widht=3", "blur< 3 >.trip_L9=1", "blur.width=1", "other.widht=1", "widht=1")
    found = unmatched_settings(parse_overrides((), texts), [known_names(program())])
    assert [entry for entry, _ in found] == ["set blur.widht", "set blur< 3 >.trip_L9"]
    assert "did you mean width?" in str(found[0][1])


@pytest.mark.parametrize("name", ["scale<float,4>", "scale< float, 4 >", "a::scale<float, 4>"])
def test_one_instance_of_a_template(tmp_path, name):
    path = tmp_path / "a.cu"
    path.write_text(
        "namespace a { template<class T, int N> __global__ void scale(T *x) { x[threadIdx.x] *= N; } }\n"
        "int main() { a::scale<float, 4><<<2, 32>>>(0); a::scale<int, 2><<<2, 32>>>(0); }\n"
    )
    program = read_cuda(path)
    overrides = parse_overrides((f"{name}=7:64",), ())
    check_overrides(overrides, [known_names(program)])
    found = resolve_launches(program, overrides, load_gpu("v100"))
    grids = {launch.kernel.qualified_name: launch.grid[0] for launch in found}
    assert grids == {"a::scale<float, 4>": 7, "a::scale<int, 2>": 2}


def test_no_gpu_launches_larger_blocks_than_can_be_read():
    assert max(load_gpu(gpu).max_threads_per_block for gpu in gpu_ids()) == MAX_THREADS_PER_BLOCK


def test_trips_have_a_file_and_are_not_negative():
    found = parse_setting("k.trip_L5@tl.h=3")
    assert (found.kernel, found.name, found.value) == ("k", "trip_L5@tl.h", 3)
    with pytest.raises(OverrideError, match="cannot run -3 times"):
        parse_setting("k.trip_L5=-3")


NAMES = """
#include <utility>
__global__ void k(float *d, const int *r, int n) {
    int end = r[threadIdx.x], i;
    for (i = 0; i < end; i++) d[i] += 1;
}
struct App { int n; void run(float *d); };
void App::run(float *d) { k<<<n, 32>>>(d, 0, n); }
std::pair<int, int> made();
int main() { float *d; App app; cudaDeviceProp prop; auto [a, bb] = made(); k<<<a, 32>>>(d, 0, bb); }
"""


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("k.end=3", "--set end=3 changes nothing: k computes 'end' (known: d, n, r)"),
        ("i=3", "--set i=3 changes nothing: k computes 'i' (known: d, n, r, app, prop)"),
        ("app.x=3", "no number 'app.x' in the host code (did you mean app.n?)"),
        ("d.n=3", "no number 'd.n' in the host code (there is none)"),
        ("zz=3", "no variable 'zz' in the analysed files (known: d, n, r, app, prop)"),
        ("k.r=3", None),
        ("app.n=3", None),
    ],
)
def test_what_can_be_set_is_proposed_and_nothing_else(tmp_path, setting, said):
    path = tmp_path / "a.cu"
    path.write_text(NAMES)
    names = (known_names(read_cuda(path)),)
    given = parse_overrides((), (setting,))
    if said is None:
        check_overrides(given, names)
        return
    with pytest.raises(OverrideError) as error:
        check_overrides(given, names)
    assert str(error.value) == said


def test_what_has_no_name_to_be_set_is_said_by_the_launch(tmp_path):
    path = tmp_path / "a.cu"
    path.write_text(NAMES)
    launches = resolve_launches(read_cuda(path), parse_overrides((), ()), load_gpu("v100"))
    fixes = {said.fix for launch in launches for said in launch.assumptions if "first" in said.message}
    assert fixes == {"--launch 'k=gx,gy,gz:bx,by,bz'"}
