"""`wattslice project`: from a workflow file to its configurations and reports."""

import json
import math
import re
from io import StringIO
from pathlib import Path

import pytest
from msgspec.structs import replace

import wattslice_corpora
import wattslice_models
from wattslice.analysis import Analysis, Power
from wattslice.cli import main
from wattslice.errors import WattsliceError
from wattslice.ir import Diagnostic, Severity
from wattslice.launches.launch import Assumption
from wattslice.projection.kernels import time_parameters
from wattslice.projection.projection import Configuration, project_workflow
from wattslice.projection.reader import read_workflow
from wattslice.projection.workflow import GpuNode
from wattslice.report import projection_picture as picture
from wattslice.report.projection import projection_json, write_projection
from wattslice_models.frozen_json import encoded
from wattslice_models.gpu import load_gpu
from wattslice_models.pareto import Objective
from wattslice_tools.papers.escape2018_projection import escape2018_projection

from .samples import ANALYSIS, changed

EXAMPLES = Path(wattslice_corpora.__file__).parent / "workflows"
DOCUMENT = (Path(__file__).parents[2] / "docs" / "project.md").read_text(encoding="utf-8")

ONE_CORE, FOURTEEN_CORES = (
    f"{{ cores = {cores}, clock_mhz = 2600, flop_per_s = {flops}, l1_bytes_per_s = 1e11, "
    f"l2_bytes_per_s = 8e10, l3_bytes_per_s = 3e10, dram_bytes_per_s = {dram} }}"
    for cores, flops, dram in ((1, 20.8e9, 13.436e9), (14, 291.2e9, 56.768e9))
)
CPU = f"[nodes.c]\nrates = [{ONE_CORE}, {FOURTEEN_CORES}]\n"
BASE = """
[nodes.c]
cores = [1, 2]
clocks_mhz = 2600
package_idle_w = 10
memory_idle_w = 1
full_power = [{ cores = 1, package_w = 20, memory_w = 2 }, { cores = 3, package_w = 40, memory_w = 4 }]
[nodes.h]
rates = [RATES]
[nodes.g]
gpu = "v100"
gpus = [1, 2]
host_idle_w = 50
gpu_idle_w = 30
[components.a]
nodes = [1, 2]
[[components.a.measured]]
node = "c"
cores = 1
time_s = 5
""".replace("RATES", ONE_CORE)
KERNEL = """
__global__ void twice(float* x) { x[threadIdx.x] *= 2.0f; }
int main() { float* x; twice<<<1, 32>>>(x); twice<<<2, 32>>>(x); }
"""


@pytest.fixture
def write(tmp_path):
    def written(text: str) -> Path:
        path = tmp_path / "workflow.toml"
        path.write_text(text, encoding="utf-8")
        (tmp_path / "k.cu").write_text(KERNEL, encoding="utf-8")
        return path

    return written


@pytest.fixture
def projected(write):
    def projection(text: str, analyses=None):
        return project_workflow(read_workflow(write(text)), analyses)

    return projection


def all_of(projection) -> list[Configuration]:
    return [projection.configuration(index) for index in range(len(projection.outcomes))]


def test_a_measured_component_on_a_cpu_node(projected):
    one, two = all_of(projected(BASE.replace("[components.a]", "[workflow]\nsteps = 3\n[components.a]")))
    assert (one.time_s, one.energy_j) == (15, 15 * 22)  # full power: 20 W and 2 W
    assert (two.time_s, two.energy_j) == (7.5, 15 * 22)
    assert two.parts[0].label == "2 × c, 1 core, 2600 MHz"


def test_full_power_is_interpolated_between_cores_and_unknown_beyond(projected):
    two_cores = BASE.replace("cores = 1\ntime", "cores = 2\ntime")
    between = projected(two_cores)
    assert all_of(between)[0].energy_j == pytest.approx(5 * 33)
    assert "c: full_power between the given numbers of cores is interpolated" in between.assumptions
    assert "a: a CPU at work draws its full_power (power gives U, S, X, Y)" in between.assumptions
    beyond = projected(two_cores.replace("{ cores = 3,", "{ cores = 3, clock_mhz = 9,"))
    assert all_of(beyond)[0].energy_j is None
    assert "full_power with 2 cores at 2600 MHz is not given (given: 1)" in beyond.problems[0]


