"""A document with its chunks drawn into it, as HTML; every character of it is escaped."""

from collections.abc import Collection
from html import escape

from sitt_core.anatomy import Cutting, Piece, Summary, cuts, pieces
from sitt_core.surfaces.dashboard.theme import DARK, Palette
from sitt_core.types import Chunk, Document, Span

PART = 60_000
"""The most characters of a text that are shown at once."""
GUTTER = 160
"""Characters from one chunk's number in the margin to the next: closer ones would lie on each other."""
LEGEND = (
    '<div class="sl-legend"><span><i class="sl-odd">one chunk</i> <i class="sl-even">the next</i></span>'
    '<span><i class="sl-both">in both (overlap)</i></span><span><b>┃</b> a cut <b>◆</b> a cut that only this side makes</span>'
    "<span>in the margin: number and tokens of the chunk that begins there</span></div>"
)


def style_sheet(colours: Palette) -> str:
    """The `<style>` of the chunk view and of the document card."""
    odd, even, both = ("#26402f", "#3b3524", "#5d5a2c") if colours is DARK else ("#dcebd8", "#efe6cf", "#c9c48d")
    return f"""<style>
.sl-chunks{{position:relative;white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.6;font-size:.9rem;background:{colours.card};
border:1px solid {colours.line};border-radius:10px;padding:.7rem 1.5rem .8rem 3.9rem;color:{colours.text};unicode-bidi:plaintext}}
.sl-odd{{background:{odd}}}.sl-even{{background:{even}}}
.sl-both{{background:{both};text-decoration:underline dotted;text-underline-offset:3px}}
.sl-chunks b{{font-weight:700}}
.sl-no{{position:absolute;left:.5rem;width:3.1rem;font-size:.74rem;line-height:1.95;color:{colours.faint};white-space:nowrap;text-decoration:none;
font-variant-numeric:tabular-nums;user-select:none;font-weight:400}}
.sl-no strong{{color:{colours.text};font-weight:650}}
.sl-cut{{position:absolute;width:0;height:1.45em;border-left:2px solid {colours.faint};margin-left:1px}}
.sl-alone{{position:absolute;right:.45rem;font-style:normal;color:{colours.text};user-select:none}}
.sl-legend{{display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;font-size:.82rem;color:{colours.faint};margin:.1rem 0 .3rem}}
.sl-legend i{{font-style:normal;color:{colours.text};padding:.05rem .35rem;border-radius:3px}}
.sl-legend b{{color:{colours.text}}}
dl.sl-counts{{display:grid;grid-template-columns:auto 1fr;gap:.1rem .8rem;font-size:.86rem;font-variant-numeric:tabular-nums;margin:.2rem 0 .1rem;padding:0;color:{colours.text}}}
.sl-counts dt{{color:{colours.faint};font-weight:400;margin:0;font-size:inherit}}.sl-counts dd{{margin:0;font-size:inherit}}
.sl-doc{{max-height:26rem;overflow:auto;border-top:1px solid {colours.line};margin-top:.6rem;padding-top:.6rem}}
.sl-doc:focus-visible{{outline:2px solid {colours.accent}}}
.sl-line{{font-size:.92rem;line-height:1.5;color:{colours.text};font-variant-numeric:tabular-nums}}.sl-line span{{color:{colours.faint};font-size:.84rem}}
.sl-buckets{{display:flex;flex-wrap:wrap;gap:.5rem 1.6rem;margin:.3rem 0 .5rem;color:{colours.faint};font-size:.86rem}}
.sl-buckets b{{display:block;font-size:1.3rem;font-weight:650;line-height:1.2;color:{colours.text};font-variant-numeric:tabular-nums}}
.sl-diff{{font-family:ui-monospace,monospace;font-size:.8rem;line-height:1.5;white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid {colours.line};
border-radius:8px;background:{colours.card};color:{colours.text};padding:.4rem 0;max-height:26rem;overflow:auto}}
.sl-diff div{{padding:0 .7rem}}
.sl-diff .sl-added{{background:{odd}}}.sl-diff .sl-removed{{background:color-mix(in srgb,{colours.stages["reranked"]} 18%,transparent)}}
.sl-diff .sl-place-of{{color:{colours.faint}}}
@media(max-width:640px){{.sl-chunks{{padding:.6rem 1.3rem .7rem 3.3rem;font-size:.86rem}}.sl-no{{left:.35rem;width:2.8rem}}}}
</style>"""


