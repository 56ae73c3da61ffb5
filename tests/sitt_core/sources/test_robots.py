"""robots.txt is obeyed as RFC 9309 says: the longest match decides, groups are joined, wildcards count."""

import pytest

from sitt_core.sources.robots import ALLOW_ALL, MOST_READ, Robots, parse_robots

AGENT = "SITT-Lab"
SITE = "https://example.org"


def robots(text: str) -> Robots:
    return parse_robots(text.encode(), agent=AGENT)


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        pytest.param("Disallow: /", "/a", False, id="all"),
        pytest.param("Disallow:", "/a", True, id="empty disallow"),
        pytest.param("Disallow: /\nAllow: /p", "/page", True, id="longest, allow second"),
        pytest.param("Allow: /p\nDisallow: /page", "/page", False, id="longest, disallow second"),
        pytest.param("Disallow: /page\nAllow: /page", "/page", True, id="of two as long, allow"),
        pytest.param("Disallow: /*.pdf$", "/a/b.pdf", False, id="star and end"),
        pytest.param("Disallow: /*.pdf$", "/a/b.pdf?x=1", True, id="end not reached"),
        pytest.param("Disallow: /a*b*c", "/a-b-d", True, id="stars, no match"),
        pytest.param("Disallow: /a*b*c", "/axxbxxc/more", False, id="stars, prefix"),
        pytest.param("Disallow: /a*a$", "/a", True, id="pieces do not overlap"),
        pytest.param("Disallow: /*a*ab$", "/xaab", False, id="last piece at the end, not where it is found first"),
        pytest.param("Disallow: /page$", "/page/", True, id="end without star"),
        pytest.param("Disallow: /$", "/", False, id="the root alone"),
        pytest.param("Disallow: /?q=", "/?q=1", False, id="query"),
        pytest.param("Disallow: /caf%C3%A9", "/café", False, id="escaped rule, plain path"),
        pytest.param("Disallow: /café", "/caf%c3%a9", False, id="plain rule, escaped path"),
        pytest.param("Disallow: /a%2fb", "/a/b", True, id="an escaped slash is no slash"),
        pytest.param("Disallow: /%7Ejoe", "/~joe", False, id="needless escape"),
        pytest.param("Disallow: /Page", "/page", True, id="case counts"),
        pytest.param("disallow : /page # not this\n", "/page", False, id="comment, blanks, lower case"),
        pytest.param("Disallow: /", "/robots.txt", True, id="robots.txt itself"),
        pytest.param("Crawl-delay: 5\nSitemap: /x.xml\nDisallow: /p", "/p", False, id="other lines do not end a group"),
    ],
)
def test_rules(rules: str, path: str, allowed: bool) -> None:
    """Each rule as the standard has it."""
    assert robots(f"User-agent: *\n{rules}").allows(SITE + path) is allowed


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        pytest.param("User-agent: other\nDisallow: /", True, id="no group of ours"),
        pytest.param("User-agent: *\nDisallow: /\n\nUser-agent: sitt-lab\nDisallow: /x", True, id="ours instead of the star's"),
        pytest.param("User-agent: sitt-lab\n\nUser-agent: *\nDisallow: /", False, id="one group over blank lines"),
        pytest.param("User-agent: SITT-LAB/1.0 (x)\nDisallow: /", False, id="any case, version left out"),
        pytest.param("User-agent: sitt\nDisallow: /", True, id="a shorter name is another"),
        pytest.param(
            "User-agent: sitt-lab\nDisallow: /x\nUser-agent: b\nDisallow: /y\nUser-agent: sitt-lab\nDisallow: /p", False, id="joined"
        ),
        pytest.param("User-agent: a\nUser-agent: sitt-lab\nDisallow: /p", False, id="several names of a group"),
        pytest.param("User-agent: sitt-lab\nDisallow:\nUser-agent: *\nDisallow: /", True, id="an empty group of ours"),
        pytest.param("Disallow: /", True, id="rules of no group"),
        pytest.param("<html><body>Disallow: nothing</body></html>", True, id="a page of HTML"),
        pytest.param("\ufeffUser-agent: *\r\nDisallow: /\r\n", False, id="byte order mark, line ends of Windows"),
        pytest.param("User-agent: *\rDisallow: /p", False, id="line ends of old"),
    ],
)
def test_groups(text: str, allowed: bool) -> None:
    """Which group holds for us."""
    assert robots(text).allows(f"{SITE}/page") is allowed


def test_what_follows_the_first_500_kib_is_ignored() -> None:
    """A file that never ends costs no more than its beginning."""
    head = "User-agent: *\nDisallow: /a\n"
    filler = "# " + "x" * 97 + "\n"
    text = head + filler * (MOST_READ // len(filler) + 1) + "Disallow: /b\n"
    found = robots(text)
    assert (found.allows(f"{SITE}/a"), found.allows(f"{SITE}/b")) == (False, True)


def test_many_stars_are_answered_at_once() -> None:
    """A pattern that makes regular expressions backtrack for ever is one pass here."""
    assert robots(f"User-agent: *\nDisallow: /{'*a' * 2000}b$").allows(f"{SITE}/{'a' * 20_000}") is True


def test_sitemaps_are_named_once_whoever_they_are_for() -> None:
    """Sitemap lines belong to no group."""
    found = robots(f"Sitemap: {SITE}/a.xml\nUser-agent: x\nsitemap: {SITE}/b.xml\nSitemap: {SITE}/a.xml")
    assert found.sitemaps == (f"{SITE}/a.xml", f"{SITE}/b.xml")
    assert ALLOW_ALL.allows(SITE) is True
