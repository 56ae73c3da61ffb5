"""How long HTML takes to become a document: an article of a wiki and a page of any site, parsed, outlined, hashed.

python -m benchmarks.html [FILE …]     each file as both; without files: generated ones of 100, 200 and 300 kB
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from sitt_core.sources.html import parse_html
from sitt_core.sources.page import read_page
from sitt_core.sources.parsoid import outline_article
from sitt_core.text import sha256_text

ROUNDS = 31
TARGET = 0.060
SIZES = (100_000, 200_000, 300_000)
CONTAINERS = {"article": ("<article>", "</article>"), "plain div": ('<div class="wide">', "</div>")}
"""What stands around a site's main text: what says so, or nothing that does."""


def generated_article(size: int) -> str:
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


def generated_page(size: int, *, container: str) -> str:
    """A page of about so many bytes as sites have them: a fifth scripts and styles, menus, related pages, a footer, the rest the text."""
    style = "".join(f".c-card__part--{number}{{margin:0 auto {number}px;color:#1a2b3c}}" for number in range(size // 1000))
    script = "".join(f"window.state.push({{id:{number},kind:'view',seen:false}});" for number in range(size // 500))
    icon = '<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="M12 2a10 10 0 100 20 10 10 0 000-20zm1 15h-2v-6h2v6z"/></svg>'
    menus = "".join(
        f'<li class="menu__item"><a class="menu__link" href="/lakes/{menu}">{icon}<span class="menu__label">Lakes {menu}</span></a>'
        f'<ul class="menu__sub">{"".join(f"<li><a href=/lakes/{menu}/{number}>Lake {number}</a></li>" for number in range(8))}</ul></li>'
        for menu in range(12)
    )
    cards = "".join(
        f'<div class="c-card c-card--small"><a class="c-card__link" href="/stories/{number}"><img class="c-card__image" loading="lazy" '
        f'src="/media/{number}-320.jpg" srcset="/media/{number}-320.jpg 320w, /media/{number}-640.jpg 640w" alt=""></a>'
        f'<h4 class="c-card__title">The story of lake {number}</h4><p class="c-card__text">What was seen there, and by whom.</p></div>'
        for number in range(12)
    )
    opening, closing = CONTAINERS[container]
    parts = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Lake monsters | The Lake Site</title><style>{style}</style>'
        f'<script>{script}</script></head><body><header class="site-header"><nav class="menu"><ul>{menus}</ul></nav></header>'
        f"{opening}<h1>Lake monsters</h1>"
    ]
    ending = (
        f'{closing}<aside class="related">{cards}</aside><footer class="site-footer"><ul>{menus}</ul><p>All rights reserved.</p></footer>'
    )
    ending += "</body></html>"
    length, number = len(parts[0]) + len(ending), 0
    while length < size:
        number += 1
        parts.append(_page_section(number))
        length += len(parts[-1])
    return "".join([*parts, ending])


def _page_section(number: int) -> str:
    link = (
        f'<a class="link link--inline" href="https://example.org/lakes/lake-{number}?utm_source=article&amp;utm_campaign=lakes" '
        f'target="_blank" rel="noopener noreferrer" data-track="inline-link">Lake {number}</a>'
    )
    words = f"In {1500 + number} the beast of {link} was <em>seen</em> again, three kilometres from the shore, by two who fished there. "
    rows = "".join(f'<tr><td class="cell">{link}</td><td class="cell">{year}</td><td class="cell">once</td></tr>' for year in range(4))
    return (
        f'<h2 class="heading" id="sighting-{number}">Sighting {number}</h2><p class="paragraph">{words * 4}</p><p class="paragraph">{words * 3}</p>'
        f'<figure class="figure"><img class="figure__image" loading="lazy" decoding="async" width="1280" height="720" src="/media/{number}-1280.jpg" '
        f'srcset="/media/{number}-640.jpg 640w, /media/{number}-1280.jpg 1280w" alt="The shore"><figcaption>The shore.</figcaption></figure>'
        f'<ul class="list"><li class="list__item">{words}</li><li class="list__item">{words}</li></ul><div class="table-scroll"><table class="table">'
        f"<thead><tr><th>Where</th><th>Year</th><th>Seen</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def outlined(html: str) -> int:
    """A wiki's article from HTML to a hashed text with its sections and blocks; that text's length."""
    text = outline_article(parse_html(html)).text
    sha256_text(text)
    return len(text)


def read(html: str) -> int:
    """A site's page from HTML to a document; its text's length."""
    return len(read_page(html, id_="page", url="https://example.org/page", origin="sitemap:x", revision="", fetched_at="").text)


def seconds(work: Callable[[str], int], html: str) -> tuple[float, int]:
    """The median time of some work on a page, and the length of the text that comes of it."""
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        length = work(html)
        times.append(time.perf_counter() - started)
    return statistics.median(times), length


def main() -> None:
    """Times each page."""
    files = [(path, Path(path).read_text(encoding="utf-8")) for path in sys.argv[1:]]
    articles = files or [(f"generated, {size // 1000} kB", generated_article(size)) for size in SIZES]
    pages = files or [
        (f"generated, {size // 1000} kB in {kind}", generated_page(size, container=kind)) for kind in CONTAINERS for size in SIZES
    ]
    for what, work, found in (("a wiki's article", outlined, articles), ("a site's page", read, pages)):
        for name, html in found:
            median, length = seconds(work, html)
            told = "within" if median <= TARGET else "OVER"
            size = len(html.encode())
            print(f"{what}, {name}: {size / 1000:.0f} kB of HTML to {length:,} characters in {median * 1000:.1f} ms (median of {ROUNDS})")
            print(f"    {told} the target of {TARGET * 1000:.0f} ms")


if __name__ == "__main__":
    main()
