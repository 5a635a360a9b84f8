"""The command `instructions`, over a hand-made list of PTX instructions and over tables."""

import json
import re
from pathlib import Path

import pytest
from msgspec import structs
from msgspec.structs import replace

from wattslice import ir
from wattslice.cli import main
from wattslice.config.config import Config
from wattslice.frontend.cuda.read import read_cuda
from wattslice.ptx_energy.tables import measured_energies, published_energies, published_gpus, watt_step_j
from wattslice_corpora.instruction_kernels import INSTRUCTIONS
from wattslice_corpora.published.arafa2020 import arafa2020_instruction_energies
from wattslice_corpora.records import MeasuredInstruction, write_table
from wattslice_models.gpu import load_gpu
from wattslice_models.instruction_energy import Variant

PAGE = (Path(__file__).parents[2] / "docs" / "instruction-energies.md").read_text(encoding="utf-8")
(PTX,) = re.findall(r"```ptx\n(.*?)```", PAGE, flags=re.DOTALL)


def measured(instruction: str = "add.u32", **changed: object) -> MeasuredInstruction:
    """A row of a measured table."""
    row = MeasuredInstruction(
        instruction=instruction,
        category="",
        table_row="",
        optimized=True,
        variant="latency",
        method="MTSM",
        energy_j=1e-7,
        standard_error_j=None,
        above_idle_j=None,
        time_s=None,
        repeats=1,
        sass="",
        core_mhz=None,
        temperature_c=None,
        idle_power_w=None,
        board="NVIDIA H200",
        driver="",
        reason="",
    )
    return replace(row, **changed)  # pyright: ignore[reportArgumentType]


def written(folder: Path, *rows: MeasuredInstruction) -> str:
    """The name of a measured table."""
    write_table(folder / "e.csv", ("measured",), MeasuredInstruction, rows)
    return str(folder / "e.csv")


