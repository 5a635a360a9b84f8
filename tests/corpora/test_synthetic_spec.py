import pytest

from wattslice_corpora.synthetic import (
    InputData,
    OperationKind,
    Pattern,
    SliceSpec,
    Space,
    SpecError,
    plan,
    source,
)

FP32 = SliceSpec(Space.GLOBAL, OperationKind.FP32, 4.0, 132)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Space.REGISTERS, OperationKind.FP32, 4.0, 132), "density has no meaning"),
        ((Space.GLOBAL, OperationKind.FP32, None, 132), "needs a density"),
        ((Space.GLOBAL, OperationKind.FP32, 0.2, 132), r"\[0.25, 8200\], not 0.2"),
        ((Space.GLOBAL, OperationKind.FP32, 9000.0, 132), "not 9000"),
        ((Space.GLOBAL, OperationKind.FP32, float("nan"), 132), "not nan"),
        ((Space.GLOBAL, OperationKind.FP32, 4.0, 0), "at least one multiprocessor"),
        ((Space.GLOBAL, OperationKind.FP32, 4.0, 132, 0.05), r"\[0.1, 1\], not 0.05"),
        ((Space.REGISTERS, OperationKind.FP32, None, 132, 1.0, Pattern.RANDOM), "no access"),
        ((Space.CONSTANT, OperationKind.TENSOR, 4.0, 132), "no matrix tile from constant"),
        ((Space.GLOBAL, OperationKind.TENSOR, 4.0, 132, 1.0, Pattern.RANDOM), "read as a whole"),
        ((Space.TEXTURE, OperationKind.FP16, 40.0, 132), "no pair of halves"),
        ((Space.SHARED, OperationKind.SPECIAL, 4.0, 132, 1.0, Pattern.COALESCED, InputData.ZEROS), "finite"),
        (
            (Space.L2, OperationKind.INT, 4.0, 132, 1.0, Pattern.COALESCED, InputData.RANDOM, 0.5),
            "must be 1 for l2",
        ),
        (
            (Space.SHARED, OperationKind.INT, 4.0, 132, 1.0, Pattern.COALESCED, InputData.RANDOM, 0.0),
            "positive",
        ),
    ],
)
def test_what_means_nothing_is_refused(arguments, message):
    with pytest.raises(SpecError, match=message):
        SliceSpec(*arguments)


@pytest.mark.parametrize(("saturation", "blocks"), [(1.0, 132), (0.1, 13), (0.6, 79)])
def test_one_block_for_each_multiprocessor_in_use(saturation, blocks):
    assert SliceSpec(Space.GLOBAL, OperationKind.FP32, 4.0, 132, saturation).blocks == blocks


def test_names_are_short_and_stable():
    assert FP32.name == "global_fp32_coalesced_d4_s1"
    zeros = SliceSpec(Space.REGISTERS, OperationKind.INT, None, 80, 0.3, data=InputData.ZEROS)
    assert zeros.name == "registers_int_s0.3_zeros"


def test_a_density_below_what_can_be_built_is_refused_with_its_reason():
    constant = SliceSpec(Space.CONSTANT, OperationKind.FP32, 0.25, 132)
    with pytest.raises(SpecError, match=r"constant_fp32_coalesced_d0\.25_s1: .*ask for a higher density"):
        source(constant)


def test_a_slice_of_global_memory_reads_more_than_any_l2_and_at_most_two_gibibytes():
    for pattern in (Pattern.COALESCED, Pattern.STRIDED):
        footprint = plan(SliceSpec(Space.GLOBAL, OperationKind.FP32, 0.25, 132, 1.0, pattern)).footprint_bytes
        assert footprint is not None
        assert 128 << 20 <= footprint <= 2 << 30


def test_unused_values_are_read_through_volatile_and_used_ones_are_not():
    assert "volatile" in source(SliceSpec(Space.GLOBAL, OperationKind.FP32, 0.25, 132))
    assert "volatile" not in source(SliceSpec(Space.GLOBAL, OperationKind.FP32, 40.0, 132))
