"""SWC files: written here by hand, and real neurons where they are at hand."""

import os
from pathlib import Path

import pytest

from myosotis.errors import TreeError
from myosotis.tree import Tree

DATA = Path(os.environ.get("MYOSOTIS_DATA") or Path(__file__).resolve().parents[3] / "shared/data")
NEURONS = sorted((DATA / "neurons").glob("*.swc"))


def swc_file(folder: Path, *lines: str) -> Path:
    path = folder / "cell.swc"
    path.write_text("\n".join(lines))
    return path


def test_identifiers_in_any_order_with_gaps(tmp_path: Path) -> None:
    path = swc_file(
        tmp_path,
        "# comment",
        "  # indented comment",
        "40 3 1.5 -2e3 0 0.1 7",
        "",
        "7 1 0 0 0 5.0 -1",
        "8 3 0 0 0 1 40 extra columns",
        " 9\t3 0 0 0 1 40",
        "1 1 0 0 0 5.0 -1",
    )
    tree = Tree.from_swc(path)
    assert tree == Tree([1, -1, 0, 0, -1])
    assert Tree.from_swc(str(path)) == tree


def test_line_ends_and_encodings_of_other_systems(tmp_path: Path) -> None:
    path = tmp_path / "cell.swc"
    path.write_bytes(b"# \xb5m\r\n1 1 0 0 0 1 -1\r\n2 3 0 0 0 1 1\r\n")
    assert Tree.from_swc(path).parent.tolist() == [1, -1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("2 3 0 0 0 1", r"cell\.swc, line 3: expected 7 columns .*, got 6"),
        ("2 3 0 zero 0 1 1", r"cell\.swc, line 3: not a number .*'zero'"),
        ("two 3 0 0 0 1 1", r"cell\.swc, line 3: not a number .*'two'"),
        ("2 3 0 0 0 1 1.5", r"cell\.swc, line 3: not a number .*'1\.5'"),
        ("1 3 0 0 0 1 1", r"cell\.swc, line 3: id 1 was used before"),
        ("2 3 0 0 0 1 5", r"cell\.swc, line 3: no sample has the parent's id 5"),
        ("2 3 0 0 0 1 -2", r"cell\.swc, line 3: no sample has the parent's id -2"),
        ("-3 3 0 0 0 1 1", r"cell\.swc, line 3: id -3 is negative"),
        ("2 3 0 0 0 1 2", r"cell\.swc: node 1 is on a cycle"),
    ],
)
def test_errors_give_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    path = swc_file(tmp_path, "# comment", "1 1 0 0 0 1 -1", line)
    with pytest.raises(TreeError, match=message):
        Tree.from_swc(path)


def test_a_file_without_samples(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match=r"cell\.swc: parents is empty"):
        Tree.from_swc(swc_file(tmp_path, "# nothing"))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Tree.from_swc(tmp_path / "absent.swc")


@pytest.mark.skipif(not NEURONS, reason="no neurons/*.swc under MYOSOTIS_DATA or ../shared/data")
@pytest.mark.parametrize("path", NEURONS, ids=lambda path: path.stem)
def test_real_neurons(path: Path) -> None:
    lines = [line.split() for line in path.read_text().splitlines()]
    rows = [line for line in lines if line and not line[0].startswith("#")]
    tree = Tree.from_swc(path)
    assert tree.num_nodes == len(rows)
    assert tree.num_roots == sum(row[6] == "-1" for row in rows)
    named_by_file = [rows[index][6] for index in tree.input_index]
    identifier = [rows[index][0] for index in tree.input_index]
    assert named_by_file == ["-1" if above < 0 else identifier[above] for above in tree.parent]
