from hypothesis import given
from hypothesis import strategies as st

from wattslice.report.ci.places import line_hashes


def one_by_one(text: str) -> list[str]:
    """The same hash as the definition reads, character by character."""
    units: list[int] = []
    starts = [0]
    before = ""
    for sign in text:
        if sign in " \t" or (before == "\r" and sign == "\n"):
            before = ""
            continue
        before = sign
        raw = ("\n" if sign == "\r" else sign).encode("utf-16-le", "surrogatepass")
        units += [int.from_bytes(raw[at : at + 2], "little") for at in range(0, len(raw), 2)]
        if sign in "\r\n":
            starts.append(len(units))
    units += [65535, *[0] * 100]
    found: list[str] = []
    for start in starts:
        value = 0
        for unit in units[start : start + 100]:
            value = (37 * value + unit) % 2**64
        digits = f"{value:x}"
        found.append(f"{digits}:{1 + sum(other.split(':')[0] == digits for other in found)}")
    return found


def test_the_published_examples():
    """Values from the tests of github/codeql-action (src/fingerprints.test.ts)."""
    assert line_hashes("") == ["c129715d7a2bc9a3:1"]
    assert line_hashes(" a\nb\n  \t\tc\n d") == [
        "271789c17abda88f:1",
        "54703d4cd895b18:1",
        "180aee12dab6264:1",
        "a23a3dc5e078b07b:1",
    ]
    windows = line_hashes(" hello; \t\r\nworld!!!\r\n\r\n\r\n  \t\tGreetings\r\n End\r\n")
    assert windows[:2] == ["e9496ae3ebfced30:1", "fb7c023a8b9ccb3f:1"]
    assert line_hashes(" hello; \t\nworld!!!\n\n\n  \t\tGreetings\n End\n") == windows
    repeated = line_hashes("Lorem ipsum dolor sit amet.\n" * 10)
    assert repeated[5:7] == ["a7f2ff13bc495cf2:6", "a7f2ff1481e87703:1"]


@given(st.text(alphabet=st.one_of(st.sampled_from(" \t\r\nab"), st.characters()), max_size=300))
def test_any_text_hashes_as_defined(text: str):
    assert line_hashes(text) == one_by_one(text)
