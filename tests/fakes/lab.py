"""A golden set about the tales, with a corpus to ask, as the eval lab meets them."""

from dataclasses import replace
from pathlib import Path

import yaml

from evals.golden import GoldenSet, Question, Quote, question_entry
from evals.subject import Subject
from sitt_core.build import Workshop
from sitt_core.configuration import configure
from sitt_core.settings import Settings
from sitt_core.types import Document
from tests.fakes import corpora

EMBEDDER = {"embedder": "hash"}
BASE = configure(EMBEDDER)

GOLDEN = GoldenSet(
    "tales",
    (
        Question(
            "neck", "What rose from the cold lake?", "detail", grades={"lake.md": 1}, evidence=((Quote("lake.md", "A long neck rose"),),)
        ),
        Question(
            "prints",
            "Which giants left footprints?",
            "thematic",
            grades={"forest.md": 1, "ice.md": 1},
            evidence=((Quote("forest.md", "left footprints"), Quote("ice.md", "footprints of a giant")),),
        ),
        Question(
            "wings",
            "Who stood there with red eyes, and winged?",
            "detail",
            grades={"bridge.md": 1},
            evidence=((Quote("bridge.md", "wings and red eyes"),),),
        ),
        Question(
            "gone", "Who tamed the worm?", "detail", grades={"desert.md": 1}, evidence=((Quote("desert.md", "an update removed this"),),)
        ),
        Question("tax", "What is the tax on tin?", "unanswerable", about=("mine.md",)),
        Question("cake", "How long does a cake bake?", "unanswerable"),
        Question("hidden", "What sleeps in the orchard?", "detail", "sealed", {"orchard.md": 1}),
    ),
)
REFERENCES = {"neck": "A long neck rose from the cold lake at dawn. It was green.", "prints": "Giants did."}
ANSWERED = replace(GOLDEN, questions=tuple(replace(each, answer=REFERENCES.get(each.id, "")) for each in GOLDEN.questions))
"""The golden set with reference answers, half true, to two of its questions."""
OPEN = tuple(question for question in GOLDEN.questions if question.split == "open")


def workshop(data_dir: Path) -> Workshop:
    """A workshop over a data folder, whose default embedder is the fake one."""
    return Workshop(Settings(data_dir=data_dir, defaults=BASE))


def subject(data_dir: Path, golden: GoldenSet = GOLDEN, documents: list[Document] | None = None) -> tuple[Workshop, Subject]:
    """The tales (or other documents) with the index of the fake embedder, and the golden set that asks them."""
    made = workshop(data_dir)
    recipe = made.recipe(BASE, language="english")
    listing = corpora.listing(corpora.tales() if documents is None else documents)
    corpora.update(made.settings.store_dir, replace(listing, origin=corpora.ORIGIN), recipe)
    return made, Subject(made.corpus(corpora.NAME), golden, "tales.yaml")


def on_disk(subject: Subject, folder: Path) -> Subject:
    """The subject with its golden set in a file, so that another process can open it."""
    path = folder / "golden.yaml"
    entries = [question_entry(question) | {"split": question.split} for question in subject.golden.questions]
    path.write_text(yaml.safe_dump(entries, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return replace(subject, place=str(path))
