"""A corpus of a dozen short tales, built in a moment with the fake embedder."""

import atexit
import functools
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from sitt_core import ingest
from sitt_core.chunking.chunks import VERSION, chunk
from sitt_core.configuration import configure
from sitt_core.ingest import Built, Recipe
from sitt_core.pipeline import Engine
from sitt_core.plan import plan_updates
from sitt_core.retrieval.keyword import SCORERS
from sitt_core.sources.markdown import read_markdown
from sitt_core.store.reading import Corpus, open_corpus
from sitt_core.types import Document, Embedder, Failure, Listing
from tests.fakes.embedder import HashEmbedder

NAME = "tales"
ORIGIN = "markdown:tales"

TALES = (
    (
        "lake",
        "aquatic",
        "Europe",
        "# The lake serpent\n\nA long neck rose from the cold lake at dawn.\n\n## Traps\n\nFishermen set traps of iron.",
    ),
    ("forest", "hominid", "Americas", "# The forest giant\n\nA hairy giant left footprints beside the river."),
    ("sky", "winged", "Americas", "# The sky bird\n\nA bird as wide as a barn crossed the evening sky."),
    ("moor", "canine", "Europe", "# The moor hound\n\nA black hound with burning eyes follows travellers on the moor."),
    ("desert", "reptile", "Africa", "# The desert worm\n\nA red worm spits acid from the sand."),
    ("harbour", "aquatic", "Asia", "# The harbour monk\n\nA fish with the face of a monk was caught in the harbour."),
    ("mine", "hominid", "Europe", "# The mine knockers\n\nLittle men knock on the walls of the tin mine before it falls."),
    ("bridge", "winged", "Americas", "# The bridge moth\n\nA grey man with wings and red eyes stood on the bridge."),
    ("ice", "hominid", "Asia", "# The ice man\n\nClimbers found footprints of a giant in the snow."),
    ("swamp", "reptile", "Africa", "# The swamp lizard\n\nA lizard the size of an elephant sinks canoes in the swamp."),
    ("orchard", "canine", "Europe", "# The orchard cat\n\nA black cat as large as a hound sleeps in the orchard."),
    ("island", "aquatic", "Oceania", "# The island eel\n\nAn eel guards the only spring of the island."),
)


def silent(_stage: str, _done: int, _total: int) -> None:
    """A report that nobody reads."""


def document(name: str, text: str, *, category: str = "", region: str = "", origin: str = ORIGIN) -> Document:
    """A document of Markdown with the given labels."""
    return replace(read_markdown(text.encode(), name=name, origin=origin), category=category, region=region)


def tales() -> list[Document]:
    """The dozen documents."""
    return [document(f"{name}.md", text, category=category, region=region) for name, category, region, text in TALES]


def listing(documents: Sequence[Document], *, failures: Sequence[Failure] = (), complete: bool = True, origin: str = ORIGIN) -> Listing:
    """What a source holds when it holds those documents."""
    return Listing(origin, tuple(replace(each, origin=origin) for each in documents), tuple(failures), complete)


def recipe(embedder: Embedder | None = None, **changes: object) -> Recipe:
    """A recipe of the default configuration with `changes`, whose names have __ for a dot."""
    configuration = configure({name.replace("__", "."): value for name, value in changes.items()})
    chosen = embedder or HashEmbedder()
    sentences = HashEmbedder(seed=1) if configuration.chunking_strategy == "semantic" else None
    cut = partial(chunk, configuration=configuration, embed=sentences.embed_passages if sentences else None)
    return Recipe(configuration, chosen, cut, str(VERSION), "english", sentences)


def update(
    store_dir: Path,
    found: Listing,
    made_from: Recipe,
    *,
    name: str = NAME,
    report: ingest.Report = silent,
    carry: Sequence[Recipe] = (),
    allow_removals: int = 1_000_000,
) -> Built:
    """Plans and publishes a listing, as the command line does, but with any number of removals."""
    folder = store_dir / name
    corpus = open_corpus(store_dir, name) if (folder / "CURRENT").exists() else None
    return ingest.apply_update(
        folder,
        corpus,
        plan_updates(corpus, [(found, found.origin)], allow_removals=allow_removals),
        recipe=made_from,
        report=report,
        carry=carry,
        allow_removals=allow_removals,
    )


@functools.cache
def _tales_published() -> Path:
    """A store with the tales, made once in this process: copying its files is far quicker than making them."""
    folder = Path(tempfile.mkdtemp(prefix="tales-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    update(folder, listing(tales()), recipe())
    return folder


def publish(store_dir: Path, documents: Sequence[Document] | None = None, *, made_from: Recipe | None = None, name: str = NAME) -> Corpus:
    """A corpus of those documents (default: the tales), published and opened."""
    if documents is None and made_from is None and not (store_dir / name).exists():
        shutil.copytree(_tales_published() / NAME, store_dir / name)
        return open_corpus(store_dir, name)
    update(store_dir, listing(tales() if documents is None else documents), made_from or recipe(), name=name)
    return open_corpus(store_dir, name)


def engine(corpus: Corpus, made_from: Recipe | None = None) -> Engine:
    """What build.py makes of a recipe: its configuration over the corpus's index."""
    chosen = made_from or recipe()
    index = corpus.index(chosen.configuration.index_key, fingerprint=chosen.fingerprint)
    embed = None if chosen.configuration.dense == "off" else chosen.embedder.embed_queries
    scorer = None if chosen.configuration.keyword == "off" else SCORERS[chosen.configuration.keyword](index.postings)
    return Engine(chosen.configuration, corpus, index, chosen.language, embed, scorer)
