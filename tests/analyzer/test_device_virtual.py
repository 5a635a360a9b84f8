"""Virtual calls in kernels: the class of the object decides, or nothing is said to be known."""

import pytest

from wattslice.counting.count import count
from wattslice.counting.profile import total_counts

from .geometry import launches

CLASSES = """
struct Base {
  __device__ virtual float g(float x) const { return x; }
  __device__ float twice(float x) const { return g(x) + g(x); }
};
struct Cube : Base { __device__ float g(float x) const override { return x * x * x; } };
struct Plain : Cube { };
struct Own { __device__ virtual Own *own(float *x) { *x = *x + *x; return this; } };
struct Narrow : Own {
  __device__ Narrow *own(float *x) noexcept override { *x = *x * *x * *x; return this; }
};
struct Pure { __device__ virtual float h(float x) const = 0; };
struct Only : Pure { __device__ float h(float x) const override; };
__device__ float Only::h(float x) const { return x * x * x; }
struct Holder { Cube cube; Base base; };
"""
CASES = [
    ("Cube d; Base &b = d; *o = b.g(*o);", 2.0),
    ("Cube d; Base *b = &d; *o = b->g(*o);", 2.0),
    ("Plain d; Base *b = &d; *o = b->g(*o);", 2.0),
    ("Cube d; *o = d.twice(*o);", 5.0),
    ("Cube d; *o = d.Base::g(*o);", 0.0),
    ("Base d; *o = d.g(*o);", 0.0),
    ("*o = q->h(*o);", 2.0),  # there is no other
    ("Narrow d; Own &b = d; b.own(o);", 2.0),
    ("Holder h; *o = h.cube.g(*o) + h.base.g(*o);", 3.0),
]


def _launch(folder, body: str):
    kernel = f"{CLASSES} __global__ void k(float *o, Base *p, Pure *q) {{ {body} }}\n"
    (found,) = launches(
        folder, f"{kernel}int main() {{ float *o; Base *p; Pure *q; k<<<1, 32>>>(o, p, q); }}"
    )
    return found


@pytest.mark.parametrize(("body", "expected"), CASES)
def test_the_function_of_the_objects_class_is_counted(tmp_path, body, expected):
    launch = _launch(tmp_path, body)
    assert not launch.kernel.holes
    assert total_counts(launch.kernel, count(launch)).fp32 == expected


def test_an_object_that_is_not_known_leaves_a_hole(tmp_path):
    (hole,) = _launch(tmp_path, "*o = p->g(*o);").kernel.holes
    assert "which function a virtual call runs" in hole.message
