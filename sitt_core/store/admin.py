"""What is done to a corpus as a whole: roll back, rename, delete, purge; each under its write lock."""

import contextlib
import os
import shutil
import uuid
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sitt_core.errors import InvalidInput, NotFound, SittError, shown
from sitt_core.store.layout import (
    CORPUS_FILE,
    UPDATE_LOCK,
    check_corpus_name,
    corpus_names,
    current_generation,
    generations,
    index_files,
    new_generation,
    replace_text,
    require_idle,
    storage_errors,
    sync,
    write_lock,
)
from sitt_core.store.reading import Corpus
from sitt_core.store.vectors import cache_name
from sitt_core.store.writing import write_corpus


@dataclass(frozen=True, slots=True)
class GenerationInfo:
    """One kept generation; `problem` says why it cannot be read, and then the counts are 0."""

    name: str
    current: bool
    published_at: str
    documents: int
    retired: int
    size: int
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Purge:
    """What a purge would really remove: retired documents, generations that are not served, vectors of no index, leftovers.

    `size` is about how many bytes that frees; exact unless documents are among it. `before` is when all of that was left, if
    it was asked for.
    """

    retired: tuple[str, ...]
    generations: tuple[str, ...]
    caches: tuple[str, ...]
    leftovers: tuple[str, ...]
    size: int
    before: datetime | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to remove."""
        return not (self.retired or self.generations or self.caches or self.leftovers)


def describe_generations(corpus_dir: Path) -> list[GenerationInfo]:
    """The kept generations, oldest first; raises NotFound or StoreError when none is served."""
    current = current_generation(corpus_dir)
    return [_describe(corpus_dir, name, current=name == current) for name in generations(corpus_dir)]


def _describe(corpus_dir: Path, name: str, *, current: bool) -> GenerationInfo:
    size = sum(_sizes([corpus_dir / name]).values())
    try:
        with contextlib.closing(Corpus(corpus_dir, name)) as corpus:
            return GenerationInfo(
                name, current, corpus.meta.get("published_at", ""), len(corpus.documents), len(corpus.retired_documents()), size
            )
    except SittError as error:
        return GenerationInfo(name, current, "", 0, 0, size, str(error))


def roll_back(corpus_dir: Path, generation: str = "") -> str:
    """Serves another kept generation (default: the one before the current one) and returns its name.

    Nothing is removed, so the same call goes forward again. Raises NotFound, Busy or StoreError.
    """
    with _idle_corpus(corpus_dir):
        kept = generations(corpus_dir)
        if not generation:
            current = current_generation(corpus_dir)
            generation = next((name for name in reversed(kept) if name < current), "")
        if generation not in kept:
            raise NotFound(
                expected=f"a kept generation of {corpus_dir.name}: {', '.join(kept)}",
                got=shown(generation) if generation else "none before the current one",
                remedy=f"python -m sitt_core generations --corpus {corpus_dir.name} lists them.",
            )
        Corpus(corpus_dir, generation).close()  # one that cannot be read is not served
        replace_text(corpus_dir / "CURRENT", generation + "\n")
    return generation


@contextlib.contextmanager
def _idle_corpus(corpus_dir: Path) -> Iterator[None]:
    """Holds the write lock of a corpus of which no index is being built."""
    require_corpus(corpus_dir)
    with write_lock(corpus_dir, UPDATE_LOCK):
        require_idle(corpus_dir)
        yield


def require_corpus(corpus_dir: Path) -> None:
    """Raises NotFound when there is no folder of that name, so that no lock makes one."""
    check_corpus_name(corpus_dir.name)
    if not corpus_dir.is_dir():
        raise NotFound(
            expected=f"a corpus (there are: {', '.join(corpus_names(corpus_dir.parent)) or 'none'})",
            got=shown(corpus_dir.name),
            remedy="Choose one of those.",
        )


def rename_corpus(store_dir: Path, old: str, new: str) -> None:
    """Gives a corpus another name. Readers that have it open finish; their next question is told that it is gone.

    Raises InvalidInput, NotFound, Busy or StoreError.
    """
    check_corpus_name(new)
    with _idle_corpus(store_dir / check_corpus_name(old)):
        if (store_dir / new).exists():
            raise InvalidInput(
                expected="a name that no corpus has", got=shown(new), remedy=f"Choose another name, or remove that one: delete {new}"
            )
        with storage_errors(store_dir):
            (store_dir / old).rename(store_dir / new)
            sync(store_dir)
            (store_dir / new / f".{UPDATE_LOCK}.holder").unlink(missing_ok=True)


def delete_corpus(store_dir: Path, name: str) -> int:
    """Removes a corpus with all its generations and vectors and returns how many bytes that freed.

    It goes at once, under another name, before its files do. Raises InvalidInput, NotFound, Busy or StoreError.
    """
    with _idle_corpus(store_dir / check_corpus_name(name)), storage_errors(store_dir):
        size = sum(_sizes([store_dir / name]).values())
        condemned = store_dir / f".deleted-{name}-{uuid.uuid4().hex[:6]}"
        (store_dir / name).rename(condemned)
        sync(store_dir)
    for leftover in store_dir.glob(".deleted-*"):  # also of a process that was killed meanwhile
        shutil.rmtree(leftover, ignore_errors=True)
    return size


def plan_purge(corpus: Corpus, *, before: datetime | None = None) -> Purge:
    """What `purge` would remove now; nothing is written.

    With `before`, only what was retired, superseded or left behind by then: documents by when they were retired,
    generations and files by when they were last written; where documents go, every earlier generation does, for it holds them.
    """
    corpus_dir = corpus.folder.parent
    retired = {document.id: document for document, when in corpus.retired_documents() if before is None or _time(when) < before}
    earlier = [name for name in generations(corpus_dir) if name != corpus.generation]
    others = tuple(name for name in earlier if retired or _written_before(corpus_dir / name, before))
    caches = tuple(sorted(path.name for path in _unused_caches(corpus) if _written_before(path, before)))
    leftovers = tuple(sorted(path.name for path in _leftovers(corpus_dir) if _written_before(path, before)))
    doomed = [corpus_dir / name for name in (*others, *leftovers)] + [corpus_dir / "vectors" / name for name in caches]
    kept = _sizes([corpus.folder])
    size = sum(size for inode, size in _sizes(doomed).items() if inode not in kept)
    if retired:
        share = sum(len(document.text) for document in retired.values()) / max(1, _characters(corpus))
        size += int(share * (corpus.folder / CORPUS_FILE).stat().st_size)
    return Purge(tuple(retired), others, caches, leftovers, size, before)


def _time(text: str) -> datetime:
    """A stored time; one that cannot be read is taken for now, so that nothing goes for it."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return datetime.now(UTC)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _written_before(path: Path, before: datetime | None) -> bool:
    if before is None:
        return True
    newest = max((file.stat().st_mtime for file in (path, *path.glob("*"))), default=0.0)
    return newest < before.timestamp()


