"""Static branch heuristics: what the text of a branch says about which way it goes.

`rates` holds the heuristics with their published hit rates and how several combine, `comparisons` reads the
condition, `arms` what stands in the arms; `math_paths` knows tests that only compilers write.
`docs/branches.md` tells what each looks at.
"""

from wattslice.heuristics.arms import ArmOpinions, arm_opinions
from wattslice.heuristics.comparisons import compared_registers, comparison_opinion
from wattslice.heuristics.math_paths import usual_outcome
from wattslice.heuristics.rates import HIT_RATES, Heuristic, Opinion, combined, spread

__all__ = [
    "HIT_RATES",
    "ArmOpinions",
    "Heuristic",
    "Opinion",
    "arm_opinions",
    "combined",
    "compared_registers",
    "comparison_opinion",
    "spread",
    "usual_outcome",
]
