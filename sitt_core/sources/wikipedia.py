"""How Wikipedia becomes documents: the articles of a list with the list as their taxonomy, or articles by their titles."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sitt_core.errors import InvalidInput, SourceError, shown
from sitt_core.sources.fetch import Fetcher
from sitt_core.sources.html import outline_lines, parse_html
from sitt_core.sources.mediawiki import Page, PageText, Wiki, clean_title
from sitt_core.sources.outline import Outline, Writer, document_hash
from sitt_core.sources.parsoid import CUT, outline_article, redirect_target
from sitt_core.sources.wikipedia_list import Row, read_rows
from sitt_core.text import normalise
from sitt_core.types import Document, Failure, Listing, Report, Source

KIND = "wikipedia"
DEFAULT_LIST = "List of cryptids"
FORMATS = ("html", "extract")
MAX_TITLES = 5_000
FAILURES_IN_A_ROW = 5
"""After so many articles in a row that could not be fetched the others are not asked for."""
MOST_NAMED = 20

_LIST_ROW = "list row"
"""How the source of a document that a row of the list is made into is marked."""
_DESCRIPTIONS = "how they look"
_FORMAT = re.compile(r"&format=([^&=|]*)$")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be read: the articles of a `list`, or those of the `titles`; `extract` for plain text instead of HTML."""

    list: str = ""
    titles: tuple[str, ...] = ()
    extract: bool = False

    @property
    def origin(self) -> str:
        """What a corpus calls this source."""
        return f"{KIND}:{self.list}" if self.list else f"{KIND}:titles"

    @property
    def place(self) -> str:
        """How to name it again."""
        what = f"list={self.list}" if self.list else f"titles={'|'.join(self.titles)}"
        return f"{KIND}:{what}{'&format=extract' if self.extract else ''}"


@dataclass
class _Subject:
    """What becomes a document: an article with all that the list calls it, or rows without one.

    `other_ids` are those that its document may have had before it was this.
    """

    id: str
    page: Page | None
    other_ids: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def called(self, *names: str) -> None:
        self.names += names


def parse_wanted(text: str) -> Wanted:
    """What stands behind `wikipedia:`: list=NAME (the default), or titles=A|B|C, then perhaps &format=extract; raises InvalidInput."""
    format_ = _FORMAT.search(text)
    kind, _, names = (text[: format_.start()] if format_ else text).partition("=")
    if format_ and format_[1] not in FORMATS:
        raise InvalidInput(expected=f"format= to be one of {', '.join(FORMATS)}", got=shown(format_[1]), remedy="Choose one of them.")
    titles = tuple(dict.fromkeys(filter(None, map(clean_title, names.split("|")))))
    extract = format_ is not None and format_[1] == "extract"
    if kind == "titles" and 0 < len(titles) <= MAX_TITLES:
        return Wanted(titles=titles, extract=extract)
    if (kind == "list" and len(titles) == 1) or (not kind and not names):
        return Wanted(list=titles[0] if titles else DEFAULT_LIST, extract=extract)
    raise InvalidInput(
        expected=f"wikipedia:list=NAME of one list article, or wikipedia:titles=A|B|C of at most {MAX_TITLES:,} articles, by exact titles",
        got=shown(f"{KIND}:{text}"),
        remedy=f"The list is {DEFAULT_LIST} when none is named; &format=extract at the end asks for plain text.",
    )


def read_wikipedia(
    wanted: Wanted,
    *,
    fetcher: Fetcher,
    base_url: str,
    stored: Iterable[Document] = (),
    report: Report = lambda _stage, _done, _total: None,
) -> Listing:
    """What is wanted as documents; an article that cannot be fetched is a failure with its reason, and the others are read.

    An article at the revision that a `stored` document of this origin is of is not fetched again. Raises SourceError for
    a wiki that does not answer, and a list without rows.
    """
    wiki = Wiki(base_url, fetcher)
    known = {document.id: document for document in stored if document.origin == wanted.origin}
    return _read_list(wiki, wanted, known, report) if wanted.list else _read_titles(wiki, wanted, known, report)


