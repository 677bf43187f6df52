import gzip
import os
import shutil

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklofi.datasets import fetch_moleculenet
from sklofi.datasets._moleculenet import FOLDER, SIDER_TARGETS, SOURCES, TOX21_TARGETS

# The first lines of official files, as far as they matter: other columns, in other places.
OFFICIAL = {
    "ESOL": (
        "Compound ID,ESOL predicted log solubility in mols per litre,Minimum Degree,"
        "measured log solubility in mols per litre,smiles\n"
        "Amigdalin,-0.974,1,-0.77,OCC3OC(O)C\n"
        '"3,4-Other",-2.885,1,-3.3,Cc1occc1\n'
    ),
    "BBBP": "num,name,p_np,smiles\n1,Propanolol,1,[Cl].CC(C)N\n2,Other,0,C(=O)O\n",
    "BACE": "mol,CID,Class,Model,pIC50\nO1CC1,BACE_1,1,Train,9.15\nCCO,BACE_2,0,Test,8.0\n",
    "Tox21": ",".join((*TOX21_TARGETS, "mol_id", "smiles"))
    + "\n0,0,1,,,0,0,1,0,0,0,0,TOX3021,CCO\n1,0,1,1,1,0,0,1,0,0,0,1,TOX3022,CCN\n",
    "ClinTox": "smiles,FDA_APPROVED,CT_TOX\n*C(=O),1,0\n[C@@H],0,1\n",
    "SIDER": ",".join(f'"{name}"' for name in ("smiles", *SIDER_TARGETS))
    + f"\nCCO,{','.join('01' * 13)[:52]},1\n",
}


def write_official(folder, name):
    folder.mkdir(exist_ok=True)
    path = folder / SOURCES[name].file
    text = OFFICIAL[name].encode()
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    return path


@pytest.mark.filterwarnings("ignore:.*rows; .* were published")
def test_official_files_are_downloaded_once(server, tmp_path):
    home = tmp_path / "home"
    for name in OFFICIAL:
        path = write_official(server, name)
        with pytest.raises(OSError, match=rf"{name} is not in .*home; put {FOLDER}/{path.name}"):
            fetch_moleculenet(name, data_home=home, download_if_missing=False)
        first = fetch_moleculenet(name, data_home=home, verbose=False)
        path.unlink()
        second = fetch_moleculenet(name.lower(), data_home=home)
        assert first.data == second.data and first.name == second.name == name
        assert_array_equal(first.target, second.target)
    assert len(list((home / FOLDER).iterdir())) == len(OFFICIAL)


@pytest.fixture
def home(tmp_path):
    for name in OFFICIAL:
        write_official(tmp_path / FOLDER, name)
    return tmp_path


def test_smiles_and_targets_are_as_published(home):
    esol = fetch_moleculenet("ESOL", data_home=home)
    assert esol.data == ["OCC3OC(O)C", "Cc1occc1"]
    assert_array_equal(esol.target, [-0.77, -3.3])
    assert esol.target_names == ["measured log solubility in mols per litre"]
    smiles, y = fetch_moleculenet("BBBP", data_home=home, return_X_y=True)
    assert smiles == ["[Cl].CC(C)N", "C(=O)O"]
    assert y.tolist() == [1, 0] and y.dtype == np.int64
    clintox = fetch_moleculenet("ClinTox", data_home=home)
    assert clintox.target.tolist() == [[1, 0], [0, 1]]
    sider = fetch_moleculenet("SIDER", data_home=home)
    assert sider.target.tolist() == [[0, 1] * 13 + [1]]
    assert sider.target_names == list(SIDER_TARGETS)


def test_missing_targets_are_nan(home):
    tox = fetch_moleculenet("Tox21", data_home=home)
    assert tox.target.shape == (2, 12)
    assert_array_equal(np.isnan(tox.target[0]).nonzero()[0], [3, 4])
    assert tox.target_names == list(TOX21_TARGETS)
    whole = fetch_moleculenet("Tox21", target="NR-AR", data_home=home)
    assert whole.target.tolist() == [0, 1] and whole.target.dtype == np.int64
    assert whole.target_names == ["NR-AR"]


def test_targets_are_chosen_by_name(home):
    bace = fetch_moleculenet("BACE", data_home=home)
    assert bace.data == ["O1CC1", "CCO"]
    assert bace.target.tolist() == [1, 0] and bace.target_names == ["Class"]
    assert fetch_moleculenet("BACE", target="pIC50", data_home=home).target.tolist() == [9.15, 8]
    both = fetch_moleculenet("BACE", target=["pIC50", "Class"], data_home=home)
    assert both.target.tolist() == [[9.15, 1], [8, 0]]
    with pytest.raises(ValueError, match=r"bace.csv has no column 'IC50'\. Its columns are 'mol',"):
        fetch_moleculenet("BACE", target="IC50", data_home=home)


