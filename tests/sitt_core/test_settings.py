"""Settings come from the environment and `.env`, and know of keys only that they are there."""

from pathlib import Path

import pytest

from sitt_core.configuration import Configuration, configure
from sitt_core.errors import InvalidInput, shown
from sitt_core.settings import DEFAULT_PORT, KEYS, ROOT, SourceSettings, load_settings


def test_nothing_set() -> None:
    """With an empty environment everything has its default."""
    settings = load_settings({})
    assert (settings.data_dir, settings.port, settings.defaults) == (ROOT / "data", DEFAULT_PORT, Configuration())
    assert settings.keys_present == frozenset()


def test_folders(tmp_path: Path) -> None:
    """Store, models and jobs are folders of the data folder, which is absolute whatever was given."""
    settings = load_settings({"SITT_DATA_DIR": f"{tmp_path}/a/../b"})
    assert settings.data_dir == tmp_path / "b"
    assert [settings.store_dir, settings.jobs_dir] == [tmp_path / "b" / name for name in ("store", "jobs")]
    assert not settings.data_dir.exists()


def test_a_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`~` is the user's home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_settings({"SITT_DATA_DIR": "~/sitt"}).data_dir == tmp_path / "sitt"


@pytest.mark.parametrize(("text", "port"), [("1", 1), ("65535", 65535), (" 8600 ", 8600), ("", DEFAULT_PORT), ("  ", DEFAULT_PORT)])
def test_port(text: str, port: int) -> None:
    """A port from 1 to 65535 is taken; blank means the default."""
    assert load_settings({"SITT_PORT": text}).port == port


@pytest.mark.parametrize(
    ("environment", "expected", "got"),
    [
        pytest.param({"SITT_PORT": "0"}, "SITT_PORT to be a port from 1 to 65535", "'0'", id="port 0"),
        pytest.param({"SITT_PORT": "65536"}, "SITT_PORT to be a port from 1 to 65535", "'65536'", id="port too high"),
        pytest.param({"SITT_PORT": "-1"}, "SITT_PORT to be a port from 1 to 65535", "'-1'", id="port negative"),
        pytest.param({"SITT_PORT": "８５０１"}, "SITT_PORT to be a port from 1 to 65535", "'８５０１'", id="port in wide digits"),
        pytest.param({"SITT_PORT": "9" * 5000}, "SITT_PORT to be a port from 1 to 65535", "'" + "9" * 118 + "…", id="port of 5,000 digits"),
        pytest.param({"SITT_TOP_K": "0"}, "SITT_TOP_K to be a whole number from 1 to 100", "'0'", id="a field's default"),
        pytest.param({"SITT_DATA_DIR": "~no such user/x"}, "SITT_DATA_DIR to be a folder", "'~no such user/x'", id="home of nobody"),
        pytest.param({"SITT_DATA_DIR": "/\udcff"}, "SITT_DATA_DIR to be a folder", "'/\\udcff'", id="folder in no encoding"),
        pytest.param({"SITT_DATA_DIR": "/" + "x" * 300}, "SITT_DATA_DIR to be a folder", "'/" + "x" * 117 + "…", id="name too long"),
        pytest.param({"SITT_DATA_DIR": __file__}, "SITT_DATA_DIR to be a folder", f"the file {shown(__file__)}", id="a file"),
    ],
)
def test_errors(environment: dict[str, str], expected: str, got: str) -> None:
    """What is wrong is told by the variable's name, what came, and where to correct it."""
    with pytest.raises(InvalidInput) as caught:
        load_settings(environment)
    assert (caught.value.expected, caught.value.got) == (expected, got)
    assert caught.value.remedy == "Correct it in the environment or in .env."


@pytest.mark.parametrize("name", KEYS)
def test_keys_are_known_by_presence_only(name: str) -> None:
    """A key that is set is known to be there, and no repr shows it; a blank one is not there."""
    settings = load_settings({name: "sk-very-secret"})
    assert settings.keys_present == {name}
    assert "very-secret" not in repr(settings)
    assert load_settings({name: "  "}).keys_present == frozenset()


