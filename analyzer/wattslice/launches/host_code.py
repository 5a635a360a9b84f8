"""Host code of a program, read as often as it is asked: every launch that it makes, in the order of running.

Files that are read together may be of several programs, one for each `main`: each is read by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.neighbours import MAX_CALLERS
from wattslice.frontend.project.runs import ProgramArguments
from wattslice.ir.walking import deep_recursion
from wattslice.launches import host_api
from wattslice.launches.call_graph import call_graph
from wattslice.launches.command_line import doubt_environment
from wattslice.launches.data_files import DataFiles
from wattslice.launches.evaluator import BudgetExceededError
from wattslice.launches.instances import GEOMETRY_OF, TIMES_OF, LaunchInstance, values_of, without_dead
from wattslice.launches.interpreter import Interpreter
from wattslice.launches.layouts import NUMBERS, scalars_of
from wattslice.launches.memory import Memory, SizesAsked, Storage, Unknown
from wattslice.launches.relevance import Relevance, relevance_of
from wattslice_models.gpu import Gpu

MAX_STEPS = 60_000
"""Steps for all of a program together; about a fifth of a second."""
MAX_STEPS_OF_ALL_READINGS = 150_000
"""Steps of reading the same host code again and again, with other values for variables."""
CHEAP_STEPS = 8_000
"""Steps up to which code is read once more together with files that only tell how often it launches."""
MIN_STEPS = 4_000
"""Steps that every entry point may take, however many the others took."""


class HostCode:
    """The host code of files that are read together, ready to be interpreted any number of times.

    `sites`: the launches of interest. What callers in other files launch themselves is theirs, whatever
    their kernels are called.
    """

    def __init__(self, program: ir.Program, gpu: Gpu, sites: frozenset[ir.LaunchCall] | None = None) -> None:
        self._programs = [_OneProgram(one, gpu, sites) for one in _programs_in(program)]
        self.sites = frozenset[ir.LaunchCall]().union(*(one.sites for one in self._programs))

    @property
    def is_cheap(self) -> bool:
        """Whether what was read so far took no more than `CHEAP_STEPS`."""
        return all(one.steps_taken <= CHEAP_STEPS for one in self._programs)

    def lacking(self, given: ProgramArguments | None = None) -> frozenset[str]:
        """Names of scalar variables and members that a reading without pins never finds known."""
        return frozenset[str]().union(*(one.lacking(given) for one in self._programs))

    def decided_by(
        self,
        doubted: str,
        pins: Mapping[str, int | float],
        given: ProgramArguments | None,
        assumed: frozenset[str],
    ) -> dict[Place, str]:
        """What `ARGC`, the `ENVIRONMENT` or the number of `GPUS` decides, by launch: what is no more so where
        these are unknown.
        """
        found: dict[Place, str] = {}
        for one in self._programs:
            told = one.launches(pins, given, assumed)
            if doubted == GPUS and not one.asks_for_gpus:
                continue
            found |= _decided(told, one.launches(pins, given, assumed, doubted))
        return found

    def launches(
        self,
        pins: Mapping[str, int | float],
        given: ProgramArguments | None = None,
        assumed: frozenset[str] = frozenset(),
    ) -> tuple[LaunchInstance, ...]:
        """Every launch the host code reaches, in the order of running; `pins`: values by variable name.

        Of the names `assumed` they hold only where the host code gives none that is known.
        `given`: what the program is run with, None: without options. Arguments that were found are those of
        the first program. What another one launches otherwise than the first stands beside that: how often
        a run comes to either nobody knows.
        Empty once earlier readings have taken `MAX_STEPS_OF_ALL_READINGS`.
        """
        first, *others = self._programs
        of_runs = frozenset[ir.LaunchCall]().union(*(one.of_run for one in others))
        made = first.launches(pins, given, assumed)
        found = [i for i in made if i.node in first.of_run or i.node not in of_runs]
        for one in others:
            words = None if given is None or given.is_found else given
            made = [i for i in one.launches(pins, words, assumed) if i.node in one.of_run]
            both = f"the programs of {first.file} and {one.file} launch it, each in its own way"
            found = _side_by_side(found, made, Unknown(both))
        if len(self._programs) >= MAX_CALLERS:
            found = [replace(i, times=_NOT_EVERY_PROGRAM) for i in found]
        return tuple(found)


def _decided(told: Sequence[LaunchInstance], doubted: Sequence[LaunchInstance]) -> dict[Place, str]:
    """What is otherwise, of each launch of a run, where something is unknown that it takes for given."""
    others: dict[Place, list[LaunchInstance]] = {}
    for one in doubted:
        others.setdefault((one.node, one.path), []).append(one)
    found: dict[Place, str] = {}
    for one in told if doubted else ():
        same = [other for other in others.get((one.node, one.path), ()) if other.is_certain]
        is_other = all(_way(other)[0][:2] != _way(one)[0][:2] for other in same)
        if not one.is_certain and same:
            found.setdefault(
                (one.node, one.path), GEOMETRY_OF if is_other else "that the program does not launch"
            )
        if not one.is_certain or any(_way(other) == _way(one) for other in same):
            continue
        what = "the arguments of"
        is_counted = not isinstance(one.times, Unknown)
        if not same or (is_counted and all(other.times != one.times for other in same)):
            what = TIMES_OF
        if is_other:
            what = GEOMETRY_OF if same else "that the program launches"
        found.setdefault((one.node, one.path), what)
    return found


def _programs_in(program: ir.Program) -> list[ir.Program]:
    """One for each `main`, without what the files of the others define."""
    mains = [function.span.file for function in program.functions if function.name == "main"]
    if len(mains) < 2:
        return [program]
    return [
        replace(
            program,
            functions=tuple(f for f in program.functions if f.span.file == own or f.span.file not in mains),
            globals=tuple(v for v in program.globals if v.span.file == own or v.span.file not in mains),
        )
        for own in mains
    ]


def _side_by_side(
    found: Iterable[LaunchInstance], made: Iterable[LaunchInstance], why: Unknown
) -> list[LaunchInstance]:
    """The launches of both; of those that each makes in its own way nobody knows how often, and `why`."""
    made = list(made)
    found = list(found)
    ways = _ways(found)
    differ = {node for node, way in _ways(made).items() if way != ways.get(node, way)}
    both = [*found, *(i for i in made if i.node in differ or i.node not in ways)]
    return [replace(i, times=why) if i.node in differ else i for i in both]


def _ways(instances: list[LaunchInstance]) -> dict[ir.LaunchCall, Counter[Hashable]]:
    """How each launch is made, and how often so."""
    found: dict[ir.LaunchCall, Counter[Hashable]] = {}
    for one in instances:
        found.setdefault(one.node, Counter())[_way(one)] += 1
    return found


def _way(one: LaunchInstance) -> tuple[tuple[object, ...], int | None, bool]:
    """With what a launch is made, how often, and whether it is."""
    return values_of(one), None if isinstance(one.times, Unknown) else one.times, one.is_certain


Place = tuple[ir.LaunchCall, tuple[ir.Call, ...]]
"""A launch in the source, and the calls that lead to it."""
ARGC, ENVIRONMENT, GPUS = "argc", "the environment", "the number of GPUs"
_DOUBTS = {ENVIRONMENT: doubt_environment, GPUS: host_api.doubt_gpus}


class _Reading(Struct, frozen=True):
    """What was `found` in so many `steps` with `given`, whatever values by name say but for those `asked`."""

    given: ProgramArguments | None
    doubted: str
    asked: dict[str, int | float | None]
    steps: int
    found: tuple[LaunchInstance, ...]
    lacking: frozenset[str]


class _OneProgram:
    """The host code of one program, ready to be interpreted any number of times."""

    def __init__(self, program: ir.Program, gpu: Gpu, sites: frozenset[ir.LaunchCall] | None = None) -> None:
        self._program = program
        self._main = next((f for f in program.functions if f.name == "main"), None)
        self._gpu = gpu
        self._graph = call_graph(program)
        self._steps_left = MAX_STEPS_OF_ALL_READINGS
        self._readings: list[_Reading] = []
        self._sizes_asked = SizesAsked()
        self.asks_for_gpus = False
        every = frozenset[ir.LaunchCall]().union(*(self._graph.launches_from(f) for f in program.functions))
        self.sites = every if sites is None else sites

    @property
    def steps_taken(self) -> int:
        """Of all readings so far."""
        return MAX_STEPS_OF_ALL_READINGS - self._steps_left

    @property
    def file(self) -> str:
        """The name of the file of its `main`."""
        return Path(self._program.file if self._main is None else self._main.span.file).name

    @cached_property
    def of_run(self) -> frozenset[ir.LaunchCall]:
        """The launches that `main` may come to."""
        return frozenset() if self._main is None else self._graph.launches_from(self._main)

    @cached_property
    def _relevance(self) -> Relevance:
        try:
            with deep_recursion():
                return relevance_of(self._program, self._graph)
        except RecursionError:
            return Relevance()

    def launches(
        self,
        pins: Mapping[str, int | float],
        given: ProgramArguments | None = None,
        assumed: frozenset[str] = frozenset(),
        doubted: str = "",
    ) -> tuple[LaunchInstance, ...]:
        """Every launch the host code reaches, in the order of running; `pins`: values by variable name.

        Of the names `assumed` they hold only where the host code gives none that is known.
        `given`: what the program is run with, None: without options.
        `doubted`: what is taken to be unknown, `ARGC`, `ENVIRONMENT` or `GPUS`, else something is assumed.
        Empty once earlier readings have taken `MAX_STEPS_OF_ALL_READINGS`.
        """
        if self._steps_left < MIN_STEPS:
            return ()
        for one in self._readings:
            if (one.given, one.doubted) == (given, doubted) and all(
                pins.get(name) == value for name, value in one.asked.items()
            ):
                self._steps_left -= one.steps
                return one.found
        try:
            with deep_recursion():  # deeply nested code must not look like no code
                found = self._collect(pins, given, assumed, doubted)
                if self._sizes_asked.is_known_too_late():
                    self._sizes_asked.totals.clear()
                    self._readings.clear()
                    found = self._collect(pins, given, assumed, doubted)
                return found
        except RecursionError:
            return ()

    def lacking(self, given: ProgramArguments | None) -> frozenset[str]:
        """Names of scalar variables and members that a reading without pins never finds known."""
        self.launches({}, given)
        plain = (one for one in self._readings if (one.given, one.doubted) == (given, ""))
        bare = (one for one in plain if set(one.asked.values()) <= {None})
        return next((one.lacking for one in bare), frozenset[str]())

    def _collect(
        self,
        pins: Mapping[str, int | float],
        given: ProgramArguments | None,
        assumed: frozenset[str],
        doubted: str,
    ) -> tuple[LaunchInstance, ...]:
        memory, steps_before = Memory(pins, assumed, self._sizes_asked), self._steps_left
        if doubted in _DOUBTS:
            _DOUBTS[doubted](memory)
        instances: list[LaunchInstance] = []
        main = self._main
        files = DataFiles(Path(self._program.file if main is None else main.span.file).parent)
        interpreter = self._interpreter(memory, MAX_STEPS, files, given, doubted)
        for variable in self._program.globals:
            storage = memory.declare_global(variable)
            is_own = variable.linked_as is None and variable.space is ir.MemorySpace.HOST
            if variable.initializer is not None and is_own:  # what others see, they may set
                _begin_with_zeros(memory, storage, variable.type)
            if (doubt := self._program.in_doubt.get(variable.linked_as or "")) is not None:
                memory.write(
                    storage, 0, Unknown(f"'{variable.name}' is {doubt}", variable.name), variable.type
                )
            elif variable.initializer is not None and variable not in self._graph.set_before_main:
                try:
                    memory.write(storage, 0, interpreter.evaluate(variable.initializer), variable.type)
                except (BudgetExceededError, RecursionError):
                    break
        interpreter.run_before_main()
        instances += interpreter.instances
        start = memory.mark()
        seen = {instance.node for instance in instances}
        visited = set(seen)
        entries = self._graph.entries
        left = MAX_STEPS
        is_cut = is_cut_aside = is_main_cut = False
        for function in self._graph.roots():
            # A function that others call, but only where they do not run, is no entry point.
            is_alone = main is None and function in entries  # others may call it, or any other one
            known = set[ir.LaunchCall]() if is_alone else seen if function in entries else seen | visited
            if function.name != "main" and self._graph.launches_from(function) <= known:
                continue
            if is_main_cut and function in self._graph.unused:  # its launches are not those of the run
                continue
            interpreter = self._interpreter(memory, max(MIN_STEPS, left), files, given, doubted)
            interpreter.is_main_cut = is_main_cut
            interpreter.mark_seen(set() if is_alone else seen)
            if is_alone:
                interpreter.others_may_have_run(function)
            try:
                interpreter.run(function)
            except (BudgetExceededError, RecursionError):
                del memory.frames[1:]
                is_cut, is_main_cut = True, is_main_cut or function.name == "main"
                if function.name == "main":
                    interpreter.forget_written_by(function)
            is_cut_aside = is_cut_aside or interpreter.is_cut
            self._steps_left -= max(MIN_STEPS, left) - interpreter.steps_left
            left = interpreter.steps_left
            is_of_run = main is None or function is main
            lost = dict.fromkeys(interpreter.cut, _NOT_EVERY_CALL)
            if is_cut or not is_of_run:
                lost = dict.fromkeys(self.sites, _TOO_LONG if is_cut else self._not_from_main(function))
            made = (replace(i, times=_lost(i, lost)) for i in interpreter.instances)
            apart = _not_the_only_entry(function)
            instances = _side_by_side(instances, made, apart) if is_alone else [*instances, *made]
            if not is_of_run and function in self._graph.unused:  # nor is it known what its pointers hold
                begin = len(instances) - len(interpreter.instances)
                instances[begin:] = (
                    replace(i, is_certain=i.is_certain and not i.is_guess) for i in instances[begin:]
                )
            # A launch only met in code that is not run may be met for certain from the next entry point.
            visited.update(instance.node for instance in interpreter.instances)
            seen.update(instance.node for instance in interpreter.instances if instance.is_certain)
            # What `main` leaves in file-scope variables is what callbacks find there.
            if function.name == "main":
                start = memory.mark()
            memory.roll_back(start)
        if is_cut or is_cut_aside:
            reached = {instance.node for instance in instances}
            told = {
                node: _TOO_LONG if main is None or node in self.of_run else _UNUSED for node in self.sites
            }
            instances += (_unreached(node, told[node]) for node in sorted(self.sites - reached, key=_place))
        found = without_dead([instance for instance in instances if instance.node in self.sites])
        self.asks_for_gpus |= bool(memory.global_named(host_api.GPUS).cells)
        never_known = memory.lacking - memory.known
        lacking = frozenset(what if isinstance(what, str) else what.name for what in never_known)
        steps = steps_before - self._steps_left
        self._readings.append(_Reading(given, doubted, memory.asked, steps, found, lacking))
        return found

    def _interpreter(
        self, memory: Memory, steps: int, files: DataFiles, given: ProgramArguments | None, doubted: str
    ) -> Interpreter:
        is_told = doubted != ARGC
        return Interpreter(
            self._graph, self._relevance, memory, self._gpu, steps, files, given, knows_argc=is_told
        )

    def _not_from_main(self, function: ir.Function) -> Unknown:
        why = "which is called only where the host code is not followed"
        if function.copied is not None:
            why = "whose calls are not followed"
        elif function in self._graph.unused:
            why = "which main() was not seen to call"
        return Unknown(f"{function.told} launches it, {why}")


_NOT_EVERY_PROGRAM = Unknown(f"of the programs that launch it no more than {MAX_CALLERS} are read")
_TOO_LONG = Unknown("the host code takes more steps than are followed")
_UNUSED = Unknown("nothing that was read calls the function that launches it")
_NOT_EVERY_CALL = Unknown("not every call of the function around it is followed")


def _place(node: ir.LaunchCall) -> tuple[str, int, int]:
    return node.span.file, node.span.line, node.span.column


def _begin_with_zeros(memory: Memory, storage: Storage, type_: ir.Type) -> None:
    """The numbers in an object at file scope, before anything gives them a value."""
    for offset, scalar in scalars_of(type_, 0) if type_.kind is ir.TypeKind.RECORD else ():
        if scalar.kind in NUMBERS or scalar.is_integral:
            memory.set_cell(storage, offset, 0.0 if scalar.is_float else 0)


def _not_the_only_entry(function: ir.Function) -> Unknown:
    return Unknown(f"{function.told} launches it otherwise than other functions that nothing here calls")


def _lost(instance: LaunchInstance, lost: Mapping[ir.LaunchCall, Unknown]) -> int | Unknown:
    """How often a launch is made, of which some are `lost`."""
    why = lost.get(instance.node)
    return instance.times if why is None or isinstance(instance.times, Unknown) else why


def _unreached(node: ir.LaunchCall, why: Unknown) -> LaunchInstance:
    """A launch that no reading comes to, as the host code has too many steps."""
    arguments = tuple(why for _ in node.arguments)
    written = node.shared_bytes
    shared = 0 if written is None else written.value if isinstance(written, ir.Constant) else why
    return LaunchInstance(
        node, (), why, why, shared, arguments, is_certain=True, in_unknown_loop=False, times=why
    )
