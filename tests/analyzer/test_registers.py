"""The register estimate on kernels whose live values can be counted by eye."""

from __future__ import annotations

from dataclasses import replace

from wattslice.frontend.c.read import read_c
from wattslice.workload.registers import REGISTERS_OF_A_CALL, estimate_registers, register_pressure
from wattslice_models.gpu import load_gpu

V100 = load_gpu("v100")


def kernel(tmp_path, body, parameters="int n, float *a, float *b"):
    path = tmp_path / "k.c"
    path.write_text(f"void k({parameters}) {{ {body} }}\n")
    return read_c(path).kernels[0]


def test_values_alive_at_once_count_not_all_values(tmp_path):
    together = "float p = a[0], q = a[1], r = a[2], s = a[3]; b[0] = p + q + r + s;"
    in_turn = " ".join(f"float {v} = a[{i}]; b[{i}] = {v};" for i, v in enumerate("pqrs"))
    apart = register_pressure(kernel(tmp_path, in_turn)).live
    assert register_pressure(kernel(tmp_path, together)).live == apart + 3


def test_what_crosses_an_iteration_lives_through_the_loop(tmp_path):
    loop = "for (int i = 0; i < n; i++) { s += a[i]; float u = a[i + 1]; b[i] = u; }"
    body = f"float s = 0, t = a[n]; {loop} b[n] = s;"
    carried = register_pressure(kernel(tmp_path, body + "b[1] = t;"))
    without = register_pressure(kernel(tmp_path, body))
    assert carried.live == without.live + 1
    assert carried.addresses == 4.0


def test_doubles_take_two_registers(tmp_path):
    body = "{0} p = 1, q = 2; *x = p * q;"
    single = register_pressure(kernel(tmp_path, body.replace("{0}", "float"), "float *x"))
    double = register_pressure(kernel(tmp_path, body.replace("{0}", "double"), "double *x"))
    assert double.has_doubles
    assert double.live > single.live


def test_parameters_that_are_only_read_are_free(tmp_path):
    few = register_pressure(kernel(tmp_path, "*x = p;", "float *x, float p"))
    many = register_pressure(
        kernel(tmp_path, "*x = p; *x += q; *x += r;", "float *x, float p, float q, float r")
    )
    assert few.live == many.live


def test_calls_and_launch_bounds(tmp_path):
    calling = kernel(tmp_path, 'printf("%d", n);')
    assert estimate_registers(kernel(tmp_path, "b[0] = 0;"), V100) < REGISTERS_OF_A_CALL
    assert estimate_registers(calling, V100) >= REGISTERS_OF_A_CALL
    assert estimate_registers(replace(calling, max_threads_per_block=1024, min_blocks_per_sm=4), V100) == 16
    assert estimate_registers(replace(calling, max_registers=24), V100) == 24


def test_a_thread_has_no_more_registers_than_the_gpu_gives_one(tmp_path):
    calling = kernel(tmp_path, 'printf("%d", n);')
    small = replace(load_gpu("gtx480"), max_registers_per_thread=20)
    assert estimate_registers(calling, small) == 20 < estimate_registers(calling, V100)
