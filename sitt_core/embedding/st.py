"""Any sentence-transformers model, by its name on the Hugging Face hub or from a folder, run by the library itself."""

import hashlib
import math
import re
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from sitt_core.embedding.windows import UNLIMITED, Done, Overlong, Tokens, embed_texts
from sitt_core.errors import InvalidInput, ModelError, shown
from sitt_core.types import Matrix, Progress

PREFIX = "st:"
REACH_SECONDS = 5.0  # for the hub to answer at all; a download may then take as long as it needs
BATCH = 32
HUB_NAME = r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?"
NOT_NEEDED = ("*.onnx", "onnx/*", "openvino/*", "*.h5", "*.msgpack", "*.ot", "*.gguf", "*.md", ".*")
"""Files of a model that neither decide a vector nor need downloading: other runtimes' copies and descriptions."""

Kind = Literal["query", "document"]
PROMPTS: dict[Kind, tuple[str, ...]] = {"query": ("query",), "document": ("document", "passage", "corpus")}
"""What models call the prompt for each kind of text; the library itself stops at `document`, which it adds, empty, to every model."""


def load_st(name: str, *, overlong: str = "windows") -> "SentenceTransformerEmbedder":
    """The model of that name, such as `st:intfloat/e5-small-v2` or `st:~/models/mine`, ready for a question.

    A folder is never looked for online; a hub name is downloaded when it is not in the library's cache. Code that comes
    with a model is not run. Raises `ModelError` when there is no such model here and it cannot be had, within seconds.
    """
    if overlong not in get_args(Overlong):
        raise InvalidInput(expected="overlong windows or truncate", got=repr(overlong), remedy="Choose one of the two.")
    folder = _folder_of(name.removeprefix(PREFIX).strip())
    try:
        model = _quietly_loaded(folder)
        return SentenceTransformerEmbedder(name, model, _own_tokenizer(model), overlong, _sha256(folder))  # type: ignore[arg-type]
    except Exception as error:  # whatever a folder that is no model makes the library raise
        raise ModelError(
            expected=f"a sentence-transformers model in {folder}",
            got=f"{type(error).__name__}: {_first_line(error)}",
            remedy="Check the folder, or choose another model; those that bring their own code are not run.",
        ) from error


def _quietly_loaded(folder: Path) -> Any:
    """The library's model, without the warnings of its imports and its bar on standard error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        shown_before = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            return SentenceTransformer(str(folder), device="cpu", trust_remote_code=False, local_files_only=True)
        finally:
            if shown_before:
                logging.enable_progress_bar()  # type: ignore[no-untyped-call]


@dataclass(eq=False, repr=False)
class SentenceTransformerEmbedder:
    """An `Embedder`; prompts for questions and passages are the model's own, and count against its `limit`."""

    name: str
    model: Any
    tokenizer: Any
    overlong: Overlong
    sha256: str
    _lock: threading.Lock = field(default_factory=threading.Lock)  # the library's tokenizers and models are not for many threads

    def __post_init__(self) -> None:
        self.dimension = int(self.model.encode(["x"], show_progress_bar=False).shape[1])
        self.limit = self._room()

    @property
    def fingerprint(self) -> str:
        """Everything that decides a vector."""
        return (
            f"sentence-transformers {version('sentence-transformers')}; files {self.sha256}; dimension {self.dimension}; "
            f"L2 normalised; limit {self.limit}; overlong {self.overlong}"
        )

    def embed_passages(self, texts: Sequence[str], *, progress: Progress | None = None) -> Matrix:
        """Unit rows, shape (len(texts), dimension); `progress` hears how many texts were finished since its last call."""
        return self._embed(texts, "document", progress)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Unit rows, shape (len(texts), dimension); safe from many threads, which take turns."""
        return self._embed(texts, "query", None)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Lengths in the model's own tokens, prompts and special tokens not counted."""
        return [len(encoding) for encoding in self._encodings(texts)]

    def _room(self) -> int:
        """Tokens of a text that the model reads at once: special tokens and the longer prompt take their part."""
        longest = getattr(self.model, "max_seq_length", None)
        if longest is None or not math.isfinite(longest) or longest >= UNLIMITED:
            return UNLIMITED
        special = len(self.tokenizer.encode("", add_special_tokens=True))
        prompts = max(self.count_tokens([self._prompt("query") or "", self._prompt("document") or ""]))
        room = int(longest) - special - prompts
        if room < 1:
            raise ValueError(f"its prompts leave no room for a text in its {longest} tokens")
        return room

    def _prompt(self, kind: Kind) -> str | None:
        """What the model wants before such a text; None leaves it to the library."""
        return next((prompt for name in PROMPTS[kind] if (prompt := self.model.prompts.get(name))), None)

    def _embed(self, texts: Sequence[str], kind: Kind, progress: Progress | None) -> Matrix:
        lengths: list[int] = []

        def tokenise(texts: Sequence[str]) -> list[Tokens]:
            """Pieces are (number of the text, start, end): the library takes texts, so that a window must become one again."""
            encodings = self._encodings(texts)
            lengths.extend(map(len, encodings))
            return [
                Tokens([(number, *offsets) for offsets in encoding.offsets], encoding.word_ids) for number, encoding in enumerate(encodings)
            ]

        def slice_of(window: Sequence[tuple[int, int, int]]) -> str:
            if not window:
                return ""
            number, start, _ = window[0]
            return texts[number] if len(window) == lengths[number] else texts[number][start : window[-1][2]]

        return embed_texts(
            texts,
            limit=self.limit,
            dimension=self.dimension,
            overlong=self.overlong,
            tokenise=tokenise,
            embed=lambda windows, done: self._infer([slice_of(window) for window in windows], kind, done),
            progress=progress,
        )

    def _infer(self, slices: Sequence[str], kind: Kind, done: Done) -> Matrix:
        """One row per slice, computed in batches of like length."""
        vectors = np.empty((len(slices), self.dimension), np.float32)
        order = sorted(range(len(slices)), key=lambda number: len(slices[number]), reverse=True)
        encode, prompt = self.model.encode_query if kind == "query" else self.model.encode_document, self._prompt(kind)
        for at in range(0, len(order), BATCH):
            numbers = order[at : at + BATCH]
            parts = [self._fitting(slices[number]) for number in numbers]
            flat = [part for group in parts for part in group]
            with self._lock:
                rows = encode(flat, prompt=prompt, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False)
            starts = np.cumsum([0, *map(len, parts[:-1])])
            sums = np.add.reduceat(np.asarray(rows, np.float32), starts, axis=0)
            halved = np.array([len(group) > 1 for group in parts])
            sums[halved] /= np.linalg.norm(sums[halved], axis=1, keepdims=True)
            vectors[numbers] = sums
            done(numbers)
        return vectors

    def _fitting(self, text: str) -> list[str]:
        """The text, in halves when it has grown above the limit: what is cut inside a word may have more tokens than before."""
        if len(text) < 2 or self.overlong == "truncate" or self.count_tokens([text])[0] <= self.limit:
            return [text]
        middle = len(text) // 2
        return [part for half in (text[:middle], text[middle:]) if half.strip() for part in self._fitting(half)]

    def _encodings(self, texts: Sequence[str]) -> list[Any]:
        try:
            return list(self.tokenizer.encode_batch(list(texts), add_special_tokens=False))
        except TypeError as error:
            raise InvalidInput(expected="texts of valid Unicode", got=str(error), remedy="Remove lone surrogates.") from error