def _read_titles(wiki: Wiki, wanted: Wanted, known: Mapping[str, Document], report: Report) -> Listing:
    report("look up titles", 0, len(wanted.titles))
    pages = wiki.pages(wanted.titles)
    subjects: dict[str, _Subject] = {}
    failures = []
    free = _unclaimed(known, pages)
    for title in wanted.titles:
        page = pages[title]
        if page.problem:
            id_ = _stored_as((page.title, title, *page.through), free) or _id(title)
            failures.append(Failure(id_, f"{title}: {page.problem}"))
            continue
        subject = subjects.setdefault(page.title, _Subject(_id(page.title), page))
        subject.other_ids += map(_id, (title, *page.through))
        subject.called(title, *page.through)
    _settle_ids(list(subjects.values()), known, {failure.id for failure in failures})
    read = _read_all(wiki, wanted, list(subjects.values()), known, report)
    return Listing(wanted.origin, read.documents, (*failures, *read.failures), not read.given_up, read.notices, read.given_up)


def _read_list(wiki: Wiki, wanted: Wanted, known: Mapping[str, Document], report: Report) -> Listing:
    report("read the list", 0, 1)
    page = wiki.pages([wanted.list])[wanted.list]
    if page.problem:
        raise SourceError(
            expected=f"the list {wanted.list}", got=page.problem, remedy="Check the title: it is taken exactly as it is given."
        )
    text = wiki.kept_html(page) or wiki.html(page)
    root = parse_html(text.body)
    _require_no_redirect(page.title, redirect_target(root))
    rows = read_rows(root, title=page.title)
    report("look up titles", 0, len(rows))
    pages = wiki.pages(row.target for row in rows if row.target)
    subjects, failures, bare = _subjects(rows, pages, page, known)
    if not subjects and not failures:
        raise SourceError(
            expected=f"rows of {page.title} with an article or a description",
            got=f"{len(rows):,} rows with neither",
            remedy="Open the article: its columns may be called otherwise. Its articles can be named by wikipedia:titles=A|B.",
        )
    lost = _keep_what_no_column_says(rows, subjects, known)
    articles = [subject for subject in subjects if subject.page is not None]
    told = [_row_document(subject, wiki, wanted, page, text) for subject in subjects if subject.page is None]
    read = _read_all(wiki, wanted, articles, known, report)
    summary = (
        f"{len(rows):,} rows of {page.title}: {len(articles):,} articles, {len(told):,} rows without one that say enough to be documents"
    )
    notes = [summary]
    if bare:
        more = f" and {len(bare) - MOST_NAMED:,} more" if len(bare) > MOST_NAMED else ""
        notes.append(f"Rows with neither an article nor a description, which are no documents: {', '.join(bare[:MOST_NAMED])}{more}")
    if lost:
        notes.append(f"No column of {page.title} says {' or '.join(lost)} any more: documents keep what it said before.")
    documents, failed = (*read.documents, *told), (*failures, *read.failures)
    why = read.given_up or (f"no column of {page.title} holds descriptions any more" if _DESCRIPTIONS in lost else "")
    return Listing(wanted.origin, documents, failed, not why, (*notes, *read.notices), why)


def _keep_what_no_column_says(rows: Sequence[Row], subjects: Sequence[_Subject], known: Mapping[str, Document]) -> list[str]:
    """What no row says although the list once said it, its columns being called otherwise now; subjects keep what is stored of it."""
    lost = []
    if not any(row.location for row in rows) and any(document.region for document in known.values()):
        lost.append("where they are")
    if not any(row.category for row in rows) and any(document.category for document in known.values()):
        lost.append("of which group they are")
    if not any(row.other_names for row in rows) and any(_unsaid(subject, known.get(subject.id)) for subject in subjects):
        lost.append("what else they are called")
    if not any(row.description for row in rows) and any(_is_row(document) for document in known.values()):
        lost.append(_DESCRIPTIONS)
    for subject in subjects if lost else ():
        stored = known.get(subject.id)
        if stored is not None:
            row = subject.rows[0]
            subject.rows[0] = replace(row, location=row.location or stored.region, category=row.category or stored.category)
            subject.called(*stored.aliases)
    return lost


def _unsaid(subject: _Subject, stored: Document | None) -> set[str]:
    """The stored names of a subject that neither its row nor a redirect says now."""
    return set(stored.aliases) - {*_names(subject), stored.title} if stored else set()


def _is_row(document: Document) -> bool:
    return document.source.title.endswith(f"({_LIST_ROW}: {document.title})")