def _characters(corpus: Corpus) -> int:
    retired = sum(len(document.text) for document, _ in corpus.retired_documents())
    return retired + sum(document.characters for document in corpus.documents)


def purge(corpus: Corpus, planned: Purge) -> str:
    """Really removes what was planned and returns the name of the generation that is served afterwards.

    Retired documents go by publishing a generation without them; its indexes are the same files, for they never held
    them. Raises InvalidInput (the corpus has changed since the plan), Busy or StoreError.
    """
    corpus_dir = corpus.folder.parent
    with _idle_corpus(corpus_dir):
        if plan_purge(corpus, before=planned.before) != planned or current_generation(corpus_dir) != corpus.generation:
            raise InvalidInput(expected="the corpus as it was when the purge was planned", got="another state", remedy="Run purge again.")
        served = _without(corpus, planned.retired) if planned.retired else corpus.generation
        superseded = (corpus.generation,) if planned.retired else ()
        with storage_errors(corpus_dir):
            for name in (*planned.generations, *superseded, *planned.leftovers):
                shutil.rmtree(corpus_dir / name, ignore_errors=True)
            for name in planned.caches:
                (corpus_dir / "vectors" / name).unlink(missing_ok=True)
                (corpus_dir / "vectors" / name).with_suffix(".lock").unlink(missing_ok=True)
    return served


def _without(corpus: Corpus, purged: Collection[str]) -> str:
    """Publishes the corpus without those retired documents; returns the generation's name."""
    left = [(document, when) for document, when in corpus.retired_documents() if document.id not in purged]
    with new_generation(corpus.folder.parent) as folder:
        meta = {**corpus.meta, "published_at": datetime.now(UTC).isoformat(timespec="seconds")}
        write_corpus(folder / CORPUS_FILE, corpus.all_documents(), retired=left, meta=meta)
        for path in index_files(corpus.folder).values():
            _link(path, folder / path.name)
    return current_generation(corpus.folder.parent)


def _link(path: Path, other: Path) -> None:
    """The same file under another name, which is safe because nobody ever writes it; a copy where there are no links."""
    try:
        os.link(path, other)
    except OSError:
        shutil.copy2(path, other)


def _unused_caches(corpus: Corpus) -> list[Path]:
    """Vector caches that no index of the generation was made from; none as long as an index cannot be read."""
    infos = corpus.indexes()
    if not all(info.meta for info in infos):
        return []
    used = {cache_name(value) for info in infos for value in info.meta.values()}  # the fingerprints are among those values
    return [path for path in (corpus.folder.parent / "vectors").glob("*.vectors") if path.name not in used]


def cache_sizes(corpus: Corpus) -> dict[str, tuple[int, str]]:
    """The corpus's vector caches by file: bytes, and the embedder that an index of this generation used it for, or nothing."""
    users = {cache_name(value): value.partition(";")[0] for info in corpus.indexes() for value in info.meta.values()}
    sizes = {}
    for path in sorted((corpus.folder.parent / "vectors").glob("*.vectors")):
        with contextlib.suppress(FileNotFoundError):  # a purge has just removed it
            sizes[path.name] = (path.stat().st_size, users.get(path.name, ""))
    return sizes


def _leftovers(corpus_dir: Path) -> list[Path]:
    """What killed processes left behind: half-built generations, and such as were half removed."""
    half_removed = [path for path in corpus_dir.glob("[0-9]*") if path.is_dir() and not (path / CORPUS_FILE).is_file()]
    return [*corpus_dir.glob(".building-*"), *half_removed]


def _sizes(paths: Iterable[Path]) -> dict[int, int]:
    """The size of every file below those paths by inode, since two names may be one file."""
    sizes = {}
    for path in paths:
        for file in (path, *path.rglob("*")):
            with contextlib.suppress(FileNotFoundError):
                state = file.stat()
                if file.is_file():
                    sizes[state.st_ino] = state.st_size
    return sizes
