"""The door to the network: requests are polite, replies are whole, bounded and cached, and every failure is named."""

import gzip
import json
import os
import socket
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from sitt_core.errors import InvalidInput, SourceError
from sitt_core.sources import wire
from sitt_core.sources.fetch import Fetched, Fetcher, Limits, fetched_size, prune_fetched, require_contact, text_of, user_agent
from sitt_core.sources.wire import is_public
from tests.fakes.site import START, FakeSite, Handler

SECRET = "ghp_0123456789abcdef"
BIG = 200_000_000


@pytest.fixture
def site() -> Iterator[FakeSite]:
    with FakeSite() as found:
        yield found


@pytest.fixture
def make(site: FakeSite, tmp_path: Path) -> Iterator[Callable[..., Fetcher]]:
    """Fetchers that wait by the site's clock and may ask loopback."""
    made = []

    def fetcher(**changes: Any) -> Fetcher:
        defaults = {"user_agent": "SITTLab/test", "cache_dir": tmp_path, "allow_private": True, "limits": Limits(total=30)}
        made.append(Fetcher(clock=site.clock, sleep=site.clock.sleep, **{**defaults, **changes}))
        return made[-1]

    yield fetcher
    for each in made:
        each.close()


def answers(*statuses: int, retry_after: str = "", body: str = "<h1>Too many requests</h1>") -> Callable[[Handler], None]:
    """Those statuses in turn, then 200s."""
    left = list(statuses)

    def answer(handler: Handler) -> None:
        status = left.pop(0) if left else 200
        headers = {"Retry-After": retry_after} if retry_after and status != 200 else {}
        handler.send(status, "ok" if status == 200 else body, headers)

    return answer


def redirect(to: str, status: int = 302) -> Callable[[Handler], None]:
    return lambda handler: handler.send(status, b"", {"Location": to})


def reset(handler: Handler) -> None:
    """Half a body, then the connection is torn down."""
    handler.cut({"Content-Length": "1000"})
    handler.wfile.write(b"x" * 500)
    handler.tear_down()


def tagged(handler: Handler) -> None:
    """A page with an ETag, and 304 for whoever has it."""
    known = handler.headers.get("If-None-Match") == '"one"'
    handler.send(304 if known else 200, b"" if known else "tagged", {"ETag": '"one"', "Set-Cookie": f"session={SECRET}"})


