"""Wang & Chen 2013: power from static program slices."""

from __future__ import annotations

from collections.abc import Sequence

from wattslice_corpora.published.tables import table_source
from wattslice_corpora.published.wang2013 import (
    DenseProgramRow,
    RelativeErrorRow,
    SparseProgramRow,
    wang2013_dense_programs,
    wang2013_regressions,
    wang2013_relative_errors,
    wang2013_sparse_programs,
    wang2013_tables,
)
from wattslice_models.access_power import measured_access_energies
from wattslice_models.regression import RegressionModel, published_regression
from wattslice_tools.papers.markdown import held, magnitudes, mean, percent, relative_error, rms, table


def wang2013() -> tuple[str, ...]:
    """The paragraphs and tables of this paper."""
    gtx280 = published_regression("gtx280")
    sparse, dense = wang2013_sparse_programs(), wang2013_dense_programs()
    return (
        "## Wang & Chen 2013: power from static program slices",
        f"{table_source(wang2013_tables()[0]).split('; ')[0]}.",
        *_table_1(),
        *_table_2(gtx280, sparse),
        *_table_3(gtx280, dense),
        *_table_4(wang2013_relative_errors()),
        *_interval(gtx280, sparse, dense),
        *_contradictions(),
        *_access_factors(),
    )


def measured_over_computed(
    model: RegressionModel, sparse: Sequence[SparseProgramRow], dense: Sequence[DenseProgramRow]
) -> tuple[float, ...]:
    """Measured watts over those of eq. (4), for every program of Tables 2 and 3, in that order."""
    rows = (*sparse, *dense)
    return tuple(row.measured_w / model.power_w(row.sm_saturation, row.arithmetic_density) for row in rows)


def _table_1() -> tuple[str, ...]:
    rows: list[tuple[str, ...]] = []
    for row in wang2013_regressions():
        model = published_regression(row.gpu.lower())
        same = (row.beta_0_w, row.beta_1_w, row.beta_2) == (model.beta_0_w, model.beta_1_w, model.beta_2)
        numbers = (f"{value:g}" for value in (row.beta_0_w, row.beta_1_w, row.beta_2))
        rows.append((row.gpu, *numbers, "yes" if same else "NO"))
    return (
        "### Table 1: `P = β0·Sa + β1·Ã^β2`, in watts",
        table(("GPU", "β0 / W", "β1 / W", "β2", "code uses these"), rows),
    )


def _table_2(model: RegressionModel, programs: Sequence[SparseProgramRow]) -> tuple[str, ...]:
    computed = [model.power_w(row.sm_saturation, row.arithmetic_density) for row in programs]
    printed_errors = [relative_error(row.printed_prediction_w, row.measured_w) for row in programs]
    computed_errors = [relative_error(c, row.measured_w) for c, row in zip(computed, programs, strict=True)]
    differences = [c - row.printed_prediction_w for c, row in zip(computed, programs, strict=True)]
    rows = [
        (
            row.program,
            f"{row.sm_saturation:g}",
            f"{row.arithmetic_density:g}",
            f"{row.measured_w:.1f}",
            f"{row.printed_prediction_w:.1f}",
            percent(printed_error),
            f"{c:.1f}",
            f"{difference:+.1f}",
            percent(computed_error),
        )
        for row, c, printed_error, difference, computed_error in zip(
            programs, computed, printed_errors, differences, computed_errors, strict=True
        )
    ]
    head = ("program", "Sa", "Ã", "measured / W", "printed / W", "its error", "eq. (4) / W", "− printed / W")
    return (
        "### Table 2: branch-sparse programs on the GTX 280",
        "The printed predictions do not follow from the printed equation and the printed `Sa` and `Ã`. "
        "Both columns:",
        table((*head, "its error"), rows),
        f"Root mean square of eq. (4) − printed: {rms(differences):.1f} W "
        f"({min(differences):+.1f} to {max(differences):+.1f} W). Errors against the measured watts: printed "
        f"{magnitudes(printed_errors)}, eq. (4) {magnitudes(computed_errors)}.",
    )


def _table_3(model: RegressionModel, programs: Sequence[DenseProgramRow]) -> tuple[str, ...]:
    rows: list[tuple[str, ...]] = []
    differences: list[float] = []
    for row in programs:
        at_table = model.power_w(row.sm_saturation, row.arithmetic_density)
        differences.append(at_table - row.printed_bspm_w)
        rows.append(
            (
                row.program,
                f"{row.sm_saturation:g}",
                f"{row.arithmetic_density:g}",
                f"{row.measured_w:.1f}",
                f"{row.printed_bspm_w:.1f}",
                percent(relative_error(row.printed_bspm_w, row.measured_w)),
                f"{row.printed_bdpm_w:.1f}",
                percent(relative_error(row.printed_bdpm_w, row.measured_w)),
                f"{at_table:.1f}",
                f"{model.power_w(1.0, row.arithmetic_density):.1f}",
            )
        )
    bspm = [relative_error(row.printed_bspm_w, row.measured_w) for row in programs]
    bdpm = [relative_error(row.printed_bdpm_w, row.measured_w) for row in programs]
    head = ("program", "Sa", "Ã", "measured / W", "BSPM / W", "its error", "BDPM / W", "its error")
    return (
        "### Table 3: branch-dense programs on the GTX 280",
        "BSPM and BDPM as printed. The text says that all five ran at `Sa = 1`; the table prints other "
        "values, so eq. (4) is evaluated at both.",
        table((*head, "eq. (4) / W", "eq. (4), Sa = 1 / W"), rows),
        f"Errors against the measured watts: BSPM {magnitudes(bspm)}, BDPM {magnitudes(bdpm)}. Root mean "
        f"square of eq. (4) − printed BSPM: {rms(differences):.1f} W. The effective densities and lengths "
        "behind the BDPM column are not printed, so that column cannot be recomputed.",
    )


