"""Why words come before masks inside sklofi.fast: softmax along one axis or the other.

python -m benchmarks.bench_softmax

A layer assigns every node to the words of every mask. With the words as the last axis, which
is short, torch's softmax leaves the registers of processors with AVX-512 half empty and falls
back to a slow way. Medians, both orders in turn, one thread.
"""

import json
from pathlib import Path

import torch

from benchmarks.timing import take_turns, timed

RESULTS = Path(__file__).parent / "results" / "softmax.json"
N_NODES = 4000
SHAPES = [(16, 8), (16, 16), (32, 8), (32, 32), (8, 8), (4, 6)]  # masks, words


def both(n_masks, n_words, *, backward):
    """Seconds with words last and with masks last."""
    runners = {}
    for name, shape, axis in [
        ("words last", (N_NODES, n_masks, n_words), 2),
        ("masks last", (N_NODES, n_words, n_masks), 1),
    ]:
        x = torch.randn(shape)
        if backward:
            arguments = torch.randn(shape), torch.softmax(x, axis), axis, x.dtype
            runners[name] = lambda a=arguments: timed(torch._softmax_backward_data, *a)
        else:
            runners[name] = lambda x=x, axis=axis: timed(torch.softmax, x, axis)
    return take_turns(runners, n_rounds=30, seconds=5)


def main():
    torch.set_num_threads(1)
    results = {"processor": torch.backends.cpu.get_cpu_capability()}
    print(results["processor"])
    for n_masks, n_words in SHAPES:
        for backward in (False, True):
            name = f"{n_masks} masks, {n_words} words, {'backward' if backward else 'forward'}"
            row = results[name] = both(n_masks, n_words, backward=backward)
            ratio = row["words last"] / row["masks last"]
            print(f"{name:<30} {ratio:5.1f} times as fast with masks last")
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
