"""OpenMP in host code: how often the threads of a region launch, and what they leave in variables.

The truths are those of programs that g++ -fopenmp compiled.
"""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from wattslice.analysis import LaunchSource

from .geometry import launches

HEAD = """
#include <omp.h>
__global__ void k(int n) {}
const int TEAM = 5;
"""

TEAMS = [
    ("#pragma omp parallel num_threads(2)\nk<<<1, 32>>>(7);", 2, 7),
    ("const int g = 4;\n#pragma omp parallel num_threads(g)\n{\nk<<<1, 32>>>(7);\n}", 4, 7),
    ("int g = 2; g++;\n#pragma omp parallel num_threads(g)\nk<<<1, 32>>>(7);", 3, 7),
    ("#pragma omp parallel num_threads(TEAM)\nk<<<1, 32>>>(7);", 5, 7),
    ("omp_set_num_threads(3);\n#pragma omp parallel\nk<<<1, 32>>>(omp_get_max_threads());", 3, 3),
    ("#pragma omp parallel \\\n  num_threads(2) \\\n  default(shared)\nk<<<1, 32>>>(7);", 2, 7),
    ("#pragma omp parallel num_threads(2)\n#pragma omp critical\nk<<<1, 32>>>(7);", 2, 7),
    ("#pragma omp parallel num_threads(2)\n{\n#pragma omp parallel num_threads(3)\nk<<<1, 32>>>(7);\n}", 2, 7),
    ("omp_set_max_active_levels(2);\n#pragma omp parallel num_threads(2)\n{\n"
     "#pragma omp parallel num_threads(3)\nk<<<1, 32>>>(7);\n}", None, 7),
    ("#pragma omp parallel\nk<<<1, 32>>>(7);", None, 7),
    ("#pragma omp parallel num_threads(2 * TEAM)\nk<<<1, 32>>>(7);", None, 7),
    ("#pragma omp parallel num_threads(2) if(TEAM > 9)\nk<<<1, 32>>>(7);", None, 7),
    ("#pragma omp parallel for num_threads(2)\nfor (int i = 0; i < 6; i++) k<<<1, 32>>>(7);", 6, 7),
    ("#pragma omp parallel num_threads(2)\n{\n#pragma omp for\nfor (int i = 0; i < 6; i++) k<<<1, 32>>>(7);\n}",
     6, 7),
    ("#pragma omp parallel num_threads(2)\n{\n#pragma omp single\nk<<<1, 32>>>(7);\n}", 1, 7),
    ("#pragma omp parallel num_threads(2)\n{\n#pragma omp master\n{\nk<<<1, 32>>>(7);\n}\n}", 1, 7),
    ("#pragma omp parallel sections num_threads(2)\n{\n#pragma omp section\nk<<<1, 32>>>(7);\n}", 1, 7),
    ("int m = 0;\n#pragma omp parallel num_threads(2)\n{\n#pragma omp atomic\nm += 5;\n}\nk<<<1, 32>>>(m);", 1, 10),
    ("int m = 0;\n#pragma omp parallel\n{\n#pragma omp atomic\nm += 5;\n}\nk<<<1, 32>>>(m);", 1, None),
    ("int s = 0;\n#pragma omp parallel for reduction(+:s)\nfor (int i = 0; i < 4; i++) s += i;\nk<<<1, 32>>>(s);",
     1, 6),
    ("int p = 7;\n#pragma omp parallel for firstprivate(p)\nfor (int i = 0; i < 4; i++) p += i;\nk<<<1, 32>>>(p);",
     1, 7),
    ("int p = 7;\n#pragma omp parallel num_threads(2) firstprivate(p)\n{\np++; k<<<1, 32>>>(p);\n}", 2, 8),
    ("int p = 7;\n#pragma omp parallel for num_threads(2) firstprivate(p)\nfor (int i = 0; i < 4; i++) {\np++; "
     "k<<<1, 32>>>(p);\n}", 4, None),
    ("int z = 3, y = 4;\n#pragma omp parallel num_threads(2) private(y, z)\n{\nz = 9; y = 1;\n}\n"
     "k<<<1, 32>>>(10 * z + y);", 1, 34),
    ("int z = 3;\n#pragma omp parallel num_threads(2) private(z)\n{\nz++; k<<<1, 32>>>(z);\n}", 2, None),
    ("int q = 0;\n#pragma omp parallel for lastprivate(q)\nfor (int i = 0; i < 4; i++) q = 2 * i;\nk<<<1, 32>>>(q);",
     1, 6),
    ("#pragma unroll\nfor (int i = 0; i < 3; i++) k<<<1, 32>>>(7);", 3, 7),
]  # fmt: skip


@pytest.mark.parametrize(("code", "times", "value"), TEAMS, ids=[code for code, _, _ in TEAMS])
def test_what_a_team_of_threads_does(tmp_path, code, times, value) -> None:
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{\n{code}\n}}")
    assert (launch.times, launch.arguments) == (times, (value,))
    assert launch.source is LaunchSource.HOST_CODE


def test_a_region_in_which_a_name_could_not_be_read_is_kept(tmp_path) -> None:
    head = "#include <string>\nusing namespace std;\ntemplate <class T> std::string to_string(const T &n) { return {}; }\n"
    code = "#pragma omp parallel num_threads(2)\n{ int i = 3; std::string a; use((a + to_string(i)).c_str()); k<<<1, 32>>>(7); }"
    (launch,) = launches(tmp_path, f"{HEAD}{head}void use(const char *);\nint main() {{\n{code}\n}}")
    assert (launch.times, launch.arguments) == (2, (7,))