def _table_4(errors: Sequence[RelativeErrorRow]) -> tuple[str, ...]:
    rows: list[tuple[str, ...]] = []
    for branch_class, method, claim in (("sparse", "BSPM", 0.06), ("dense", "BDPM", 0.045)):
        values = [entry.relative_error for entry in errors if entry.branch_class == branch_class]
        holds = "holds" if max(values) < claim else "FAILS"
        claimed = f"all below {claim:.1%}"
        average, smallest, largest = (f"{value:.2%}" for value in (mean(values), min(values), max(values)))
        rows.append((method, str(len(values)), average, smallest, largest, claimed, holds))
    by_saturation: list[tuple[str, ...]] = []
    for saturation in sorted({entry.sm_saturation for entry in errors}):
        means = (
            mean(e.relative_error for e in errors if (e.sm_saturation, e.gpu) == (saturation, gpu))
            for gpu in ("GTX280", "GTX480")
        )
        by_saturation.append((f"{saturation:g}", *(f"{mean:.2%}" for mean in means)))
    return (
        "### Table 4: relative errors on two GPUs at three SM saturations",
        table(("method", "values", "mean", "least", "most", "claim in the text", ""), rows),
        "Mean error by SM saturation, all 13 programs:",
        table(("Sa", "GTX 280", "GTX 480"), by_saturation),
    )


def _interval(
    model: RegressionModel, sparse: Sequence[SparseProgramRow], dense: Sequence[DenseProgramRow]
) -> tuple[str, ...]:
    ratios = measured_over_computed(model, sparse, dense)
    return (
        "### The interval of the published regression",
        f"Over the {len(ratios)} programs, measured watts are {min(ratios):.3f} to {max(ratios):.3f} times "
        f"those of eq. (4). A prediction therefore carries the interval "
        f"[{model.measured_over_predicted_low:g} P, {model.measured_over_predicted_high:g} P]: "
        f"{model.interval_source}. Around eq. (4), ±3.98 % (claimed for slices) holds "
        f"{held(ratios, 0.0398)} of the {len(ratios)} measured values and ±6 % (claimed for programs) "
        f"{held(ratios, 0.06)}.",
    )


def _contradictions() -> tuple[str, ...]:
    return (
        "### Where the paper contradicts itself, and what the code does",
        table(
            ("place", "contradiction", "code"),
            [
                (
                    "eq. (1), Algorithm 2",
                    "eq. (1) weights each access by `r` once; line 10 multiplies the running sum each time",
                    "eq. (1)",
                ),
                ("eq. (12), Algorithm 3", "line 6 assigns where eq. (12) sums", "eq. (12)"),
                (
                    "eq. (13), Algorithm 4",
                    "eq. (13) divides by `L` and leaves its own `L̂` unused; Algorithm 4 divides by the sum "
                    "of effective lengths",
                    "Algorithm 4: the weights sum to one",
                ),
                ("Table 3", "`Sa = 1` in the text, 0.3 to 0.8 in the table", "the table's values"),
                (
                    "Tables 2, 3",
                    "printed predictions are not eq. (4) at the printed inputs",
                    "eq. (4) and Table 1 as printed",
                ),
            ],
        ),
    )


def _access_factors() -> tuple[str, ...]:
    rows = [
        (
            entry.gpu_id,
            *(
                f"{energy_j * 1e12:.0f}"
                for energy_j in (entry.global_j, entry.shared_j, entry.l1_hit_j, entry.texture_j)
            ),
            *(
                f"{energy_j / entry.global_j:.3f}"
                for energy_j in (entry.shared_j, entry.l1_hit_j, entry.texture_j)
            ),
        )
        for entry in measured_access_energies()
    ]
    energies = ("global / pJ", "shared / pJ", "L1 hit / pJ", "texture / pJ")
    return (
        "### The access factors `r_i` of eq. (1)",
        "The paper prints none. Computed from measured energies of one 4-byte access of one thread; a "
        "constant access was measured nowhere and counts as an L1 hit:",
        table(("GPU", *energies, "r shared", "r constant", "r texture"), rows),
        "Sources:",
        "\n".join(f"- {entry.gpu_id}: {entry.source}" for entry in measured_access_energies()),
    )
