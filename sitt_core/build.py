"""Settings + Configuration → the functions to run; the only module that names the concrete classes."""

import contextlib
import itertools
import os
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from sitt_core.chunking.chunks import VERSION, chunk
from sitt_core.configuration import MODELS, PROVIDER_KEYS, Configuration, applies, configure, require_retriever
from sitt_core.costs import Price, price_of
from sitt_core.embedding.hashing import HashEmbedder
from sitt_core.embedding.int8 import load_int8
from sitt_core.embedding.minilm import load_minilm
from sitt_core.embedding.st import PREFIX, load_st
from sitt_core.embedding.static import load_static
from sitt_core.errors import InvalidInput, KeyMissing, NotFound, shown
from sitt_core.ingest import Recipe, text_fingerprint
from sitt_core.pipeline import Engine
from sitt_core.providers.asking import RETRIES
from sitt_core.providers.claude import Claude
from sitt_core.providers.extractive import Extractive
from sitt_core.providers.openai_compatible import OpenAICompatible
from sitt_core.retrieval.keyword import SCORERS, Scorer
from sitt_core.retrieval.weights import rarity
from sitt_core.retrieval.words import LANGUAGES, tokenize, words_language
from sitt_core.settings import FIELD_GUIDE, Settings, load_settings, secret
from sitt_core.sources.beir import read_beir
from sitt_core.sources.markdown import FIELD_GUIDE as GUIDE_ATTRIBUTION
from sitt_core.sources.markdown import PATTERNS, SUFFIXES, read_folder
from sitt_core.sources.options import parse_options, split_options, written
from sitt_core.store.layout import check_corpus_name, current_generation
from sitt_core.store.reading import Corpus, Index, identity, open_corpus
from sitt_core.types import Document, Embedder, Listing, Provider, Report

if TYPE_CHECKING:
    from sitt_core.sources.fetch import Fetcher

EMBEDDERS: dict[str, Callable[..., Embedder]] = {
    "minilm": lambda *, overlong, models_dir: load_minilm(overlong=overlong),  # noqa: ARG005
    "minilm-int8": load_int8,
    "static-minilm": load_static,
    "hash": lambda *, overlong, models_dir: HashEmbedder(),  # noqa: ARG005
}
"""What makes each embedder from `overlong` and `models_dir`; `st:NAME` is `load_st` of that name."""
DEFAULT_LANGUAGE = "english"
LONG_WAIT = 2.0
"""A wait for a site above so many seconds is shown."""
LOOKED_AT = 20_000
"""So many files of a folder are looked at for one that can be read, before it is taken at its word."""
JUDGE_RETRIES = 6
"""A judge is asked again for longer than a reader would wait: .5, 1, 2, 4, 8 and 16 s, or as long as the service asks for."""


@dataclass(frozen=True, slots=True)
class JudgeModel:
    """Who judges: provider, model, its address where that is not the provider's own ("" else), the tokens of a verdict at most.

    `own` says that it is also who wrote some of the answers.
    """

    provider: str
    model: str
    address: str
    max_tokens: int
    price: Price | None
    own: bool


