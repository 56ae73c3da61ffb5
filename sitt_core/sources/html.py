"""How a tree of HTML becomes a canonical text: headings, paragraphs, lists and tables in Markdown's manner, with exact offsets."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sitt_core.errors import SourceError
from sitt_core.sources.outline import Headings, Outline, Writer
from sitt_core.text import normalise_counted
from sitt_core.types import BlockKind

MAX_ELEMENTS = 200_000
MAX_DEPTH = 200
MAX_COLUMNS = 100
_TOO_DEEP = f"boolean({'/*' * (MAX_DEPTH + 1)})"
INFOBOX = "Infobox"
"""The heading of the section that an infobox becomes."""


def named(names: str) -> frozenset[str]:
    """A set of names, given with blanks between them."""
    return frozenset(names.split())


_BLANK = re.compile(r"[ \t\r\n\f\u00a0\u2007\u202f]+")
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_EXPONENT = re.compile(r"[-+−–]?[0-9]+(?:[.,][0-9]+)?")
_DISPLAY = re.compile(r"\{\\(?:displaystyle|textstyle) (.*)\}", re.DOTALL)
_WIKI_HEADING = re.compile(r"(={2,6})\s*(.*[^=\s])\s*\1")
_TITLE_END = re.compile(r"[\s:.;,…]+$")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_SILENT = named(
    "style script link meta title noscript template iframe audio video svg canvas img picture object embed map input button "
    "select textarea head"
)
_APART = named(
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol p pre section summary table tbody tfoot thead tr ul"
)
"""What stands apart from the words before and after it."""
_IN_TABLES = {
    "table": named("caption colgroup col thead tbody tfoot tr"),
    "thead": named("tr"),
    "tbody": named("tr"),
    "tfoot": named("tr"),
    "tr": named("td th"),
}


def parse_html(html: str) -> Any:
    """The tree of a page, comments removed; raises SourceError for what is none, or has more in it than can be read."""
    from lxml import etree

    try:
        # Plain elements: those of lxml.html cost a look-up each.
        parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
        # The parser would put a replacement character for each NUL.
        root = etree.fromstring(html.replace("\x00", "").encode("utf-8", "replace"), parser)
    except (etree.LxmlError, ValueError) as error:
        raise SourceError(expected="a page of HTML", got=f"what is none: {error!s:.100}", remedy="Open the address in a browser.") from None
    if root is None:
        raise SourceError(expected="a page of HTML", got="an empty one", remedy="Open the address in a browser.")
    if root.xpath("count(//*)") > MAX_ELEMENTS or root.xpath(_TOO_DEEP):
        raise SourceError(
            expected=f"a page of at most {MAX_ELEMENTS:,} elements, {MAX_DEPTH} deep", got="more of them", remedy="Leave the page out."
        )
    return root


def classes(element: Any) -> list[str]:
    """The names in an element's class attribute."""
    return (element.get("class") or "").split()


def outline_html(root: Any, *, dropped: Callable[[Any], bool], cut: Collection[str] = ()) -> Outline:
    """The text of a tree without the elements that `dropped` says no to, and without the sections titled as in `cut`.

    A title counts by `plain_title`. Tables come row by row under the names of their columns, infoboxes as a section of
    their own behind the one they stand in, formulas once as TeX.
    """
    reader = _Reader(dropped, frozenset(cut))
    reader.visit(root)
    reader.flush()
    reader.write_infoboxes()
    return reader.outline()


def outline_lines(text: str, *, cut: Collection[str] = ()) -> Outline:
    """A plain text whose headings stand between equals signs, a paragraph to a line; without the sections titled as in `cut`."""
    reader = _Reader(lambda _: False, frozenset(cut))
    for line in text.split("\n"):
        heading = _WIKI_HEADING.fullmatch(line.strip())
        if heading:
            reader.heading(len(heading[1]), heading[2])
        else:
            reader.add("paragraph", _BLANK.sub(" ", line))
    return reader.outline()


