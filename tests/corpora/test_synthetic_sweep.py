"""The intensity sweep: its flops and bytes are those that our analyzer counts in the text."""

from itertools import pairwise
from pathlib import Path

import pytest

from wattslice.config.config import Options, make_config
from wattslice.pipeline.files import analyze_file
from wattslice_corpora.synthetic import OperationKind, SweepSlice, intensity_sweep, plan, source

SWEEP = intensity_sweep(132)


def test_it_spans_both_precisions_from_a_sixteenth_to_beyond_sixty_four():
    for kind in (OperationKind.FP32, OperationKind.FP64):
        own = [point.intensity for point in SWEEP if point.spec.kind is kind]
        assert len(own) == 12
        assert own == sorted(own)
        assert own[0] < 0.08
        assert own[-1] > 100
        assert all(1.3 < after / before < 2.6 for before, after in pairwise(own))


@pytest.mark.parametrize("sm_count", [6, 40, 80, 108, 132, 192])
def test_every_gpu_gets_all_of_it_and_reads_more_than_its_l2_holds(sm_count: int):
    sweep = intensity_sweep(sm_count)
    assert len(sweep) == 24
    for point in sweep:
        footprint = plan(point.spec).footprint_bytes or 0
        assert footprint > 128e6 or point.intensity > 30.0
        assert point.traffic_bytes == pytest.approx(footprint, rel=0.1)


@pytest.mark.parametrize(
    "point", [SWEEP[0], SWEEP[1], SWEEP[7], SWEEP[12], SWEEP[23]], ids=lambda p: p.spec.name
)
def test_the_analyzer_counts_the_same_flops_and_bytes(point: SweepSlice, tmp_path: Path):
    file = tmp_path / "slice.cu"
    file.write_text(source(point.spec), encoding="utf-8")
    (kernel,) = analyze_file(file, make_config(Options(paths=(file,), gpu="h200"))).kernels
    assert kernel.work is not None
    counts = kernel.work.counts_per_thread
    assert getattr(counts, point.spec.kind.value) * point.spec.threads == point.work_flop
    element_bytes = 8 if point.spec.kind is OperationKind.FP64 else 4
    accesses = counts.global_load + counts.global_store
    assert accesses * point.spec.threads * element_bytes == point.traffic_bytes
