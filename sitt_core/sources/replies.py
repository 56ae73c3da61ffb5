"""What came back from the network: a reply as a value, its text, and the disk cache that spares asking again."""

import codecs
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile

META_REACH = 4096
"""How far into a page its charset is looked for."""
KEPT_HEADERS = ("content-type", "etag", "last-modified", "link", "date", "retry-after")
"""The headers of a reply that are written to the cache: none that could hold a secret."""
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([\w.:+-]{1,40})""", re.IGNORECASE)
_DECLARED = re.compile(
    rb"""<meta[^>]{0,300}?charset\s*=\s*["']?\s*([\w.:+-]{1,40})|<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.:+-]{1,40})""", re.I
)
_LATIN = ("ascii", "iso8859-1", "cp1252")
"""What servers say of every page by default. Real text in one of them is never valid UTF-8 beyond ASCII, so such bytes are UTF-8."""
_UNFINISHED = 86_400.0
"""After so many seconds nobody is writing a file any more."""
_NO_CHARSETS = ("utf-7", "idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "utf-8-sig", "mbcs", "oem")


@dataclass(frozen=True)
class Fetched:
    """A reply: the address it came from in the end, its headers by lower-case name, its whole body, when it was fetched.

    `cached` says that the body is from the disk: the server was not asked, or said that it is still so.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    fetched_at: str
    cached: bool = False

    @property
    def media_type(self) -> str:
        """What the server says it is, such as text/html; "" for nothing."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


def text_of(fetched: Fetched) -> str:
    """The body as text: by its byte order mark, header, meta, as UTF-8, else in one byte per character. Nothing is replaced."""
    body = fetched.body
    for mark, name in _BOMS:
        if body.startswith(mark):
            with suppress(UnicodeDecodeError):
                return body[len(mark) :].decode(name)
    for name in _declared(fetched):
        with suppress(UnicodeDecodeError):
            return body.decode(name)
    # Windows-1252 leaves five bytes undefined; Latin-1 none.
    with suppress(UnicodeDecodeError):
        return body.decode("cp1252")
    return body.decode("latin-1")


def _declared(fetched: Fetched) -> Iterator[str]:
    """The encodings to try strictly, in order; UTF-8 last."""
    header = _CHARSET.search(fetched.headers.get("content-type", ""))
    meta = _DECLARED.search(fetched.body[:META_REACH])
    labels = [header[1]] if header else []
    if meta:
        label = (meta[1] or meta[2]).decode("ascii", "ignore")
        # Whoever could read the declaration as ASCII is not reading UTF-16.
        labels.append("utf-8" if label.lower().startswith("utf-16") else label)
    for label in labels:
        name = _codec(label)
        if name in _LATIN:
            yield "utf-8"
            yield "cp1252"
            yield "latin-1"
        elif name:
            yield name
    yield "utf-8"


def _codec(label: str) -> str:
    """Python's name of a text encoding; "" for what is none, or must not be decoded by."""
    try:
        name = codecs.lookup(label).name
        b" ".decode(name, "replace")  # raises LookupError for a codec that is none of texts
    except (LookupError, ValueError, UnicodeError):
        return ""
    return "" if name in _NO_CHARSETS else name


class Cache:
    """Replies on disk, one file each: a line of JSON, then the body. A file that is damaged counts as none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _file(self, key: str) -> Path:
        return self._folder / key[:2] / key

    def get(self, key: str) -> Fetched | None:
        """The reply kept under a key, marked as cached. The file's time says when it was last used."""
        file = self._file(key)
        try:
            head, _, body = file.read_bytes().partition(b"\n")
            facts = json.loads(head)
            if hashlib.sha256(body).hexdigest() != facts["sha256"]:
                return None
            found = Fetched(facts["url"], facts["status"], facts["headers"], body, facts["fetched_at"], cached=True)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        with suppress(OSError):  # a folder that may only be read, or a file that was pruned meanwhile
            os.utime(file)
        return found

    def put(self, key: str, fetched: Fetched) -> None:
        """Keeps a reply, whole or not at all; a disk that refuses is no failure of the fetching."""
        facts = {
            "url": fetched.url,
            "status": fetched.status,
            "headers": {name: value for name, value in fetched.headers.items() if name in KEPT_HEADERS},
            "fetched_at": fetched.fetched_at,
            "sha256": hashlib.sha256(fetched.body).hexdigest(),
        }
        file = self._file(key)
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            with NamedTemporaryFile(dir=file.parent, delete=False) as aside:
                try:
                    aside.write(json.dumps(facts).encode() + b"\n" + fetched.body)
                    aside.flush()
                    os.replace(aside.name, file)  # noqa: PTH105 a name, no path
                except BaseException:
                    Path(aside.name).unlink(missing_ok=True)  # a full disk is not filled with halves
                    raise

    def size(self) -> tuple[int, int]:
        """How many replies are kept, and the bytes of all files."""
        files = list(self._files())
        return sum(_is_reply(file) for file, _ in files), sum(state.st_size for _, state in files)

    def prune(self, *, older_than: float) -> tuple[int, int]:
        """Removes what was not used for so many seconds; how many replies that were, and the bytes of all files.

        A process that reads a file meanwhile has read it whole, or finds none; one that has just asked about it writes it anew.
        """
        replies = size = 0
        now = time.time()
        for file, state in self._files():
            # What is no reply is being written, or was when a process ended.
            least = older_than if _is_reply(file) else max(older_than, _UNFINISHED)
            if now - state.st_mtime < least:
                continue
            with suppress(OSError):
                file.unlink()
                replies, size = replies + _is_reply(file), size + state.st_size
        return replies, size

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        """The files in the folder's folders; one that vanishes meanwhile is none."""
        for folder in _listed(self._folder):
            for file in _listed(folder):
                with suppress(OSError):
                    state = file.lstat()
                    if stat.S_ISREG(state.st_mode):
                        yield file, state


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _is_reply(file: Path) -> bool:
    return re.fullmatch("[0-9a-f]{64}", file.name) is not None


def cache_key(url: str, headers: Mapping[str, str]) -> str:
    """What a reply depends on, hashed: its address and the headers it was asked with, so that nobody gets another's reply."""
    asked = sorted((name.lower(), value) for name, value in headers.items())
    return hashlib.sha256(json.dumps([url, asked]).encode()).hexdigest()