class Workshop:
    """What a process has open: corpora at their current generation, embedders, scorers. Safe from many threads."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._lock = threading.RLock()
        self._corpora: dict[str, Corpus] = {}
        self._embedders: dict[tuple[str, str], Embedder] = {}
        self._turns: dict[tuple[str, str], threading.Lock] = {}
        self._scorers: dict[tuple[int, str], tuple[Index, Scorer]] = {}

    def corpus(self, name: str) -> Corpus:
        """The corpus at the generation that CURRENT names now; raises InvalidInput, NotFound or StoreError."""
        folder = self.settings.store_dir / check_corpus_name(name)
        with self._lock:
            held = self._corpora.get(name)
            if held is None or held.identity != identity(folder, current_generation(folder)):
                # Whoever still reads the older generation keeps its object, and with it the files.
                held = self._corpora[name] = open_corpus(self.settings.store_dir, name)
                self._scorers.clear()
            return held

    def embedder(self, configuration: Configuration) -> Embedder:
        """The configuration's embedder, loaded once; raises ModelError."""
        key = (configuration.embedder, configuration.overlong)
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:  # its own: a model that takes long to make keeps nobody from the others
            if key not in self._embedders:
                self._embedders[key] = self._load(configuration.embedder, configuration.overlong)
            return self._embedders[key]

    def _load(self, name: str, overlong: str) -> Embedder:
        if name.startswith(PREFIX):
            return load_st(name, overlong=overlong)
        return EMBEDDERS[name](overlong=overlong, models_dir=self.settings.models_dir)

    def recipe(self, configuration: Configuration, *, language: str) -> Recipe:
        """What an index of that configuration is made from; raises ModelError or InvalidInput."""
        check_language(language)
        embed = self.embedder(configuration)
        sentences = self._sentence_embedder(configuration)
        cut = partial(chunk, configuration=configuration, embed=sentences.embed_passages if sentences else None)
        return Recipe(configuration, embed, cut, str(VERSION), language, sentences)

    def _sentence_embedder(self, configuration: Configuration) -> Embedder | None:
        """Whose vectors of sentences semantic chunking compares, whatever the index embedder; None for the other strategies."""
        if not applies("chunking.embedder", configuration):
            return None
        return self.embedder(configure({"embedder": configuration.chunking_embedder, "overlong": "windows"}))

    def engine(self, corpus: Corpus, configuration: Configuration) -> Engine:
        """The functions that search a corpus under a configuration.

        Raises InvalidInput, IndexMissing, FingerprintError, StoreError or ModelError.
        """
        require_retriever(configuration)
        language = language_of(corpus)
        words = words_language(language, configuration.keyword_stopwords)
        fingerprint = text_fingerprint(str(VERSION), words)
        if configuration.dense == "off":
            index = corpus.index(configuration.index_key, fingerprint=fingerprint)
            return Engine(configuration, corpus, index, words, None, self._scorer(index, configuration.keyword))
        # The model only once the index is known to be there: without one there is nothing to ask.
        corpus.index(configuration.index_key, fingerprint=fingerprint, graph=configuration.dense == "hnsw")
        recipe = self.recipe(configuration, language=language)
        index = corpus.index(configuration.index_key, fingerprint=recipe.fingerprint)
        scorer = None if configuration.keyword == "off" else self._scorer(index, configuration.keyword)
        return Engine(configuration, corpus, index, words, recipe.embedder.embed_queries, scorer)

    def provider(self, engine: Engine) -> Provider:
        """Who answers under the engine's configuration; raises InvalidInput or ModelError, and asks nobody anything."""
        configuration = engine.configuration
        name = configuration.answer_provider
        if name == "extractive":
            # Its own embedder, whatever the index's: its threshold was measured with this one.
            embedder = self.embedder(configure({"embedder": configuration.answer_model}))
            words = partial(tokenize, language=engine.language)
            return Extractive(embed=embedder.embed_passages, tokenize=words, weight=rarity(engine.index.postings))
        return self._model(name, configuration.answer_model, self.price(configuration), retries=RETRIES)

    def _model(self, name: str, model: str, price: Price | None, *, retries: int) -> Provider:
        """A provider's model, which nobody has asked anything yet; raises InvalidInput."""
        models = self.settings.models
        asked = {
            "model": model,
            "api_key": secret(PROVIDER_KEYS.get(name, "LLM_API_KEY")) if name != "ollama" else "",
            "base_url": models.base_urls.get(name),
            "connect_timeout": models.connect_timeout,
            "idle_timeout": models.idle_timeout,
            "max_tokens": models.max_tokens,
            "price": price,
            "retries": retries,
        }
        load_sdk(name)
        return Claude(**asked) if name == "claude" else OpenAICompatible(name=name, **asked)  # type: ignore[arg-type]

    def judge(self, generators: Collection[str]) -> JudgeModel | None:
        """Who judges answers that providers of these names wrote; None when there is nobody.

        JUDGE_PROVIDER, else the first provider with a key that wrote none of them, else the first with a key: whoever judges
        its own answers is kinder to them. Raises InvalidInput.
        """
        models, keys = self.settings.models, self.settings.keys_present
        with_key = [provider for provider, key in PROVIDER_KEYS.items() if key in keys]
        others = [provider for provider in with_key if provider not in generators]
        name = models.judge_provider or next(iter([*others, *with_key]), "")
        if not name:
            return None
        model = models.judge_model or MODELS[name]
        price = price_of(name, model, input_price=models.judge_price_input, output_price=models.judge_price_output, variables="JUDGE_PRICE")
        return JudgeModel(name, model, models.base_urls.get(name, ""), models.max_tokens, price, name in generators)

    def require_key(self, judge: JudgeModel) -> None:
        """Raises KeyMissing when the judge that JUDGE_PROVIDER names needs a key and there is none."""
        key = PROVIDER_KEYS.get(judge.provider, "")
        if key and key not in self.settings.keys_present:
            raise KeyMissing(
                expected=f"a key for {judge.provider}, which JUDGE_PROVIDER names",
                got=f"none: {key} is not set",
                remedy=f"Set {key} in .env or the environment, or name another JUDGE_PROVIDER.",
            )

    def judging(self, judge: JudgeModel) -> Provider:
        """The judge's model, more patient than one that a reader waits for."""
        return self._model(judge.provider, judge.model, judge.price, retries=JUDGE_RETRIES)

    def price(self, configuration: Configuration) -> Price | None:
        """What the configuration's model charges; LLM_PRICE_INPUT and LLM_PRICE_OUTPUT are of the default provider's model alone."""
        asked, models, defaults = (configuration.answer_provider, configuration.answer_model), self.settings.models, self.settings.defaults
        if asked == (defaults.answer_provider, defaults.answer_model):
            return price_of(*asked, input_price=models.price_input, output_price=models.price_output)
        return price_of(*asked)

    def _scorer(self, index: Index, keyword: str) -> Scorer:
        key = (id(index), keyword)
        with self._lock:
            if key not in self._scorers:
                self._scorers[key] = (index, SCORERS[keyword](index.postings))
            return self._scorers[key][1]


