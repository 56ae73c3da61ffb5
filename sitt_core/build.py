"""Settings + Configuration → the functions to run; the only module that names the concrete classes."""

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sitt_core.chunking.chunks import VERSION, chunk
from sitt_core.configuration import Configuration, require_retriever
from sitt_core.embedding.minilm import load_minilm
from sitt_core.errors import InvalidInput, NotFound, shown
from sitt_core.ingest import Recipe, text_fingerprint
from sitt_core.pipeline import Engine
from sitt_core.retrieval.keyword import SCORERS, Scorer
from sitt_core.retrieval.words import LANGUAGES
from sitt_core.settings import FIELD_GUIDE, Settings
from sitt_core.sources.markdown import FIELD_GUIDE as GUIDE_ATTRIBUTION
from sitt_core.sources.markdown import read_folder
from sitt_core.store.layout import check_corpus_name, current_generation
from sitt_core.store.reading import Corpus, Index, open_corpus
from sitt_core.types import Embedder, Listing

EMBEDDERS: dict[str, Callable[..., Embedder]] = {"minilm": load_minilm}
DEFAULT_LANGUAGE = "english"


class Workshop:
    """What a process has open: corpora at their current generation, embedders, scorers. Safe from many threads."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._lock = threading.RLock()
        self._corpora: dict[str, Corpus] = {}
        self._embedders: dict[tuple[str, str], Embedder] = {}
        self._scorers: dict[tuple[int, str], tuple[Index, Scorer]] = {}

    def corpus(self, name: str) -> Corpus:
        """The corpus at the generation that CURRENT names now; raises InvalidInput, NotFound or StoreError."""
        folder = self.settings.store_dir / check_corpus_name(name)
        with self._lock:
            held = self._corpora.get(name)
            if held is None or held.generation != current_generation(folder):
                # Whoever still reads the older generation keeps its object, and with it the files.
                held = self._corpora[name] = open_corpus(self.settings.store_dir, name)
                self._scorers.clear()
            return held

    def embedder(self, configuration: Configuration) -> Embedder:
        """The configuration's embedder, loaded once; raises ModelError."""
        key = (configuration.embedder, configuration.overlong)
        with self._lock:
            if key not in self._embedders:
                self._embedders[key] = EMBEDDERS[configuration.embedder](overlong=configuration.overlong)
            return self._embedders[key]

    def recipe(self, configuration: Configuration, *, language: str) -> Recipe:
        """What an index of that configuration is made from; raises ModelError or InvalidInput."""
        check_language(language)
        embed = self.embedder(configuration)
        return Recipe(configuration, embed, partial(chunk, configuration=configuration), str(VERSION), language)

    def engine(self, corpus: Corpus, configuration: Configuration) -> Engine:
        """The functions that search a corpus under a configuration.

        Raises InvalidInput, IndexMissing, FingerprintError, StoreError or ModelError.
        """
        require_retriever(configuration)
        language = corpus.meta.get("language", DEFAULT_LANGUAGE)
        fingerprint = text_fingerprint(str(VERSION), language)
        if configuration.dense == "off":
            index = corpus.index(configuration.index_key, fingerprint=fingerprint)
            return Engine(configuration, corpus, index, language, None, self._scorer(index, configuration.keyword))
        # The model only once the index is known to be there: without one there is nothing to ask.
        corpus.index(configuration.index_key, fingerprint=fingerprint)
        recipe = self.recipe(configuration, language=language)
        index = corpus.index(configuration.index_key, fingerprint=recipe.fingerprint)
        scorer = None if configuration.keyword == "off" else self._scorer(index, configuration.keyword)
        return Engine(configuration, corpus, index, language, recipe.embedder.embed_queries, scorer)

    def _scorer(self, index: Index, keyword: str) -> Scorer:
        key = (id(index), keyword)
        with self._lock:
            if key not in self._scorers:
                self._scorers[key] = (index, SCORERS[keyword](index.postings))
            return self._scorers[key][1]


def check_language(language: str) -> str:
    """The language as it is; raises InvalidInput naming those there are."""
    if language not in LANGUAGES:
        raise InvalidInput(
            expected=f"a language: {', '.join(LANGUAGES)}", got=shown(language), remedy="Choose one of them; none means no stemming."
        )
    return language


def read_source(spec: str) -> tuple[Listing, str]:
    """What a source holds now, and the place to read it from again; `spec` is `field-guide` or `markdown:PATH`.

    Raises InvalidInput or SourceError.
    """
    if spec == "field-guide":
        return read_folder(FIELD_GUIDE, origin=spec, attribution=GUIDE_ATTRIBUTION), spec
    kind, _, place = spec.partition(":")
    if kind == "markdown" and place:
        folder = _folder(place)
        return read_folder(folder, origin=f"markdown:{folder.name}"), f"markdown:{folder}"
    raise InvalidInput(
        expected="a source: field-guide or markdown:PATH", got=shown(spec), remedy="Name a folder, such as markdown:~/notes."
    )


def _folder(place: str) -> Path:
    try:
        folder = Path(place).expanduser().resolve()
        str(folder).encode()  # it becomes part of the corpus, which holds Unicode
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, ~name of nobody, a NUL, bytes that are no text
        raise InvalidInput(
            expected="the path of a folder", got=shown(place), remedy="Check the path; rename a folder whose name is no Unicode."
        ) from error
    return folder


def corpus_or_none(workshop: Workshop, name: str) -> Corpus | None:
    """The corpus, or None when it has not been made yet; raises InvalidInput or StoreError."""
    try:
        return workshop.corpus(name)
    except NotFound:
        return None
