"""How a list article's tables become a taxonomy: rows by the names of their columns, under the heading of their group."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sitt_core.errors import SourceError
from sitt_core.sources.html import classes, grid_of, header_rows, plain_title, words_of
from sitt_core.sources.parsoid import CUT, is_article_title, is_chrome, link_target

_LEVELS = {f"h{level}": level for level in range(1, 7)}
_NO_GROUP = ("list", "table", "entries", "overview", "contents")
"""Headings that name the list itself, not a group of it."""
_COLUMNS = (
    ("other_names", re.compile(r"(?:other|alternat\w+|additional) names?|alias(?:es)?|also known as|a\.?k\.?a|synonyms?")),
    ("description", re.compile(r"(?:short |brief )?descriptions?|summary|characteristics")),
    ("location", re.compile(r".*\b(?:locations?|regions?|countr(?:y|ies)|areas?|habitats?|origins?|places?|sightings?|where)\b.*")),
    (
        "name",
        re.compile(
            r"names?(?: of .*)?|common names?|cryptids?|creatures?|beings?|entit(?:y|ies)|titles?|articles?|species|animals?|monsters?"
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a list: what it says, each on one line; `target` is the article that its name links to, "" for none."""

    name: str
    target: str
    category: str
    other_names: tuple[str, ...] = ()
    description: str = ""
    location: str = ""


def read_rows(root: Any, *, title: str) -> list[Row]:
    """The rows of every table of a list article that has a column of names, in order.

    Raises SourceError when there is none: a list that cannot be read is never an empty one.
    """
    tables = list(_tables(root))
    rows = [row for category, table in tables for row in _rows(table, category)]
    if not rows:
        # A list whose columns are called otherwise: the first column names what the row is about.
        rows = [row for category, table in tables if "wikitable" in classes(table) for row in _rows(table, category, first=True)]
    if not rows:
        raise SourceError(
            expected=f"tables with a column of names in {title}",
            got=f"{len(tables)} tables, none of them with one" if tables else "no table",
            remedy="Open the article: it may have been changed, or it may be no list. Its articles can be named by wikipedia:titles=A|B.",
        )
    return rows


def _tables(root: Any) -> list[tuple[str, Any]]:
    """The article's tables, none inside another, each with the heading of its group."""
    found = []
    path: list[tuple[int, str]] = []
    for element in root.iter("table", *_LEVELS):
        above = list(element.iterancestors())
        if any(each.tag == "table" for each in above) or is_chrome(element) or any(map(is_chrome, above)):
            continue
        if element.tag in _LEVELS:
            level = _LEVELS[element.tag]
            path = [*(each for each in path if each[0] < level), (level, words_of(element, dropped=is_chrome))]
        elif "infobox" not in classes(element) and not any(plain_title(heading) in CUT for _, heading in path):
            groups = [heading for _, heading in path if plain_title(heading) not in _NO_GROUP]
            found.append((groups[-1] if groups else "", element))
    return found


def _rows(table: Any, category: str, *, first: bool = False) -> list[Row]:
    """A table's rows; none when no column is one of names, unless the `first` is to count as that."""
    grid = grid_of(table)
    heads = header_rows(grid)
    columns = _columns(grid[:heads])
    if first and heads:
        columns = {"name": 0, **columns}
    if "name" not in columns:
        return []
    rows: list[Row] = []
    seen: dict[int, int] = {}
    for line in grid[heads:]:
        cells = {role: line[column] if column < len(line) else None for role, column in columns.items()}
        name = cells["name"]
        row = None if name is None else _row(cells, category)
        if row is None:
            continue
        if id(name) in seen:  # one name for several rows
            rows[seen[id(name)]] = _joined(rows[seen[id(name)]], row)
            continue
        seen[id(name)] = len(rows)
        rows.append(row)
    return rows


def _columns(heads: Sequence[Sequence[Any]]) -> dict[str, int]:
    """Where each column that we know is, by the words in its header."""
    found: dict[str, int] = {}
    for row in heads:
        for column, cell in enumerate(row):
            words = plain_title(words_of(cell, dropped=is_chrome)) if cell is not None else ""
            role = next((role for role, pattern in _COLUMNS if pattern.fullmatch(words)), "")
            if role:
                found.setdefault(role, column)
    return found


def _row(cells: Mapping[str, Any], category: str) -> Row | None:
    """A row, or None for one whose cell of the name says nothing."""
    told = {role: words_of(cell, dropped=is_chrome) if cell is not None else "" for role, cell in cells.items()}
    name, *others = split_names(told["name"], at=";") or [""]
    if not name:
        return None
    links = [link_target(link)[0] for link in cells["name"].iter("a") if not any(map(is_chrome, link.iterancestors()))]
    target = next((title for title in links if is_article_title(title)), "")
    names = tuple(dict.fromkeys([*others, *split_names(told.get("other_names", ""))]))
    return Row(name, target, category, names, told.get("description", ""), told.get("location", ""))


def _joined(one: Row, other: Row) -> Row:
    """Two rows that share a name as one."""
    return Row(
        one.name,
        one.target or other.target,
        one.category,
        tuple(dict.fromkeys((*one.other_names, *other.other_names))),
        "; ".join(dict.fromkeys(filter(None, (one.description, other.description)))),
        "; ".join(dict.fromkeys(filter(None, (one.location, other.location)))),
    )


def split_names(text: str, *, at: str = ",;") -> list[str]:
    """The names in a cell, parted by commas, not those inside brackets or quotation marks."""
    names, name, depth, quoted = [], "", 0, False
    for character in text:
        depth = max(0, depth + (character in "([{“«") - (character in ")]}”»"))
        quoted ^= character == '"'
        if character in at and not depth and not quoted:
            names.append(name)
            name = ""
        else:
            name += character
    return list(dict.fromkeys(each for each in (piece.strip() for piece in (*names, name)) if each))