def load_sdk(provider: str) -> None:
    """Imports the client library of a provider: later, while its answer is awaited, that would count as its silence."""
    if provider != "extractive":
        import_module("anthropic" if provider == "claude" else "openai")


def language_of(corpus: Corpus | None) -> str:
    """The language of a corpus; the default one where there is none yet."""
    return corpus.meta.get("language", DEFAULT_LANGUAGE) if corpus else DEFAULT_LANGUAGE


def check_language(language: str) -> str:
    """The language as it is; raises InvalidInput naming those there are."""
    if language not in LANGUAGES:
        raise InvalidInput(
            expected=f"a language: {', '.join(LANGUAGES)}", got=shown(language), remedy="Choose one of them; none means no stemming."
        )
    return language


SOURCES = (
    "field-guide",
    "markdown:PATH",
    "beir:PATH",
    "wikipedia:list=NAME",
    "wikipedia:titles=A|B",
    "sitemap:URL",
    "github:USER",
)
"""How each kind of source is named."""


def _nobody(stage: str, done: int, total: int) -> None:
    """Takes the progress of whoever is not asked for it."""


def read_source(
    spec: str, corpus: Corpus | None = None, *, settings: Settings | None = None, report: Report = _nobody
) -> tuple[Listing, str]:
    """What a source holds now, and the place to read it from again; `SOURCES` says how `spec` names one.

    What has not changed since it became a document of `corpus` is not parsed, or fetched, again. `report` is told how far
    the reading of a source on the network is. Raises InvalidInput or SourceError.
    """
    stored = corpus.all_documents() if corpus else ()
    if spec == "field-guide":
        return read_folder(FIELD_GUIDE, origin=spec, attribution=GUIDE_ATTRIBUTION, stored=stored), spec
    kind, _, place = spec.partition(":")
    if kind == "markdown" and place:
        return _from_markdown(place, stored)
    if kind == "beir" and place:
        folder = _folder(place)
        return read_beir(folder, origin=f"beir:{folder.name}", stored=stored), f"beir:{folder}"
    if kind == "wikipedia":
        return _from_wikipedia(place, settings or load_settings(), stored, report)
    if kind == "sitemap":
        return _from_sitemap(place, settings or load_settings(), stored, report)
    if kind == "github":
        return _from_github(place, settings or load_settings(), stored, report)
    raise _no_source(spec)


def check_source(spec: str, settings: Settings) -> None:
    """Raises InvalidInput for a source that cannot be read as it is named, or before something is set; nothing is asked of the network."""
    kind, _, place = spec.partition(":")
    if kind == "wikipedia":
        from sitt_core.sources.fetch import require_contact
        from sitt_core.sources.wikipedia import parse_wanted

        parse_wanted(place)
        require_contact(settings.sources.contact)
    elif kind == "sitemap":
        from sitt_core.sources.sitemap import parse_place

        parse_place(place)
    elif kind == "github":
        from sitt_core.sources.github import parse_account

        parse_account(place)
    elif kind == "markdown" and place:
        path, text = (place, "") if _is_folder(place) else split_options(place, known=PATTERNS)
        parse_options(text, of="a folder", known=PATTERNS)
        _require_file(path, SUFFIXES, "a Markdown file in it")
    elif kind == "beir" and place:
        _require_file(place, ("corpus.jsonl",), "corpus.jsonl in it")
    elif spec != "field-guide":
        raise _no_source(spec)