def _own_tokenizer(model: Any) -> Any:
    """A copy of the model's tokenizer that neither cuts nor pads: the model's own is set anew at every call."""
    from tokenizers import Tokenizer

    backend = getattr(model.tokenizer, "backend_tokenizer", model.tokenizer)
    if not isinstance(backend, Tokenizer):
        raise ValueError("its tokenizer does not say where its tokens stand in the text")
    copy = Tokenizer.from_str(backend.to_str())
    copy.no_truncation()
    copy.no_padding()
    return copy


def _folder_of(name: str) -> Path:
    """Where the model's files are; raises `ModelError`."""
    if name.startswith(("/", "~")) or re.match(r"[A-Za-z]:[\\/]", name):
        return _local_folder(name)
    if not re.fullmatch(HUB_NAME, name):
        raise ModelError(
            expected="a hub name such as intfloat/e5-small-v2, or the whole path of a folder",
            got=shown(name),
            remedy="Begin a folder with / or ~.",
        )
    repository = name if "/" in name else f"sentence-transformers/{name}"
    return _cached(repository) or _downloaded(repository)


def _local_folder(name: str) -> Path:
    try:
        folder = Path(name).expanduser()
        if any((folder / file).is_file() for file in ("modules.json", "config.json")):
            return folder
        got = "no modules.json or config.json in it" if folder.is_dir() else "no folder there"
    except (OSError, RuntimeError, ValueError) as error:  # ~name of nobody, a path that is too long, a NUL
        got = str(error)
    raise ModelError(expected=f"a sentence-transformers model in {name}", got=got, remedy="Check the path of the folder.")


def _cached(repository: str) -> Path | None:
    """The folder in the library's cache, when it holds the model's weights."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(repository, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError):
        return None
    return folder if any(path.suffix in (".safetensors", ".bin") for path in folder.rglob("*")) else None


def _downloaded(repository: str) -> Path:
    """The folder after a download; whether the hub can be reached and has the model is asked first, once and briefly."""
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        HfApi().model_info(repository, timeout=REACH_SECONDS)
        return Path(snapshot_download(repository, ignore_patterns=list(NOT_NEEDED), etag_timeout=REACH_SECONDS))
    except RepositoryNotFoundError as error:
        raise ModelError(
            expected="the name of a model on the hub", got=repository, remedy="Check the name; a private model needs HF_TOKEN."
        ) from error
    except Exception as error:  # the hub's client has several trees of errors, its transport another
        raise ModelError(
            expected=f"the model {repository} on this machine, or the hub to download it from",
            got=f"neither ({type(error).__name__}: {_first_line(error)})",
            remedy="Download it where there is a connection, and name its folder: st:/path/to/it.",
        ) from error


def _sha256(folder: Path) -> str:
    """One hash over the names and contents of the files that may decide a vector."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        inside = path.relative_to(folder)
        if any(inside.match(pattern) for pattern in NOT_NEEDED) or any(part.startswith(".") for part in inside.parts):
            continue
        with path.open("rb") as file:
            total.update(f"{inside.as_posix()} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [""])[0][:200]
