"""What several stages ask for is worked out once."""

from types import ModuleType

from wattslice import ir
from wattslice.frontend.cuda.read import read_cuda
from wattslice.ir import walking
from wattslice.launches import launches
from wattslice.launches import memory as host_memory
from wattslice.launches.launches import launched_by, launches_kernel
from wattslice.launches.memory import Memory, Storage, Unknown

SPAN = ir.Span("a.cu", 1, 1, 1)
ONE = ir.Constant(1, ir.INT32, SPAN)


def block(nodes: int = 1) -> ir.Block:
    return ir.Block(tuple(ir.ExprStmt(ONE, 0, SPAN) for _ in range(nodes)), 0, SPAN)


def site(kernel: str, name: str, arguments: int = 1) -> ir.LaunchCall:
    return ir.LaunchCall(kernel, name, ONE, ONE, None, (ONE,) * arguments, ir.VOID, SPAN)


def kernel(name: str, mangled: str) -> ir.Kernel:
    return ir.Kernel(name, name, mangled, (), block(), SPAN, 1, 0, (), None, None, True)


def count_calls(monkeypatch, module: ModuleType, name: str) -> list[None]:
    """One element for each call of a function of the module from here on."""
    calls, function = list[None](), getattr(module, name)

    def counted(*given: object) -> object:
        calls.append(None)
        return function(*given)

    monkeypatch.setattr(module, name, counted)
    return calls


def test_what_is_below_a_thousand_functions_is_listed_once():
    bodies = [block() for _ in range(1000)]
    expressions = [ir.expressions_below(body) for body in bodies]
    assert all(ir.expressions_below(body) is found for body, found in zip(bodies, expressions, strict=True))
    statements = [walking._listed(body) for body in bodies]
    assert all(walking._listed(body) is found for body, found in zip(bodies, statements, strict=True))


def test_lists_are_kept_while_they_are_not_too_long_altogether(monkeypatch):
    monkeypatch.setattr(walking, "_MOST_LISTED", 1000)
    walking.forget_listed()
    bodies = [block(200) for _ in range(20)]
    for body in bodies:
        assert len(ir.expressions_below(body)) == 200
        assert sum(map(len, ir.expressions_below._lists.values())) <= 1000
    large = block(5000)
    assert ir.expressions_below(large) is ir.expressions_below(large)
    walking.forget_listed()
    assert not ir.expressions_below._lists


def test_nothing_is_kept_of_the_file_before(tmp_path):
    path = tmp_path / "a.cu"
    path.write_text("__global__ void k(float* a) { a[0] = 1.0f; }")
    body = block()
    first = ir.expressions_below(body)
    read_cuda(path)
    assert ir.expressions_below(body) is not first


def test_launches_that_name_the_same_are_compared_with_each_kernel_once(monkeypatch):
    kernels = [kernel("k", f"_Z1kI{number}E") for number in range(50)]
    kernels += [kernel("f", "_Z1f"), kernel("plain", "plain")]
    named = [site("_Z1kI3E", "k"), site("", "f"), site("k", "k"), site("_Zother", "plain", 0)]
    named += [site("", "unknown"), site("_Zother", "unknown", 0), site("_Zother", "plain", 1)]
    of_all = frozenset(k for k in kernels if any(launches_kernel(one, k) for one in named))
    assert launched_by(named, kernels) == of_all
    assert {k.name for k in of_all} == {"k", "f", "plain"}
    many = [site("_Z1kI3E", "k") for _ in range(300)]
    comparisons = count_calls(monkeypatch, launches, "launches_kernel")
    assert launched_by(many, kernels) == {kernels[3]}
    assert len(comparisons) == len(kernels)


def test_numbers_without_a_name_are_forgotten_together(monkeypatch):
    memory, why = Memory({}), Unknown("a function wrote it")
    storage = Storage("memory", is_allocated=True)
    for key in range(0, 400, 4):
        memory.set_cell(storage, key, 7)
    mark, writes = memory.mark(), storage.writes
    alone = count_calls(monkeypatch, host_memory, "_lost")
    memory.forget(storage, why)
    assert not alone
    assert set(storage.cells) == set(range(0, 400, 4))
    assert all(value is why for value in storage.cells.values())
    assert storage.writes == writes + 100
    memory.roll_back(mark)
    assert set(storage.cells.values()) == {7}
    scalar = Storage("n", is_scalar=True)
    memory.set_cell(scalar, 0, 7)
    memory.forget(scalar, why)
    found = scalar.cells[0]
    assert isinstance(found, Unknown)
    assert found.variable == "n"