def test_the_power_coefficients_of_escape(projected):
    given = "power = { package_full = 0.5, package_idle = 2, memory_full = 0.25, memory_idle = 3 }\n"
    text = BASE.replace("[components.a]\n", "[components.a]\n" + given)
    assert all_of(projected(text))[0].energy_j == pytest.approx(5 * (0.5 * 20 + 2 * 10 + 0.25 * 2 + 3 * 1))


def test_several_gpus_of_a_node_divide_the_work(projected):
    text = BASE + '[[components.a.measured]]\nnode = "g"\ntime_s = 8\ngpu_power_w = 200\n'
    found = {(entry.parts[0].nodes, entry.parts[0].gpus): entry for entry in all_of(projected(text))}
    assert found[1, 1].energy_j == pytest.approx(8 * 250)
    assert (found[1, 2].time_s, found[1, 2].energy_j) == (4, pytest.approx(4 * 450))
    assert found[2, 2].time_s == 2


@pytest.mark.parametrize(
    ("power", "watts"),
    [("gpu_power_w = 200", (200, 200, 200)), ("power_limit_share = 0.5", (150, 150, 150)),
     ("power_w = 300\npower_low_w = 250\npower_high_w = 400", (250, 200, 350))],
)  # fmt: skip
def test_the_power_of_a_gpu_node_in_three_ways(projected, power, watts):
    text = BASE.replace('node = "c"\ncores = 1\ntime_s = 5', f'node = "g"\ntime_s = 8\n{power}')
    entry = next(entry for entry in all_of(projected(text)) if entry.parts[0].gpus == 1)
    energies = (entry.energy_j, entry.energy_low_j, entry.energy_high_j)
    assert energies == tuple(pytest.approx(8 * (50 + gpu_w)) for gpu_w in watts)


def kernel_analysis(**changes) -> Analysis:
    kernel = replace(ANALYSIS.kernels[0], name="twice", time_s=2.0, power=Power(100.0, 80.0, 150.0))
    return replace(ANALYSIS, kernels=(changed(kernel, **changes),))


def always(**changes):
    """The same analysis, whatever is asked."""

    def analyses(_use, _gpu_id):
        return kernel_analysis(**changes)

    return analyses


STATIC = (
    BASE
    + """
[components.b]
on = "g"
[[components.b.kernels]]
source = "k.cu"
kernel = "twice"
launches = 3
"""
)


def test_a_kernel_takes_the_time_and_watts_of_its_analysis(projected):
    asked: list[tuple[str, str]] = []

    def analyses(use, gpu_id):
        asked.append((use.source.name, gpu_id))
        return kernel_analysis()

    entry, other = all_of(projected(STATIC, analyses))[:2]
    assert asked == [("k.cu", "v100")]
    assert [part.gpus for part in other.parts] == [None, 2]
    assert other.parts[1].time_s == pytest.approx(3 + 3 * time_parameters("v100").launch_overhead_s / 2)
    assert entry.parts[1].time_s == 6
    assert entry.parts[1].energy_j == pytest.approx(6 * (50 + 100))
    waits_j = 6 * 11 + 5 * 80  # the CPU node waits for the kernel, the GPU node for the component
    assert entry.energy_j == pytest.approx(5 * 22 + 6 * 150 + waits_j)
    assert entry.energy_high_j == pytest.approx(5 * 22 + 6 * 200 + waits_j)


def test_a_kernel_of_unknown_power_has_a_time_and_a_reason(projected):
    found = projected(STATIC, always(power=None))
    assert {entry.energy_j for entry in all_of(found)} == {None}
    assert all_of(found)[0].time_s == 11
    assert found.chosen is None
    assert dict(found.best)[Objective.TIME] is not None
    assert "the power of twice (k.cu:" in found.problems[0]


