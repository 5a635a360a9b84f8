"""The pairs of the corpus: the bad variant is advised where a rule speaks of its flaw, the good one not."""

from functools import cache
from pathlib import Path

import pytest

from wattslice.analysis import KernelAnalysis
from wattslice.config.config import Options, make_config
from wattslice.pipeline.files import analyze_files
from wattslice_corpora.manifest import VariantRole, load_manifest

COVERED = {
    "axpy_precision": ("PW046", "rtx_3090"),
    "bank_conflicts": ("PW042", "v100"),
    "branch_divergence": ("PW050", "v100"),
    "copy": ("PW041", "v100"),
    "gemv": ("PW043", "v100"),
    "lbm": ("PW041", "v100"),
    "transpose_bank_conflicts": ("PW042", "v100"),
    "transpose_coalescing": ("PW041", "v100"),
}
NOT_COVERED = {
    "aes128_table": "data decide which word of constant memory is read",
    "attention": "three launches or one: rules look at one launch",
    "bfs": "another algorithm",
    "convolution": "no tile where one would help: the accesses are coalesced",
    "crc32": "another algorithm",
    "gemm_registers": "no reuse in registers",
    "gemm_shared_memory": "no tile where one would help: the accesses are coalesced",
    "gemm_tensor_cores": "tensor cores not used",
    "histogram": "data decide which address is added to",
    "jpeg_quantise": "below the threshold: the constant memory of both costs more than the division",
    "k_means": "data decide which address is added to",
    "nbody": "no tile where one would help: the accesses are broadcasts",
    "pagerank": "data decide which address is added to",
    "reduction_addressing": "below the threshold: the arms are short and predicated, DRAM sets the time",
    "reduction_exchange": "another algorithm",
    "softmax": "another algorithm",
    "sorted_lookup": "another algorithm",
    "spmv": "data decide the addresses",
    "stencil_2d": "no tile where one would help: the accesses are coalesced",
}
VARIANTS = [(variant, program) for program in load_manifest() for variant in program.variants]


@cache
def kernels(path: Path, gpu: str) -> tuple[KernelAnalysis, ...]:
    return analyze_files(make_config(Options(paths=(path,), gpu=gpu))).kernels


def test_every_pair_is_covered_or_not_for_a_reason():
    assert COVERED.keys() | NOT_COVERED.keys() == {variant.pair for variant, _ in VARIANTS}
    assert not COVERED.keys() & NOT_COVERED.keys()


@pytest.mark.parametrize("pair", COVERED)
def test_the_bad_variant_is_advised_and_the_good_one_is_not(pair):
    rule, gpu = COVERED[pair]
    told: dict[VariantRole, list[bool]] = {role: [] for role in VariantRole}
    for variant, program in VARIANTS:
        if variant.pair == pair:
            told[variant.role] += (
                any(advice.rule == rule for advice in kernel.advice)
                for kernel in kernels(program.file, gpu)
                if variant.kernel in (None, kernel.name)
            )
    assert all(told[VariantRole.BAD])
    assert told[VariantRole.BAD]
    assert not any(told[VariantRole.GOOD])