@pytest.fixture
def ptx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is read as a kernel with a loop of eight multiply-adds, whatever stands in it."""
    cuda = tmp_path / "k.cu"
    cuda.write_text(
        "__global__ void k(float* p) { float s = p[0];"
        " for (int i = 0; i < 8; ++i) s = s * s + 1.0f; p[threadIdx.x] = s; }\n"
    )
    program = read_cuda(cuda)
    (kernel,) = program.kernels
    (loop,) = [stmt for stmt in ir.walk_statements(kernel.body) if isinstance(stmt, ir.Loop)]
    made = (
        ("ld.global.f32", kernel.body.region),
        ("fma.rn.f32", loop.body.region),
        ("add.s32", loop.body.region),
        ("st.global.f32", kernel.body.region),
    )
    listed = tuple(ir.MachineInstruction(opcode, region, kernel.span) for opcode, region in made)
    made_program = replace(program, kernels=(replace(kernel, machine_instructions=listed),))

    def read_program(path: Path, config: Config) -> ir.Program:
        return made_program

    monkeypatch.setattr("wattslice.ptx_energy.costs.read_program", read_program)
    path = tmp_path / "k.ptx"
    path.write_text(".version 8.0\n")
    return path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["instructions", *words])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_the_published_gpus_are_those_of_the_catalogue() -> None:
    names = dict.fromkeys(row.gpu for row in arafa2020_instruction_energies())
    found = [load_gpu(gpu_id) for gpu_id in published_gpus()]
    capabilities = [f"cc{major}.{minor}" for major, minor in (gpu.compute_capability for gpu in found)]
    assert all(capability in name for name, capability in zip(names, capabilities, strict=True))
    assert [gpu.id for gpu in found] == ["gtx_titan_x", "gtx_1080_ti", "titan_v", "titan_rtx"]


def test_published_energies_mark_copies_gaps_and_what_no_sensor_saw() -> None:
    volta = {row.name: row for row in published_energies("titan_v", optimized=True, method="mtsm").rows}
    assert len(volta) == 32
    shift = volta["Logic and Shift Instructions: shl / shr"]
    assert "the numbers of Integer Arithmetic Instructions: add / sub / min / max" in shift.note
    assert "below a step of the sensor" in shift.note
    division = volta["Integer Arithmetic Instructions: {s} div"]
    assert (division.energy_j, division.note) == (pytest.approx(4.066e-6), "")
    maxwell = published_energies("gtx_titan_x", optimized=False, method="papi")
    assert maxwell.price("add.f16").reason == "not run on this GPU"
    assert watt_step_j(optimized=True) == pytest.approx(56e-9)


def test_a_kernel_by_hand(ptx: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, str(ptx), "--not-optimized", "--launch", "k=4:64", "--format", "json")
    assert status == 0
    document = json.loads(out)
    assert (document["gpu"], document["method"], document["optimized"]) == ("titan_v", "mtsm", False)
    (kernel,) = document["kernels"]
    assert kernel["executions"] == 18
    assert kernel["coverage"] == pytest.approx(16 / 18)
    fma_j, add_j = 8 * 0.4797e-6, 8 * 0.2384e-6
    assert kernel["thread_energy_j"] == pytest.approx(fma_j + add_j)
    assert kernel["launch_energy_j"] is None
    shares = {entry["opcode"]: entry["share"] for entry in kernel["instructions"]}
    assert shares["fma.rn.f32"] == pytest.approx(fma_j / (fma_j + add_j))
    assert shares["ld.global.f32"] is None
    fields = PAGE.partition("## JSON")[2]
    for entry in (document, kernel, kernel["instructions"][0]):
        assert [name for name in entry if f"`{name}`" not in fields] == []


def test_the_text_says_what_has_no_energy_and_that_this_is_no_launch(
    ptx: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = run(capsys, str(ptx), "--launch", "k=4:64")
    assert status == 0
    assert "18.0 PTX instructions per thread, 89 % of them in the table" in out
    assert "the table has no load, store or copy" in out
    assert "not the energy of a launch" in " ".join(out.split())


def test_a_ptx_file_from_text_to_shares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "halves.ptx"
    path.write_text(PTX)
    words = (str(path), "--not-optimized", "--launch", "halves=1:32", "--set", "halves.n=10")
    status, out, _ = run(capsys, *words, "--format", "json")
    assert status == 0
    (kernel,) = json.loads(out)["kernels"]
    assert (kernel["name"], kernel["grid"], kernel["block"]) == ("halves", [1, 1, 1], [32, 1, 1])
    executions = {entry["opcode"]: entry["executions"] for entry in kernel["instructions"]}
    assert [executions[one] for one in ("mul.f32", "add.s32", "setp.lt.s32", "bra")] == [10, 10, 10, 10]
    assert [executions[one] for one in ("div.rn.f32", "st.global.f32", "ld.param.u64")] == [1, 1, 1]
    assert kernel["thread_energy_j"] == pytest.approx((10 * 0.4797 + 10 * 0.2384 + 33.3816) * 1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\n", "h.ptx"),
        (".version 8.0\n.target sm_70\n.address_size 64\n", "h.ptx: no kernel in this file"),
    ],
)
def test_a_file_without_kernels_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    path = tmp_path / "h.ptx"
    path.write_text(text)
    status, out, err = run(capsys, str(path))
    assert (status, out) == (2, "")
    assert message in err


def test_a_kernel_that_cannot_be_read_costs_nobody_knows_what(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cut.ptx"
    path.write_text(PTX[: PTX.index("div.rn.f32")] + "div.rn.f32 %f2,")
    status, out, err = run(capsys, str(path))
    assert status == 2
    assert "executions unknown: nothing of the body could be read" in out
    assert "[PW06" in err
    assert "cut.ptx are known" in err


def test_energies_of_a_full_board_give_a_launch(
    ptx: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    full = {"variant": "throughput"}
    table = written(
        tmp_path,
        measured("fma.rn.f32", energy_j=1e-11, above_idle_j=4e-12, **full),
        measured("add.s32", energy_j=None, reason="too short", **full),
    )
    words = (str(ptx), "--energies", table, "--variant", "throughput", "--launch", "k=4:64")
    status, out, _ = run(capsys, *words, "--format", "json")
    assert status == 0
    document = json.loads(out)
    (kernel,) = document["kernels"]
    assert document["gpu"] == "h200"
    assert kernel["launch_energy_j"] == pytest.approx(4 * 64 * 8e-11)
    assert kernel["launch_above_idle_j"] == pytest.approx(4 * 64 * 8 * 4e-12)
    (add,) = (entry for entry in kernel["instructions"] if entry["opcode"] == "add.s32")
    assert (add["energy_j"], add["reason"]) == (None, "too short")


@pytest.mark.parametrize(
    ("rows", "words", "message"),
    [
        ((), (), "e.csv: holds no rows"),
        ((measured(board="X1"),), (), "e.csv: unknown board 'X1'"),
        ((measured(), measured()), (), "e.csv: holds add.u32 twice"),
        ((measured(), measured(board="V100")), (), "holds several GPUs (--gpu h200, v100)"),
        ((measured(),), ("--gpu", "v100"), "holds nothing for v100 (--gpu h200)"),
        ((measured(optimized=False),), (), "only instructions compiled with -O0 (--not-optimized)"),
        ((measured(variant="throughput"),), (), "only throughput energies (--variant throughput)"),
        ((measured(),), ("--method", "papi"), "nothing by method papi (mtsm)"),
    ],
)
def test_a_measured_table_that_cannot_be_used(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    rows: tuple[MeasuredInstruction, ...],
    words: tuple[str, ...],
    message: str,
) -> None:
    status, _, err = run(capsys, "--energies", written(tmp_path, *rows), *words)
    assert status == 2
    assert message in err


def test_a_measured_table_alone_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shaky = measured("mul.lo.u32", standard_error_j=3e-8)
    table = written(tmp_path, measured(), shaky, measured("div.s32", energy_j=None, reason="too short"))
    status, out, _ = run(capsys, "--energies", table)
    assert status == 0
    assert "H200" in out
    (line,) = (line for line in out.splitlines() if "add.u32" in line)
    assert line.split() == [
        "add.u32",
        "100",
        "nJ",
        "0.461",
        "0.200",
        "0.0120",
        "0.281",
    ]  # beside the published
    assert "[1] standard error 30%" in out
    assert "[2] too short" in out


NVCC_WRITES = """
    add.s32 %r2, %r1, 1;
    sub.s32 %r2, %r2, %r1;
    mul.lo.s32 %r2, %r2, %r1;
    mad.lo.s32 %r2, %r2, %r1, %r2;
    and.b32 %r2, %r2, 255;
    shl.b32 %r2, %r2, 2;
    selp.f32 %f1, 0f3F800000, 0f40000000, %q1;
    selp.b32 %r2, %r1, %r2, %q1;
    fma.rn.f32 %f1, %f1, %f1, %f1;
    shr.s32 %r2, %r2, 3;
    min.u32 %r2, %r2, %r1;
