"""The `<think>…</think>` that some servers leave at the beginning of an answer: a model's thinking, which is no part of it."""

OPENS, CLOSES = "<think>", "</think>"


class ThinkingReader:
    """Drops the thinking that an answer begins with; how it is cut into pieces changes nothing.

    White space around the thinking goes with it, and thinking that never ends is all dropped. Tags further on are text.
    """

    def __init__(self) -> None:
        self._held = ""
        self._at: str = "start"  # then "inside" the thinking, "behind" it in the white space, and in the "text"

    def feed(self, text: str) -> str:
        """What of the answer can be told now that `text` has arrived as well."""
        self._held += text
        if self._at == "start":
            begun = self._held.lstrip()
            if begun.startswith(OPENS):
                self._at, self._held = "inside", begun[len(OPENS) :]
            elif not OPENS.startswith(begun):
                self._at = "text"
        if self._at == "inside":
            _, closed, rest = self._held.partition(CLOSES)
            self._at, self._held = ("behind", rest) if closed else ("inside", self._held[1 - len(CLOSES) :])
        if self._at == "behind":
            self._held = self._held.lstrip()
            self._at = "text" if self._held else "behind"
        return self._release() if self._at == "text" else ""

    def close(self) -> str:
        """What is left at the end: a tag that was not finished is text."""
        return self._release() if self._at == "start" else ""

    def _release(self) -> str:
        released, self._held = self._held, ""
        return released
