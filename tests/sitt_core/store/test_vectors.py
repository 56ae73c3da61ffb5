import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.errors import StoreError
from sitt_core.store.vectors import VectorCache, text_key
from tests.fakes.embedder import HashEmbedder

ROOT = Path(__file__).parents[3]
DIMENSION = 8


def cache_in(folder: Path, *, fingerprint: str = "fake", dimension: int = DIMENSION) -> VectorCache:
    return VectorCache(folder, fingerprint=fingerprint, dimension=dimension)


def put(cache: VectorCache, texts: list[str]) -> np.ndarray:
    vectors = HashEmbedder(dimension=DIMENSION).embed_passages(texts)
    cache.append([text_key(text) for text in texts], vectors)
    return vectors


@given(batches=st.lists(st.lists(st.text(max_size=20), min_size=1, max_size=5), min_size=1, max_size=4))
def test_what_went_in_comes_out(tmp_path_factory: pytest.TempPathFactory, batches: list[list[str]]) -> None:
    """Every vector comes back bit for bit under its text, in the order asked, now and after a restart."""
    folder = tmp_path_factory.mktemp("cache")
    writing = cache_in(folder)
    expected = {}
    for batch in batches:
        expected.update(zip(batch, put(writing, batch), strict=True))
    writing.reload()
    texts = list(reversed(expected))
    for cache in (writing, cache_in(folder)):
        assert all(text_key(text) in cache for text in texts)
        assert np.array_equal(cache.get([text_key(text) for text in texts]), np.stack([expected[text] for text in texts]))


def test_nothing_is_there_before_it_was_written(tmp_path: Path) -> None:
    """A new cache holds nothing, makes no file until the first record, and sees others' records after reload."""
    cache = cache_in(tmp_path / "vectors")
    assert text_key("a") not in cache
    assert not (tmp_path / "vectors").exists()
    put(cache_in(tmp_path / "vectors"), ["a"])
    assert text_key("a") not in cache
    cache.reload()
    assert text_key("a") in cache


def test_a_text_is_its_own_key() -> None:
    """Different texts have different keys, lone surrogates among them."""
    texts = ["", "a", "A", "a ", "é", "e\u0301", "\ud800", "\udfff"]
    assert len({text_key(text) for text in texts}) == len(texts)


def test_a_record_cut_short_anywhere_is_passed_over_and_mended(tmp_path: Path) -> None:
    """A kill at any byte of the last record loses that record alone, and the next append is read back whole."""
    first = cache_in(tmp_path)
    put(first, ["one", "two"])
    data, size = first.path.read_bytes(), first.record.itemsize
    for kept in range(size, 2 * size):
        first.path.write_bytes(data[:kept])
        cache = cache_in(tmp_path)
        assert text_key("one") in cache
        assert text_key("two") not in cache
        vectors = put(cache, ["three"])
        cache.reload()
        assert text_key("one") in cache
        assert np.array_equal(cache.get([text_key("three")]), vectors)
        assert first.path.stat().st_size == 2 * size


@pytest.mark.parametrize("kept", range(0, 64, 7))
def test_a_first_record_cut_short_is_an_empty_cache(tmp_path: Path, kept: int) -> None:
    """A file shorter than a record holds nothing and can be written on."""
    cache = cache_in(tmp_path)
    put(cache, ["one"])
    cache.path.write_bytes(cache.path.read_bytes()[:kept])
    again = cache_in(tmp_path)
    assert text_key("one") not in again
    put(again, ["one"])
    again.reload()
    assert text_key("one") in again


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, 1.0, 1e30], ids=["NaN", "infinite", "zero", "too long", "overflowing"])
def test_a_vector_not_of_length_one_is_passed_over(tmp_path: Path, value: float) -> None:
    """Nonsense in the file is as good as nothing, and a sound record of the same text takes its place."""
    cache = cache_in(tmp_path)
    cache.append([text_key("a")], np.full((1, DIMENSION), value, np.float32))
    cache.reload()
    assert text_key("a") not in cache
    vectors = put(cache, ["a", "b"])
    cache.append([text_key("a")], np.full((1, DIMENSION), value, np.float32))
    cache.reload()
    assert np.array_equal(cache.get([text_key("a"), text_key("b")]), vectors)


APPENDING = """
import sys
from pathlib import Path
import numpy as np
from sitt_core.store.vectors import VectorCache, text_key
cache = VectorCache(Path(sys.argv[1]), fingerprint="wide", dimension=32768)
print("ready", flush=True)
sys.stdin.readline()
for number in range(40):
    vectors = np.zeros((4, 32768), np.float32)
    vectors[range(4), [4 * number + part for part in range(4)]] = 1
    cache.append([text_key(f"{sys.argv[2]} {number} {part}") for part in range(4)], vectors)
"""


def test_two_processes_that_append_at_once_lose_nothing(tmp_path: Path) -> None:
    """Every record of both is there and whole, though each append is large enough for the other to meet it half written."""
    names = ("left", "right")
    command = [sys.executable, "-c", APPENDING, str(tmp_path)]
    processes = [subprocess.Popen([*command, name], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for name in names]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=120)
        assert process.returncode == 0
    cache = cache_in(tmp_path, fingerprint="wide", dimension=32768)
    for name in names:
        for number in range(40):
            vectors = cache.get([text_key(f"{name} {number} {part}") for part in range(4)])
            assert vectors.argmax(axis=1).tolist() == [4 * number + part for part in range(4)]
            assert (vectors != 0).sum() == 4


def test_another_fingerprint_is_another_file(tmp_path: Path) -> None:
    """Vectors of one embedder are never met under another's name, of the same dimension or not."""
    put(cache_in(tmp_path), ["a"])
    for other in (cache_in(tmp_path, fingerprint="fake 2"), cache_in(tmp_path, fingerprint="fake 3", dimension=16)):
        assert text_key("a") not in other
        assert other.path != cache_in(tmp_path).path
    assert text_key("a") in cache_in(tmp_path)


def test_a_folder_that_cannot_be_written_is_a_named_error(tmp_path: Path) -> None:
    """A file in the way is a StoreError."""
    (tmp_path / "vectors").write_text("")
    with pytest.raises(StoreError, match="to write in vectors"):
        put(cache_in(tmp_path / "vectors"), ["a"])
