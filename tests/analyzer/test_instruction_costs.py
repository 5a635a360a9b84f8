"""The command `instructions`, over a hand-made list of PTX instructions and over tables."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from wattslice import ir
from wattslice.cli import main
from wattslice.config import Config
from wattslice.frontend.cuda import read_cuda
from wattslice.instruction_tables import published_energies, published_gpus, watt_step_j
from wattslice_corpora.published import arafa2020_instruction_energies
from wattslice_models.gpu import load_gpu

HEADER = "instruction,optimized,variant,method,energy_j,board,reason\n"


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

    monkeypatch.setattr("wattslice.instruction_costs.read_program", read_program)
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
    page = (Path(__file__).parents[2] / "docs" / "instruction-energies.md").read_text(encoding="utf-8")
    fields = page.partition("## JSON")[2]
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


def test_energies_of_a_full_board_give_a_launch(
    ptx: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "e.csv"
    table.write_text(
        f"# measured\n{HEADER}fma.rn.f32,true,throughput,MTSM,1e-11,NVIDIA H200,\n"
        "add.s32,true,throughput,MTSM,,NVIDIA H200,too short\n"
    )
    words = (str(ptx), "--energies", str(table), "--variant", "throughput", "--launch", "k=4:64")
    status, out, _ = run(capsys, *words, "--format", "json")
    assert status == 0
    document = json.loads(out)
    (kernel,) = document["kernels"]
    assert document["gpu"] == "h200"
    assert kernel["launch_energy_j"] == pytest.approx(4 * 64 * 8e-11)
    (add,) = (entry for entry in kernel["instructions"] if entry["opcode"] == "add.s32")
    assert (add["energy_j"], add["reason"]) == (None, "too short")


@pytest.mark.parametrize(
    ("rows", "words", "message"),
    [
        ("", (), "e.csv: holds no rows"),
        ("add.u32,true,latency,MTSM,x,H200,\n", (), "e.csv:2: 'energy_j' is 'x', no number"),
        ("add.u32,true,latency,MTSM,nan,H200,\n", (), "e.csv:2: 'energy_j' is 'nan'"),
        ("add.u32,maybe,latency,MTSM,1,H200,\n", (), "e.csv:2: 'optimized' is 'maybe' (true or false)"),
        ("add.u32,true,width,MTSM,1,H200,\n", (), "e.csv:2: 'variant' is 'width'"),
        ("add.u32,true,latency,MTSM,1,X1,\n", (), "e.csv:2: unknown GPU 'X1'"),
        (",true,latency,MTSM,1,H200,\n", (), "e.csv:2: 'instruction' is empty"),
        ("add.u32,true,latency,MTSM,1,H200,\n" * 2, (), "e.csv:3: add.u32 is there already, in line 2"),
        ("add.u32,true,latency,MTSM,1,H200,\n", ("--gpu", "v100"), "holds nothing for v100 (--gpu h200)"),
        ("add.u32,false,latency,MTSM,1,H200,\n", (), "only instructions compiled with -O0 (--not-optimized)"),
        ("add.u32,true,throughput,MTSM,1,H200,\n", (), "only throughput energies (--variant throughput)"),
        ("add.u32,true,latency,MTSM,1,H200,\n", ("--method", "papi"), "nothing by method papi (mtsm)"),
    ],
)
def test_a_measured_table_that_cannot_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: str, words: tuple[str, ...], message: str
) -> None:
    table = tmp_path / "e.csv"
    table.write_text(HEADER + rows)
    status, _, err = run(capsys, "--energies", str(table), *words)
    assert status == 2
    assert message in err


def test_columns_that_are_missing_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "e.csv"
    table.write_text("gpu,opcode\n")
    assert run(capsys, "--energies", str(table))[0] == 2
    table.write_text("# only a comment\n")
    status, _, err = run(capsys, "--energies", str(table))
    assert status == 2
    assert "e.csv:2: has no column board, instruction" in err


def test_without_a_file_the_table_of_a_gpu_beside_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--not-optimized")
    assert status == 0
    (line,) = (line for line in out.splitlines() if line.startswith("  rcp "))
    assert line.split() == ["rcp", "10.1", "µJ", "1.82", "1.31", "1.92"]
    status, out, _ = run(capsys, "--format", "json", "--gpu", "gtx_1080_ti", "--method", "PAPI")
    document = json.loads(out)
    assert (status, document["gpu"], document["method"]) == (0, "gtx_1080_ti", "papi")
    assert document["rows"][0]["energy_j"] == pytest.approx(0.0277e-6)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("k.cu",), "k.cu: is source text, and energies are known per PTX instruction (make PTX of it: nvcc"),
        (("k.txt",), "k.txt: is no .ptx file"),
        (("empty.ptx",), "empty.ptx: is empty"),
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