def _subjects(
    rows: Sequence[Row], pages: Mapping[str, Page], list_page: Page, known: Mapping[str, Document]
) -> tuple[list[_Subject], list[Failure], list[str]]:
    """What the rows are about, each once; articles that cannot be had; and the names of rows that say nothing."""
    subjects: dict[str, _Subject] = {}
    failures: dict[str, Failure] = {}
    bare = []
    free = {id_: document for id_, document in _unclaimed(known, pages).items() if document.source.url != list_page.url}
    for row in rows:
        page = pages.get(clean_title(row.target)) if row.target else None
        if page is not None and page.problem:
            # A row whose article is gone is a document by itself, but not in the place of the article that is stored.
            stored = _stored_as((page.title, clean_title(row.target), *page.through), free)
            if stored or "redirect" in page.problem:
                id_ = stored or _id(page.title)
                failures.setdefault(id_, Failure(id_, f"{row.name} links to {row.target}: {page.problem}"))
                continue
        there = page is not None and not page.problem and page.namespace == 0 and page.title != list_page.title
        if not there and not row.description:
            bare.append(row.name)
            continue
        red = page is not None and page.problem == "no such page"
        title = page.title if page is not None and (there or red) else row.name
        key = title if there else f"row {title}"
        subject = subjects.setdefault(key, _Subject(_id(title), page if there else None))
        subject.other_ids += [_id(name) for name in (row.name, clean_title(row.target)) if name]
        subject.rows.append(row)
        subject.called(row.name, *(page.through if page is not None and there else ()), *row.other_names)
    found = list(subjects.values())
    _settle_ids(found, known, {*failures})
    return found, list(failures.values()), bare


def _unclaimed(known: Mapping[str, Document], pages: Mapping[str, Page]) -> dict[str, Document]:
    """The stored documents that are none of the pages found."""
    found = [page for page in pages.values() if not page.problem]
    ids, addresses = {_id(page.title) for page in found}, {page.url for page in found}
    return {id_: document for id_, document in known.items() if id_ not in ids and document.source.url not in addresses}


def _stored_as(names: Sequence[str], stored: Mapping[str, Document]) -> str:
    """The id of the stored document that has one of the names, by its id, else by its title and aliases; "" for none."""
    by_id = next((id_ for id_ in map(_id, names) if id_ in stored), "")
    return by_id or next((id_ for id_, document in stored.items() if not {document.title, *document.aliases}.isdisjoint(names)), "")


def _settle_ids(subjects: Sequence[_Subject], known: Mapping[str, Document], taken: set[str]) -> None:
    """Gives each subject the id it has in the corpus: an article whatever it is called, and in the place of the row it was before.

    No id is given twice.
    """
    wanted = {subject.id for subject in subjects}
    by_address = {document.source.url: id_ for id_, document in known.items()}
    for subject in subjects:
        if subject.id not in known:
            same = by_address.get(subject.page.url, "") if subject.page is not None else ""
            others = [same, *subject.other_ids]
            subject.id = next((each for each in others if each in known and each not in wanted | taken), subject.id)
        first, number = subject.id, 1
        while subject.id in taken:
            number += 1
            subject.id = f"{first} ({number})"
        taken.add(subject.id)


@dataclass(frozen=True, slots=True)
class _Read:
    """What came of the articles; `given_up` says why some were not asked for."""

    documents: tuple[Document, ...]
    failures: tuple[Failure, ...]
    notices: tuple[str, ...]
    given_up: str = ""


def _read_all(wiki: Wiki, wanted: Wanted, subjects: Sequence[_Subject], known: Mapping[str, Document], report: Report) -> _Read:
    """The subjects' articles as documents, those that could not be read, and what was taken out of the texts."""
    documents: list[Document] = []
    failures: list[Failure] = []
    taken: dict[str, int] = {}
    in_a_row = 0
    given_up = ""
    for done, subject in enumerate(subjects):
        report("fetch articles", done, len(subjects))
        if in_a_row == FAILURES_IN_A_ROW:
            given_up = f"{FAILURES_IN_A_ROW} articles in a row could not be fetched"
            failures.append(Failure(subject.id, f"not asked for: {given_up}"))
            continue
        try:
            documents.append(_article(wiki, wanted, subject, known.get(subject.id), taken))
            in_a_row = 0
        except SourceError as error:
            failures.append(Failure(subject.id, str(error)))
            in_a_row += 1
    report("fetch articles", len(subjects), len(subjects))
    said = ", ".join(f"{count:,} × {name}" for name, count in sorted(taken.items()))
    notices = (f"Invisible characters left out: {said}",) if said else ()
    return _Read(tuple(documents), tuple(failures), notices, given_up)