"""


def test_a_full_measured_table_prices_what_nvcc_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "K.PTX"  # the suffix may stand in capitals
    head, _, tail = PTX.partition("LOOP:")
    path.write_text(f"{head}{NVCC_WRITES}{tail[tail.index('st.global') :]}")
    table = written(tmp_path, *(measured(one.name) for one in INSTRUCTIONS))
    words = (str(path), "--energies", table, "--launch", "halves=1:32", "--stand-ins", "--format", "json")
    status, out, _ = run(capsys, *words)
    assert status == 0
    (kernel,) = json.loads(out)["kernels"]
    basis = {entry["opcode"]: entry["basis"] for entry in kernel["instructions"]}
    asked = [line.split()[0] for line in NVCC_WRITES.splitlines() if line]
    assert {basis[opcode] for opcode in asked[:9]} == {"named"}
    assert [basis[opcode] for opcode in ("shr.s32", "min.u32")] == ["stand-in", "stand-in"]


def test_the_row_of_the_very_opcode_comes_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = written(tmp_path, measured("add.u32"), measured("add.s32", energy_j=3e-7))
    energies = measured_energies(Path(table), None, optimized=True, variant=Variant.LATENCY, method=None)
    assert [energies.price(one).energy_j for one in ("add.u32", "add.s32")] == [1e-7, 3e-7]


def test_a_measured_table_needs_few_columns_in_any_order(tmp_path: Path) -> None:
    table = tmp_path / "e.csv"
    table.write_text(
        "mine,method,variant,board,optimized,energy_j,instruction\n7,MTSM,latency,V100,true,2e-7,add.u32\n"
    )
    energies = measured_energies(table, None, optimized=True, variant=Variant.LATENCY, method=None)
    assert energies.price("add.s32").energy_j == 2e-7
    section = PAGE.partition("## Measured tables")[2].partition("## JSON")[0]
    for one in structs.fields(MeasuredInstruction):
        needed, _, optional = section.partition("may be missing")
        assert f"`{one.name}`" in (needed if one.required else optional), one.name


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (measured(above_idle_j=2e-7), "'above_idle_j': 2e-07 is above 'energy_j', 1e-07"),
        (measured(standard_error_j=-1e-9), "'standard_error_j': -1e-09 is below 0"),
    ],
)
def test_a_measurement_that_cannot_be_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: MeasuredInstruction, complaint: str
) -> None:
    status, out, err = run(capsys, "--energies", written(tmp_path, row))
    assert (status, out) == (2, "")
    assert f"e.csv:3: column {complaint}" in err


def test_names_in_a_table_do_not_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = (
        measured("add\x1b[31m.u32", category="\x1b]0;x\x07"),
        measured("b", energy_j=None, reason="\x1b[2J"),
    )
    status, out, _ = run(capsys, "--energies", written(tmp_path, *rows))
    assert status == 0
    assert "\x1b" not in out


def test_parameters_are_the_names_that_settings_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not `a1`, a register that is read after the block that sets it."""
    path = tmp_path / "halves.ptx"
    branch = "@%q1 bra LAST;\n    mul.f32 %f1, %f1, %f1;\nLAST:\n    div.rn"
    path.write_text(PTX.replace("div.rn", branch).replace("%q", "%a"))
    status, _, err = run(capsys, str(path), "--set", "halves.zzz=1")
    assert status == 2
    assert "(known: n, p)" in err