def words_of(element: Any, *, dropped: Callable[[Any], bool]) -> str:
    """What an element says, on one line; what stood on lines of its own is parted by "; "."""
    return _joined(_Reader(dropped, frozenset()).lines(element))


def plain_title(title: str) -> str:
    """A heading as it is compared: lower case, single blanks, no punctuation at its end."""
    return _TITLE_END.sub("", " ".join(title.casefold().split()))


def rows_of(table: Any) -> Iterator[Any]:
    """The rows of a table, not those of a table inside it."""
    for child in table:
        if child.tag == "tr":
            yield child
        elif child.tag in ("thead", "tbody", "tfoot"):
            yield from (row for row in child if row.tag == "tr")


def grid_of(table: Any) -> list[list[Any]]:
    """A table's cells by row and column: a cell that spans rows is in each of them, one that spans columns in its first (then None)."""
    rows = list(rows_of(table))
    grid: list[list[Any]] = []
    hanging: dict[int, tuple[Any, int]] = {}
    for row in rows:
        line: list[Any] = []
        cells = [cell for cell in row if cell.tag in ("td", "th")]
        while len(line) < MAX_COLUMNS and (cells or any(column >= len(line) for column in hanging)):
            column = len(line)
            if column in hanging:
                cell, left = hanging.pop(column)
                if left > 1:
                    hanging[column] = (cell, left - 1)
                line.append(cell)
            elif cells:
                cell = cells.pop(0)
                tall, wide = _span(cell, "rowspan", len(rows)), _span(cell, "colspan", MAX_COLUMNS)
                for place in range(wide):
                    line.append(None if place else cell)
                    if tall > 1:
                        hanging[column + place] = (None if place else cell, tall - 1)
            else:
                line.append(None)
        for cell in cells:  # beyond the last column: nothing is lost
            line.append(cell)
        grid.append(line)
    return grid


def _span(cell: Any, name: str, most: int) -> int:
    value = (cell.get(name) or "").strip()
    if not re.fullmatch(r"[0-9]{1,6}", value):
        return 1
    return min(int(value) or (most if name == "rowspan" else 1), most)


def header_rows(grid: Sequence[Sequence[Any]]) -> int:
    """How many rows at the top name the columns: those of nothing but th (a corner may be blank), when other rows follow."""
    count = 0
    for row in grid:
        cells = [cell for cell in row if cell is not None]
        named_by = [cell for cell in cells if cell.tag == "th"]
        if not named_by or any(cell.tag != "th" and (len(cell) or (cell.text or "").strip()) for cell in cells):
            break
        if len(named_by) < len(cells) and len(named_by) < 2:
            break
        count += 1
    return count if count < len(grid) else 0


