"""What the structure of a function is made of: how nodes end, and the tree that they become."""

from __future__ import annotations

from dataclasses import dataclass

# How a node ends


@dataclass(frozen=True, slots=True)
class Goto:
    """On to one node."""

    target: int


@dataclass(frozen=True, slots=True)
class Fork:
    """One of two ways."""

    then: int
    otherwise: int


@dataclass(frozen=True, slots=True)
class Ways:
    """`targets[selector]`."""

    targets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Leave:
    """Out of the function."""


Ending = Goto | Fork | Ways | Leave


def targets_of(ending: Ending) -> tuple[int, ...]:
    """Where control may go."""
    match ending:
        case Goto(target=target):
            return (target,)
        case Fork(then=then, otherwise=otherwise):
            return (then, otherwise)
        case Ways(targets=targets):
            return targets
        case Leave():
            return ()


# The tree


@dataclass(slots=True, eq=False)
class Frame:
    """What a `Jump` can leave: control then is at node `after` (None: at the end of the function)."""

    after: int | None
    is_used: bool = False


@dataclass(slots=True)
class Code:
    """The instructions of a node, its ending left aside."""

    node: int


@dataclass(slots=True)
class Choice:
    """The fork at the end of a node; `then` runs where its condition holds."""

    node: int
    then: list[Tree]
    otherwise: list[Tree]


@dataclass(slots=True)
class Switching:
    """The ways at the end of a node: selector values and what runs; every case ends by a jump."""

    node: int
    frame: Frame
    cases: list[tuple[tuple[int, ...], list[Tree]]]


@dataclass(slots=True)
class Repeat:
    """A loop. `test`: the node whose fork at the bottom decides; it goes on where `test_holds`; else endless.

    `header` is the node that it begins with.
    """

    header: int
    frame: Frame
    body: list[Tree]
    test: int | None = None
    test_holds: bool = True


@dataclass(slots=True)
class Wrap:
    """A stretch that jumps may leave."""

    frame: Frame
    body: list[Tree]


@dataclass(slots=True)
class Jump:
    """Out of `frame`."""

    frame: Frame


@dataclass(slots=True)
class Quit:
    """Out of the function."""


Tree = Code | Choice | Switching | Repeat | Wrap | Jump | Quit
