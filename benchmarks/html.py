"""How long an article's HTML takes to become a document: parsed, outlined, hashed.

python -m benchmarks.html [FILE …]     without files: generated articles of 100, 200 and 300 kB
"""

import statistics
import sys
import time
from pathlib import Path

from sitt_core.sources.html import parse_html
from sitt_core.sources.parsoid import outline_article
from sitt_core.text import sha256_text

ROUNDS = 31
TARGET = 0.060
SIZES = (100_000, 200_000, 300_000)


def generated(size: int) -> str:
    """An article of about so many bytes, marked up as densely as Parsoid does: links, references, data-mw, tables, templates."""
    parts, number = ['<html><body><table class="infobox"><tr><th>Country</th><td>Scotland<br/>UK</td></tr></table>'], 0
    length = 0
    while length < size:
        number += 1
        link = f'<a rel="mw:WikiLink" href="./Lake_{number}" title="Lake {number}" id="mwA{number}">Lake {number}</a>'
        note = (
            f'<sup about="#mwt{number}" class="mw-ref reference" id="cite_ref-{number}" rel="dc:references" typeof="mw:Extension/ref" '
            f'data-mw=\'{{"name":"ref","attrs":{{}},"body":{{"id":"note-{number}"}}}}\'><a href="./X#note-{number}">'
            f'<span class="mw-reflink-text">[{number}]</span></a></sup>'
        )
        words = f"In {1500 + number} the beast of {link} was <i>seen</i> again, 3<span typeof='mw:Entity'> </span>km from the shore.{note} "
        rows = "".join(f"<tr><td>{link}</td><td>{year}</td><td>once{note}</td></tr>" for year in range(4))
        parts.append(
            f'<section data-mw-section-id="{number}"><h2 id="S{number}">Sighting {number}</h2><p id="mwB{number}">{words * 4}</p><ul><li>{words}</li>'
            f'<li>{words}</li></ul><table class="wikitable"><tr><th>Where</th><th>Year</th><th>Seen</th></tr>{rows}</table></section>'
        )
        length += len(parts[-1])
    sources = "".join(f"<li>Doe, J. ({year}). Retrieved 1 May.</li>" for year in range(1900, 2000))
    parts.append(f'<section><h2>References</h2><ol class="mw-references references">{sources}</ol></section></body></html>')
    return "".join(parts)


def seconds(html: str) -> tuple[float, int]:
    """The median time from HTML to a hashed text with its sections and blocks, and that text's length."""
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        outline = outline_article(parse_html(html))
        sha256_text(outline.text)
        times.append(time.perf_counter() - started)
    return statistics.median(times), len(outline.text)


def main() -> None:
    """Times each page."""
    pages = [(path, Path(path).read_text(encoding="utf-8")) for path in sys.argv[1:]]
    pages = pages or [(f"generated, {size // 1000} kB", generated(size)) for size in SIZES]
    for name, html in pages:
        median, length = seconds(html)
        told = "within" if median <= TARGET else "OVER"
        size = len(html.encode())
        print(f"{name}: {size / 1000:.0f} kB of HTML to {length:,} characters in {median * 1000:.1f} ms (median of {ROUNDS})")
        print(f"    {told} the target of {TARGET * 1000:.0f} ms")


if __name__ == "__main__":
    main()
