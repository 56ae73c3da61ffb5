"""The kinds of sources that a corpus is filled from, as a form asks for them: their fields, what naming one takes, what it will ask of the network."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote, unquote, urldefrag

from sitt_core.build import check_source
from sitt_core.errors import InvalidInput, shown
from sitt_core.settings import Settings

FieldKind = Literal["text", "lines", "yes", "choice", "number"]
DEFAULT_LIST = "List of cryptids"
LONGEST_TITLE = 255
DEFAULT_PAGES, MOST_PAGES = 1000, 50_000
NAMED = 3
"""So many titles of a source by titles are named; the others are counted."""
FORMATS = ("HTML", "plain text")
_PATTERNS = re.compile(r"\?(?=(?:include|exclude)=)")
_EXTRACT = re.compile(r"&format=(\w+)$")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form. `choices` are those of a choice, `most` is a number's largest; the smallest is 1."""

    name: str
    label: str
    kind: FieldKind = "text"
    default: str | bool | int = ""
    placeholder: str = ""
    help: str = ""
    choices: tuple[str, ...] = ()
    most: int = 1


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of source: what it is called, in short and in a list of kinds, and the fields that name one."""

    name: str
    short: str
    label: str
    fields: tuple[Field, ...] = ()


_INCLUDE = Field("include", "Only these files", placeholder="notes/*.md, lake*", help="Patterns of paths in the folder; * is anything.")
_EXCLUDE = Field("exclude", "Not these files", placeholder="drafts/*", help="Patterns of paths in the folder to leave out.")
_HERE = "A path on the machine that this page runs on."
_FORMAT = Field("format", "Read as", "choice", FORMATS[0], choices=FORMATS, help="Plain text has no tables, infobox or captions.")

KINDS: Mapping[str, SourceKind] = {
    each.name: each
    for each in (
        SourceKind(
            "markdown",
            "folder",
            "a folder of Markdown",
            (Field("folder", "Folder", placeholder="~/notes", help=_HERE), _INCLUDE, _EXCLUDE),
        ),
        SourceKind(
            "wikipedia-list",
            "Wikipedia list",
            "Wikipedia: the articles of a list",
            (Field("list", "List", default=DEFAULT_LIST, help="The exact title of a list article with tables."), _FORMAT),
        ),
        SourceKind(
            "wikipedia-titles",
            "Wikipedia titles",
            "Wikipedia: articles by title",
            (Field("titles", "Titles, one per line", "lines", placeholder="Loch Ness Monster\nYeti"), _FORMAT),
        ),
        SourceKind(
            "sitemap",
            "website",
            "a website by its sitemap",
            (
                Field("url", "Address", placeholder="https://example.org/sitemap.xml", help="A sitemap, or a site that names one."),
                Field("limit", "Most pages", "number", DEFAULT_PAGES, most=MOST_PAGES, help="What is beyond is not read."),
                Field("hosts", "Other hosts", placeholder="docs.example.org", help="Hosts of the same site, besides the address's own."),
            ),
        ),
        SourceKind(
            "github",
            "GitHub",
            "a GitHub account",
            (
                Field("user", "Account", placeholder="octocat"),
                Field("forks", "Forks too", "yes", False),
                Field("archived", "Archived repositories too", "yes", False),
            ),
        ),
        SourceKind("beir", "BEIR", "a BEIR collection", (Field("folder", "Folder", placeholder="~/scifact", help=_HERE),)),
        SourceKind("field-guide", "field guide", "the bundled field guide"),
    )
}
"""Every kind by its name, in the order in which they are offered."""

Values = Mapping[str, str | bool | int]


def defaults(kind: str) -> dict[str, str | bool | int]:
    """What the fields of a kind hold before anybody has written into them."""
    return {field.name: field.default for field in KINDS[kind].fields}


def spec_of(kind: str, values: Values) -> str:
    """The source as `update --source` takes it; fields that are left out have their default. Raises InvalidInput for one that is empty or cannot be."""
    held = {**defaults(kind), **values}
    if kind == "markdown":
        patterns = {name: _listed(str(held[name])) for name in ("include", "exclude")}
        written = [f"{name}={','.join(quote(each, safe='/*?[]! ') for each in found)}" for name, found in patterns.items() if found]
        return f"markdown:{_required(kind, held, 'folder')}{'?' + '&'.join(written) if written else ''}"
    if kind == "beir":
        return f"beir:{_required(kind, held, 'folder')}"
    if kind == "wikipedia-list":
        return f"wikipedia:list={_title(_required(kind, held, 'list'))}{_format(held)}"
    if kind == "wikipedia-titles":
        titles = [line.strip() for line in _required(kind, held, "titles").splitlines() if line.strip()]
        return f"wikipedia:titles={'|'.join(map(_title, titles))}{_format(held)}"
    if kind == "sitemap":
        url = urldefrag(_required(kind, held, "url")).url
        options = [f"hosts={','.join(hosts)}"] if (hosts := _listed(str(held["hosts"]))) else []
        options += [f"limit={held['limit']}"] if held["limit"] != DEFAULT_PAGES else []
        return f"sitemap:{url}{'#' + '&'.join(options) if options else ''}"
    if kind == "github":
        options = [f"{name}=yes" for name in ("forks", "archived") if held[name]]
        return f"github:{_required(kind, held, 'user')}{'?' + '&'.join(options) if options else ''}"
    return kind


def check_spec(spec: str, settings: Settings) -> None:
    """Raises InvalidInput for a source that cannot be read as it is named, or before something is set; nothing is asked of the network."""
    try:
        check_source(spec, settings)
    except OSError as error:  # a path that is longer than any can be
        raise InvalidInput(
            expected="the path of a folder", got=f"{shown(spec)}: {error.strerror}", remedy="Check the path: it is one on this machine."
        ) from error


def _required(kind: str, values: Values, name: str) -> str:
    text = str(values[name]).strip()
    field = next(field for field in KINDS[kind].fields if field.name == name)
    if not text:
        example = field.placeholder.partition("\n")[0] or field.default
        raise InvalidInput(expected=f"{field.label} to be filled in", got="nothing", remedy=f"For example {example}")
    return text


def _listed(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"[,\n]", text) if part.strip()]


def _title(text: str) -> str:
    if "|" in text or "&format=" in text:
        raise InvalidInput(expected="the exact title of an article", got=shown(text), remedy="Titles hold no |; write one on each line.")
    if len(text.encode()) > LONGEST_TITLE:
        raise InvalidInput(
            expected=f"a title of at most {LONGEST_TITLE} bytes, as a wiki has them", got=shown(text), remedy="Write one on each line."
        )
    return text


def _format(values: Values) -> str:
    return "&format=extract" if values["format"] == FORMATS[1] else ""


@dataclass(frozen=True, slots=True)
class Described:
    """A stored place in words: the short name of its kind, and what it is."""

    kind: str
    name: str


def describe(place: str) -> Described:
    """A place that a corpus remembers, in words; one of no known kind stays as it is."""
    kind, _, rest = place.partition(":")
    if place == "field-guide":
        return Described(KINDS[place].short, KINDS[place].label)
    if kind == "markdown":
        folder, *options = _PATTERNS.split(rest, maxsplit=1)
        return Described(KINDS[kind].short, ", ".join([folder, *_options("".join(options))]))
    if kind == "wikipedia":
        return _wikipedia(rest)
    if kind in ("sitemap", "github"):
        name, _, written = rest.partition("#" if kind == "sitemap" else "?")
        return Described(KINDS[kind].short, ", ".join([name, *_options(written)]))
    if kind in KINDS:
        return Described(KINDS[kind].short, rest)
    return Described("other", place)


def _wikipedia(text: str) -> Described:
    found = _EXTRACT.search(text)
    named, extract = (text[: found.start()], ", as plain text") if found and found[1] == "extract" else (text, "")
    what, _, names = named.partition("=")
    if what == "titles":
        titles = names.split("|")
        more = f" and {len(titles) - NAMED:,} more" if len(titles) > NAMED else ""
        return Described(KINDS["wikipedia-titles"].short, f"{', '.join(titles[:NAMED])}{more}{extract}")
    return Described(KINDS["wikipedia-list"].short, f"{names or DEFAULT_LIST}{extract}")


_OPTION_WORDS = {"include": "only", "exclude": "without", "hosts": "also", "limit": "at most", "forks": "forks", "archived": "archived"}


def _options(written: str) -> list[str]:
    """What stands after a place, in a few words each."""
    said = []
    for pair in filter(None, written.split("&")):
        name, _, value = pair.partition("=")
        values = unquote(value).replace(",", ", ")
        said.append(f"{'with' if values == 'yes' else ''} {_OPTION_WORDS.get(name, name)} {'' if values == 'yes' else values}".strip())
        said[-1] += " pages" if name == "limit" else ""
    return said


def says(kind: str, settings: Settings) -> str:
    """What reading such a source does, and asks of the network, in a sentence or two; no key's value is in it."""
    seconds = settings.sources.interval
    every = f"at most one every {seconds:g} s" if seconds else "one after another"
    if kind == "markdown":
        return "The folder is read on this machine, never written; nothing is asked of the network."
    if kind == "beir":
        return "The folder's corpus.jsonl is read on this machine; nothing is asked of the network."
    if kind == "field-guide":
        return "The entries that come with this program; nothing is asked of the network."
    if kind == "sitemap":
        return f"The pages that the sitemap lists. Requests: {every}; robots.txt is obeyed; later only what has changed is asked for again."
    if kind == "github":
        limit = "is set: 5,000" if "GITHUB_TOKEN" in settings.keys_present else "is not set: 60"
        return f"The profile and the README of every public repository, one request each. GITHUB_TOKEN {limit} requests an hour."
    what = "The list's tables and every article that they link to" if kind == "wikipedia-list" else "Every article that is named"
    pace = f": 100 articles take about {_minutes(100 * seconds)} the first time" if seconds else ""
    return (
        f"{what}. Requests: {every}{pace}; later only what has changed is asked for again. SITT_CONTACT goes with each, as Wikimedia asks."
    )


def _minutes(seconds: float) -> str:
    return f"{round(seconds)} s" if seconds < 120 else f"{round(seconds / 60)} min"


def missing(kind: str, settings: Settings) -> str:
    """What has to be set before a source of that kind can be read; "" when nothing is missing."""
    if kind.startswith("wikipedia") and not settings.sources.contact:
        return (
            "Needs SITT_CONTACT: an e-mail address or a web address of yours, which goes with every request in the User-Agent, as Wikimedia asks. "
            "Set it in the file .env beside app.py, such as SITT_CONTACT=you@example.org, and start the dashboard again."
        )
    return ""
