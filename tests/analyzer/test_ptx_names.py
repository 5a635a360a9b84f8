"""Names of kernels and variables in PTX, from the mangled ones."""

from __future__ import annotations

import pytest

from wattslice.frontend.ptx.lowering import names
from wattslice.frontend.ptx.lowering.names import Names, demangled, variable_name


@pytest.mark.parametrize(
    ("mangled", "plain", "qualified"),
    [
        ("_Z5scalePfif", "scale", "scale"),
        ("_ZN1a1b4copyILi4EfEEvPT0_", "copy", "a::b::copy<4, float>"),
        ("_Z1kIPFvfEEvT_", "k", "k<void (*)(float)>"),
        ("_ZN32_GLOBAL__N__91f21765_3_k_cu_main1kEPfi", "k", "(anonymous namespace)::k"),
        ("_ZN12_GLOBAL__N_11kEPf", "k", "(anonymous namespace)::k"),
        ("plain_c", "plain_c", "plain_c"),
        ("_Z", "_Z", "_Z"),
        ("_Z9truncat", "_Z9truncat", "_Z9truncat"),
    ],
)
def test_names_are_those_of_the_source(mangled: str, plain: str, qualified: str):
    assert demangled(mangled) == Names(plain, qualified)


def test_a_name_too_long_to_read_stays():
    name = "_Z1kI" + "P" * 5000 + "fEvT_"
    assert demangled(name) == Names(name, name)


def test_variables_of_functions():
    assert variable_name("_ZZ6kernelPfE4tile") == "tile"
    assert variable_name("_ZN1n5tableE") == "table"
    assert variable_name("tile") == "tile"


def test_without_a_library_the_mangled_name_stays(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(names, "_library", lambda: None)
    assert demangled("_Z5scalePfif") == Names("_Z5scalePfif", "_Z5scalePfif")
