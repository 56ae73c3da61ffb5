"""What a site's robots.txt lets us read: RFC 9309, which urllib.robotparser does not follow (no wildcards, first match)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

MOST_READ = 512_000
"""Bytes of a robots.txt that count, as RFC 9309 asks for at least; what follows is ignored."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_TOKEN = re.compile(r"[A-Za-z_-]+")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


@dataclass(frozen=True, slots=True)
class Rule:
    """One Allow or Disallow line; `pattern` in normal form, `*` and a last `$` still in it."""

    allow: bool
    pattern: str


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules that hold for one user agent, and the sitemaps that the file names."""

    rules: tuple[Rule, ...] = ()
    sitemaps: tuple[str, ...] = ()

    def allows(self, url: str) -> bool:
        """Whether the address may be read: the longest matching rule decides, of two as long Allow; robots.txt itself always."""
        parts = urlsplit(url)
        path = _normal(f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/")
        if path == "/robots.txt":
            return True
        matching = [rule for rule in self.rules if _matches(rule.pattern, path)]
        return not matching or max(matching, key=lambda rule: (len(rule.pattern), rule.allow)).allow


ALLOW_ALL = Robots()


def parse_robots(data: bytes, *, agent: str) -> Robots:
    """The rules of every group that names `agent` (a product token, in any case), together; without one those of the `*` groups."""
    own: list[Rule] = []
    others: list[Rule] = []
    sitemaps: list[str] = []
    named = False
    group: set[str] = set()
    ruled = True  # a user-agent line begins a new group, unless it follows another one
    for key, value in _lines(data[:MOST_READ]):
        if key == "user-agent":
            group, ruled = (set() if ruled else group), False
            token = _TOKEN.match(value)
            group.add("*" if value.startswith("*") else token[0].lower() if token else "")
            named = named or agent.lower() in group
        elif key in ("allow", "disallow"):
            ruled = True
            if not value:
                continue
            rule = Rule(key == "allow", _normal(value))
            own += [rule] * (agent.lower() in group)
            others += [rule] * ("*" in group)
        elif key == "sitemap" and value:
            sitemaps.append(value)
    return Robots(tuple(own if named else others), tuple(dict.fromkeys(sitemaps)))


def _lines(data: bytes) -> Iterator[tuple[str, str]]:
    """The lines as (key in lower case, value), comments and what is no such line left out."""
    for line in _LINE_END.split(data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")):
        key, colon, value = line.partition("#")[0].partition(":")
        if colon:
            yield key.strip().lower(), value.strip()


def _normal(path: str) -> str:
    """A path as it is compared: characters beyond ASCII escaped, needless escapes undone, the others in upper case."""
    escaped = quote(path, safe="%/?:@!$&'()*+,;=~[]-._ ").replace(" ", "%20")
    return _ESCAPE.sub(lambda found: char if (char := chr(int(found[1], 16))) in _UNRESERVED else found[0].upper(), escaped)


def _matches(pattern: str, path: str) -> bool:
    """Whether the pattern matches from the path's beginning, in one pass: no pattern can make it slow."""
    anchored = pattern.endswith("$")
    first, *rest = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    if anchored and not rest:
        return path == first
    at = len(first)
    last = rest.pop() if anchored else ""
    for piece in rest:
        found = path.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return not anchored or (path.endswith(last) and len(path) - len(last) >= at)