def test_a_kernel_of_unknown_time_runs_nowhere_and_says_why(projected):
    with pytest.raises(WattsliceError, match=r"components.b: runs on none .*the time of twice"):
        projected(STATIC, always(time_s=None))


def test_our_own_analysis_is_asked(projected):
    found = projected(STATIC.replace("launches = 3", "launch_line = 3"))
    assert all(entry.energy_j and math.isfinite(entry.energy_j) for entry in all_of(found))
    assert found.components[1].ways[0].source == "static analysis"


def test_loops_on_rates(projected):
    loops = "[components.a]\nloops = [{ work_flop = 20.8e9, U = 0.5, traffic_bytes = 13.436e9, Z = 1 }]\n"
    one, fourteen = all_of(projected(CPU + loops))
    assert one.time_s == pytest.approx(2)  # 20.8 Gflop at half of 20.8 Gflop/s; 1 s of DRAM
    assert fourteen.time_s == pytest.approx(13.436 / 56.768)  # DRAM
    assert one.energy_j is None


def test_a_loop_whose_rate_is_not_above_zero_has_no_time(projected):
    loops = (
        "[components.a]\nloops = [{ work_flop = 1e9, U = 1, S_flop_per_s = -1e11, traffic_bytes = 1, Z = 1 }]"
    )
    found = projected(CPU + loops)
    assert [way.cores for way in found.components[0].ways] == [14]
    assert (
        "with 1 cores at 2600 MHz components.a.loops[0]: P U + S = -7.92e+10 flop/s: not" in found.problems[0]
    )


CHARACTERISTICS = """
[components.a.characteristics]
cells = 2e9
[[components.a.characteristics.kernels]]
inactive_share = 0
miscellaneous_share = 0
control_flow_share = 0
memory_efficiency = 1
requested_bytes = 90
integer_instructions = 0
single_instructions = 0
double_instructions = 0
warp_instructions = 0
instructions_per_clock_per_sm = 1
"""


def test_own_characteristics_are_not_doubled(projected):
    node = '[nodes.g]\ngpu = "v100"\nhost_idle_w = 50\n'
    (entry,) = all_of(projected(node + CHARACTERISTICS))
    assert entry.time_s == pytest.approx(90 * 2e9 / 900e9)  # the V100 moves 900 GB/s
    assert entry.energy_j is None
    with pytest.raises(WattsliceError, match="memory_efficiency = 0: must be positive"):
        projected(node + CHARACTERISTICS.replace("efficiency = 1", "efficiency = 0"))


NETWORK = "[network]\nlatency_s = 0\nbandwidth_bytes_per_s = 100\n"
TALKING = BASE.replace(
    "nodes = [1, 2]", 'nodes = 2\ncommunication = [{ pattern = "inbound", data_bytes = 800, per_step = 2 }]'
)


def test_communication_is_added_or_hidden(projected):
    (added,) = all_of(projected(NETWORK + TALKING))
    assert (added.time_s, added.parts[0].communication_s) == (2.5 + 8, 8)
    assert added.energy_j == pytest.approx(2 * (2.5 * 22 + 8 * 11))
    (busy,) = all_of(projected(NETWORK + 'waiting = "busy"\n' + TALKING))
    assert busy.energy_j == pytest.approx(2 * 10.5 * 22)
    (hidden,) = all_of(projected(NETWORK + "overlap = true\n" + TALKING))
    assert (hidden.time_s, hidden.energy_j) == (8, pytest.approx(2 * (2.5 * 22 + 5.5 * 11)))


def test_where_more_nodes_stop_paying(projected):
    # Work 100 s / n, and 1 s for each node that the root serves: least at n = 10.
    text = BASE.replace("time_s = 5", "time_s = 100").replace(
        "nodes = [1, 2]", 'nodes = "1..40"\ncommunication = [{ pattern = "broadcast", data_bytes = 100 }]'
    )
    (scaling,) = projected(NETWORK + text).scaling
    assert (scaling.fewest_nodes, scaling.fastest_nodes) == (1, 10)
    assert scaling.fastest_time_s == pytest.approx(10 + 9)
    assert scaling.communication_from == 11  # 100 / 11 s of work, 10 s of communication
    assert scaling.energy_ratio == pytest.approx((100 * 22 + 10 * 9 * 11) / (100 * 22))