@dataclass
class _Reader:
    """Walks a tree once, writing blocks."""

    dropped: Callable[[Any], bool]
    cut: frozenset[str]
    writer: Writer = field(default_factory=Writer)
    run: list[str] = field(default_factory=list)
    cut_at: int = 0
    flat: int = 0
    boxes: list[tuple[Headings, Any]] = field(default_factory=list)
    taken: dict[str, int] = field(default_factory=dict)

    def outline(self) -> Outline:
        return self.writer.outline(taken=self.taken)

    def add(self, kind: BlockKind, text: str, *, gap: str = "\n\n") -> None:
        """Appends a block, unless it says nothing or is of what is cut."""
        text = self.normal(text).strip()
        if text and not self.cut_at:
            self.writer.add(kind, text, gap=gap)

    def normal(self, text: str) -> str:
        """The text in its normal form, what that takes out counted."""
        text, taken = normalise_counted(text)
        for name, count in taken.items():
            self.taken[name] = self.taken.get(name, 0) + count
        return text

    def flush(self) -> None:
        """Ends the paragraph being gathered."""
        if self.run:
            lines = _lines("".join(self.run))
            self.run = []
            self.add("paragraph", "\n".join(lines))

    def lines(self, element: Any) -> list[str]:
        """What an element says, one line for all that stands apart in it."""
        if not len(element):
            return _lines(_BLANK.sub(" ", element.text or ""))
        outer, self.run = self.run, []
        self.flat += 1
        self.visit(element)
        self.flat -= 1
        told, self.run = self.run, outer
        return _lines("".join(told))

    def visit(self, element: Any) -> None:
        """The words and elements inside an element."""
        if element.text:
            self.run.append(_BLANK.sub(" ", element.text))
        gone = None
        for child in element:
            about = child.get("about")
            style = child.get("style")
            of_gone = gone is not None and about == gone and "infobox" not in classes(child)
            if of_gone or child.tag in _SILENT or (style and _HIDDEN.search(style)):
                pass
            elif self.dropped(child):
                # All of a template that is left out goes, not only its first element.
                gone = about if "mw:Transclusion" in (child.get("typeof") or "") and child.tag != "sup" else None
            elif child.tag in _APART:
                self.apart(child)
            else:
                self.inline(child)
            if child.tail:
                self.run.append(_BLANK.sub(" ", child.tail))

    def inline(self, child: Any) -> None:
        """What stands among words."""
        tag = child.tag
        if tag == "br":
            self.run.append("\n")
        elif tag == "math" or "mwe-math-element" in classes(child):
            self.run.append(_formula(child))
        elif tag == "sup":
            told = " ".join(self.lines(child))
            self.run.append(f"^{told}" if _EXPONENT.fullmatch(told) else told)
        elif tag == "rt" and not any(each.tag == "rp" for each in child.getparent()):
            self.run.append(f"({' '.join(self.lines(child))})")
        elif tag in ("td", "th"):
            self.visit(child)
            self.run.append("\n")
        else:
            self.visit(child)

    def apart(self, child: Any) -> None:
        """What stands apart: a block of its own, or what holds some."""
        tag = child.tag
        if self.flat:
            self.run.append("\n")
            if tag == "table":
                self.run.append("\n".join(self.pairs(child)))
            else:
                self.visit(child)
            self.run.append("\n")
            return
        self.flush()
        if tag in _HEADINGS:
            self.heading(_HEADINGS[tag], " ".join(self.lines(child)))
        elif tag == "section":
            self.section(child)
        elif self.cut_at and tag not in ("div", "body", "main", "article"):
            self.skip(child)
        elif tag == "table":
            self.table(child)
        elif tag in ("ul", "ol", "menu"):
            for number, item in enumerate(self.items(child)):
                self.add("item", item, gap="\n" if number else "\n\n")
        elif tag == "dl":
            self.definitions(child)
        elif tag == "blockquote":
            self.add("quote", "\n".join(f"> {line}" for line in self.lines(child)))
        elif tag == "pre":
            self.code(child)
        else:
            self.visit(child)
            self.flush()

    def heading(self, level: int, title: str) -> None:
        """Begins a section, or what is cut; without words it is none."""
        title = " ".join(self.normal(title).split())
        if not title or (self.cut_at and level > self.cut_at):
            return
        self.write_infoboxes()
        self.cut_at = level if plain_title(title) in self.cut else 0
        if self.cut_at:
            self.writer.descend(level, title)
        else:
            self.writer.heading(level, title)

    def section(self, element: Any) -> None:
        """A section element: behind its end the text is of the section around it again."""
        path, cut_at = self.writer.path, self.cut_at
        self.visit(element)
        self.flush()
        if self.writer.path != path:
            self.write_infoboxes()
            self.writer.path, self.cut_at = path, cut_at

    def skip(self, element: Any) -> None:
        """Looks for headings alone in what is cut: one may end it."""
        if any(each.tag in _HEADINGS for each in element.iter()):
            self.visit(element)
            self.run = []

    def items(self, element: Any) -> Iterator[str]:
        """A list's items, marked; what nests in one is part of it, indented."""
        number = 0
        for stray in self.strays(element):
            yield f"- {stray}"
        for item in element:
            if item.tag in _SILENT or self.dropped(item):
                continue
            nested = [child for child in item if child.tag in ("ul", "ol", "menu") and not self.dropped(child)]
            for child in nested:
                _take_out(child)
            told = self.lines(item)
            inner = [f"  {line}" for child in nested for each in self.items(child) for line in each.split("\n")]
            if told or inner:
                number += 1
                mark = f"{number}. " if element.tag == "ol" else "- "
                first, *rest = told or [""]
                yield "\n".join([f"{mark}{first}".rstrip(), *(f"  {line}" for line in rest), *inner])

    def strays(self, element: Any) -> Iterator[str]:
        """The words directly inside an element that should hold none, such as a list between its items."""
        for words in (element.text, *(child.tail for child in element)):
            if words and words.strip():
                yield _BLANK.sub(" ", words).strip()

    def strays_of_table(self, table: Any) -> Iterator[str]:
        """What is in a table, but in no cell of it: browsers show it above."""
        inner = [child for child in table if child.tag in ("thead", "tbody", "tfoot")]
        rows = list(rows_of(table))
        for part in (table, *inner, *rows):
            yield from self.strays(part)
            for child in part:
                if child.tag not in _IN_TABLES[part.tag] and child.tag not in _SILENT and not self.dropped(child):
                    yield from self.lines(child)

    def definitions(self, element: Any) -> None:
        """A list of terms: each with what defines it is an item; what is merely indented is a paragraph."""
        held: list[str] = []
        first = True
        for stray in self.strays(element):
            self.add("paragraph", stray)
        for child in [*element, None]:
            if child is not None and (child.tag in _SILENT or self.dropped(child)):
                continue
            if child is not None and child.tag == "dd" and held:
                held += [f"  {line}" for line in self.lines(child)]
                continue
            if held:
                self.add("item", "\n".join(held), gap="\n\n" if first else "\n")
                held, first = [], False
            if child is not None and child.tag == "dt":
                told = self.lines(child)
                held = [f"- {told[0]}", *(f"  {line}" for line in told[1:])] if told else []
            elif child is not None:
                self.visit(child)
                self.flush()

    def code(self, element: Any) -> None:
        """Preformatted text, its white space kept, between fences."""
        text = self.normal("".join(element.itertext())).strip("\n").rstrip()
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
        if text.strip():
            self.add("code", f"{fence}\n{text}\n{fence}")

    def table(self, table: Any) -> None:
        """A table of data row by row; an infobox is kept for the end of its section; a table for layout is what it holds."""
        if "infobox" in classes(table):
            self.boxes.append((self.writer.path, table))
            return
        for caption in table.iterchildren("caption"):
            if not self.dropped(caption):
                self.add("paragraph", "\n".join(self.lines(caption)))
        for stray in self.strays_of_table(table):
            self.add("paragraph", stray)
        grid = grid_of(table)
        while len(grid) > 1 and len(grid[0]) > 1 and _is_title(grid[0]):
            self.add("paragraph", "\n".join(self.lines(grid.pop(0)[0])))
        if table.get("role") == "presentation" or all(sum(cell is not None for cell in row) <= 1 for row in grid):
            for row in rows_of(table):
                for cell in row:
                    if cell.tag in ("td", "th") and not self.dropped(cell):
                        self.visit(cell)
                        self.flush()
            return
        self.add("table", "\n".join(self.pipes(grid)))

    def pipes(self, grid: Sequence[Sequence[Any]]) -> Iterator[str]:
        """A table's lines: the columns' names, then each row."""
        heads = header_rows(grid)
        width = max(map(len, grid), default=0)
        told: dict[int, str] = {}
        for cell in (cell for row in grid for cell in row if cell is not None):
            if id(cell) not in told:
                told[id(cell)] = "" if self.dropped(cell) else _joined(self.lines(cell)).replace("|", "\\|")
        cells = [[told[id(cell)] if cell is not None else "" for cell in row] + [""] * (width - len(row)) for row in grid]
        # A column of pictures or footnotes alone says nothing here.
        said = [column for column in range(width) if any(row[column] for row in cells[heads:])]
        cells, width = [[row[column] for column in said] for row in cells], len(said)
        if heads and width:
            names = [" ".join(dict.fromkeys(row[column] for row in cells[:heads] if row[column])) for column in range(width)]
            yield f"| {' | '.join(names)} |"
            yield "|" + "---|" * width
        for row in cells[heads:]:
            if any(row):
                yield f"| {' | '.join(row)} |"

    def pairs(self, table: Any) -> Iterator[str]:
        """A table as lines of "name: value"; a row without a name as it is, a table inside by its own lines."""
        for caption in table.iterchildren("caption"):
            if not self.dropped(caption):
                yield from self.lines(caption)
        yield from self.strays_of_table(table)
        for row in rows_of(table):
            if _HIDDEN.search(row.get("style") or "") or self.dropped(row):
                continue
            cells = [cell for cell in row if cell.tag in ("td", "th") and not self.dropped(cell)]
            told = [self.lines(cell) for cell in cells]
            if len(cells) > 1 and cells[0].tag == "th" and told[0]:
                values = [line for lines in told[1:] for line in lines]
                yield f"{' '.join(told[0])}: {_joined(values)}" if values else " ".join(told[0])
            elif len(cells) > 1:
                joined = _joined([line for lines in told for line in lines])
                if joined:
                    yield joined
            else:
                yield from (line for lines in told for line in lines)

    def write_infoboxes(self) -> None:
        """The infoboxes of the section that ends here, each a section under it."""
        boxes, self.boxes = self.boxes, []
        for path, box in boxes:
            before, self.writer.path = self.writer.path, path
            told = list(self.pairs(box))
            if told and not self.cut_at:
                self.writer.heading(path[-1][0] + 1 if path else 2, INFOBOX)
                for number, line in enumerate(told):
                    self.add("item", f"- {line}", gap="\n" if number else "\n\n")
            self.writer.path = before


