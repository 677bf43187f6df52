import gzip
import math

import numpy as np
import pytest

from sklofi._tables import is_missing, numbers_of, read_table, to_number


def write(folder, text, name="table.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text, name",
    [
        ("a,b\n1,x\n2,\n", "table.csv"),
        ("\ufeffa,b\r\n1,x\r\n\r\n2\r\n", "table.csv"),  # as Excel writes it; a row that ends early
        ("a\tb\n1\tx\n2\t\n", "table.tsv"),
        ("a;b\n1;x\n2;\n", "table.csv"),
        ('"a"," b "\n"1","x"\n2,""', "table.csv"),
        (gzip.compress(b"a,b\n1,x\n2,\n", mtime=0), "table.csv.gz"),
    ],
)
def test_tables_are_read_as_they_are_written_everywhere(tmp_path, text, name):
    table = read_table(write(tmp_path, text, name))
    assert table.columns == ["a", "b"]
    assert table.rows == [["1", "x"], ["2", ""]]
    assert table.column("b") == ["x", ""]


def test_cells_may_have_commas_and_several_lines(tmp_path):
    table = read_table(write(tmp_path, 'a,b\n"1,2","x\ny"\n3,z\n'))
    assert table.rows == [["1,2", "x\ny"], ["3", "z"]]
    assert table.lines == [3, 4]  # on which rows end


@pytest.mark.parametrize(
    "text, message",
    [
        ("", r"table.csv is empty\. It should have a line with the names of columns"),
        ("a,b\n1,2,3\n", r"table.csv, line 2 has 3 cells, but the first line names 2 columns"),
        (b"a,b\n1,2\n\xff,2\n", r"table.csv, line 3 is not text in UTF-8"),
        ('a,b\n1,"x', r"table.csv, line 2: unexpected end of data"),
    ],
)
def test_what_is_no_table_is_refused_by_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_table(write(tmp_path, text))


def test_small_files_do_not_become_large_tables(tmp_path):
    """Rows that end early are filled up, and packed files unpacked, in proportion to the file."""
    wide = write(tmp_path, "a" + "," * 50_000 + "\n" + "1\n" * 50_000)  # 20 GB of empty cells
    with pytest.raises(ValueError, match=r"50,001 rows of 50,001 columns, of which most end early"):
        read_table(wide)
    text = b"a,b\n" + b"1,x\n" * 1_000_000
    packed = write(tmp_path, gzip.compress(text, mtime=0), "table.csv.gz")
    with pytest.raises(ValueError, match=r"^table.csv.gz has [\d,]+ bytes, but unpacked more than"):
        read_table(packed)
    assert len(read_table(write(tmp_path, text[:400_000])).rows) == 99_999
    # Both at once: many characters for each byte, and many cells for each character.
    noise = np.random.default_rng(0).integers(97, 123, 20_000, dtype=np.uint8).tobytes()
    text = b"a" + b"," * 62 + b"\n" + noise + b"\n" + b"1\n" * 100_000
    packed = write(tmp_path, gzip.compress(text, mtime=0), "table.csv.gz")
    with pytest.raises(ValueError, match=r"bytes, but 100,002 rows of 63 columns, of which most"):
        read_table(packed)


def test_columns_are_named_in_errors(tmp_path):
    table = read_table(write(tmp_path, "a,b,b\n1,2,3\n"))
    with pytest.raises(ValueError, match=r"no column 'c'\. Its columns are 'a', 'b', 'b'\.$"):
        table.column("c")
    with pytest.raises(ValueError, match=r"table.csv has 2 columns 'b'; rename all but one"):
        table.column("b")


def test_numbers_and_missing_cells(tmp_path):
    table = read_table(write(tmp_path, "a,b\n1e3,x\n,1\nNaN,2\n"))
    values = list(numbers_of(table, "a"))
    assert values[0] == 1000 and all(map(math.isnan, values[1:]))
    with pytest.raises(ValueError, match=r"table.csv, line 2, column 'b': 'x' is not a number\.$"):
        list(numbers_of(table, "b"))
    with pytest.raises(ValueError, match="'inf' is not a number"):
        to_number("inf")
    assert [is_missing(cell) for cell in (" ", "n/a", "None", "0")] == [True, True, True, False]