def _article(wiki: Wiki, wanted: Wanted, subject: _Subject, stored: Document | None, taken: dict[str, int]) -> Document:
    """A subject's article as a document; raises SourceError for what cannot be fetched, or read."""
    page = subject.page
    assert page is not None, "rows without an article are documents by themselves"
    text = None if wanted.extract else wiki.kept_html(page)
    of_this = stored is not None and (stored.source.url, stored.revision) == (page.url, _permalink(wiki, page.revision, wanted))
    if text is None and stored is not None and of_this:
        return _attributed(stored, subject)
    if wanted.extract:
        text = wiki.extract(page)
        outline = outline_lines(text.body, cut=CUT)
    else:
        text = text or wiki.html(page)
        root = parse_html(text.body)
        _require_no_redirect(page.title, redirect_target(root))
        outline = outline_article(root)
    if not outline.text:
        raise SourceError(expected=f"{page.title} to have a text", got="none but what surrounds it", remedy="Leave it out.")
    for name, count in outline.taken.items():
        taken[name] = taken.get(name, 0) + count
    source = Source(f"{wiki.name}: {page.title}", page.url, text.license)
    return _attributed(_document(subject.id, page.title, source, outline, text, _permalink(wiki, text.revision, wanted), wanted), subject)


def _permalink(wiki: Wiki, revision: int, wanted: Wanted) -> str:
    """The address of the revision a document is made from; one made from plain text is another document."""
    return wiki.permalink(revision) + ("#extract" if wanted.extract else "")


def _require_no_redirect(title: str, target: str) -> None:
    if target:
        raise SourceError(
            expected=f"{title} to be an article",
            got=f"a redirect to {target}, where only one may lead (a double redirect)",
            remedy="Name the article it leads to, or wait until the wiki's own repair has been there.",
        )


def _document(id_: str, title: str, source: Source, outline: Outline, text: PageText, revision: str, wanted: Wanted) -> Document:
    return Document(
        id=id_,
        title=title,
        source=source,
        text=outline.text,
        sections=outline.sections,
        blocks=outline.blocks,
        sha256="",
        revision=revision,
        fetched_at=text.fetched_at,
        origin=wanted.origin,
    )


def _names(subject: _Subject) -> list[str]:
    """All that a subject is called, each once."""
    return list(dict.fromkeys(" ".join(normalise(name).split()) for name in subject.names))


def _attributed(document: Document, subject: _Subject) -> Document:
    """The document with what the list says of it now, and the hash over all that it is."""
    first = subject.rows[0] if subject.rows else None
    aliases = tuple(name for name in _names(subject) if name and name.casefold() != document.title.casefold())
    region = next((row.location for row in subject.rows if row.location), "")
    found = replace(document, category=normalise(first.category) if first else "", region=normalise(region), aliases=aliases)
    about = {"category": found.category, "region": found.region}
    return replace(found, sha256=document_hash(found.title, found.source, found.text, about, found.aliases))


def _row_document(subject: _Subject, wiki: Wiki, wanted: Wanted, page: Page, text: PageText) -> Document:
    """What the list itself says of a subject without an article, as a small document marked as a list row."""
    name = normalise(subject.rows[0].name)
    said = [
        name,
        *(row.description for row in subject.rows),
        *(f"Other names: {', '.join(row.other_names)}" for row in subject.rows if row.other_names),
        *(f"Location: {row.location}" for row in subject.rows if row.location),
    ]
    writer = Writer()
    for each in dict.fromkeys(said):
        writer.add("paragraph", normalise(each).strip())
    source = Source(f"{wiki.name}: {page.title} ({_LIST_ROW}: {name})", page.url, text.license)
    return _attributed(_document(subject.id, name, source, writer.outline(), text, wiki.permalink(text.revision), wanted), subject)


def _id(title: str) -> str:
    return f"{KIND}:{title}"