def _require_file(place: str, endings: tuple[str, ...], what: str) -> None:
    """Raises InvalidInput for what is no folder, or one without a file of such a name; a very large one is taken at its word."""
    folder = _folder(place)
    if not folder.is_dir():
        raise InvalidInput(expected="the path of a folder", got=shown(str(folder)), remedy="Check the path: it is one on this machine.")
    names = (name for _, _, files in os.walk(folder) for name in files)
    looked = 0
    for name in itertools.islice(names, LOOKED_AT):
        looked += 1
        if name.lower().endswith(endings):
            return
    if looked < LOOKED_AT:
        raise InvalidInput(expected=f"a folder with {what}", got=f"none in {shown(str(folder))}", remedy="Choose another folder.")


def _no_source(spec: str) -> InvalidInput:
    return InvalidInput(expected=f"a source: {', '.join(SOURCES)}", got=shown(spec), remedy="Name a folder, such as markdown:~/notes.")


def _from_markdown(place: str, stored: Sequence[Document]) -> tuple[Listing, str]:
    path, text = (place, "") if _is_folder(place) else split_options(place, known=PATTERNS)
    options = parse_options(text, of="a folder", known=PATTERNS)
    folder = _folder(path)
    listing = read_folder(
        folder,
        origin=f"markdown:{folder.name}",
        stored=stored,
        include=options.get("include", ()),
        exclude=options.get("exclude", ()),
    )
    return listing, f"markdown:{folder}{written(options)}"


def _from_wikipedia(place: str, settings: Settings, stored: Sequence[Document], report: Report) -> tuple[Listing, str]:
    from sitt_core.sources.fetch import require_contact
    from sitt_core.sources.wikipedia import parse_wanted, read_wikipedia

    wanted = parse_wanted(place)
    require_contact(settings.sources.contact)
    with _fetcher(settings, report) as fetcher:
        listing = read_wikipedia(wanted, fetcher=fetcher, base_url=settings.sources.wikipedia_url, stored=stored, report=report)
    return listing, wanted.place


def _from_sitemap(text: str, settings: Settings, stored: Sequence[Document], report: Report) -> tuple[Listing, str]:
    from sitt_core.sources.sitemap import parse_place, read_sitemap

    place = parse_place(text)
    with _fetcher(settings, report) as fetcher:
        return read_sitemap(place, fetcher=fetcher, stored=stored, report=report), f"sitemap:{text.strip()}"


def _from_github(text: str, settings: Settings, stored: Sequence[Document], report: Report) -> tuple[Listing, str]:
    from sitt_core.sources.github import parse_account, read_github

    account = parse_account(text)
    token = secret("GITHUB_TOKEN")
    with _fetcher(settings, report) as fetcher:
        listing = read_github(
            account,
            fetcher=fetcher,
            token=token,
            api_url=settings.sources.github_url,
            stored=stored,
            sleep=partial(_wait, report=report),
            report=report,
        )
    return listing, f"github:{text.strip()}"


def _fetcher(settings: Settings, report: Report) -> "Fetcher":
    """The one door to the network for a source, as the settings want it; a long wait is told, and can be stopped by `report`."""
    from sitt_core.sources.fetch import Fetcher, user_agent

    asked = settings.sources
    return Fetcher(
        user_agent=user_agent(asked.contact),
        cache_dir=settings.fetched_dir,
        interval=asked.interval,
        allow_private=asked.allow_private,
        sleep=partial(_wait, report=report),
        report=lambda message: report(message, 0, 1),
    )


KEPT_DAYS = 180
"""A reply of a site that no source has used for so many days is not kept."""


def fetched_size(settings: Settings) -> tuple[int, int]:
    """How many replies of sites are kept, and the bytes that they take."""
    from sitt_core.sources import fetch

    return fetch.fetched_size(settings.fetched_dir)


def prune_fetched(settings: Settings) -> None:
    """Removes the replies of sites that no source has used for `KEPT_DAYS`; one that cannot be removed now stays."""
    if settings.fetched_dir.is_dir():
        from sitt_core.sources import fetch

        with contextlib.suppress(OSError):
            fetch.prune_fetched(settings.fetched_dir, older_than=timedelta(days=KEPT_DAYS))


def _wait(seconds: float, *, report: Report) -> None:
    """Sleeps; above the usual pace it says every second how far the wait is, so that whoever wants to stop need not wait too."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if seconds > LONG_WAIT:
            report("waiting for the site", int(seconds - left), int(seconds))
        time.sleep(min(left, 1.0))


def _is_folder(place: str) -> bool:
    """Whether a place is a folder as it stands, question marks and all."""
    try:
        return Path(place).expanduser().is_dir()
    except (OSError, RuntimeError, ValueError):
        return False


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
