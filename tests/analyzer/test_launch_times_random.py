"""How often launches in random loops and conditions are made, against a count of every iteration."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from .geometry import launches

QUICK_PROGRAMS = 40
ALL_PROGRAMS = 1000
KERNELS = "abcd"
MOST_NESTED = 3

Values = dict[str, int]
Count = Counter[str]


class Code(NamedTuple):
    """Host code, and what it does given its variables: counts the launches."""

    text: str
    run: Callable[[Values, Count], None]


def condition(draw: random.Random, names: list[str]) -> tuple[str, Callable[[Values], bool]]:
    name = draw.choice(names)
    number = draw.choice((0, 1, 2, 5, 9, 50, 99, 100))
    divisor = draw.choice((2, 3, 10))
    return draw.choice(
        [
            (f"{name} < {number}", lambda values: values[name] < number),
            (f"{name} == {number}", lambda values: values[name] == number),
            (f"{name} > {number}", lambda values: values[name] > number),
            (f"{name} % {divisor} == 0", lambda values: values[name] % divisor == 0),
            (f"({name} & 1) != 0", lambda values: values[name] & 1 != 0),
        ]
    )


def launch(draw: random.Random, names: list[str]) -> Code:
    kernel = draw.choice(KERNELS)
    grid = draw.choice(["4", *(f"{name} + 1" for name in names)])

    def run(values: Values, found: Count) -> None:
        found[kernel] += 1

    return Code(f"{kernel}<<<{grid}, 32>>>(7);", run)


def loop(draw: random.Random, names: list[str], depth: int) -> Code:
    name = f"i{depth}"
    number = draw.choice((0, 1, 2, 7, 20, 70, 150))
    limit = draw.choice([str(number), *names])
    step = draw.choice((1, 1, 1, 3))
    body = block(draw, [*names, name], depth + 1)

    def run(values: Values, found: Count) -> None:
        for value in range(0, values.get(limit, number), step):
            body.run({**values, name: value}, found)

    return Code(f"for (int {name} = 0; {name} < {limit}; {name} += {step}) {{ {body.text} }}", run)


def branch(draw: random.Random, names: list[str], depth: int) -> Code:
    text, holds = condition(draw, names)
    then, otherwise = block(draw, names, depth), block(draw, names, depth)

    def run(values: Values, found: Count) -> None:
        (then if holds(values) else otherwise).run(values, found)

    return Code(f"if ({text}) {{ {then.text} }} else {{ {otherwise.text} }}", run)


def block(draw: random.Random, names: list[str], depth: int) -> Code:
    parts: list[Code] = []
    for _ in range(draw.randint(1, 2)):
        kind = draw.random()
        if depth < MOST_NESTED and kind < 0.45:
            parts.append(loop(draw, names, depth))
        elif depth < MOST_NESTED and names and kind < 0.75:
            parts.append(branch(draw, names, depth + 1))
        else:
            parts.append(launch(draw, names))

    def run(values: Values, found: Count) -> None:
        for part in parts:
            part.run(values, found)

    return Code(" ".join(part.text for part in parts), run)


def told(folder: Path, seed: int) -> tuple[Count, dict[str, int | None]]:
    """What is launched so often, and what the program says of it: None where it says that it is not known."""
    code = loop(random.Random(seed), [], 0)
    truth: Count = Counter()
    code.run({}, truth)
    kernels = "".join(f"__global__ void {name}(int n) {{}}\n" for name in KERNELS)
    said: dict[str, int | None] = {}
    for one in launches(folder, f"{kernels}int main() {{ {code.text} }}"):
        times = one.times if one.line is not None else 0
        before = said.get(one.kernel.name, 0)
        said[one.kernel.name] = None if before is None or times is None else before + times
    return truth, said


def check(folder: Path, seeds: range) -> int:
    """Fails on a number that is not that of the run; how many numbers were said."""
    numbers = 0
    for seed in seeds:
        truth, said = told(folder, seed)
        wrong = {name: (truth[name], n) for name, n in said.items() if n not in (None, truth[name])}
        assert not wrong, f"seed {seed}: launched so often, said: {wrong}"
        numbers += sum(truth[name] > 1 and n is not None for name, n in said.items())
    return numbers


def test_numbers_of_launches_are_those_of_the_run(tmp_path):
    assert check(tmp_path, range(QUICK_PROGRAMS)) >= QUICK_PROGRAMS // 4


@pytest.mark.slow
def test_numbers_of_launches_of_many_programs_are_those_of_the_run(tmp_path):
    assert check(tmp_path, range(QUICK_PROGRAMS, ALL_PROGRAMS)) >= ALL_PROGRAMS // 4