class TestPoliteness:
    def test_one_request_a_second(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """Requests to a host go out in series, a second apart, whichever page they ask for."""
        site.pages = {"/a": "a", "/b": "b"}
        fetcher = make()
        assert [fetcher.get(site.url + path).body for path in ("/a", "/b", "/a")] == [b"a", b"b", b"a"]
        assert site.times() == [1.0, 1.0]

    def test_two_processes_share_the_pace(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """Fetchers with one cache folder, as two processes have, ask a host no faster together than one alone."""
        site.pages = {"/a": "a"}
        one, other = make(), make()
        for fetcher in (one, other, one):
            fetcher.get(f"{site.url}/a")
        assert site.times() == [1.0, 1.0]

    @pytest.mark.parametrize(
        ("retry_after", "waited"),
        [
            pytest.param("7", 7.0, id="seconds"),
            pytest.param(formatdate(START + 20, usegmt=True), 20.0, id="date"),
            pytest.param("soon", 1.0, id="nonsense"),
            pytest.param("", 1.0, id="none"),
            pytest.param(formatdate(START - 50, usegmt=True), 1.0, id="a date that is past"),
        ],
    )
    def test_retry_after(self, retry_after: str, waited: float, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """A 429 with a page of HTML is waited out as long as it says, and the page comes the next time."""
        site.pages = {"/a": answers(429, retry_after=retry_after)}
        assert make().get(f"{site.url}/a").body == b"ok"
        assert site.times() == [waited]

    def test_a_wait_that_is_too_long_is_a_refusal(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """Asked to stay away for an hour, nobody waits, and nobody asks again before that: not in another process either."""
        site.pages = {"/a": answers(429, retry_after="3600")}
        with pytest.raises(SourceError, match=r"not to be asked again before 2026-11-30T13:00:0"):
            make().get(f"{site.url}/a")
        with pytest.raises(SourceError, match="not to be asked again before"):
            make().get(f"{site.url}/b")
        assert len(site.asked) == 1
        site.clock.now += 3600
        assert make().get(f"{site.url}/a").body == b"ok"

    def test_retries_grow_and_end(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """A server that is down is asked five times, each time later, and the error says what it answered."""
        site.pages = {"/a": answers(*[503] * 9)}
        told: list[str] = []
        with pytest.raises(SourceError, match=r"503 Service Unavailable: 'Too many requests', 5 times"):
            make(report=told.append).get(f"{site.url}/a")
        assert site.times() == [1.0, 2.0, 4.0, 8.0]
        assert told[1].startswith("waiting 2 s before asking 127.0.0.1")

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 418, 451])
    def test_a_final_answer_is_not_asked_for_again(self, status: int, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """What will not be otherwise next time is one request and an error with the status."""
        site.pages = {"/a": answers(status, body="<script>no()</script><p>Because.")}
        with pytest.raises(SourceError, match=rf"got {status}.*Because"):
            make().get(f"{site.url}/a")
        assert len(site.asked) == 1

    def test_a_status_that_is_expected_is_an_answer(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """Whoever allows a status gets the reply with it, at once."""
        site.pages = {"/a": answers(429, 404)}
        fetcher = make()
        assert [fetcher.get(f"{site.url}/a", allow=(404, 429)).status for _ in range(2)] == [429, 404]

    def test_who_asks(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """Every request says who asks and that gzip will do; it carries no cookie it was given."""
        site.pages = {"/a": tagged}
        fetcher = make(user_agent=user_agent("me@example.org"), cache_dir=None)
        for _ in range(2):
            fetcher.get(f"{site.url}/a")
        for asked in site.asked:
            assert asked.headers["user-agent"].startswith("SITTLab/0.1 (me@example.org) requests/2.")
            assert asked.headers["accept-encoding"] == "gzip"
            assert not {"cookie", "accept-language", "authorization"} & asked.headers.keys()


class TestContact:
    @pytest.mark.parametrize("contact", ["me@example.org", "https://example.org/me", " Jane Doe, jane@lake.example.org "])
    def test_is_part_of_the_name(self, contact: str) -> None:
        """The contact is between the client and the library, as Wikimedia's policy has it."""
        assert user_agent(contact).split(" requests/")[0] == f"SITTLab/0.1 ({contact.strip()})"

    @pytest.mark.parametrize("contact", ["", " ", "me", "me@home", "me@example.org\r\nX: y", "(me@example.org)", "mé@example.org"])
    def test_nobody_is_refused(self, contact: str) -> None:
        """Nobody, somebody who cannot be written to, and what cannot be in a header are named with what to do."""
        with pytest.raises(InvalidInput, match=r"SITT_CONTACT.*Set it"):
            require_contact(contact)


class TestCache:
    def test_asks_only_whether_it_is_still_so(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """The second time the server says 304, and the body is the one on disk."""
        site.pages = {"/a": tagged}
        first, second = make().get(f"{site.url}/a"), make().get(f"{site.url}/a")
        assert (first.cached, second.cached) == (False, True)
        assert first.body == second.body == b"tagged"
        assert first.fetched_at == second.fetched_at
        assert site.asked[1].headers["if-none-match"] == '"one"'

    def test_without_revalidation_nobody_is_asked(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """A reply on disk is enough for whoever says so."""
        site.pages = {"/a": "once"}
        fetcher = make()
        assert fetcher.kept(f"{site.url}/a") is None
        got = [fetcher.get(f"{site.url}/a", revalidate=False) for _ in range(2)]
        assert [each.cached for each in got] == [False, True]
        assert len(site.asked) == 1
        assert fetcher.kept(f"{site.url}/a") == got[1]

    def test_a_new_body_takes_the_old_one_s_place(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """What changed is fetched anew and kept."""
        site.pages = {"/a": tagged}
        fetcher = make()
        fetcher.get(f"{site.url}/a")
        site.pages = {"/a": lambda handler: handler.send(200, "new", {"ETag": '"two"'})}
        assert fetcher.get(f"{site.url}/a").body == b"new"
        assert fetcher.get(f"{site.url}/a", revalidate=False).body == b"new"

    def test_last_modified(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """A page without an ETag is asked for by its date."""
        date = formatdate(START, usegmt=True)
        site.pages = {"/a": lambda handler: handler.send(200, "dated", {"Last-Modified": date})}
        fetcher = make()
        for _ in range(2):
            fetcher.get(f"{site.url}/a")
        assert site.asked[1].headers["if-modified-since"] == date

    def test_what_cannot_be_kept_leaves_nothing_behind(self, site: FakeSite, make: Callable[..., Fetcher], tmp_path: Path) -> None:
        """A disk that refuses is no failure, and is not filled with halves."""
        site.pages = {"/a": tagged}
        make().get(f"{site.url}/a")
        (file,) = (each for each in (tmp_path / "replies").rglob("*") if each.is_file())
        file.unlink()
        file.mkdir()
        assert make().get(f"{site.url}/a").body == b"tagged"
        assert list(file.parent.iterdir()) == [file]

    def test_a_damaged_file_counts_as_none(self, site: FakeSite, make: Callable[..., Fetcher], tmp_path: Path) -> None:
        """Whatever happened to the disk, the page is fetched again."""
        site.pages = {"/a": tagged}
        make().get(f"{site.url}/a")
        (file,) = (each for each in (tmp_path / "replies").rglob("*") if each.is_file())
        for damaged in (b"", b"{}\n", file.read_bytes()[:-1], b"\x00\xff"):
            file.write_bytes(damaged)
            assert make().get(f"{site.url}/a").body == b"tagged"
        assert all("if-none-match" not in asked.headers for asked in site.asked)

    def test_what_must_not_be_stored_is_not(self, site: FakeSite, make: Callable[..., Fetcher], tmp_path: Path) -> None:
        """no-store leaves no file; neither do failures."""
        site.pages = {"/a": lambda handler: handler.send(200, "secret", {"Cache-Control": "private, no-store"})}
        make().get(f"{site.url}/a")
        make().get(f"{site.url}/b", allow=(404,))
        assert not (tmp_path / "replies").exists()

    def test_a_folder_that_cannot_be_written_to(self, site: FakeSite, make: Callable[..., Fetcher], tmp_path: Path) -> None:
        """Without a cache the site is read all the same, at the same pace."""
        (tmp_path / "file").write_text("")
        site.pages = {"/a": "a"}
        fetcher = make(cache_dir=tmp_path / "file")
        assert [fetcher.get(f"{site.url}/a").body for _ in range(2)] == [b"a", b"a"]
        assert site.times() == [1.0]


class TestPruning:
    """Replies that nobody uses any more go; their files' times say who uses them."""

    @staticmethod
    def age(folder: Path, days: float, *, name: str = "*") -> None:
        """Makes the files look as if they had not been touched for so long."""
        for file in folder.glob(f"replies/*/{name}"):
            os.utime(file, (time.time() - days * 86_400,) * 2)

    def test_what_is_used_stays(self, site: FakeSite, make: Callable[..., Fetcher], tmp_path: Path) -> None:
        """Read without asking, by `kept`, or asked about and still so: each makes a reply young again; the others go."""
        site.pages = dict.fromkeys(("/read", "/kept", "/unread"), "x" * 1000) | {"/asked": tagged}
        fetcher = make()
        for path in site.pages:
            fetcher.get(site.url + path)
        self.age(tmp_path, 31)
        entries, size = fetched_size(tmp_path)
        assert entries == 4
        assert size == sum(file.stat().st_size for file in tmp_path.glob("replies/*/*"))
        fetcher.get(f"{site.url}/read", revalidate=False)
        assert fetcher.kept(f"{site.url}/kept") is not None
        assert fetcher.get(f"{site.url}/asked").cached
        removed, freed = prune_fetched(tmp_path, older_than=timedelta(days=30))
        assert removed == 1
        assert 1000 < freed < 2000
        assert fetched_size(tmp_path) == (3, size - freed)
        assert [fetcher.kept(site.url + path) is not None for path in site.pages] == [True, True, False, True]
        assert prune_fetched(tmp_path, older_than=timedelta(days=30)) == (0, 0)
        assert fetcher.get(f"{site.url}/unread").body == b"x" * 1000

    def test_while_another_fetches(self, site: FakeSite, make: Callable[..., Fetcher], tmp_path: Path) -> None:
        """A reply that is pruned between its reading and the server's "still so" is whole all the same, and kept again."""

        def pruned(handler: Handler) -> None:
            self.age(tmp_path, 31)
            removed.append(prune_fetched(tmp_path, older_than=timedelta(days=30))[0])
            tagged(handler)

        removed: list[int] = []
        site.pages = {"/a": tagged}
        make().get(f"{site.url}/a")
        site.pages = {"/a": pruned}
        got = make().get(f"{site.url}/a")
        assert (removed, got.cached, got.body) == ([1], True, b"tagged")
        assert fetched_size(tmp_path)[0] == 1

    def test_fetchers_and_pruners_side_by_side(self, site: FakeSite, tmp_path: Path) -> None:
        """Whatever the order in which files are written, read and removed, every reply is the right one and whole."""
        site.pages = {f"/{number}": str(number) * 5000 for number in range(4)}

        def fetch() -> list[bytes]:
            with Fetcher(user_agent="x", cache_dir=tmp_path, interval=0, allow_private=True) as fetcher:
                return [fetcher.get(site.url + path, revalidate=False).body for path in list(site.pages) * 15]

        with ThreadPoolExecutor() as threads:
            fetching = [threads.submit(fetch) for _ in range(2)]
            while not all(each.done() for each in fetching):
                prune_fetched(tmp_path, older_than=timedelta())
        assert [each.result() for each in fetching] == [[str(page).encode() * 5000 for page in range(4)] * 15] * 2

    def test_files_that_are_being_written(self, site: FakeSite, make: Callable[..., Fetcher], tmp_path: Path) -> None:
        """Half of a reply of a process at work stays; of one that has ended it goes. What is not the cache's is left alone."""
        site.pages = {"/a": "a"}
        make().get(f"{site.url}/a")
        (folder,) = (tmp_path / "replies").iterdir()
        (folder / "tmpabc").write_bytes(b"12345")
        assert prune_fetched(tmp_path, older_than=timedelta())[0] == 1
        assert (folder / "tmpabc").exists()
        self.age(tmp_path, 2, name="tmp*")
        assert fetched_size(tmp_path) == (0, 5)
        assert prune_fetched(tmp_path, older_than=timedelta()) == (0, 5)
        assert any((tmp_path / "hosts").iterdir())

    def test_nothing_there(self, tmp_path: Path) -> None:
        """A folder that is none yet holds nothing; a negative time is refused."""
        assert fetched_size(tmp_path / "none") == (0, 0)
        assert prune_fetched(tmp_path / "none", older_than=timedelta(days=1)) == (0, 0)
        with pytest.raises(InvalidInput, match="0 or more"):
            prune_fetched(tmp_path, older_than=timedelta(days=-1))


class TestSecrets:
    def test_stay_out_of_errors_reports_and_files(self, site: FakeSite, make: Callable[..., Fetcher], tmp_path: Path) -> None:
        """A token that the server echoes, and its cookies, are in no message and no file; another token gets its own reply."""
        headers = {"Authorization": f"Bearer {SECRET}"}
        site.pages = {"/a": tagged, "/b": lambda handler: handler.send(503, f"bad token {SECRET}"), "/c": lambda h: h.send(403, SECRET)}
        told: list[str] = []
        fetcher = make(report=told.append)
        fetcher.get(f"{site.url}/a", headers=headers)
        for path in ("/b", "/c"):
            with pytest.raises(SourceError) as caught:
                fetcher.get(site.url + path, headers=headers)
            assert SECRET not in str(caught.value)
        assert told
        assert not any(SECRET in each for each in told)
        assert not any(SECRET.encode() in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
        assert fetcher.kept(f"{site.url}/a", headers={"Authorization": "Bearer other"}) is None

    def test_go_to_the_first_host_alone(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """A redirect to another host does not take the token with it; one on the same host does."""
        with FakeSite(pages={"/there": "there"}) as other:
            site.pages = {"/a": redirect(f"{other.url}/there"), "/b": redirect("/c"), "/c": "c"}
            headers = {"Authorization": f"Bearer {SECRET}", "Accept": "application/json"}
            fetcher = make()
            assert fetcher.get(f"{site.url}/a", headers=headers).url == f"{other.url}/there"
            assert "authorization" not in other.asked[0].headers
            assert other.asked[0].headers["accept"] == "application/json"
            fetcher.get(f"{site.url}/b", headers=headers)
            assert site.asked[-1].headers["authorization"] == f"Bearer {SECRET}"

    @pytest.mark.parametrize(
        "url", ["http://me:pass-word@example.org/", "file:///etc/passwd", "ftp://example.org/", "http://", "//x", "http://a b/"]
    )
    def test_an_address_that_is_none(self, url: str, make: Callable[..., Fetcher]) -> None:
        """Other schemes, passwords and nonsense are refused before anybody is asked, and a password is not shown."""
        with pytest.raises(SourceError, match="begins with http") as caught:
            make().get(url)
        assert "pass-word" not in str(caught.value)


class TestRedirects:
    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_are_followed(self, status: int, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """The reply carries the address it came from in the end, relative ones and raw UTF-8 resolved."""
        site.pages = {"/a": redirect("b/ö".encode().decode("latin-1"), status), "/b/%C3%B6": "there"}
        assert make().get(f"{site.url}/a#part").url == f"{site.url}/b/%C3%B6"

    def test_in_a_circle(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """Endless redirects end at the limit, in a named error, at the usual pace."""
        site.pages = {"/a": redirect("/b"), "/b": redirect("/a")}
        with pytest.raises(SourceError, match="at most 5 redirects"):
            make().get(f"{site.url}/a")
        assert site.times() == [1.0] * 5

    def test_to_nowhere(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """A redirect without an address, or to one that is no web address, is an error."""
        site.pages = {"/a": lambda handler: handler.send(302), "/b": redirect("file:///etc/passwd")}
        with pytest.raises(SourceError, match="302 Found without an address"):
            make().get(f"{site.url}/a")
        with pytest.raises(SourceError, match="begins with http"):
            make().get(f"{site.url}/b")


class TestPrivateNetworks:
    @pytest.mark.parametrize(
        "address",
        [
            *(
                "127.0.0.1",
                "10.1.2.3",
                "172.16.0.1",
                "192.168.1.1",
                "169.254.169.254",
                "100.64.0.1",
                "0.0.0.0",
                "224.0.0.1",
                "255.255.255.255",
            ),
            *(
                "::1",
                "::",
                "fe80::1%eth0",
                "fc00::1",
                "fd12::1",
                "ff02::1",
                "::ffff:127.0.0.1",
                "::ffff:10.0.0.1",
                "64:ff9b::7f00:1",
                "2002:7f00:1::",
                "64:ff9b:1::808:808",
                "::7f00:1",
            ),
        ],
    )
    def test_are_told(self, address: str) -> None:
        """Loopback, private, link-local, shared, unique local and multicast addresses, also inside IPv6 ones, are not public."""
        assert not is_public(address)

    @pytest.mark.parametrize("address", ["8.8.8.8", "208.80.154.224", "2620:0:861:ed1a::1", "::ffff:8.8.8.8"])
    def test_others_are_public(self, address: str) -> None:
        """Addresses of the internet pass."""
        assert is_public(address)

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1"])
    def test_are_refused(self, host: str, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """However loopback is written, nothing is sent to it unless that is allowed."""
        with pytest.raises(SourceError, match=r"public internet; got 127\.0\.0\.1.*SITT_ALLOW_PRIVATE"):
            make(allow_private=False).get(f"{site.url.replace('127.0.0.1', host)}/a")
        assert site.asked == []

    def test_redirects_and_names_are_checked_again(
        self, site: FakeSite, make: Callable[..., Fetcher], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A public site cannot send us to a private address, nor a name change to one between the check and the connection."""
        port = int(site.url.rpartition(":")[2])
        names = {"public.test": "127.0.0.1", "inside.test": "192.168.0.1"}
        look_up, connect, connected = socket.getaddrinfo, socket.create_connection, list[Any]()

        def resolve(host: str, *rest: Any, **more: Any) -> Any:
            return look_up(names.get(host, host), port, type=socket.SOCK_STREAM)

        def record(to: Any, *rest: Any) -> socket.socket:
            connected.append(to)
            return connect(to, *rest)

        monkeypatch.setattr(wire, "is_public", lambda address: address == "127.0.0.1")
        monkeypatch.setattr(wire.socket, "getaddrinfo", resolve)
        # What is connected to is an address: a second look at the name could give another.
        monkeypatch.setattr(wire.socket, "create_connection", record)
        site.pages = {"/a": redirect(f"http://inside.test:{port}/secret"), "/b": "b"}
        fetcher = make(allow_private=False)
        assert fetcher.get(f"http://public.test:{port}/b").body == b"b"
        assert connected == [("127.0.0.1", port)]
        with pytest.raises(SourceError, match=r"inside\.test to be on the public internet; got 192\.168\.0\.1"):
            fetcher.get(f"http://public.test:{port}/a")
        assert [asked.path for asked in site.asked] == ["/b", "/a"]


class TestHostileBodies:
    def test_a_page_of_200_megabytes_that_is_announced(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """What says it is too large is refused before a byte of it is read."""
        site.pages = {"/a": lambda handler: handler.cut({"Content-Length": str(BIG)})}
        with pytest.raises(SourceError, match=r"at most 10,000,000 bytes at .*got 200,000,000 bytes"):
            make().get(f"{site.url}/a")

    @pytest.mark.parametrize("headers", [{}, {"Content-Length": "many"}], ids=["no length", "no number"])
    def test_a_body_that_never_ends(self, headers: dict[str, str], site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """What does not end is cut at the limit."""

        def endless(handler: Handler) -> None:
            handler.cut(headers)
            while not handler.site.stopping.is_set():
                handler.wfile.write(b"x" * 65_536)

        site.pages = {"/a": endless}
        with pytest.raises(SourceError, match="at most 1,000,000 bytes"):
            make().get(f"{site.url}/a", max_bytes=1_000_000)
        assert len(site.asked) == 1

    def test_a_gzip_bomb(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """200 MB in 200 kB: the limit counts what is unpacked."""
        packer = zlib.compressobj(9, wbits=31)
        bomb = b"".join(packer.compress(b"\0" * 1_000_000) for _ in range(200)) + packer.flush()
        assert len(bomb) < 250_000
        site.pages = {"/a": lambda handler: handler.send(200, bomb, {"Content-Encoding": "gzip"})}
        with pytest.raises(SourceError, match="at most 10,000,000 bytes"):
            make().get(f"{site.url}/a")

    @pytest.mark.parametrize(
        ("body", "text"),
        [
            pytest.param(gzip.compress(b"lake" * 50_000), b"lake" * 50_000, id="one member"),
            pytest.param(gzip.compress(b"one ") + gzip.compress(b"two"), b"one two", id="two members"),
            pytest.param(gzip.compress(b"lake") + b"\0" * 100, b"lake", id="padding"),
            pytest.param(b"", b"", id="nothing"),
        ],
    )
    def test_gzip(self, body: bytes, text: bytes, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """A packed body is unpacked whole."""
        site.pages = {"/a": lambda handler: handler.send(200, body, {"Content-Encoding": "gzip"})}
        assert make().get(f"{site.url}/a").body == text

    @pytest.mark.parametrize(
        "body",
        [
            pytest.param(
                gzip.compress(b"lake" * 1000)[:-20], id="broken off"
            ),  # named: gzip's header holds the time, and workers must agree
            pytest.param(b"no gzip at all", id="no gzip"),
            pytest.param(gzip.compress(b"lake")[:-8] + b"12345678", id="wrong sum"),
        ],
    )
    def test_damaged_gzip(self, body: bytes, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """Half of a packed body is not taken for the whole."""
        site.pages = {"/a": lambda handler: handler.send(200, body, {"Content-Encoding": "gzip"})}
        with pytest.raises(SourceError, match="data that cannot be unpacked"):
            make().get(f"{site.url}/a")

    def test_an_encoding_nobody_asked_for(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """Packed bytes are never taken for text."""
        site.pages = {"/a": lambda handler: handler.send(200, b"\x0b\x02", {"Content-Encoding": "br"})}
        with pytest.raises(SourceError, match="the encoding 'br'"):
            make().get(f"{site.url}/a")

    @pytest.mark.parametrize("where", ["body", "chunks", "headers"])
    def test_a_slow_drip(self, where: str, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """A byte at a time, each in time, ends at the limit for the whole; nobody asks again for that."""

        def drip(handler: Handler) -> None:
            if where == "headers":
                handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
                return handler.drip(b"x")
            handler.cut({"Transfer-Encoding": "chunked"} if where == "chunks" else {})
            return handler.drip(b"1\r\nx\r\n" if where == "chunks" else b"x")

        site.pages = {"/a": drip}
        with pytest.raises(SourceError, match=r"within 0\.3 s; got a server that was still sending"):
            make(limits=Limits(total=0.3)).get(f"{site.url}/a")
        assert len(site.asked) == 1

    def test_a_server_that_says_nothing(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """Silence is a fault of the connection: tried again, then named."""
        site.pages = {"/a": lambda handler: handler.site.stopping.wait() and None}
        with pytest.raises(SourceError, match=r"fell silent, 2 times"):
            make(retries=1, limits=Limits(silence=0.1)).get(f"{site.url}/a")

    def test_a_reset_in_mid_body(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """Half a page is no page: it is asked for again, and then named; the cache keeps nothing of it."""
        site.pages = {"/a": reset}
        fetcher = make(retries=2)
        with pytest.raises(SourceError, match=r"broke off, 3 times"):
            fetcher.get(f"{site.url}/a")
        assert fetcher.kept(f"{site.url}/a") is None
        site.pages = {"/a": "whole"}
        assert fetcher.get(f"{site.url}/a").body == b"whole"

    def test_fewer_bytes_than_announced(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """A body that is shorter than its length is not whole."""

        def short(handler: Handler) -> None:
            handler.cut({"Content-Length": "10"})
            handler.wfile.write(b"half")

        site.pages = {"/a": short}
        with pytest.raises(SourceError, match="broke off"):
            make(retries=0).get(f"{site.url}/a")

    def test_no_http_at_all(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """A server that speaks something else is named."""

        def other(handler: Handler) -> None:
            handler.close_connection = True
            handler.wfile.write(b"220 mail.example.org ESMTP\r\n")

        site.pages = {"/a": other}
        with pytest.raises(SourceError, match="broke off"):
            make(retries=0).get(f"{site.url}/a")

    def test_nobody_there(self, make: Callable[..., Fetcher]) -> None:
        """A port that nobody listens at, and a name that nobody has, are named."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with pytest.raises(SourceError, match=r"no connection to 127\.0\.0\.1"):
            make(retries=1).get(f"http://127.0.0.1:{port}/")
        with pytest.raises(SourceError, match=r"no address for the name nobody\.invalid"):
            make(retries=0).get("http://nobody.invalid/")

    def test_no_tls(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """A server that does not speak TLS where it should is named."""
        with pytest.raises(SourceError, match=r"no secure connection to 127\.0\.0\.1:\d+, 2 times"):
            make(retries=1).get(site.url.replace("http:", "https:"))

    def test_a_failure_s_long_body_is_cut(self, site: FakeSite, make: Callable[..., Fetcher]) -> None:
        """Of an error page of any length only the beginning is read and shown."""
        site.pages = {"/a": lambda handler: handler.send(404, "x" * 5_000_000)}
        with pytest.raises(SourceError) as caught:
            make().get(f"{site.url}/a")
        assert len(str(caught.value)) < 500


class TestText:
    @pytest.mark.parametrize(
        ("body", "header", "text"),
        [
            pytest.param(b"\xef\xbb\xbfJ\xc3\xb6", "text/html; charset=latin-1", "Jö", id="UTF-8 by its mark"),
            pytest.param("Jö".encode("utf-16"), "text/html; charset=utf-8", "Jö", id="UTF-16 by its mark"),
            pytest.param("Jö".encode("utf-32"), "text/html", "Jö", id="UTF-32 by its mark"),
            pytest.param(
                "Jöns".encode("shift_jis", "ignore") + "雪".encode("shift_jis"), "text/html; charset=Shift_JIS", "Jns雪", id="header"
            ),
            pytest.param(b'<meta charset="koi8-r">\xc1', "text/html", '<meta charset="koi8-r">а', id="meta"),
            pytest.param(b'<?xml version="1.0" encoding="koi8-r"?>\xc1', "", '<?xml version="1.0" encoding="koi8-r"?>а', id="XML"),
            pytest.param(b'<meta charset="koi8-r">\xe9', "text/html; charset=latin-1", '<meta charset="koi8-r">é', id="header before meta"),
            pytest.param("Jö".encode(), "text/html; charset=ISO-8859-1", "Jö", id="the default header above UTF-8"),
            pytest.param(b"J\xf6", "text/html; charset=utf-8", "Jö", id="a wrong header"),
            pytest.param(b'<meta charset="utf-16">ok', "", '<meta charset="utf-16">ok', id="a meta that cannot be"),
            pytest.param("Jö".encode(), "text/html; charset=no-such", "Jö", id="an unknown charset"),
            pytest.param(b"+AGE-", "text/html; charset=utf-7", "+AGE-", id="UTF-7 is not decoded"),
            pytest.param(b"aGk=", "text/html; charset=base64", "aGk=", id="a codec that is no charset"),
            pytest.param(b"\x93J\xf6\x94", "text/html", "“Jö”", id="Windows-1252"),
            pytest.param(b"J\xf6\x81", "text/html", "Jö\x81", id="Latin-1 where Windows-1252 has nothing"),
            pytest.param(b"", "", "", id="nothing"),
        ],
    )
    def test_encodings(self, body: bytes, header: str, text: str) -> None:
        """By mark, header, meta, as UTF-8, else a byte per character; no character is ever replaced."""
        got = text_of(Fetched("http://x/", 200, {"content-type": header} if header else {}, body, ""))
        assert got == text
        assert "\ufffd" not in got


def test_a_200_that_says_later(site: FakeSite, make: Callable[..., Fetcher]) -> None:
    """A reply that `busy` calls too early is waited for like a 503, and is not kept."""
    left = [1]

    def lag(handler: Handler) -> None:
        handler.send(200, json.dumps({"error": "later"} if left else {"ok": 1}), {"Retry-After": "5"})
        left.clear()

    site.pages = {"/a": lag}
    got = make().get(f"{site.url}/a", busy=lambda fetched: b"later" in fetched.body)
    assert got.body == b'{"ok": 1}'
    assert site.times() == [5.0]


def test_the_clock_is_the_wall_s_by_default() -> None:
    """Without a clock of its own a fetcher stamps replies with the time it is."""
    with Fetcher(user_agent="x") as fetcher:
        assert fetcher.now()[:4] == time.strftime("%Y", time.gmtime())
