"""How long 100,000 SMILES take to become a GraphSet: RDKit's parsing, and the rest.

SKLOFI_DATA=folder/with/zips python -m benchmarks.bench_reading [--n 100000] [--rounds 1]

The molecules are those of ZINC-12k (ZINC-12k.zip) and of MoleculeNet (moleculenet/*.csv), each
repeated. Blocks of molecules are parsed by RDKit alone and read by GraphSet.from_molecules in turn,
so that a busy machine slows down both. Times are CPU seconds of the process, and the ratio is the
median over blocks.
"""

import argparse
import json
import os
import time
import zipfile
from pathlib import Path

import numpy as np

from sklofi import GraphSet

RESULTS = Path(__file__).parent / "results" / "reading.json"
BLOCK = 2048


def load_zinc() -> list[str]:
    path = Path(os.environ["SKLOFI_DATA"]) / "ZINC-12k.zip"
    with zipfile.ZipFile(path) as archive:
        return archive.read("ZINC-12k/ZINC-12k_smiles.txt").decode().split()


def load_moleculenet() -> list[str]:
    import pandas as pd

    folder = Path(os.environ["SKLOFI_DATA"]) / "moleculenet"
    smiles = [text for path in sorted(folder.glob("*.csv")) for text in pd.read_csv(path)["smiles"]]
    missing = GraphSet.from_molecules(smiles, on_invalid="nan").missing
    return [text for text, is_missing in zip(smiles, missing, strict=True) if not is_missing]


def cpu_seconds(function, *args) -> float:
    start = time.process_time()
    function(*args)
    return time.process_time() - start


def parse(smiles: list[str]) -> None:
    from rdkit import Chem
    from rdkit.rdBase import BlockLogs

    with BlockLogs():
        for text in smiles:
            Chem.MolFromSmiles(text)


def measure(smiles: list[str], n_molecules: int, n_rounds: int) -> dict[str, float]:
    """Microseconds for a molecule: of RDKit's parsing, of all, and the median ratio of the rest."""
    smiles = (smiles * (n_molecules // len(smiles) + 1))[:n_molecules]
    blocks = [smiles[start : start + BLOCK] for start in range(0, n_molecules, BLOCK)]
    parse(blocks[0]), GraphSet.from_molecules(blocks[0])
    times = np.array(
        [
            (cpu_seconds(parse, block), cpu_seconds(GraphSet.from_molecules, block))
            for _ in range(n_rounds)
            for block in blocks
        ]
    )
    parsing, reading = times.T
    per_molecule = 1e6 / (n_molecules * n_rounds)
    return {
        "molecules": n_molecules,
        "parsing": round(float(parsing.sum()) * per_molecule, 1),
        "reading": round(float(reading.sum()) * per_molecule, 1),
        "ours by parsing": round(float(np.median((reading - parsing) / parsing)), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    results = {}
    for name, load in (("ZINC-12k", load_zinc), ("MoleculeNet", load_moleculenet)):
        results[name] = measure(load(), arguments.n, arguments.rounds)
        print(name, results[name], flush=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
