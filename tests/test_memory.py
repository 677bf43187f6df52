from sklofi import _memory as memory


def test_the_limit_of_a_container_counts(monkeypatch, tmp_path):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "CONTAINER_LIMIT", limit)
    unlimited = memory.memory_size()
    limit.write_text("max\n")
    assert memory.memory_size() == unlimited
    limit.write_text("1000000\n")
    assert memory.memory_size() == 1e6
