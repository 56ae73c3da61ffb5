from pathlib import Path

import pytest

from sitt_core.pipeline import search
from sitt_core.retrieval.contributions import Contribution, contributions
from sitt_core.store.reading import Corpus
from sitt_core.types import Chunk, Hit, Passage, Retrieval, Source, Stage, Trace
from tests.fakes import corpora


def passage(rank: int, id_: str, *twins: str) -> Passage:
    chunk = Chunk(id_, f"{id_}.md", 0, 1, "x", (), 1)
    return Passage(rank, chunk, id_, Source("", "", ""), Hit(id_, 1.0), 1, tuple(passage(rank, twin) for twin in twins))


def stage(name: str, *ids: str) -> Stage:
    return Stage(name, 0.0, 0.0, 9, tuple(Hit(id_, 1.0) for id_ in ids))


def result(passages: list[Passage], *stages: Stage) -> Retrieval:
    return Retrieval("?", tuple(passages), Trace(stages, 0.0))


def test_each_retriever_is_measured_against_what_is_shown() -> None:
    """What it alone would lack and what it would show instead, at the same K, best first."""
    shown = result([passage(1, "b"), passage(2, "a")], stage("dense", "a", "c", "b"), stage("keyword", "b", "d"), stage("fusion", "b", "a"))
    assert contributions(shown, 2) == (Contribution("dense", ("b",), ("c",)), Contribution("keyword", ("a",), ("d",)))


def test_agreement_contributes_nothing() -> None:
    """Retrievers that alone show the same passages have nothing missing and nothing instead."""
    shown = result([passage(1, "a"), passage(2, "b")], stage("dense", "b", "a"), stage("keyword", "a", "b"))
    assert contributions(shown, 2) == (Contribution("dense", (), ()), Contribution("keyword", (), ()))


def test_a_retriever_that_found_nothing_lacks_everything() -> None:
    """An empty ranking would show nothing."""
    shown = result([passage(1, "a")], stage("dense", "a"), stage("keyword"))
    assert contributions(shown, 5)[1] == Contribution("keyword", ("a",), ())


@pytest.mark.parametrize("stages", [(stage("dense", "a"),), (stage("keyword", "a"),), ()], ids=["dense", "keyword", "none"])
def test_one_retriever_alone_has_no_contributions(stages: tuple[Stage, ...]) -> None:
    """There is nothing to compare."""
    assert contributions(result([passage(1, "a")], *stages), 5) == ()


def test_a_twin_of_a_shown_passage_is_that_passage() -> None:
    """A retriever that ranks the same text in another document shows the same, and twins take one place."""
    shown = result([passage(1, "a", "b"), passage(2, "c")], stage("dense", "b", "a", "c"), stage("keyword", "a", "c"))
    assert contributions(shown, 2) == (Contribution("dense", (), ()), Contribution("keyword", (), ()))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder: Path = tmp_path_factory.mktemp("store")
    return corpora.publish(folder)


@pytest.mark.parametrize("question", ["a giant with red eyes", "hound", "the of", "monk of the cold lake"])
def test_contributions_are_what_a_search_with_one_retriever_shows(corpus: Corpus, question: str) -> None:
    """Turning the other retriever off gives the shown passages without the missing and with those instead."""
    hybrid = search(question, corpora.engine(corpus))
    shown = {each.chunk.id for each in hybrid.passages}
    for found, off in zip(contributions(hybrid, 5), ({"keyword": "off"}, {"dense": "off"}), strict=True):
        alone = {each.chunk.id for each in search(question, corpora.engine(corpus, corpora.recipe(**off))).passages}
        assert alone == (shown - set(found.missing)) | set(found.instead)
