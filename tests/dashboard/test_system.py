"""The System page in a real browser: every section says what there is, no key's value is anywhere, a job is cancelled."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from filelock import FileLock
from playwright.sync_api import BrowserContext, Page, expect

from sitt_core import notes
from sitt_core.settings import KEYS, Settings
from tests.dashboard.conftest import served, settle, window
from tests.dashboard.test_corpus import BARE, open_section
from tests.fakes.corpora import NAME, publish

pytestmark = pytest.mark.browser

SECRET = "sk-very-secret-0123456789"
EVIL = "<img src=x onerror=alert(1)> **b** :smile: <b>"
SECTIONS = ("Health", "Corpora", "Models and keys", "Spending", "Jobs", "Errors")
RUNNING = "20261201-000000-aaaaaa"


@dataclass(frozen=True)
class Lab:
    """A server on a store with the tales, every key set, and a job that runs as long as its lock is held."""

    url: str
    settings: Settings


def a_job(settings: Settings, name: str, title: str) -> Any:
    folder = settings.jobs_dir / name
    folder.mkdir(parents=True)
    facts = {"title": title, "key": f"key {name}", "pid": 1, "started": time.time()}
    (folder / "job.json").write_text(json.dumps(facts), encoding="utf-8")
    (folder / "progress.jsonl").write_text(json.dumps([time.time(), "embed", 30, 94]) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    settings = Settings(tmp_path_factory.mktemp("data"))
    publish(settings.store_dir)
    failed = a_job(settings, "20261130-000000-bbbbbb", f"Update {EVIL}")
    (failed / "result.json").write_text(json.dumps({"state": "failed", "message": f"refused: {SECRET}-{KEYS[0]}"}), encoding="utf-8")
    (failed / "output.log").write_text(f"Traceback {EVIL}\nkey {SECRET}-{KEYS[0]}\n", encoding="utf-8")
    record = {
        "question": "Q?",
        "text": EVIL,
        "provider": "claude",
        "model": EVIL,
        "problem": f"401 for {SECRET}-{KEYS[0]}",
        "stop": "error",
    }
    answer = {"id": "a", "asked": time.time(), "corpus": NAME, "fields": {}, "filters": {}, "record": record}
    log = settings.notes_dir / "answers" / f"{notes.new_conversation()}.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text(json.dumps({"answer": answer}) + "\n", encoding="utf-8")
    running = a_job(settings, RUNNING, "Index the tales")
    variables = {name: f"{SECRET}-{name}" for name in KEYS}
    with FileLock(running / "running.lock"), served(settings.data_dir, *BARE, variables=variables) as url:
        yield Lab(url, settings)


def open_system(page: Page, lab: Lab) -> None:
    """Comes to the page by its link: a deep link makes the browser's console report Streamlit's own 404s."""
    page.goto(f"{lab.url}/?corpus={NAME}")
    page.get_by_role("link", name="System").click()
    page.get_by_role("tab", name="Health").wait_for()
    settle(page)


def test_every_section_says_what_there_is_and_no_key_is_anywhere(page: Page, lab: Lab) -> None:
    """What it found, as text; of keys their names alone; failures with their last lines, hostile ones too."""
    open_system(page, lab)
    main = page.get_by_test_id("stMain")
    said = {
        "Health": ("✓ okpython", "– not runembedder", "streamlit", str(lab.settings.data_dir)),
        "Corpora": ("generation 000001 is served: 12 documents", "purge --corpus tales"),
        "Models and keys": ("ANTHROPIC_API_KEY", "✓ present", "Values are never shown.", "claude-sonnet-5-5 would judge answers"),
        "Spending": (
            "Nothing as far as it is known. What is not known comes on top",
            "answers on Ask1 answer",
            "at most 4,096 tokens written",
        ),
        "Jobs": ("Index the tales · • running", "embed 30 of 94", f"Update {EVIL}", "refused: •••"),
        "Errors": (f"answer by claude {EVIL}", "401 for •••"),
    }
    for section in SECTIONS:
        open_section(page, section)
        for words in said[section]:
            expect(main).to_contain_text(words)
        if section == "Jobs":
            page.get_by_text("The last 2 lines of its output").click()
            expect(page.locator(".sl-tail")).to_have_text(f"Traceback {EVIL}\nkey •••")
        assert SECRET not in page.content()
        assert page.locator("[data-testid=stMain] img").count() == 0


def test_a_running_job_is_cancelled_and_what_changed_is_seen_after_a_refresh(page: Page, lab: Lab) -> None:
    """The button asks the job to stop; an answer that came meanwhile counts once the page is read anew."""
    open_system(page, lab)
    main = page.get_by_test_id("stMain")
    open_section(page, "Spending")
    (log,) = (lab.settings.notes_dir / "answers").glob("*.jsonl")
    other = log.with_name(f"{notes.new_conversation()}.jsonl")
    other.write_text(log.read_text(encoding="utf-8"), encoding="utf-8")
    page.get_by_role("button", name="Refresh").click()
    expect(main).to_contain_text("answers on Ask2 answers")
    other.unlink()
    page.get_by_role("button", name="Refresh").click()
    expect(main).to_contain_text("answers on Ask1 answer")
    open_section(page, "Jobs")
    page.get_by_role("button", name="Cancel").click()
    expect(main).to_contain_text("stopping after this step")
    assert (lab.settings.jobs_dir / RUNNING / "cancel").is_file()


def test_the_page_is_accessible_and_fits(profile: BrowserContext, lab: Lab) -> None:
    """No violation of WCAG A and AA that axe can find, and nothing wider than the window: narrow and dark, then wide and light."""
    looks: tuple[tuple[int, Literal["light", "dark"], tuple[str, ...]], ...] = ((390, "dark", SECTIONS), (1280, "light", SECTIONS[::3]))
    for width, scheme, sections in looks:
        page = window(profile, width, scheme)
        open_system(page, lab)
        for section in sections:
            open_section(page, section)
            found = Axe().run(page, options={"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa"]}})
            told = [(section, v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in found.response["violations"]]
            assert told == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.close()
