"""How often launches in random loops and conditions are made, and on which grids, against a run of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from wattslice.analysis import LaunchSource

from .geometry import launches

QUICK_PROGRAMS = 40
ALL_PROGRAMS = 1000
KERNELS = "abcd"
MOST_NESTED = 3

Values = dict[str, int]
Made = Counter[tuple[str, int]]
"""How often each kernel is launched on each grid."""


class LeaveError(Exception):
    """A jump out of a loop, or out of its iteration."""

    def __init__(self, *, is_break: bool) -> None:
        super().__init__()
        self.is_break = is_break


class Code(NamedTuple):
    """Host code, and what it does to its variables: notes the launches."""

    text: str
    run: Callable[[Values, Made], None]


def condition(draw: random.Random, names: list[str]) -> tuple[str, Callable[[Values], bool]]:
    name = draw.choice(names)
    number = draw.choice((0, 1, 2, 5, 9, 50, 99, 100))
    divisor = draw.choice((2, 3, 10))

    def counts(values: Values) -> bool:
        values["s"] += 1
        return values["s"] % divisor == 0

    return draw.choice(
        [
            (f"{name} < {number}", lambda values: values[name] < number),
            (f"{name} == {number}", lambda values: values[name] == number),
            (f"{name} > {number}", lambda values: values[name] > number),
            (f"{name} % {divisor} == 0", lambda values: values[name] % divisor == 0),
            (f"++s % {divisor} == 0", counts),
            (f"({name} & 1) != 0", lambda values: values[name] & 1 != 0),
        ]
    )


def launch(draw: random.Random, names: list[str]) -> Code:
    kernel = draw.choice(KERNELS)
    name = draw.choice(["", *names])

    def run(values: Values, found: Made) -> None:
        found[kernel, values[name] + 1 if name else 4] += 1

    return Code(f"{kernel}<<<{f'{name} + 1' if name else 4}, 32>>>(7);", run)


def change(draw: random.Random, names: list[str]) -> Code:
    """A statement that gives `s` another value."""
    number, name = draw.randint(1, 9), draw.choice(names)
    changes: list[tuple[str, Callable[[Values], int]]] = [
        (f"s += {number};", lambda values: values["s"] + number),
        (f"s = {number};", lambda values: number),
        (f"s = (s * {number} + {name}) % 97;", lambda values: (values["s"] * number + values[name]) % 97),
        (f"s = {name} * 2;", lambda values: values[name] * 2),
    ]
    text, value = draw.choice(changes)

    def run(values: Values, found: Made) -> None:
        values["s"] = value(values)

    return Code(text, run)


def leave(draw: random.Random, names: list[str]) -> Code:
    """A jump out of a loop on a condition."""
    text, holds = condition(draw, names)
    is_break = draw.random() < 0.5

    def run(values: Values, found: Made) -> None:
        if holds(values):
            raise LeaveError(is_break=is_break)

    return Code(f"if ({text}) {'break' if is_break else 'continue'};", run)


def loop(draw: random.Random, names: list[str], depth: int) -> Code:
    name = f"i{depth}"
    number = draw.choice((0, 1, 2, 7, 20, 70, 150))
    limit = draw.choice([str(number), *(name for name in names if name != "s")])
    step = draw.choice((1, 1, 1, 3))
    body = block(draw, [*names, name], depth + 1)
    if draw.random() < 0.3:
        return _by_time(draw, name, number, body)

    def run(values: Values, found: Made) -> None:
        values[name] = 0
        while values[name] < values.get(limit, number):
            try:
                body.run(values, found)
            except LeaveError as jump:
                if jump.is_break:
                    break
            values[name] += step

    return Code(draw.choice(_FORMS).format(name=name, limit=limit, step=step, body=body.text), run)


_FORMS = (
    "for (int {name} = 0; {name} < {limit}; {name} += {step}) {{ {body} }}",
    "{{ int {name} = -{step}; while (({name} += {step}) < {limit}) {{ {body} }} }}",
    "{{ int {name} = 0; if ({name} < {limit}) do {{ {body} }} while (({name} += {step}) < {limit}); }}",
    "{{ int n{name} = 0; while (n{name} < {limit}) {{ int {name} = n{name}; n{name} += {step}; {body} }} }}",
    "{{ int n{name} = 0; if ({limit} > 0) do {{ int {name} = n{name}; n{name} += {step}; {body} }}"
    " while (n{name} < {limit}); }}",
    "for (int {name} = 0, e{name} = {limit} < 0 ? 0 : ({limit} + {step} - 1) / {step} * {step};"
    " {name} != e{name}; {name} += {step}) {{ {body} }}",
)
"""The same iterations, written in several ways; `continue` goes on with the next."""


def _by_time(draw: random.Random, name: str, number: int, body: Code) -> Code:
    """A loop of so many time steps or a few more or less: rounding decides."""
    time, end = f"t{name}", draw.choice((0.1, 0.01)) * number
    step = end / number if number else 1.0

    def run(values: Values, found: Made) -> None:
        values[name], now = 0, 0.0
        while now < end:
            try:
                body.run(values, found)
            except LeaveError as jump:
                if jump.is_break:
                    break
            values[name] += 1
            now += step

    text = f"double {time} = 0; {time} < {end!r}; {time} += {step!r}, {name}++"
    return Code(f"{{ int {name} = 0; for ({text}) {{ {body.text} }} }}", run)


def branch(draw: random.Random, names: list[str], depth: int) -> Code:
    text, holds = condition(draw, names)
    then, otherwise = block(draw, names, depth), block(draw, names, depth)

    def run(values: Values, found: Made) -> None:
        (then if holds(values) else otherwise).run(values, found)

    return Code(f"if ({text}) {{ {then.text} }} else {{ {otherwise.text} }}", run)


def block(draw: random.Random, names: list[str], depth: int) -> Code:
    parts: list[Code] = []
    for _ in range(draw.randint(1, 2)):
        kind = draw.random()
        if depth < MOST_NESTED and kind < 0.35:
            parts.append(loop(draw, names, depth))
        elif depth < MOST_NESTED and kind < 0.6:
            parts.append(branch(draw, names, depth + 1))
        elif kind < 0.65:
            parts.append(leave(draw, names))
        elif kind < 0.75:
            parts.append(change(draw, names))
        else:
            parts.append(launch(draw, names))

    def run(values: Values, found: Made) -> None:
        for part in parts:
            part.run(values, found)

    return Code(" ".join(part.text for part in parts), run)


def wrong_about(folder: Path, seed: int) -> tuple[list[str], int]:
    """What the program says of random host code that is not so; how many numbers of launches it says."""
    code = loop(random.Random(seed), ["s"], 0)
    made: Made = Counter()
    code.run({"s": 1}, made)
    times: Counter[str] = Counter()
    for (kernel, _), number in made.items():
        times[kernel] += number
    kernels = "".join(f"__global__ void {name}(int n) {{}}\n" for name in KERNELS)
    found = launches(folder, f"{kernels}int main() {{ int s = 1; {code.text} }}")
    wrong: list[str] = []
    numbers = 0
    for kernel in KERNELS:
        own = [one for one in found if one.kernel.name == kernel and one.line is not None]
        known = [one.times for one in own if one.times is not None]
        numbers += bool(known) and times[kernel] > 1
        if sum(known) > times[kernel] or (len(known) == len(own) and sum(known) != times[kernel]):
            wrong.append(f"{kernel} is launched {times[kernel]} times, said: {known}")
        for one in own:
            is_said = one.source is LaunchSource.HOST_CODE and not one.assumptions
            # A grid of 4 is written so, one of 100 follows in an arm of s == 99 that may never be taken.
            is_first = one.times is None and (not times[kernel] or one.grid[0] in (4, 100))
            if is_said and not is_first and not made[kernel, one.grid[0]]:
                wrong.append(f"{kernel} is never launched on {one.grid}")
    return wrong, numbers


def check(folder: Path, seeds: range) -> int:
    """Fails on a launch that is not that of the run; how many numbers of launches were said."""
    numbers = 0
    for seed in seeds:
        wrong, said = wrong_about(folder, seed)
        assert not wrong, f"seed {seed}: {'; '.join(wrong)}"
        numbers += said
    return numbers


@pytest.mark.slow
def test_launches_are_those_of_the_run(tmp_path):
    assert check(tmp_path, range(QUICK_PROGRAMS)) >= QUICK_PROGRAMS // 4


@pytest.mark.slow
@pytest.mark.parametrize("first", range(QUICK_PROGRAMS, ALL_PROGRAMS, 240))
def test_launches_of_many_programs_are_those_of_the_run(tmp_path, first: int):
    assert check(tmp_path, range(first, first + 240)) >= 240 // 4