class TestSources:
    def test_where_sources_are_and_who_asks(self) -> None:
        """By default English Wikipedia, a second between requests, nobody who asks and nothing in a private network."""
        assert load_settings({}).sources == SourceSettings()
        found = load_settings(
            {
                "SITT_CONTACT": " me@example.org ",
                "SITT_WIKIPEDIA_URL": "http://127.0.0.1:80/",
                "GITHUB_API_URL": "https://git.example.org/api/v3/",
                "SITT_FETCH_INTERVAL": "0",
                "SITT_ALLOW_PRIVATE": "Yes",
            }
        ).sources
        assert (found.contact, found.wikipedia_url, found.interval, found.allow_private) == (
            "me@example.org",
            "http://127.0.0.1:80",
            0.0,
            True,
        )
        assert found.github_url == "https://git.example.org/api/v3"

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("SITT_WIKIPEDIA_URL", "en.wikipedia.org"),
            ("SITT_WIKIPEDIA_URL", "https://me:pass@en.wikipedia.org"),
            ("SITT_WIKIPEDIA_URL", "https://en.wikipedia.org/?a"),
            ("GITHUB_API_URL", "ftp://api.github.com"),
            ("SITT_ALLOW_PRIVATE", "perhaps"),
            ("SITT_FETCH_INTERVAL", "-1"),
            ("SITT_FETCH_INTERVAL", "soon"),
        ],
    )
    def test_what_is_wrong_is_named(self, name: str, value: str) -> None:
        """The error names the variable and where to correct it."""
        with pytest.raises(InvalidInput, match=rf"{name}.*\.env"):
            load_settings({name: value})


class TestDotenv:
    @pytest.fixture(autouse=True)
    def _empty_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("SITT_PORT", "SITT_TOP_K", "SITT_DATA_DIR", *KEYS):
            monkeypatch.delenv(name, raising=False)

    def test_fills_what_the_environment_leaves_out(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """The environment goes before `.env`, which fills the rest."""
        (tmp_path / ".env").write_text("SITT_TOP_K=3\nSITT_PORT=9000\nVOYAGE_API_KEY='pa-secret'\n", encoding="utf-8")
        monkeypatch.setenv("SITT_PORT", "9001")
        settings = load_settings(dotenv=tmp_path / ".env")
        assert (settings.defaults.top_k, settings.port, settings.keys_present) == (3, 9001, {"VOYAGE_API_KEY"})

    def test_may_be_missing(self, tmp_path: Path) -> None:
        """Without the file the environment alone counts."""
        assert load_settings(dotenv=tmp_path / ".env").port == DEFAULT_PORT

    @pytest.mark.parametrize(
        "content",
        [
            pytest.param(b"\xef\xbb\xbfSITT_TOP_K=3\n", id="byte order mark"),
            pytest.param(b"# note\r\nSITT_TOP_K=3\r\n", id="Windows line ends"),
            pytest.param(b"SITT_PORT\nexport SITT_TOP_K = 3 # three\n", id="export, comment, name without a value"),
        ],
    )
    def test_as_editors_leave_it(self, content: bytes, tmp_path: Path) -> None:
        """A byte order mark, Windows line ends and shell habits do no harm."""
        (tmp_path / ".env").write_bytes(content)
        assert load_settings(dotenv=tmp_path / ".env").defaults == configure({"top_k": 3})

    def test_not_utf8(self, tmp_path: Path) -> None:
        """A file in another encoding is a named error."""
        (tmp_path / ".env").write_bytes(b"SITT_DATA_DIR=/donn\xe9es\n")
        with pytest.raises(InvalidInput, match=r"expected \.env to be a readable UTF-8 file"):
            load_settings(dotenv=tmp_path / ".env")