def test_nodes_with_more_gpus_are_other_machines(projected):
    text = STATIC.replace("[components.a]", '[components.a]\non = "g"').replace(
        'node = "c"\ncores = 1\ntime_s = 5', 'node = "g"\ntime_s = 5\ngpu_power_w = 100'
    )
    for entry in all_of(projected(text, always())):
        a, b = entry.parts
        held = max(a.nodes, b.nodes)
        waits = held * entry.time_s - a.nodes * a.time_s - b.nodes * b.time_s
        idle_a_w, idle_b_w = (50 + 30 * (part.gpus or 0) for part in (a, b))
        if a.gpus == b.gpus:
            assert entry.idle_j == pytest.approx(idle_a_w * waits, abs=1e-6)
        else:
            apart = a.nodes * idle_a_w * b.time_s + b.nodes * idle_b_w * a.time_s
            assert entry.idle_j == pytest.approx(apart)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (BASE, "x = ", "not valid TOML"),
        (BASE, "a = " + "[" * 3000, "not valid TOML"),
        (BASE, "[nodes]\n[components]", "nodes: there is no node kind"),
        (BASE, "nodes = 3", "nodes: expected"),
        ("[nodes.g]", "[workflow]\nsteps = 0\n[nodes.g]", "workflow.steps: expected a whole number from 1"),
        ("[nodes.g]", "[workflow]\ndeadline = 5\n[nodes.g]", "did you mean deadline_s?"),
        ("[nodes.g]", "[workflow]\nobjective = 'least-energi'\n[nodes.g]", "did you mean least-energy?"),
        ("[nodes.g]", "[network]\nlatency_s = 1\n[nodes.g]", "'bandwidth_bytes_per_s' is missing"),
        ('"v100"', '"v1000"', "nodes.g.gpu: unknown GPU 'v1000' .did you mean v100"),
        ('"v100"', '"mine.toml"', "nodes.g.gpu: .*mine.toml: cannot be read"),
        ("host_idle_w = 50", "", "nodes.g: 'host_idle_w' is missing"),
        ("clocks_mhz = 2600", f"rates = [{ONE_CORE}]\nclocks_mhz = 2700", "known are 2600 MHz"),
        ("[nodes.g]", f"[nodes.x]\nrates = [{ONE_CORE}, {ONE_CORE}]\n[nodes.g]", "a pair of cores and clock"),
        ("clocks_mhz = 2600", "clocks_mhz = [2000, 2600]", "full_power: at which of 2000, 2600 MHz"),
        ("nodes = [1, 2]", "nodes = []", "components.a.nodes: names no nodes"),
        ("nodes = [1, 2]", 'nodes = "1..1000000000"', "is no range of nodes"),
        ("nodes = [1, 2]", "nodes = [true]", "expected a whole number from 1"),
        ("nodes = [1, 2]", "serial_share = 1.5", "from 0 to 1"),
        ("nodes = [1, 2]", 'communication = [{ pattern = "halo", data_bytes = 5 }]', "there is no network"),
        ("nodes = [1, 2]", 'communication = [{ pattern = "ring" }]', "'ring' is no communication pattern"),
        ("time_s = 5", "time_s = inf", "expected a number above 0, found inf"),
        ("time_s = 5", "time_s = nan", "expected a number, found nan"),
        ("nodes = [1, 2]", "on = []", "components.a.on: names no node kind"),
        ("nodes = [1, 2]", "on = ['g']", r"measured\[0\]: c is not in components.a.on"),
        ("nodes = [1, 2]\n[[components.a.measured]]\n", "power = { package_full = 1, package_idle = 0 }\n"
         "[[components.a.measured]]\npower_w = 9\n", "components.a.power: tells nothing"),
        ("time_s = 5", "time = 5", "did you mean time_s?"),
        ("time_s = 5", f"time_s = 1{400 * '0'}", r"measured\[0\].time_s: .* found one beyond 1.8e308"),
        ("time_s = 5", f"time_s = 1{5000 * '0'}", "not valid TOML"),
        ("{ cores = 3,", f"{{ cores = 1{400 * '0'},", "cores: expected a whole number from 1 to"),
        ("cores = 1\ntime", "cores = 7\ntime", "cores = 7 is none of that node kind .nodes.c has 1, 2"),
        ("cores = 1\ntime", "time", "'cores' is missing .nodes.c has 1, 2"),
        ('node = "c"', 'node = "d"', "'d' is no node kind"),
        ("time_s = 5", "time_s = 5\npower_w = 5\npower_low_w = 6\npower_high_w = 7", "does not hold"),
        ("time_s = 5", "time_s = 5\ngpu_power_w = 5", "c has no GPU"),
        ("[components.a]", "[components.b]\nnodes = 1\n[components.a]", "nothing tells how long it takes"),
        ("[components.a]", "[components.b]\nkernels = [{ source = 'no.cu' }]\n[components.a]", "is no file"),
        ("[components.a]", "[components.b]\nloops = [{ traffic_bytes = 5 }]\n[components.a]", "move a byte"),
        ("[components.a]", "[components.b]\nloops = [{ traffic_bytes = 5, Z = 1 }]\non = 'c'\n[components.a]",
         "runs on none of the node kinds .*give nodes.c.rates"),
        ("[components.a]", "[components.b]\nkernels = [{source = 'k.cu', kernel = 'x'}]\n[components.a]",
         "no kernel 'x' in .*there are twice"),
        ("[components.a]", "[components.b]\nkernels = [{source='k.cu', kernel='twice'}]\n[components.a]",
         "launched in 2 ways"),
        ("[components.a]", "[components.b]\nloops = [{traffic_bytes = 0, Z = 1}]\non = 'h'\n[components.a]",
         "b on h 1 core 2600 MHz: takes 0 s"),
        ("{ cores = 3,", "{ cores = 1,", "the same cores and clock stand there twice"),
        ('node = "c"\ncores = 1\ntime_s = 5', 'node = "g"\ntime_s = 5\npower_w = 49',
         r"measured\[0\]: power_w = 49 is less than the host_idle_w = 50 of g .*gpu_power_w"),
        ('node = "c"\ncores = 1\ntime_s = 5',
         'node = "g"\ntime_s = 5\npower_w = 60\npower_low_w = 49\npower_high_w = 70', "power_low_w = 49"),
        ("nodes = [1, 2]", "power = { package_full = -0.5, package_idle = 0.5 }",
         r"components.a.power: makes -5 W of the package and 2 W of memory .*correct package_full"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(projected, old, new, message):
    assert old in BASE
    with pytest.raises(WattsliceError, match=message) as caught:
        projected(BASE.replace(old, new))
    assert caught.value.path is not None


def test_what_is_too_large_for_a_number_is_unknown(projected):
    text = BASE.replace("time_s = 5", "time_s = 1e300\npower_w = 1e300")
    assert {entry.energy_j for entry in all_of(projected(text))} == {None}


def test_too_many_configurations_are_refused_before_memory_is(projected):
    many = BASE.replace("[1, 2]\n[[", '"1..100000"\n[[')
    other = "[components.b]\n" + many.partition("[components.a]\n")[2].replace("components.a", "components.b")
    with pytest.raises(WattsliceError, match="10000000000 configurations are more than 1000000"):
        projected(many + other)


def test_limits_choose_and_may_leave_nothing(projected, write, capsys):
    limited = "[workflow]\nobjective = 'least-time'\npower_budget_w = 22\n" + BASE
    found = projected(limited)
    assert found.configuration(found.chosen).parts[0].nodes == 1
    path = write(limited.replace("22\n", "21\n"))
    assert main(["project", str(path)]) == 1
    streams = capsys.readouterr()
    assert "no best configuration: no configuration keeps the limits" in streams.err
    assert "0 within power budget 21.0 W" in streams.out


def test_the_report_names_what_is_best_and_what_is_assumed(projected):
    file = StringIO()
    write_projection(projected(NETWORK + TALKING), True, file)
    text = file.getvalue()
    assert "→ least energy" in text
    assert "Pareto front: 1 of 1" in text
    assert "communication is added to computation (network.overlap)" in text
    assert max(map(len, text.splitlines())) <= 100


def test_every_json_key_is_documented(projected):
    keys = json.loads(projection_json(projected(BASE), True))
    section = DOCUMENT.split("## JSON", 1)[1]
    told = set(re.findall(r"`([\w-]+)`", section))
    entry = keys["configurations"][0]
    for key in (*keys, *keys["limits"], *keys["best"], *entry, *entry["parts"][0], *keys["scaling"][0]):
        assert key in told, key
    assert keys["best"]["least-energy"] == keys["pareto_front"][0]


@pytest.mark.slow
def test_the_command_writes_json_and_pictures(write, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    path, picture = write(BASE), tmp_path / "plot.svg"
    outputs = ["-o", str(picture), "-o", str(tmp_path / "a.json")]
    assert main(["project", str(path), "--format", "json", *outputs]) == 0
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["configuration_count"] == 2
    first = picture.read_bytes()
    assert main(["project", str(path), "-o", str(picture)]) == 0
    assert picture.read_bytes() == first, "the same workflow draws the same bytes"
    assert main(["project", str(path), "-o", str(tmp_path / "no" / "k.cu" / "x")]) == 2
    assert main(["project", str(tmp_path / "nothing.toml")]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.slow
def test_a_picture_without_known_energies(write, tmp_path):
    pytest.importorskip("matplotlib")
    path = write(
        BASE.replace("cores = 1\ntime", "cores = 2\ntime").replace(
            "{ cores = 3,", "{ cores = 9, clock_mhz = 9,"
        )
    )
    assert main(["project", str(path), "-o", str(tmp_path / "plot.png")]) == 1
    assert (tmp_path / "plot.png").stat().st_size > 1000


def test_the_documents_example_is_a_workflow(write, tmp_path):
    (example,) = re.findall(r"```toml\n(.*?)```", DOCUMENT, flags=re.DOTALL)
    (tmp_path / "stencil_3d.cu").write_text(KERNEL, encoding="utf-8")
    workflow = read_workflow(write(example))
    assert [node.name for node in workflow.nodes] == ["a100", "h200"]
    idle_w = [node.processor.gpu_idle_w for node in workflow.nodes if isinstance(node.processor, GpuNode)]
    assert idle_w == [load_gpu("a100").idle_power_w, load_gpu("h200").idle_power_w]


@pytest.mark.parametrize(("name", "knows_energy"), [("alaro", True), ("bifft", True), ("spherical", False)])
def test_the_examples_have_a_best(name, knows_energy, capsys):
    projection = project_workflow(read_workflow(EXAMPLES / f"{name}.toml"))
    assert projection.chosen is not None
    assert (projection.configuration(projection.chosen).energy_j is not None) == knows_energy
    assert main(["project", str(EXAMPLES / f"{name}.toml"), "--all"]) == 0
    assert ("No Pareto front: no energy is known" in capsys.readouterr().out) != knows_energy


def test_the_gpu_example_is_read():
    assert len(read_workflow(EXAMPLES / "heat_on_gpus.toml").components) == 2


def test_what_the_paper_says_of_bifft_is_reproduced():
    page = "\n".join(escape2018_projection())
    figure_28 = page.partition("### Figure 28")[2].partition("###")[0]
    assert figure_28.count("| yes |") == 3
    assert "109.5 W of one core of the Xeon, whose full load with one core is 56.0 W" in figure_28
    assert "12.9 kJ instead of 6.59 kJ; what the paper says of the figure holds with either" in figure_28
    assert "| NO |" in page.partition("### Figures 29")[2]


UNKNOWN_IDLE = """
[workflow]
power_budget_w = 5000
[nodes.v]
gpu = "v100"
host_idle_w = 150
[components.c]
nodes = [1, 2]
[[components.c.measured]]
node = "v"
time_s = 10
gpu_power_w = 200
"""


def test_an_unknown_idle_power_is_no_limit_exceeded(projected, write, capsys):
    assert all_of(projected(UNKNOWN_IDLE))[1].highest_power_w == 700
    waiting = UNKNOWN_IDLE.replace("nodes = [1, 2]", "nodes = 2\nserial_share = 0.5")
    (entry,) = all_of(found := projected(waiting))
    assert (entry.highest_power_w, entry.keeps_limits) == (None, None)
    assert "(give nodes.v.gpu_idle_w)" in found.problems[0]
    (over,) = all_of(projected(waiting.replace("[nodes.v]", "deadline_s = 1\n[nodes.v]")))
    assert over.keeps_limits is False
    assert main(["project", str(write(waiting))]) == 1
    streams = capsys.readouterr()
    assert "no configuration is known to keep the limits (1 of unknown energy or power)" in streams.err
    assert "0 (1 unknown) within power budget" in streams.out


def test_the_front_is_that_of_what_keeps_the_limits(projected):
    found = projected(BASE.replace("[components.a]", "[workflow]\npower_budget_w = 30\n[components.a]"))
    assert [found.configuration(index).parts[0].nodes for index in found.front] == [1]
    document = json.loads(projection_json(found, False))
    assert [entry["keeps_limits"] for entry in document["pareto_front"]] == [True]
    file = StringIO()
    write_projection(found, False, file)
    assert "Pareto front within the limits: 1 of 2" in file.getvalue()


def test_without_energies_the_objective_that_needs_none_is_named(write, capsys):
    path = write(CPU + "cores = 14\n[components.a]\nloops = [{ traffic_bytes = 1e9, Z = 1 }]\n")
    assert main(["project", str(path)]) == 1
    told = 'no best configuration: no energy is known (objective = "least-time" needs none)'
    assert told in capsys.readouterr().err


def test_a_clock_is_not_cut_to_whole_mhz(projected):
    text = BASE.replace("clocks_mhz = 2600\npackage", "clocks_mhz = 1380.5\npackage").replace(
        "{ cores = 1, package", "{ clock_mhz = 1380.5, cores = 1, package"
    )
    entry = all_of(projected(text))[0]
    assert entry.parts[0].clock_mhz == 1380.5
    assert entry.energy_j == 5 * 22


def test_an_interval_may_start_at_nothing(projected):
    given = "time_s = 5\npower_w = 100\npower_low_w = 0\npower_high_w = 200"
    entry = all_of(projected(BASE.replace("time_s = 5", given)))[0]
    assert (entry.energy_low_j, entry.energy_high_j) == (0, 1000)


def test_what_the_analysis_warns_of_is_listed_for_each_gpu(projected):
    scaled = Diagnostic("PW030", Severity.NOTE, "", 0, "coefficients of another GPU")

    def analyses(_use, _gpu_id):
        return replace(
            kernel_analysis(power={"may_hit_limit": True}, power_limit_w=300.0), diagnostics=(scaled,)
        )

    told = projected(STATIC, analyses).assumptions
    assert "v100: coefficients of another GPU [PW030]" in told
    assert any(one.startswith("kernel twice on v100: may hit the power limit of 300 W (P ") for one in told)


def test_a_fix_is_told_as_keys_of_the_workflow_file(projected):
    entries = (
        Assumption("PW010", 2, "n assumed", "--set twice.n=VALUE --set twice.m=VALUE"),
        Assumption("PW012", 3, "a branch", "--profile FILE"),
        Assumption("PW016", 4, "a gather", ""),
    )
    told = projected(STATIC, always(assumptions=entries)).assumptions
    assert 'kernel twice (k.cu:2): n assumed (set = ["twice.n=VALUE", "twice.m=VALUE"])' in told
    assert 'kernel twice (k.cu:3): a branch (profile = "FILE")' in told
    assert "kernel twice (k.cu:4): a gather" in told


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ('set = ["n"]', r"b.kernels\[0\].set: set 'n' cannot be read \(write set NAME=NUMBER"),
        ('set = ["no_such=1"]', r"b.kernels\[0\].set: no variable 'no_such'"),
        ('launch = "foo"', r"b.kernels\[0\].launch: launch 'foo' cannot be read \(write launch 'KERNEL="),
        ('profile = "no.json"', r"b.kernels\[0\]: .*no.json"),
    ],
)
def test_errors_of_a_kernels_options_name_file_and_key(projected, key, message):
    with pytest.raises(WattsliceError, match=message) as caught:
        projected(STATIC.replace("launches = 3", key))
    assert caught.value.path
    assert caught.value.path.name == "workflow.toml"


def test_names_are_drawn_as_they_are(write, tmp_path):
    pytest.importorskip("matplotlib")
    name, kind = r"cost $x_{1$ of \\frac", "c$_{$"
    text = BASE.replace("[nodes.c]", f'[workflow]\nname = "{name}"\n[nodes."{kind}"]')
    text = text.replace('node = "c"', f'node = "{kind}"').replace("[components.a", '[components."k$^$"')
    path = write(text)
    assert main(["project", str(path), "-o", str(tmp_path / "plot.svg")]) == 0


def test_a_workflow_may_have_many_components(projected):
    part = "[components.{}]\n" + BASE.partition("[components.a]\n")[2].replace("nodes = [1, 2]\n", "")
    many = BASE + "".join(part.format(f"b{number}").replace(".a.", f".b{number}.") for number in range(70))
    found = projected(many)
    assert [entry.time_s for entry in all_of(found)] == pytest.approx([70 * 5 + 5, 70 * 5 + 2.5])


def test_a_gpu_of_ones_own_needs_an_id_of_its_own(projected, tmp_path):
    known = (Path(wattslice_models.__file__).parent / "gpus" / "v100.toml").read_text(encoding="utf-8")
    (tmp_path / "own.toml").write_text(known, encoding="utf-8")
    with pytest.raises(WattsliceError, match=r"nodes.g.gpu: .*own.toml: the id 'v100' is taken"):
        projected(BASE.replace('"v100"', '"own.toml"'))


def test_the_overhead_of_launches_is_not_divided_among_gpus(projected):
    found = projected(STATIC, always(time_s=1e-5))
    one, two = (way.alone for way in found.components[1].ways)
    overhead_s = 3 * time_parameters("v100").launch_overhead_s
    assert (one.fixed_s, two.fixed_s) == (pytest.approx(overhead_s), pytest.approx(overhead_s))
    assert two.time_s == pytest.approx(overhead_s + (3e-5 - overhead_s) / 2)


def test_all_configurations_stand_in_json_as_each_of_them(projected):
    found = projected(BASE)
    document = json.loads(projection_json(found, True))
    assert document["configurations"] == [encoded(entry) for entry in all_of(found)]
    assert document["pareto_front"][0] in document["configurations"]
    assert "configurations" not in json.loads(projection_json(found, False))


def test_labels_tell_gpus_per_node_and_stand_below_the_ring(projected, monkeypatch):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

    figures: list[Figure] = []

    def keep(draw, _inches, _paths, _title) -> None:
        figures.append(Figure())
        draw(figures[0])

    monkeypatch.setattr(picture, "save_picture", keep)
    text = BASE.replace('node = "c"\ncores = 1\ntime_s = 5', 'node = "g"\ntime_s = 5\ngpu_power_w = 100')
    picture.plot_projection(projected(text.replace("nodes = [1, 2]", "nodes = [1, 2]\nserial_share = 0.5")))
    labels = {found.get_text(): found for found in figures[0].findobj(Annotation)}
    assert set(labels) <= {"1/1", "2/1", "1/2", "2/2"}
    assert min(label.get_position()[1] for label in labels.values()) == -14  # of the best