@pytest.mark.parametrize("folder", [".", FOLDER])
def test_plain_tables_are_read(tmp_path, folder, monkeypatch):
    (tmp_path / FOLDER).mkdir()
    (tmp_path / folder / "BBBP.csv").write_text("smiles,passes\nCCO,1\nC,0\n")
    (tmp_path / folder / "FreeSolv.csv").write_text("smiles,energy\nCCO,-5\nC,2\n")
    monkeypatch.setenv("SKLOFI_DATA", str(tmp_path))
    bbbp = fetch_moleculenet("bbbp")
    assert bbbp.data == ["CCO", "C"] and bbbp.target_names == ["passes"]
    assert bbbp.target.tolist() == [1, 0]
    assert fetch_moleculenet("FreeSolv").target.dtype == np.float64
    (tmp_path / folder / "BBBP.csv").write_text("smiles\nCCO\n")
    with pytest.raises(ValueError, match=r"BBBP.csv has no column of targets beside 'smiles'"):
        fetch_moleculenet("BBBP")


@pytest.mark.parametrize("name", ["QM9", "", "../ESOL", None])
def test_other_names_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match=r"name has to be one of ESOL, FreeSolv, .*, got"):
        fetch_moleculenet(name, data_home=tmp_path)


@pytest.mark.parametrize(
    "content, message",
    [
        (b"<html>Please log in.</html>", r"BBBP.csv has no column 'smiles'. Its columns are '<htm"),
        (b"", "BBBP.csv is empty"),
        (b"num,name,smiles\n1,x,C\n", "BBBP.csv has no column 'p_np'"),
        (b"p_np,smiles\nyes,C\n", "BBBP.csv, line 2, column 'p_np': 'yes' is not a number"),
        (b"p_np,smiles\n1,C,N\n", "BBBP.csv, line 2 has 3 cells, but the first line names 2"),
        (b"p_np,smiles\n1,\xff\n", "BBBP.csv, line 2 is not text in UTF-8"),
        (b'p_np,smiles\n1,"C\n', "BBBP.csv, line 2: unexpected end of data"),
    ],
)
def test_what_is_no_table_is_not_kept(server, tmp_path, content, message):
    (server / "BBBP.csv").write_bytes(content)
    with pytest.raises(ValueError, match=rf"as downloaded from \S+ cannot be used .*{message}"):
        fetch_moleculenet("BBBP", data_home=tmp_path / "home", verbose=False)
    assert list((tmp_path / "home" / FOLDER).iterdir()) == []


@pytest.mark.parametrize(
    "content", [b"smiles,FDA_APPROVED,CT_TOX\n", gzip.compress(b"x" * 99, mtime=0)[:20]]
)
def test_a_broken_gzip_is_not_kept(server, tmp_path, content):
    (server / "clintox.csv.gz").write_bytes(content)
    with pytest.raises(ValueError, match=r"clintox.csv.gz is not a whole gzip file"):
        fetch_moleculenet("ClinTox", data_home=tmp_path / "home", verbose=False)
    assert list((tmp_path / "home" / FOLDER).iterdir()) == []


def test_another_number_of_rows_is_said(server, tmp_path):
    write_official(server, "ESOL")
    with pytest.warns(UserWarning, match=r"ESOL as it .* has 2 rows; 1,128 were published\."):
        fetch_moleculenet("ESOL", data_home=tmp_path / "home", verbose=False)


def test_without_a_network_it_says_what_to_put_where(server, tmp_path):
    shutil.rmtree(server)
    with pytest.raises(OSError, match=r"SAMPL.csv could not be downloaded .* put the file SAMPL"):
        fetch_moleculenet("FreeSolv", data_home=tmp_path / "home", verbose=False)


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_tables_at_hand_have_the_published_rows(name):
    try:
        dataset = fetch_moleculenet(name, download_if_missing=False)
    except OSError:
        pytest.skip("needs the tables in the folder that SKLOFI_DATA names")
    assert "SKLOFI_DATA" in os.environ or dataset.name == name
    assert len(dataset.data) == SOURCES[name].n_rows
    assert dataset.target.reshape(len(dataset.data), -1).shape[1] == len(SOURCES[name].targets)
