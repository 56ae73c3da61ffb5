// Draws an answer: its text with a button per citation, and the cited place in its document below. Everything from outside
// becomes text nodes, never HTML. What is open is kept on the root element, so that redrawing while the answer grows leaves it open.

const SPOKEN = { quoted: "checked", misattributed: "elsewhere", stitched: "stitched", absent: "not found" };

function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children.filter((child) => child !== null && child !== ""));
  return made;
}

function chip(citation, root, redraw) {
  const open = root.dataset.open === String(citation.marker);
  const made = element("button", `chip ${citation.verdict}${open ? " open" : ""}`, String(citation.marker));
  if (citation.verdict !== "quoted") made.append(element("span", "sign", " !"));
  made.type = "button";
  made.dataset.marker = citation.marker;
  made.setAttribute("aria-expanded", String(open));
  made.setAttribute("aria-label", `Citation ${citation.marker}, ${SPOKEN[citation.verdict]}: ${citation.title || "no source"}`);
  made.title = citation.words;
  made.onclick = () => {
    root.dataset.open = open ? "" : String(citation.marker);
    redraw();
    root.querySelector(`button[data-marker="${citation.marker}"]`)?.focus();
  };
  return made;
}

function sentence(piece) {
  const made = element("span", piece.state, piece.text);
  if (piece.state !== "uncited" && piece.state !== "weak") return [made];
  made.title = piece.why;
  return [made, element("span", `flag ${piece.state}-flag`, piece.state === "uncited" ? "no citation" : "check")].map((each) => {
    each.title = piece.why;
    return each;
  });
}

function linked(url, words) {
  if (!/^https?:\/\//.test(url)) return element("span", "", words);
  return Object.assign(element("a", "", words), { href: url, target: "_blank", rel: "noopener noreferrer" });
}

function attribution(citation) {
  const license = citation.license === "not stated" ? "licence not stated" : citation.license;
  const parts = [citation.source, citation.url ? linked(citation.url, citation.url) : "", license];
  if (/^https?:\/\//.test(citation.revision)) parts.push(linked(citation.revision, "this revision"));
  if (citation.fetched) parts.push(`fetched ${citation.fetched}`);
  return parts.filter(Boolean).flatMap((part, at) => (at ? [" · ", part] : [part]));
}

function place(citation) {
  const where = citation.start === null ? "" : `, characters ${citation.start.toLocaleString("en")}–${citation.end.toLocaleString("en")}`;
  const made = element(
    "div",
    "place",
    element("div", "title", element("b", "", `[${citation.marker}] ${citation.title || "No source"}`), where),
    element("div", `words ${citation.verdict}`, citation.words, citation.changed ? ` ${citation.changed}` : ""),
    element("div", "source", citation.before, element(citation.start === null ? "em" : "mark", "", citation.quote), citation.after),
    element("div", "small", ...attribution(citation)),
  );
  made.setAttribute("role", "region");
  made.setAttribute("aria-label", `Citation ${citation.marker}`);
  made.tabIndex = 0;
  return made;
}

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".answer");
  for (const [name, value] of Object.entries(data.colours)) root.style.setProperty(`--${name}`, value);
  const redraw = () => {
    const text = element("div", data.refused ? "text refusal" : "text");
    text.dir = "auto";
    for (const piece of data.pieces) {
      if ("chip" in piece) text.append(chip(data.citations[piece.chip - 1], root, redraw));
      else text.append(...sentence(piece));
    }
    if (data.running) text.append(element("span", "caret", "▍"));
    const open = data.citations.find((each) => String(each.marker) === root.dataset.open);
    const notes = [data.ending, data.problem].filter(Boolean).map((each) => element("div", "ending", each));
    root.replaceChildren(text, ...notes, ...(open ? [place(open)] : []));
    const mark = root.querySelector(".source mark");
    if (mark) mark.parentElement.scrollTop = Math.max(0, mark.offsetTop - 40);
    root.setAttribute("aria-busy", String(data.running));
  };
  // A chip that has the focus keeps it when the answer grows.
  const focused = root.getRootNode().activeElement?.dataset?.marker;
  redraw();
  if (focused) root.querySelector(`button[data-marker="${focused}"]`)?.focus();
}