def test_a_table_of_something_else_is_told_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "e.csv").write_text("gpu,opcode\n")
    status, _, err = run(capsys, "--energies", str(tmp_path / "e.csv"))
    assert status == 2
    assert "e.csv:1: without columns instruction, optimized, variant, method, energy_j, board" in err


def test_without_a_file_the_table_of_a_gpu_beside_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--not-optimized")
    assert status == 0
    (line,) = (line for line in out.splitlines() if line.startswith("  rcp "))
    assert line.split() == ["rcp", "10.1", "µJ", "1.82", "1.31", "1.92"]
    status, out, _ = run(capsys, "--format", "json", "--gpu", "gtx_1080_ti", "--method", "PAPI")
    document = json.loads(out)
    assert (status, document["gpu"], document["method"]) == (0, "gtx_1080_ti", "papi")
    first = document["rows"][0]
    assert first["energy_j"] == pytest.approx(0.0277e-6)
    assert first["others"][1] == {"gpu": "titan_v", "energy_j": pytest.approx(0.0064e-6)}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("k.cu",), "k.cu: is source text, and energies are known per PTX instruction (make PTX of it: nvcc"),
        (("k.txt",), "k.txt: is no .ptx file"),
        (("empty.ptx",), "empty.ptx: is empty"),
        ((".",), ".: is a folder (give a .ptx file)"),
        (("no.ptx",), "no.ptx: no such file"),
        (("--gpu", "h100"), "(--gpu gtx_titan_x, gtx_1080_ti, titan_v, titan_rtx"),
        (("--gpu", "v100"), "titan_v has the same chip"),
        (("--gpu", "t4"), "titan_rtx has the same generation"),
        (("--gpu", "titanv2"), "unknown GPU 'titanv2'"),
        (("--method", "sma"), "--method sma: not in Arafa et al. 2020, Table I (mtsm or papi)"),
        (("--variant", "throughput"), "published energies are those of one thread"),
        (("--launch", "k=1:1"), "are about a kernel (give a .ptx file)"),
        (("--energies", "no.csv"), "no.csv: cannot be read"),
    ],
)
def test_what_cannot_be_done_is_told_with_a_remedy(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wattslice.toml").write_text("")
    (tmp_path / "empty.ptx").write_text(" \n")
    status, out, err = run(capsys, *words)
    assert (status, out) == (2, "")
    assert message in err
