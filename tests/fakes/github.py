"""A stand-in for GitHub's REST API on loopback: accounts, repositories page by page, READMEs, ETags and rate limits."""

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.fakes.site import START, FakeSite, Handler, Reply

TOKEN = "github_pat_11AAAAAAA_secret"
MIT = {"key": "mit", "name": "MIT License", "spdx_id": "MIT", "url": "https://api.github.com/licenses/mit"}
OTHER = {"key": "other", "name": "Other", "spdx_id": "NOASSERTION", "url": None}
MEGABYTE = 1_000_000


@dataclass
class Repository:
    """A repository; `readme` is None where there is none."""

    name: str
    readme: bytes | None = None
    readme_path: str = "README.md"
    description: str | None = None
    license: dict[str, Any] | None = None
    topics: tuple[str, ...] = ()
    language: str | None = None
    homepage: str | None = None
    fork: bool = False
    archived: bool = False
    pushed_at: str = "2026-11-01T10:00:00Z"


class FakeGitHub(FakeSite):
    """The API for one account. `remaining` requests are left until `reset`; `fault` may answer a request before it is looked at.

    As at GitHub: a request needs a User-Agent; a wrong token is a 401; beyond the limit is a 403 with x-ratelimit-remaining
    0; a 304 is free to those with a token alone; a README above a megabyte comes without content unless it is asked for raw.
    """

    def __init__(self, login: str = "Octocat") -> None:
        super().__init__(otherwise=self.answer)
        self.account: dict[str, Any] = {"login": login, "html_url": f"https://github.com/{login}", "type": "User"}
        self.repositories: list[Repository] = []
        self.remaining, self.limit, self.reset = 60, 60, int(START) + 3000
        self.page_size = 100
        self.fault: Callable[[Handler], Reply | None] = lambda _: None

    def add(self, name: str, readme: str | bytes | None = None, **about: Any) -> Repository:
        """Adds a repository."""
        data = readme.encode() if isinstance(readme, str) else readme
        made = Repository(name, data, **about)
        self.repositories.append(made)
        return made

    def answer(self, asked: Handler) -> Reply:
        """Answers one request."""
        authorization = asked.headers.get("Authorization", "")
        if not asked.headers.get("user-agent"):
            return self._json({"message": "Request forbidden by administrative rules."}, status=403)
        if authorization not in ("", f"Bearer {TOKEN}"):
            return self._json({"message": f"Bad credentials {authorization}"}, status=401)
        faulty = self.fault(asked)
        if faulty is not None:
            return faulty
        if self.remaining == 0:
            return self._json({"message": "API rate limit exceeded for 203.0.113.7."}, status=403)
        reply = self._answer(asked)
        etag = f'"{hashlib.sha256(reply.body).hexdigest()[:12]}"'
        if not (authorization and asked.headers.get("if-none-match") == etag):
            self.remaining -= 1
        return Reply(reply.body, reply.status, {**reply.headers, **self._limits()})

    def _limits(self) -> dict[str, str]:
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Reset": str(self.reset),
        }

    def _json(self, content: object, *, status: int = 200, **headers: str) -> Reply:
        kept = {"Content-Type": "application/json; charset=utf-8", **self._limits(), **headers}
        return Reply(json.dumps(content).encode(), status, kept)

    def _answer(self, asked: Handler) -> Reply:
        parts = urlsplit(asked.path)
        steps = unquote(parts.path).strip("/").split("/")
        login = self.account["login"]
        if [step.lower() for step in steps] == ["users", login.lower()]:
            return self._json({"public_repos": len(self.repositories), **self.account})
        if steps[0] == "users" and steps[2:] == ["repos"] and steps[1].lower() == login.lower():
            return self._page(int(parse_qs(parts.query).get("page", ["1"])[0]))
        found = next((each for each in self.repositories if steps == ["repos", login, each.name, "readme"]), None)
        if found is not None and found.readme is not None:
            return self._readme(found, raw="raw" in asked.headers.get("accept", ""))
        return self._json({"message": "Not Found", "documentation_url": "https://docs.github.com/rest"}, status=404)

    def _page(self, number: int) -> Reply:
        first = (number - 1) * self.page_size
        found = [self._repository(each) for each in self.repositories[first : first + self.page_size]]
        more = first + self.page_size < len(self.repositories)
        base = f"{self.url}/users/{self.account['login']}/repos?per_page=100&sort=pushed"
        link = {"Link": f'<{base}&page={number + 1}>; rel="next", <{base}&page=99>; rel="last"'} if more else {}
        return self._json(found, **link)

    def _repository(self, made: Repository) -> dict[str, Any]:
        full_name = f"{self.account['login']}/{made.name}"
        return {
            "name": made.name,
            "full_name": full_name,
            "html_url": f"https://github.com/{full_name}",
            "description": made.description,
            "license": made.license,
            "topics": list(made.topics),
            "language": made.language,
            "homepage": made.homepage,
            "fork": made.fork,
            "archived": made.archived,
            "pushed_at": made.pushed_at,
            "default_branch": "main",
        }

    def _readme(self, made: Repository, *, raw: bool) -> Reply:
        assert made.readme is not None
        if raw:
            return Reply(made.readme, headers={"Content-Type": "application/vnd.github.raw+json; charset=utf-8"})
        large = len(made.readme) > MEGABYTE
        return self._json(
            {
                "type": "file",
                "name": made.readme_path.rpartition("/")[2],
                "path": made.readme_path,
                "sha": hashlib.sha1(made.readme).hexdigest(),
                "encoding": "none" if large else "base64",
                "content": "" if large else base64.encodebytes(made.readme).decode(),
            }
        )
