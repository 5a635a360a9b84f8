import gc
import io
import json
import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest
from msgspec.structs import replace

import wattslice
from wattslice.cli import main
from wattslice.commands import common
from wattslice.commands.table import COMMANDS
from wattslice.ir import Diagnostic, Severity

from .samples import ANALYSIS, EMPTY, MATMUL, changed

ROOT = Path(__file__).parents[2]


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wattslice.toml").write_text("", encoding="utf-8")  # no settings from further up
    path = tmp_path / "k.cu"
    path.write_text("__global__ void k() {}\n", encoding="utf-8")
    return path


@pytest.fixture
def pipeline(monkeypatch):
    """`pipeline(result)` replaces the analysis by a result (or an error); returns the configs given."""

    def install(result):
        configs = []

        def analyze_files(config, *_told):
            configs.append(config)
            if isinstance(result, BaseException):
                raise result
            return result

        module = ModuleType("wattslice.pipeline.files")
        module.analyze_files = analyze_files  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "wattslice.pipeline.files", module)
        return configs

    return install


def test_help_lists_exactly_the_commands_that_work(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for name, *_ in COMMANDS:
        assert f"\n  {name} " in text
        assert main([name, "--help"]) == 0
        assert "Usage: wattslice " + name in capsys.readouterr().out


def test_help_imports_nothing_heavy():
    heavy = ["click", "numpy", "rich", "clang", "joblib"]
    code = (
        "import sys; from wattslice.cli import main; main(['--help']);"
        f"sys.exit(any(m in sys.modules for m in {heavy}))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_checking_arguments_needs_no_parser(source):
    heavy = ["numpy", "clang", "joblib", "rich"]
    code = (
        "import sys; from wattslice.cli import main; main(['analyze', '--gpu', 'v10', 'k.cu']);"
        f"sys.exit(any(m in sys.modules for m in {heavy}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, cwd=source.parent)
    assert done.returncode == 0, done.stderr


def test_an_analysis_loads_only_what_its_file_needs(tmp_path):
    unused = ["numpy.random", "wattslice.frontend.ptx.syntax.parser", "joblib"]
    kernel = "__global__ void k(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2.0f; }\n"
    (tmp_path / "k.cu").write_text(kernel + "int main() { k<<<4096, 256>>>(nullptr); }\n")
    code = (
        "import sys; from wattslice.cli import main; main(['analyze', '--gpu', 'v100', 'k.cu'])\n"
        f"sys.exit(' '.join(m for m in {unused} if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, cwd=tmp_path)
    assert (done.stderr.strip(), b" W" in done.stdout) == (b"", True)


def test_the_process_of_a_command_ends_without_being_torn_down():
    code = """if True:
        import sys
        from wattslice.cli import main
        class Last:
            def __del__(self):
                print("torn down")
        last = Last()
        sys.argv = ["wattslice", "explain", "PW000"]
        sys.exit(main())
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no rule" in done.stderr


def test_no_command_is_a_failure_with_the_help_on_stderr(capsys):
    assert main([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Commands:" in captured.err


def test_version_is_the_distributions(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"wattslice {version('wattslice')}\n"
    assert version("wattslice") == wattslice.__version__


def test_every_option_reaches_the_config(source, pipeline):
    configs = pipeline(ANALYSIS)
    (source.parent / "compile_commands.json").write_text("[]", encoding="utf-8")
    (source.parent / "profile.json").write_text('{"schema_version": 1, "branches": []}', encoding="utf-8")
    options = (
        "analyze k.cu --gpu t4 --model energy --method bdpm --delta 0.2 --set k.n=3 --launch k=4:32 -I . "
        "-D A=1 --std c++17 -p . --profile profile.json --core-mhz 1000 --mem-mhz 800 --jobs 2 -o out.txt"
    )
    assert main(options.split()) == 0
    (config,) = configs
    assert (config.gpu.gpu_id, config.gpu.source) == ("t4", "--gpu")
    assert (
        config.prediction.model.value,
        config.prediction.method.value,
        config.prediction.branch_threshold,
    ) == ("energy", "bdpm", 0.2)
    assert config.facts.overrides.settings[0].value == 3
    assert config.facts.overrides.launches[0].grid == (4, 1, 1)
    assert config.parse.include_dirs == (Path(),)
    assert config.parse.defines == ("A=1",)
    assert config.parse.standard == "c++17"
    assert config.parse.compile_commands == Path()
    assert config.facts.branch_profile is not None
    assert (config.clocks.core_mhz, config.clocks.memory_mhz, config.execution.jobs) == (1000.0, 800.0, 2)


def test_garbage_is_looked_for_only_where_files_follow(source, monkeypatch):
    looked: list[bool] = []

    def analyze_files(*_: object):
        looked.append(gc.isenabled())
        return ANALYSIS

    monkeypatch.setattr("wattslice.pipeline.files.analyze_files", analyze_files)
    other = source.with_name("other.cu")
    other.write_text("__global__ void other() {}\n", encoding="utf-8")
    for files in ([source], [source, other]):
        main(["analyze", "--no-cache", *map(str, files)])
        assert gc.isenabled()
    assert looked == [False, True]


@pytest.mark.parametrize("report_format", ["text", "json", "gcc"])
def test_results_on_stdout_messages_on_stderr(source, pipeline, capsys, report_format):
    pipeline(ANALYSIS)
    assert main(["analyze", "k.cu", "--format", report_format]) == 0
    captured = capsys.readouterr()
    assert "matMul" in captured.out
    assert captured.err == "wattslice: not understood as a whole: src/matmul.cu: see PW001\n"


def test_output_file_is_complete_and_leaves_no_draft(source, pipeline, capsys):
    pipeline(ANALYSIS)
    target = source.parent / "out.json"
    target.write_text("old", encoding="utf-8")
    assert main(["analyze", "k.cu", "--format", "json", "-o", "out.json"]) == 0
    assert json.loads(target.read_text(encoding="utf-8"))["gpu"] == "v100"
    assert capsys.readouterr().out == ""
    assert {path.name for path in source.parent.iterdir()} == {"k.cu", "out.json", "wattslice.toml"}


def test_a_file_name_that_is_no_utf_8_spoils_no_report(source, pipeline, capsys):
    odd = os.fsdecode(b"\xff.cu")
    Path(odd).write_text("", encoding="utf-8")
    for report_format in ("text", "json", "gcc"):
        pipeline(replace(ANALYSIS, kernels=(changed(MATMUL, source={"file": odd}),), files=(odd,)))
        assert main(["analyze", odd, "--format", report_format, "-o", "out"]) == 0
        assert ".cu" in Path("out").read_text(encoding="utf-8")
        assert main(["analyze", odd, "--format", report_format]) == 0


def test_force_color_does_not_colour_a_file(source, pipeline, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    pipeline(ANALYSIS)
    assert main(["analyze", "k.cu", "-o", "out"]) == 0
    assert "\x1b" not in Path("out").read_text(encoding="utf-8")


def test_output_that_cannot_be_written(source, pipeline, capsys):
    pipeline(ANALYSIS)
    assert main(["analyze", "k.cu", "-o", "none/out.txt"]) == 2
    assert "none/out.txt: cannot be written: No such file or directory" in capsys.readouterr().err


def test_no_kernel_is_a_clear_message(source, pipeline, capsys):
    pipeline(replace(EMPTY, files=("k.cu",)))
    assert main(["analyze", "k.cu"]) == 2
    assert "no kernel found in k.cu: no __global__ function" in capsys.readouterr().err


def test_what_may_have_hidden_the_kernels_is_named(source, pipeline, capsys):
    missing = Diagnostic("PW002", Severity.WARNING, "k.cu", 1, "include file 'defs.h' not found (use -I)")
    pipeline(replace(EMPTY, files=("k.cu",), diagnostics=(missing,)))
    assert main(["analyze", "k.cu"]) == 2
    assert (
        "no kernel found in k.cu: include file 'defs.h' not found (use -I) [PW002]" in capsys.readouterr().err
    )


def test_a_file_that_gave_nothing_is_a_failure_beside_good_ones(source, pipeline, capsys):
    broken = Diagnostic("PW001", Severity.ERROR, "b.cu", 1, "holds NUL bytes: a binary file?")
    pipeline(replace(ANALYSIS, files=(*ANALYSIS.files, "b.cu"), diagnostics=(broken,), unread=("b.cu",)))
    assert main(["analyze", "k.cu"]) == 2
    captured = capsys.readouterr()
    assert "matMul" in captured.out
    assert captured.err == "wattslice: no result for b.cu: see the diagnostics\n"


def test_sigterm_is_an_exception_while_a_command_runs(source, pipeline, monkeypatch):
    before = signal.getsignal(signal.SIGTERM)

    def terminated(_config, *_told):
        os.kill(os.getpid(), signal.SIGTERM)

    pipeline(ANALYSIS)
    monkeypatch.setattr(sys.modules["wattslice.pipeline.files"], "analyze_files", terminated)
    with pytest.raises(SystemExit) as leaving:
        main(["analyze", "k.cu"])
    assert leaving.value.code == 143
    assert signal.getsignal(signal.SIGTERM) is before


def test_without_a_path_the_current_folder_is_analysed(source, pipeline, capsys):
    configs = pipeline(ANALYSIS)
    assert main(["analyze"]) == 0
    (config,) = configs
    assert config.files == (Path("k.cu"),)
    assert main(["annotate"]) == 0
    assert configs[1].files == config.files


def stdin(monkeypatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_a_dash_is_the_text_on_stdin(source, monkeypatch, capsys):
    text = b"__global__ void k(float* x) { x[threadIdx.x] *= 2; }\nint main() { k<<<8, 64>>>(0); }\n"
    stdin(monkeypatch, text)
    assert main(["analyze", "-", "--format", "json"]) == 0
    (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
    assert (kernel["file"], kernel["grid"]) == ("stdin.cu", [8, 1, 1])
    stdin(monkeypatch, text)
    assert main(["annotate", "-"]) == 0
    assert "x[threadIdx.x] *= 2" in capsys.readouterr().out
    monkeypatch.setattr(common, "MAX_STDIN_BYTES", len(text) - 1)
    stdin(monkeypatch, text)
    assert main(["analyze", "-"]) == 2
    assert "analyse a file" in capsys.readouterr().err


BAD = [
    ("frobnicate", "no command 'frobnicate'"),
    ("analyse k.cu", "did you mean analyze"),
    ("--verbose", "no option '--verbose'"),
    ("analyze - k.cu", "- is stdin, and stands alone (analyse the files in another run)"),
    ("analyze none.cu", "none.cu: no such file"),
    ("analyze .git", "no .cu file in this folder"),
    ("analyze k.cu --gpu v10", "unknown GPU 'v10' (did you mean v100"),
    ("analyze k.cu --model wind", "--model: unknown value 'wind'"),
    ("analyze k.cu --format yaml", "'yaml' is not one of"),
    ("analyze k.cu --jobs many", "'many' is not a valid integer"),
    ("analyze k.cu --set n=1 --set n=2", "contradictory"),
    ("analyze k.cu --set n", "--set 'n' cannot be read"),
    ("analyze k.cu --profile k.cu", "k.cu:1: not valid JSON"),
    ("analyze k.cu -I none", "none: -I: no such folder"),
    ("gate k.cu", "gate needs a budget"),
    ("gate k.cu --max-power -5", "--max-power: -5 is not a budget"),
    ("gate k.cu --max-power 5 --unknown maybe", "--unknown: unknown value 'maybe'"),
    ("analyze k.cu --compile-commands build", "Did you mean '-p'?"),
    ("gate k.cu --define A=1", "Did you mean '-D'?"),
    ("annotate k.cu --inclde inc", "Did you mean '-I'?"),
    ("cache --define A=1", "No such option '--define'. (`wattslice cache"),
    ("explain PW10", "no rule 'PW10' (did you mean PW010"),
    ("gpus extra", "unexpected extra argument"),
]


@pytest.mark.parametrize(("line", "message"), BAD, ids=[line for line, _ in BAD])
def test_bad_input_is_one_line_and_status_2(source, pipeline, capsys, line, message):
    pipeline(ANALYSIS)
    (source.parent / ".git").mkdir()
    assert main(line.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_bad_settings_are_told_with_file_and_key(source, capsys):
    (source.parent / "wattslice.toml").write_text("gpuu = 'v100'", encoding="utf-8")
    assert main(["analyze", "k.cu"]) == 2
    assert "wattslice.toml:1: gpuu: no such setting (did you mean gpu?)" in capsys.readouterr().err


@pytest.mark.parametrize("error", [RuntimeError("boom"), RecursionError("deep"), MemoryError()])
def test_an_internal_error_is_no_traceback(source, pipeline, capsys, error):
    pipeline(error)
    assert main(["analyze", "k.cu"]) == 2
    err = capsys.readouterr().err
    assert f"internal error: {type(error).__name__}" in err
    assert "please report" in err
    assert "Traceback" not in err
    with pytest.raises(type(error)):
        main(["--debug", "analyze", "k.cu"])


def test_interrupted(source, pipeline, capsys):
    pipeline(KeyboardInterrupt())
    assert main(["analyze", "k.cu"]) == 2
    assert "interrupted" in capsys.readouterr().err


def test_a_closed_pipe_is_no_traceback(source):
    command = f"{sys.executable} -m wattslice explain | true"
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False, cwd=source.parent)
    assert done.stderr == b""


def test_gate_status(source, pipeline, capsys):
    pipeline(replace(ANALYSIS, kernels=(MATMUL,), diagnostics=()))
    assert main(["gate", "k.cu", "--max-power", "200"]) == 0
    told = "gate passed: 1 checked, 0 over 200 W, at most P(> 200 W) = 0.10 (matMul) on v100"
    assert told in capsys.readouterr().out
    assert main(["gate", "k.cu", "--max-power", "199"]) == 0
    assert "0 over 199 W, 1 may be, at most" in capsys.readouterr().out
    assert main(["gate", "k.cu", "--max-power", "199", "--confidence", "80%"]) == 0
    assert "0 over 199 W, at most" in capsys.readouterr().out
    assert main(["gate", "k.cu", "--max-power", "150"]) == 1
    out = capsys.readouterr().out
    assert "PW020" in out
    assert "gate failed: 1 checked, 1 over 150 W, at most P(> 150 W) > 0.99 (matMul) on v100" in out


def test_gate_and_unknown_power(source, pipeline, capsys):
    pipeline(ANALYSIS)
    assert main(["gate", "k.cu", "--max-power", "999"]) == 1
    captured = capsys.readouterr()
    assert "1 unknown" in captured.out
    assert "src/matmul.cu:3:1: warning: unknown type name 'flaot' [PW001]" in captured.err
    assert main(["gate", "k.cu", "--max-power", "999", "--unknown", "warn"]) == 0


def test_gate_budget_from_the_settings(source, pipeline):
    pipeline(replace(ANALYSIS, kernels=(MATMUL,), diagnostics=()))
    (source.parent / "wattslice.toml").write_text("[gate]\nmax-power = 150\n", encoding="utf-8")
    assert main(["gate", "k.cu"]) == 1
    assert main(["gate", "k.cu", "--max-power", "200"]) == 0


def test_gpus_shows_the_file_of_one(capsys):
    assert main(["gpus", "--show", "h100"]) == 0
    assert capsys.readouterr().out.startswith('id = "h100"')
    assert main(["gpus", "--show", "h1000"]) == 2
    assert "did you mean h100" in capsys.readouterr().err


def test_help_of_a_command_whose_answer_is_kept(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("WATTSLICE_CACHE", str(tmp_path))
    for _ in range(2):
        assert main(["gpus", "--help"]) == 0
        captured = capsys.readouterr()
        assert "--show ID" in captured.out
        assert captured.err == ""


def test_gpus(capsys):
    assert main(["gpus"]) == 0
    text = capsys.readouterr().out
    assert "v100 " in text
    assert all(len(line) <= 100 for line in text.splitlines())
    assert "…" not in text.splitlines()[0]
    assert main(["gpus", "--format", "json"]) == 0
    entries = {entry["id"]: entry for entry in json.loads(capsys.readouterr().out)["gpus"]}
    assert entries["v100"]["power_limit_w"] == 300
    assert "regression" in entries["gtx280"]["models"]
    assert "regression" not in entries["v100"]["models"]


def test_explain(capsys):
    assert main(["explain", "pw010"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("PW010 size-assumed\n")
    assert all(title in text for title in ("What", "Why it matters", "Example", "Remedy"))
    assert main(["explain"]) == 0
    text = capsys.readouterr().out
    assert "PW031" in text
    assert all(len(line) <= 100 for line in text.splitlines())


@pytest.mark.parametrize("root", ["analyzer", "models", "corpora"])
def test_each_source_root_holds_exactly_one_package(root):
    folders = [path.name for path in (ROOT / root).iterdir() if path.is_dir() and path.name != "__pycache__"]
    expected = {"analyzer": "wattslice", "models": "wattslice_models", "corpora": "wattslice_corpora"}[root]
    assert folders == [expected]
    assert not [path for path in (ROOT / root).iterdir() if path.is_file()]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["explain", "gpus", "gpus --format json", "analyze k.cu"])
def test_a_reader_that_leaves_is_no_failure(source, command):
    source.write_text("__global__ void k(float* x) { x[0] = 1; }\n", encoding="utf-8")
    line = f"{{ sleep 0.2; {sys.executable} -m wattslice {command}; echo $? >&2; }} | true"
    done = subprocess.run(["bash", "-c", f"{line}"], capture_output=True, check=False)
    assert done.stderr == b"0\n"


def test_the_overview_to_a_reader_that_has_left_is_no_failure():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "wattslice", "--help"],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_terminal_of_ascii_gets_bars_of_ascii():
    code = (
        "import sys; from wattslice.commands.streams import prepare_streams; prepare_streams();"
        "sys.stdout.write('█▌▏▓░ ── 1–2 · 3 µs → é \\udcff\\n')"
    )
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, env=environment)
    assert done.stdout == b"##|=- -- 1-2 . 3 us > ? ?\n"


@pytest.mark.parametrize(
    ("unbuffered", "words"),
    [
        ("", ["analyze", "--gpu", "v100", "k.cu"]),
        ("", ["analyze", "--gpu", "v100", "--format", "json", "k.cu"]),
        ("1", ["annotate", "--gpu", "v100", "k.cu"]),
        ("", ["gpus"]),
        ("", ["analyze", "--help"]),
        ("1", ["--help"]),
        ("", ["--version"]),
    ],
)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_a_full_stdout_is_told_in_one_line(source, words, unbuffered):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "wattslice", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=source.parent,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert done.returncode == 2
    assert done.stderr == "wattslice: stdout cannot be written: No space left on device\n"


@pytest.mark.parametrize(("words", "status"), [("gpus", 2), ("analyze --gpu v100 -o out.txt full.cu", 0)])
def test_a_closed_stdout_fails_only_what_needs_it(source, words, status):
    text = "__global__ void k(float *y) { y[threadIdx.x] = 1; }\nvoid run() { k<<<1, 32>>>(0); }\n"
    (source.parent / "full.cu").write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -m wattslice {words} >&-', sys.executable],
        capture_output=True,
        text=True,
        check=False,
        cwd=source.parent,
    )
    assert (done.returncode, "stdout cannot be written: it is closed" in done.stderr) == (status, status == 2)
    assert "internal error" not in done.stderr


def test_a_setting_that_names_no_variable_of_its_kernel_is_a_warning(source, capsys):
    settings = source.parent / "wattslice.toml"
    settings.write_text('# of us all\nset = ["k.zzz=3", "other.zzz=3"]\n', encoding="utf-8")
    (source.parent / "more.cu").write_text("__global__ void other(int zzz) {}\n")
    for _ in range(2):  # the second time from what was kept of the first
        assert main(["analyze", "k.cu"]) == 0
        told = capsys.readouterr().err.splitlines()
        assert [line.partition(" (")[0] for line in told] == [
            f"wattslice: warning: {settings}:2: set k.zzz: no variable 'zzz' in kernel 'k'"
        ]


def test_a_setting_of_a_kernel_that_no_source_has_is_a_warning(source, capsys):
    settings = source.parent / "wattslice.toml"
    settings.write_text('launch = ["kk=1:32"]\nset = [\n  "kernle.n=3",\n  "nowhere=1",\n  "trip_L9=1"]\n')
    source.write_text(source.read_text().replace("k(", "kernel("))
    for _ in range(2):
        assert main(["analyze", "k.cu"]) == 0
        assert capsys.readouterr().err.splitlines() == [
            f"wattslice: warning: {settings}:1: launch kk: no kernel 'kk' in the analysed files "
            "(known: kernel)",
            f"wattslice: warning: {settings}:3: set kernle.n: no kernel 'kernle' in the analysed files "
            "(did you mean kernel?)",
            f"wattslice: warning: {settings}:4: set nowhere: no variable 'nowhere' in the analysed files "
            "(there is none)",
        ]
