"""A bare machine gets every package that a piece imports."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "tools" / "campaign"
IMPORTED = """
import sys
import wattslice_tools.campaign.__main__, wattslice_tools.campaign.piece, wattslice_tools.campaign.planned
print(*{name.partition(".")[0] for name, module in sys.modules.items()
        if "site-packages" in (getattr(module, "__file__", None) or "")})
"""


def test_what_a_piece_imports_travels() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True)
    (probe,) = (line for line in SCRIPT.read_text().splitlines() if "-c 'import " in line)
    tried = set(probe.partition("import ")[2].partition("'")[0].split(", "))
    assert (
        set(done.stdout.split()) & {"msgspec", "numpy", "pywt", "pynvml", "scipy", "click", "rich"} <= tried
    )
    assert "msgspec" in done.stdout
    (packed,) = (line for line in SCRIPT.read_text().splitlines() if line.startswith("packages=("))
    packages = {"msgspec": "msgspec", "numpy": "numpy", "pywt": "PyWavelets", "pynvml": "nvidia-ml-py"}
    assert {packages[name] for name in tried} == set(packed.partition("(")[2].rstrip(")").split())
