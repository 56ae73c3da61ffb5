// Offers to quote what is selected in a passage: a button beside the selection, which reports the characters of the document.

function passageOf(node) {
  const element = node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement;
  return element?.closest(".sl-card .sl-text[data-start]") ?? null;
}

// What of the selection is in one passage: three clicks select up to the beginning of what follows it.
function selectedPlace() {
  const selection = document.getSelection();
  if (!selection?.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0).cloneRange();
  const text = passageOf(range.startContainer) ?? passageOf(range.endContainer);
  if (!text) return null;
  if (!text.contains(range.startContainer)) range.setStart(text, 0);
  if (!text.contains(range.endContainer)) range.setEnd(text, text.childNodes.length);
  const before = document.createRange();
  before.setStart(text, 0);
  before.setEnd(range.startContainer, range.startOffset);
  const { start, end, lead } = text.dataset;
  const at = (characters) => Math.min(Math.max(Number(start) + characters - Number(lead), Number(start)), Number(end));
  const skipped = [...before.toString()].length; // characters, as the document counts them, not UTF-16 units
  const from = at(skipped);
  const to = at(skipped + [...range.toString()].length);
  if (from >= to || !range.toString().trim()) return null;
  return { range, place: { document: text.closest(".sl-card").dataset.document, start: from, end: to } };
}

export default function ({ data, parentElement, setTriggerValue }) {
  const button = parentElement.querySelector("button");
  for (const [name, value] of Object.entries(data.colours)) button.style.setProperty(`--${name}`, value);
  button.textContent = data.label;
  let chosen = null;

  const show = () => {
    const found = selectedPlace();
    chosen = found?.place ?? null;
    button.hidden = !chosen;
    if (!found) return;
    const lines = found.range.getClientRects();
    const last = lines[lines.length - 1] ?? found.range.getBoundingClientRect();
    button.style.top = `${Math.min(last.bottom + 6, innerHeight - button.offsetHeight - 6)}px`;
    button.style.left = `${Math.max(6, Math.min(last.right - 20, innerWidth - button.offsetWidth - 12))}px`;
  };
  // The press would take the selection away before the click comes.
  button.onmousedown = (event) => event.preventDefault();
  button.onclick = () => {
    if (!chosen) return;
    setTriggerValue("picked", chosen);
    document.getSelection()?.removeAllRanges();
    button.hidden = true;
  };
  button.stop?.abort(); // this runs again with every change of the data
  const stop = (button.stop = new AbortController());
  document.addEventListener("selectionchange", show, { signal: stop.signal });
  document.addEventListener("scroll", show, { signal: stop.signal, capture: true, passive: true });
  show(); // of what was selected before this came
  return () => stop.abort();
}