def chunks_html(document: Document, cutting: Cutting, *, others: Collection[int] | None, part: Span) -> str:
    """`part` of the text: chunks in alternating shades, overlap in a third and underlined, cuts as bars, numbers in the margin.

    `others` are the other strategy's cuts: a cut that is not among them is marked; None marks nothing.
    """
    shown = pieces(document, cutting.chunks, part)
    ends = {end for end in cuts(cutting.chunks) if part.start < end <= part.end}
    numbered = _numbered(cutting, part)
    html = []
    for piece in shown:
        html.append(_piece(document, cutting, piece, number=numbered.get(piece.start)))
        if piece.end in ends:
            alone = others is not None and piece.end not in others
            html.append(_cut(alone=alone))
    return f'<div class="sl-chunks" dir="auto">{"".join(html)}</div>'


def _numbered(cutting: Cutting, part: Span) -> dict[int, int]:
    """Which chunk's number stands in the margin, by where it begins; none so close to the one before that they would touch."""
    made: dict[int, int] = {}
    last = -GUTTER
    for number, chunk in enumerate(cutting.chunks, start=1):
        start = max(chunk.start, part.start)
        if part.start <= start < min(part.end, chunk.end) and start - last >= GUTTER:
            made[start] = number
            last = start
    return made


def _piece(document: Document, cutting: Cutting, piece: Piece, *, number: int | None) -> str:
    text = escape(document.text[piece.start : piece.end])
    if piece.heading:
        text = f"<b>{text}</b>"
    if not piece.chunks:
        return text
    margin = ""
    if number is not None:
        margin = f'<span class="sl-no"><strong>{number}</strong> · {cutting.chunks[number - 1].tokens:,} </span>'
    shade = "both" if len(piece.chunks) > 1 else ("odd" if piece.chunks[0] % 2 else "even")
    hover = "\n\n".join(describe_chunk(cutting, each) for each in piece.chunks)
    return f'{margin}<span class="sl-{shade}" title="{escape(hover)}">{text}</span>'


def _cut(*, alone: bool) -> str:
    mark = '<i class="sl-alone" title="Only this side cuts here">◆</i>' if alone else ""
    return f'<i class="sl-cut"></i>{mark}'


def describe_chunk(cutting: Cutting, number: int) -> str:
    """A chunk in words: its size, its place, and the header that is embedded with it."""
    chunk, length = cutting.chunks[number - 1], cutting.lengths[number - 1]
    over = f", longer than the {cutting.limit:,} it reads at once" if length > cutting.limit else ""
    lines = [
        f"chunk {number}: {chunk.tokens:,} tokens; {length:,} of the embedder's with the header{over}",
        f"characters {chunk.start:,}–{chunk.end:,}",
        f"header: {chunk.header}" if chunk.header else "no header",
    ]
    return "\n".join(lines)


def chunk_rows(cutting: Cutting) -> list[dict[str, object]]:
    """A row per chunk, as the table under the text shows it."""
    return [
        {
            "chunk": number,
            "start": chunk.start,
            "end": chunk.end,
            "tokens": chunk.tokens,
            "embedded": length,
            "headings": " › ".join(chunk.heading_path),
            "header": chunk.header,
            "begins": _beginning(chunk),
        }
        for number, (chunk, length) in enumerate(zip(cutting.chunks, cutting.lengths, strict=True), start=1)
    ]


def _beginning(chunk: Chunk) -> str:
    return " ".join(chunk.text.split())[:60]


def summary_html(summary: Summary, *, limit: int, embedder: str, alone: int | None) -> str:
    """The counts over a column; `alone` of its cuts are not made by the other side."""
    rows = [
        ("chunks", f"{summary.chunks:,}"),
        ("tokens", f"{summary.least:,} least · {summary.median:,} median · {summary.most:,} most"),
        (
            "over the limit",
            f"{summary.overlong:,} longer than {escape(embedder)}’s {limit:,}" + (": in windows" if summary.overlong else ""),
        ),
        ("overlap", f"{summary.repeated:,} characters in two chunks"),
    ]
    if alone is not None:
        rows.append(("cuts", f"{max(0, summary.chunks - 1):,}, of which {alone:,} only here"))
    return f'<dl class="sl-counts">{"".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows)}</dl>'