def _is_title(row: Sequence[Any]) -> bool:
    """Whether a row is one th across all columns."""
    return row[0] is not None and row[0].tag == "th" and all(cell is None for cell in row[1:])


def _lines(text: str) -> list[str]:
    """A gathered text's lines, blanks joined, empty ones left out."""
    if "\n" not in text:
        line = _BLANK.sub(" ", text).strip()
        return [line] if line else []
    return [line for line in (_BLANK.sub(" ", line).strip() for line in text.split("\n")) if line]


def _joined(lines: Sequence[str]) -> str:
    """Lines as one, "; " between them unless the first ends like that already."""
    return "".join(line if last else f"{line} " if line.endswith((":", ";", ",")) else f"{line}; " for line, last in _with_last(lines))


def _with_last(lines: Sequence[str]) -> Iterator[tuple[str, bool]]:
    return ((line, number == len(lines) - 1) for number, line in enumerate(lines))


def _take_out(child: Any) -> None:
    """Removes an element and leaves the words behind it."""
    parent, before, tail = child.getparent(), child.getprevious(), child.tail
    parent.remove(child)
    child.tail = None
    if tail and before is not None:
        before.tail = (before.tail or "") + tail
    elif tail:
        parent.text = (parent.text or "") + tail


def _formula(element: Any) -> str:
    """A formula once: its TeX, else what stands in its place."""
    for annotation in element.iter("annotation"):
        if annotation.get("encoding") == "application/x-tex" and (annotation.text or "").strip():
            tex = " ".join(annotation.text.split())
            found = _DISPLAY.fullmatch(tex)
            return found[1].strip() if found else tex
    alternatives = [element.get("alttext"), *(image.get("alt") for image in element.iter("img"))]
    named = next((each for each in alternatives if each), "")
    return " ".join((named or "".join(element.itertext())).split())
