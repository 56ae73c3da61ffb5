"""One hybrid search over the field guide against one SentenceTransformer.encode of a question, interleaved in one run.

python -m benchmarks.search
"""

import itertools
import statistics
import tempfile
import time
from dataclasses import replace
from importlib import resources
from pathlib import Path

from sitt_core import build, ingest
from sitt_core.embedding.minilm import PACKAGE
from sitt_core.pipeline import search
from sitt_core.plan import plan_updates
from sitt_core.settings import load_settings
from sitt_core.store.reading import open_corpus

ROUNDS = 60
TARGET = 0.75
QUESTIONS = (
    "Which lake monster is said to live in Manitoba?",
    "creature with glowing red eyes near a power plant",
    "Who filmed a large hairy figure at Bluff Creek in 1967?",
    "livestock found drained of blood",
    "Which entries may be an escaped or surviving big cat?",
    "serpent seen from a ship in a New England harbour",
)


def milliseconds(action: object, question: str) -> float:
    """How long one call took."""
    started = time.perf_counter()
    action(question)  # type: ignore[operator]
    return (time.perf_counter() - started) * 1000


def silent(_stage: str, _done: int, _total: int) -> None:
    """A report function that says nothing."""


def main() -> None:
    """Builds the default index in a temporary folder, then asks in turn."""
    from sentence_transformers import SentenceTransformer

    with tempfile.TemporaryDirectory() as folder:
        workshop = build.Workshop(replace(load_settings({}), data_dir=Path(folder)))
        listing, place = build.read_source("field-guide")
        recipe = workshop.recipe(workshop.settings.defaults, language="english")
        corpus_dir = workshop.settings.store_dir / "field-guide"
        ingest.apply_update(corpus_dir, None, plan_updates(None, [(listing, place)]), recipe=recipe, report=silent)
        engine = workshop.engine(open_corpus(workshop.settings.store_dir, "field-guide"), workshop.settings.defaults)
        model = SentenceTransformer(str(resources.files(PACKAGE) / "model"))
        ours, reference = [], []
        for question, _ in zip(itertools.cycle(QUESTIONS), range(ROUNDS + 6), strict=False):
            reference.append(milliseconds(lambda text: model.encode(text, show_progress_bar=False), question))
            ours.append(milliseconds(lambda text: search(text, engine), question))
        # The first six warm both up.
        p50, p50_reference = statistics.median(ours[6:]), statistics.median(reference[6:])
        print(f"hybrid search, {len(engine.index.chunk_ids)} chunks, question embedded: p50 {p50:.1f} ms")
        print(f"SentenceTransformer.encode of the question alone:         p50 {p50_reference:.1f} ms")
        print(f"ratio {p50 / p50_reference:.2f} (target: at most {TARGET})")


if __name__ == "__main__":
    main()
