"""The style sheet of our own HTML, and the logo; the colours and the Plotly template are those of `sitt_core.look`."""

import base64

from sitt_core.look import DARK, LIGHT, STAGES, Palette, palette, template

__all__ = ["DARK", "LIGHT", "LOGO", "STAGES", "Palette", "palette", "style_sheet", "template"]


def style_sheet(colours: Palette) -> str:
    """The `<style>` of our own HTML; every class starts with `sl-`."""
    stage = "".join(f".sl-bar-{name}{{background:{colour}}}.sl-ink-{name}{{color:{colour}}}" for name, colour in colours.stages.items())
    return f"""<style>
[data-testid=stMainBlockContainer]{{padding:2.2rem 2.2rem 4rem}}
[data-testid=stSidebarUserContent]{{padding-bottom:2rem}}
[data-testid=stSidebar] [data-testid=stButtonGroup] button[role=radio]{{padding-inline:.6rem}}
[data-testid=stSidebar] [data-testid=stButtonGroup] button[aria-checked=true]{{color:{colours.text};border-color:{colours.accent}}}
[data-testid^=stBaseButton-primary]:not(:disabled) p,[data-testid=stBaseButton-primary]:not(:disabled),[data-testid=stBaseButton-primary]:not(:disabled):hover{{color:{colours.paper}}}
[data-testid=stMultiSelectTagsContainer] [data-tag] :is(span,button,svg){{color:{colours.paper}}}
@media(max-width:640px){{[data-testid=stMainBlockContainer]{{padding:4.2rem 1rem 3rem}}
[class*=st-key-examples]{{flex-wrap:nowrap;overflow-x:auto;padding:4px 4px 8px;margin:-4px}}[class*=st-key-examples]>*{{flex-shrink:0;max-width:80%}}}}
.sl-card{{background:{colours.card};border:1px solid {colours.line};border-radius:10px;padding:.9rem 1rem .8rem;margin:0 0 .2rem;color:{colours.text}}}
.sl-h{{font-size:1.02rem;font-weight:650;margin:.2rem 0 0;padding:0}}
.sl-card h2{{font-family:inherit;font-size:1.06rem;margin:0;padding:0;line-height:1.35;font-weight:650;overflow-wrap:anywhere}}
.sl-rank{{display:inline-block;min-width:1.6em;color:{colours.faint};font-variant-numeric:tabular-nums;font-weight:500}}
.sl-path{{color:{colours.faint};font-size:.86rem;margin:.1rem 0 .5rem;overflow-wrap:anywhere}}
.sl-text{{white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.55;font-size:.95rem;unicode-bidi:plaintext}}
.sl-text mark{{background:color-mix(in srgb,{colours.accent} 26%,transparent);color:inherit;border-radius:3px;padding:0 .1em}}
.sl-card details{{margin-top:.35rem}}
.sl-card:has(details[open])>.sl-text{{display:none}}
.sl-card summary{{cursor:pointer;color:{colours.faint};font-size:.86rem}}
.sl-card summary:focus-visible{{outline:2px solid {colours.accent};outline-offset:2px;border-radius:4px}}
.sl-place{{position:relative;height:6px;border-radius:3px;background:{colours.line};margin:.7rem 0 .2rem}}
.sl-place i{{position:absolute;top:0;bottom:0;background:{colours.accent};border-radius:3px;min-width:4px}}
.sl-small{{color:{colours.faint};font-size:.8rem;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}}
.sl-small a{{color:inherit}}
.sl-scores{{display:grid;grid-template-columns:auto 1fr auto;gap:.2rem .6rem;align-items:center;margin:.7rem 0 .5rem;font-size:.82rem;font-variant-numeric:tabular-nums}}
.sl-track{{height:9px;border-radius:5px;background:color-mix(in srgb,{colours.line} 60%,transparent)}}
.sl-track i{{display:block;height:100%;border-radius:5px;min-width:3px}}
.sl-absent{{color:{colours.faint}}}
.sl-brand{{display:flex;gap:.6rem;align-items:center;margin:0 0 .3rem}}
.sl-brand b{{font-size:1.12rem;line-height:1.1;display:block;color:{colours.text}}}
.sl-brand span{{font-size:.8rem;color:{colours.faint}}}
.sl-brand img{{flex:none}}
.sl-cost{{color:{colours.faint};font-size:.8rem;font-variant-numeric:tabular-nums;margin:-.55rem 0 .1rem;min-height:1.2em}}
.sl-found{{display:grid;grid-template-columns:1fr 1fr;gap:1rem;margin:.1rem 0 .6rem}}
.sl-found>div{{background:{colours.card};border:1px solid {colours.line};border-radius:10px;padding:.6rem .9rem;font-size:.88rem;line-height:1.45}}
.sl-found b{{font-weight:650}}
.sl-found dl{{font-size:inherit;display:grid;grid-template-columns:auto 1fr;gap:.15rem .7rem;margin:.3rem 0 0;padding:0}}
.sl-found dt{{color:{colours.faint};margin:0;font-size:inherit;font-weight:400}}
.sl-found dd{{margin:0;font-size:inherit;overflow-wrap:anywhere}}
@media(max-width:640px){{.sl-found{{grid-template-columns:1fr}}}}
.sl-badge{{display:inline-block;margin-left:.5rem;padding:0 .4rem;border:1px solid {colours.accent};border-radius:6px;color:{colours.accent};font-size:.78rem;font-weight:600;font-variant-numeric:tabular-nums;vertical-align:.1em}}
.sl-pinned{{grid-template-columns:1fr}}
.sl-pinned>div{{border-left:4px solid {colours.accent}}}
.sl-card table,.sl-fate table{{border-collapse:collapse;width:100%;font-size:.8rem;font-variant-numeric:tabular-nums;margin:.3rem 0}}
.sl-card :is(th,td),.sl-fate :is(th,td){{text-align:left;padding:.12rem .5rem .12rem 0;border-bottom:1px solid {colours.line};font-weight:400;overflow-wrap:normal}}
.sl-card tbody th{{overflow-wrap:anywhere}}
.sl-card thead th,.sl-fate thead th{{color:{colours.faint}}}
.sl-why p{{margin:.2rem 0 .6rem;font-size:.95rem;line-height:1.5;overflow-wrap:anywhere}}
.sl-fate{{background:{colours.card};border:1px solid {colours.line};border-radius:10px;padding:.6rem .9rem;margin:0 0 .5rem;font-size:.9rem;overflow-wrap:anywhere}}
[class*=st-key-recent-] button :is(div,span){{justify-content:flex-start;text-align:left}}
.sl-why summary{{cursor:pointer;color:{colours.faint};font-size:.86rem}}
.sl-asked{{background:color-mix(in srgb,{colours.accent} 10%,{colours.paper});border-radius:10px 10px 10px 2px;padding:.5rem .9rem;font-weight:600;color:{colours.text};overflow-wrap:anywhere;white-space:pre-wrap;margin-top:.6rem}}
.sl-notice{{background:{colours.card};border:1px solid {colours.line};border-left:4px solid {colours.faint};border-radius:8px;padding:.6rem .9rem;color:{colours.text};font-size:.95rem;line-height:1.5;overflow-wrap:anywhere}}
.sl-notice p{{margin:0;padding:0;font-size:inherit}}
.sl-problem{{border-left-color:{colours.danger}}}.sl-problem p:first-child{{color:{colours.danger}}}
{stage}
</style>"""


_LOGO_SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="34" height="34" viewBox="0 0 34 34"><rect width="34" height="34" rx="8" fill="#1f4a33"/>
<path d="M3 31 9 12l6 19zM19 31l6-21 6 21z" fill="#0f2b1d"/>
<ellipse cx="14.2" cy="18" rx="2" ry="2.5" fill="#e8b24f"/><ellipse cx="20.4" cy="18" rx="2" ry="2.5" fill="#e8b24f"/>
<circle cx="14.5" cy="18.3" r=".9" fill="#0f2b1d"/><circle cx="20.1" cy="18.3" r=".9" fill="#0f2b1d"/></svg>"""
LOGO = f'<img alt="" width="34" height="34" src="data:image/svg+xml;base64,{base64.b64encode(_LOGO_SVG.encode()).decode()}">'
