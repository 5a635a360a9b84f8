import gzip
from pathlib import Path

import pytest
from msgspec.structs import replace

from wattslice_corpora.measuring.trace import TraceError, read_trace, write_trace

from .power_traces import Course, without


def test_a_trace_reads_back_as_it_was_written(tmp_path: Path):
    trace = without(Course().trace(), memory_w=None)
    write_trace(tmp_path / "t.csv.gz", trace)
    back = read_trace(tmp_path / "t.csv.gz")
    rounded = tuple(replace(reading, time_s=round(reading.time_s, 6)) for reading in trace.readings)
    assert back == replace(trace, readings=rounded)


def test_the_same_trace_gives_the_same_bytes(tmp_path: Path):
    write_trace(tmp_path / "a.csv.gz", Course().trace())
    write_trace(tmp_path / "b.csv.gz", Course().trace())
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_a_damaged_trace_names_file_and_line(tmp_path: Path):
    path = tmp_path / "t.csv.gz"
    write_trace(path, Course().trace())
    with gzip.open(path, "rt") as file:
        lines = file.readlines()
    lines[20] = "nonsense\n"
    with gzip.open(path, "wt") as file:
        file.writelines(lines)
    with pytest.raises(TraceError, match=r"t\.csv\.gz:21: not a trace"):
        read_trace(path)


def test_a_trace_cut_short_is_told(tmp_path: Path):
    path = tmp_path / "t.csv.gz"
    write_trace(path, Course().trace())
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(TraceError, match="not a trace"):
        read_trace(path)


def test_a_trace_with_a_flipped_bit_is_told(tmp_path: Path):
    path = tmp_path / "t.csv.gz"
    write_trace(path, Course().trace())
    content = path.read_bytes()
    for at in range(100, len(content), len(content) // 9):
        path.write_bytes(content[:at] + bytes([content[at] ^ 8]) + content[at + 1 :])
        with pytest.raises(TraceError, match="not a trace"):
            read_trace(path)
