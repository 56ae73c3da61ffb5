"""The Lab page in a real browser: a run from planning to Explore, stopped and resumed; and what its functions say without one."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect

from evals import analysis, judged, results
from evals.confirm import Confirmation, uses
from evals.golden import GoldenSet, Question, Quote, write_questions
from evals.grid import Grid, expand, parse_grid
from evals.judging import JudgePlan
from evals.results import Run
from evals.run import Plan, Selection, choose_metrics, execute, plan_run, start
from evals.subject import open_questions
from evals.verdicts import AnswerView
from sitt_core import notes
from sitt_core.build import JudgeModel, Workshop
from sitt_core.configuration import configure
from sitt_core.errors import Cancelled, InvalidInput
from sitt_core.ingest import Estimate
from sitt_core.jobs import Job, State
from sitt_core.settings import Settings
from sitt_core.surfaces.dashboard import lab, lab_confirm, lab_data, lab_judge, lab_new, lab_runs, lab_sides
from tests.dashboard.conftest import command, served, settle, window
from tests.dashboard.test_corpus import ANIMALS, BARE, choose, write_notes
from tests.fakes.claude import FakeClaude
from tests.fakes.corpora import silent
from tests.fakes.runs import GOOD, HALF, a_run, columns, entry, with_verdicts
from tests.fakes.runs import JUDGE as RUN_JUDGE

JUDGE = "claude-fake-judge"
HOSTILE = "<img src=x onerror='window.pwned=1'> **bold** :smile: $x$ [a](javascript:window.pwned=1) </script>"


def questions() -> list[Question]:
    """Two for each of the dozen animals; the words of some are in every note."""
    asked = []
    for name in ANIMALS:
        gold = {f"{name}.md": 1}
        evidence = ((Quote(f"{name}.md", f"The {name} keeps to itself"),),)
        asked.append(Question(f"where-{name}", f"Where was the {name} seen?", "detail", grades=gold, evidence=evidence))
        asked.append(Question(f"dusk-{name}", f"Who left before dusk, near the bridge, like a {name[:2]}?", "thematic", grades=gold))
    return asked


@dataclass(frozen=True)
class Lab:
    """A server on a store with one small corpus and no run, its data folder, and golden sets beside it."""

    url: str
    data_dir: Path
    golden: Path
    claude: FakeClaude

    def run(self, *grid: str, golden: Path | None = None, name: str = "", rows: int = 0, metrics: Sequence[str] = ()) -> Run:
        """A run made without the page, whole, or stopped after so many rows."""
        workshop = Workshop(Settings(data_dir=self.data_dir, defaults=configure({"embedder": "hash"})))
        subject = open_questions(workshop, str(golden or self.golden), "notes", report=silent)
        expanded = expand(parse_grid(grid), [workshop.settings.defaults])
        made = start(workshop, subject, plan_run(workshop, subject, Selection(), expanded, choose_metrics(metrics)), name=name)

        def report(stage: str, done: int, _total: int) -> None:
            if rows and stage == "evaluate" and done >= rows:
                raise Cancelled(expected="to finish", got="enough rows", remedy="Resume it.")

        with contextlib.suppress(Cancelled), ThreadPoolExecutor(1) as aside:  # answers want a thread without Playwright's event loop
            aside.submit(execute, workshop, made, subject, report=report).result()
        return results.open_run(self.data_dir / "runs", made.manifest.id)


@pytest.fixture(scope="module")
def served_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One server for the module, with the embedder that needs no model."""
    data_dir, folder = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("sources")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SITT_EMBEDDER", "hash")
        command(["update", "--source", f"markdown:{write_notes(folder / 'animals')}", "--corpus", "notes", "--yes"], data_dir)
    write_questions(folder / "animals.yaml", questions())
    with FakeClaude() as claude:
        judge = {"ANTHROPIC_API_KEY": "sk-pretend", "ANTHROPIC_BASE_URL": claude.url, "JUDGE_PROVIDER": "claude", "JUDGE_MODEL": JUDGE}
        judge |= {"JUDGE_PRICE_INPUT": "1", "JUDGE_PRICE_OUTPUT": "5"}
        with served(data_dir, *BARE, variables={"SITT_EMBEDDER": "hash", "LLM_PROVIDER": "extractive", **judge}) as url:
            yield Lab(url, data_dir, folder / "animals.yaml", claude)


def opened(page: Page, url: str) -> None:
    """Comes to the page by its link: a deep link makes the browser's console report Streamlit's own 404s."""
    page.goto(f"{url}/?corpus=notes&q=eel&embedder=hash")
    page.get_by_role("link", name="Lab").click()
    page.get_by_role("radio", name="All runs").wait_for()
    settle(page)


def linked(page: Page, url: str) -> None:
    """Comes by a deep link, which is quicker."""
    page.goto(f"{url}/lab?corpus=notes&embedder=hash")
    page.get_by_role("radio", name="All runs").wait_for()
    settle(page)


def view(page: Page, name: str) -> None:
    page.get_by_role("radio", name=name, exact=True).click()
    settle(page)


def section(page: Page, name: str) -> None:
    """Opens a section of the results."""
    tab = page.get_by_role("tab", name=name, exact=True)
    tab.click()
    expect(tab).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("tabpanel", name=name, exact=True)).to_contain_text(re.compile(r"\S"))  # the server's run has begun
    settle(page)


def address(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def fill(page: Page, label: str, text: str) -> None:
    box = page.get_by_test_id("stMain").get_by_role("textbox", name=label)
    box.fill(text)
    box.press("Enter")
    settle(page)


@pytest.mark.browser
def test_a_run_from_its_plan_to_explore(page: Page, served_lab: Lab) -> None:
    """Planned, run and read on the page; a cell, and the link of a question, lead to Explore as it was asked."""
    opened(page, served_lab.url)
    choose(page, "Golden set", "a path")
    fill(page, "Path of the golden set", str(served_lab.golden))
    choose(page, "Vary", "Keyword (keyword)")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stMain")).to_contain_text("24 questions × 3 configurations: 72 rows on notes")
    expect(page.get_by_test_id("stMain")).to_contain_text("All indexes are built.")
    fill(page, "Name", "three keywords")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("tab", name="Leaderboard")).to_be_visible()
    settle(page)
    expect(page.locator(".sl-findings")).to_contain_text("Over 24 questions the highest recall at 5 is")
    expect(page.locator(".js-plotly-plot").first).to_contain_text("Keyword off")
    (run,) = results.runs(served_lab.data_dir / "runs")
    assert (run.state, run.manifest.name, results.count(run)) == ("done", "three keywords", 72)

    section(page, "Questions")
    plot = page.locator(".st-key-lab-cells .js-plotly-plot")
    x, y, question, place = plot.evaluate(
        """plot => { const layout = plot._fullLayout, trace = plot._fullData[0], at = 1;
        return [layout.xaxis._offset + layout.xaxis.c2p(trace.x[at]), layout.yaxis._offset + layout.yaxis.c2p(trace.y[at]), ...trace.customdata[at]] }"""
    )[:4]
    box = plot.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.mouse.click(box["x"] + x, box["y"] + y)
    page.locator(".sl-card").first.wait_for()
    settle(page)
    held = address(page)
    assert held["q"] == [run.questions[question].text]
    assert held["keyword"] == [run.manifest.configurations[place].fields["keyword"]]
    assert (held["corpus"], held["embedder"]) == (["notes"], ["hash"])

    page.get_by_role("link", name="Lab").click()
    expect(page.get_by_role("tab", name="Questions")).to_have_attribute("aria-selected", "true")
    section(page, "Head to head")
    page.get_by_role("radio", name="equal").click()
    best, second = [row.place for row in analysis.board(run).rows[:2]]
    expect(page.get_by_test_id("stMain")).to_contain_text(f"of {analysis.duel((run, best), (run, second)).comparison.ties}. A link opens")
    settle(page)
    link = page.get_by_test_id("stMain").get_by_role("link", name=re.compile(r"^B \d")).first
    wanted = parse_qs(str(link.get_attribute("href")).lstrip("?"))
    link.click()
    page.locator(".sl-card").first.wait_for()
    expect(page).to_have_url(re.compile(re.escape(f"keyword={wanted['keyword'][0]}")))
    assert address(page)["q"] == wanted["q"]


@pytest.mark.browser
def test_a_run_is_resumed_found_again_stopped_and_deleted(page: Page, profile: BrowserContext, served_lab: Lab, tmp_path: Path) -> None:
    """It goes on from its rows and shows what it has; another window finds it and stops it, and what there is stays; deleting asks first."""
    many = [replace(each, id=f"{each.id}-{copy}") for copy in range(10) for each in questions()]
    write_questions(tmp_path / "many.yaml", many)
    made = served_lab.run(f"fusion.k={','.join(map(str, range(1, 51)))}", golden=tmp_path / "many.yaml", name="long", rows=300)
    opened(page, served_lab.url)
    main = page.get_by_test_id("stMain")
    choose(page, "Run", "long")
    expect(main).to_contain_text("Stopped at 300 of 12,000 rows.")
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(main).to_contain_text("Partial: recall at 5")
    expect(main).to_contain_text(re.compile(r"(\d,\d|[4-9])\d\d of 12,000 rows"))

    another = window(profile, 1280)
    linked(another, served_lab.url)
    expect(another.get_by_test_id("stMain").get_by_role("combobox", name="Run")).to_have_value(re.compile("long.*running"))
    another.get_by_role("button", name="Stop", exact=True).click()
    another.get_by_role("button", name="Resume", exact=True).wait_for()
    run = results.open_run(served_lab.data_dir / "runs", made.manifest.id)
    assert run.state == "stopped"
    assert 300 < results.count(run) < 12_000
    expect(main).to_contain_text(f"Stopped at {results.count(run):,} of 12,000 rows.")  # in the first window too

    view(another, "All runs")
    another.get_by_role("button", name="Delete …").click()
    another.get_by_role("button", name="Delete it for good").click()
    expect(another.get_by_role("button", name="Delete it for good")).to_have_count(0)
    expect(another.get_by_role("button", name="Delete …").or_(another.get_by_role("button", name="Plan a first run"))).to_be_visible()
    assert made.manifest.id not in [each.manifest.id for each in results.runs(served_lab.data_dir / "runs")]
    another.close()


@pytest.mark.browser
def test_it_is_accessible_and_fits(profile: BrowserContext, served_lab: Lab) -> None:
    """No violation of WCAG A and AA that axe can find, nothing wider than the window: narrow and dark, then wide and light."""
    served_lab.run("keyword=bm25s,off", "top_k=3,5", name="to look at")
    page = window(profile, 390, "dark")
    linked(page, served_lab.url)
    for name in ("Leaderboard", "Curves", "Trade-off", "Kinds", "Effects", "Questions", "Head to head", "Answers", "Details"):
        section(page, name)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        if name in ("Leaderboard", "Questions"):
            assert violations(page, name) == []
    section(page, "Answers")
    page.get_by_role("button", name="New run with answers").click()
    expect(page.get_by_role("checkbox", name="Answers too")).to_be_checked()
    for name in ("New run", "All runs"):
        view(page, name)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()
    page = window(profile, 1280)
    linked(page, served_lab.url)
    section(page, "Head to head")
    assert violations(page, "Head to head") == []
    view(page, "New run")
    assert violations(page, "New run") == []
    page.close()


@pytest.mark.browser
def test_a_choice_is_confirmed_on_sealed_questions(page: Page, profile: BrowserContext, served_lab: Lab, tmp_path: Path) -> None:
    """After a tick, as a job of its own: the result is said and stays, the use is counted, and no sealed question appears anywhere."""
    sealed = [replace(each, id=f"sealed-{at}", text=f"{each.text} Zanzibar?", split="sealed") for at, each in enumerate(questions())]
    write_questions(tmp_path / "sealed.yaml", [*questions(), *sealed])
    log = tmp_path / "sealed.confirmations.jsonl"
    run = served_lab.run("keyword=bm25s,off", golden=tmp_path / "sealed.yaml", name="to confirm")
    opened(page, served_lab.url)
    main, button = page.get_by_test_id("stMain"), page.get_by_role("button", name="Ask the sealed questions")
    choose(page, "Run", "to confirm")
    section(page, "Leaderboard")
    best, other = [row.entry.key for row in analysis.board(run).rows]
    expect(main).to_contain_text("over 24 sealed questions under both")
    expect(main).to_contain_text("This is use 1: it confirms at p ≤ 0.025, and is logged in sealed.confirmations.jsonl")
    expect(button).to_be_disabled()
    assert not log.exists()
    main.get_by_text("I want to spend this use").click()
    expect(button).to_be_enabled()
    button.click()
    expect(main).to_contain_text(re.compile(r"onfirmed: on 24 sealed questions recall@5 is"))
    settle(page)
    (made,) = uses(log)
    assert (made.n, made.metric) == (24, "recall@5")
    assert best in made.configuration
    assert other in made.baseline
    expect(main).to_contain_text("This is use 2: it confirms at p ≤ 0.0125")
    expect(button).to_be_disabled()
    another = window(profile, 1280)
    linked(another, served_lab.url)
    expect(another.get_by_test_id("stMain")).to_contain_text("All uses so far: 1, logged in sealed.confirmations.jsonl")
    assert "Zanzibar" not in page.content() + another.content()
    another.close()
    (folder,) = [path.parent for path in (served_lab.data_dir / "jobs").glob("*/job.json") if "confirm" in path.read_text()]
    assert not any("Zanzibar" in path.read_text() for path in folder.iterdir())


@pytest.mark.browser
def test_answers_are_judged_read_and_rated(page: Page, profile: BrowserContext, served_lab: Lab, tmp_path: Path) -> None:
    """What it costs is said before, a tick begins it, a budget ends it, a higher one goes on; then charts, claims, and a thumb that counts."""
    write_questions(tmp_path / "few.yaml", questions()[:8])
    run = served_lab.run("keyword=bm25s,off", golden=tmp_path / "few.yaml", name="to judge", metrics=["answers"])
    opened(page, served_lab.url)
    main, begin = page.get_by_test_id("stMain"), page.get_by_role("button", name="Judge", exact=True)
    choose(page, "Run", "to judge")
    section(page, "Answers")
    expect(main).to_contain_text(f"Judge: claude {JUDGE} at {served_lab.claude.url}.")
    choose(page, "Metrics of answers", "groundedness")
    page.keyboard.press("Escape")
    settle(page)
    expect(main).to_contain_text("16 answers to be judged, 0 are already")
    expect(main).to_contain_text(re.compile(r"About \d+ calls of the judge, [\d,]+ tokens, at most about \$0\.\d\d"))
    expect(begin).to_be_disabled()
    budget = page.get_by_role("spinbutton", name="Budget in tokens")
    budget.fill("1")
    budget.press("Enter")
    settle(page)
    main.get_by_text("Spend that").click()
    expect(begin).to_be_enabled()
    begin.click()
    expect(main).to_contain_text("The budget ended the last judging: 0 of 1 tokens spent")
    assert served_lab.claude.requests == []
    settle(page)

    served_lab.claude.delay = 0.05  # until it was seen to be on its way
    page.get_by_role("button", name="Go on …").click()
    settle(page)
    budget.fill("9000000")
    budget.press("Enter")
    settle(page)
    main.get_by_text("Spend that").click()
    page.get_by_role("button", name=re.compile("^(Go on|Judge)$")).click()
    expect(main).to_contain_text(re.compile(r"Judged: \d+ of 16 answers"))
    another = window(profile, 390, "dark")
    linked(another, served_lab.url)
    section(another, "Answers")
    another.get_by_role("button", name="Stop judging").wait_for()  # found again by another window
    served_lab.claude.delay = 0.0
    expect(main.get_by_role("button", name="Stop judging")).to_have_count(0)
    settle(page)
    expect(main.locator(".js-plotly-plot")).to_have_count(1)
    made = results.open_run(served_lab.data_dir / "runs", run.manifest.id)
    assert made.judged is not None
    assert len(judged.own(made.folder)) == 16
    expect(main).to_contain_text(f"Answers were judged by claude {JUDGE} at {served_lab.claude.url}.")
    assert violations(page, "Charts") == []

    another.get_by_role("button", name="Stop judging").wait_for(state="detached")
    another.get_by_role("radio", name="Side by side").click()
    expect(another.locator(".sl-claims").first).to_contain_text(re.compile("✓ supported|✗ not supported"))
    settle(another)
    assert another.evaluate("document.documentElement.scrollWidth") <= 390
    assert violations(another, "Side by side") == []
    another.close()

    view(page, "Side by side")
    claim = main.locator(".sl-claims summary").first
    claim.click()
    expect(main.locator(".sl-claims details[open]").first).to_contain_text("Reason: as it stands")
    main.get_by_role("button", name="Thumb up").or_(main.locator("[data-testid=stFeedback] button")).first.click()
    settle(page)
    view(page, "Noise and agreement")
    expect(main).to_contain_text("1 thumb is too few to say")
    assert list(judged.thumbs(made.folder).values()) in (["up"], ["down"])
    expect(page.get_by_role("combobox", name="Metric")).to_be_visible()
    choose(page, "Metric", "groundedness")
    section(page, "Leaderboard")
    expect(main).to_contain_text("Leaderboard (exploratory)")
    expect(main).to_contain_text(f"Judge: claude {JUDGE}")


def violations(page: Page, where: str) -> list[tuple[str, str, list[str]]]:
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa"]}})
    return [(where, each["id"], [node["html"][:300] for node in each["nodes"][:3]]) for each in found.response["violations"]]


@pytest.mark.browser
def test_hostile_text_is_text(profile: BrowserContext, served_lab: Lab, tmp_path: Path) -> None:
    """A run's name and its questions: nothing of them runs or becomes an element, on the page or in the report, which draws by itself."""
    asked = [replace(each, text=f"{HOSTILE} {each.text}", kind="<b>kind</b>") for each in questions()]
    write_questions(tmp_path / "hostile.yaml", asked)
    run = served_lab.run("keyword=bm25s,off", golden=tmp_path / "hostile.yaml", name=HOSTILE)
    claim = {"claim": HOSTILE, "supported": 0, "passages": [], "reason": HOSTILE}
    details = {"groundedness": [{"sentence": HOSTILE, "claims": [claim]}], "faithfulness": [claim], "rubric-relevance": HOSTILE}
    with_verdicts(run, {"groundedness": [[HOSTILE, 1.0]] * 24}, details=details, about=replace(RUN_JUDGE, model=HOSTILE))
    page = window(profile, 1280)
    linked(page, served_lab.url)
    main = page.get_by_test_id("stMain")
    expect(main.get_by_role("combobox", name="Run")).to_have_value(re.compile(re.escape("<img src=x onerror")))
    for name in ("Kinds", "Questions", "Head to head", "Answers", "Details"):
        section(page, name)
        if name == "Answers":
            assert main.locator("img, iframe, a[href^=javascript]").count() == 0
            view(page, "Side by side")
            expect(main.locator(".sl-claims").first).to_contain_text("**bold** :smile: $x$")
        if name == "Head to head":
            main.get_by_role("radio", name="equal").click()
            expect(main.locator(".sl-asked-of").first).to_contain_text("**bold** :smile: $x$")
        assert main.locator("img, iframe, a[href^=javascript]").count() == 0
    fill(page, "Name of the preset", "winner")
    page.get_by_role("button", name="Save as preset").click()
    expect(main).to_contain_text("Saved as winner")
    assert notes.presets(served_lab.data_dir / "notes")["winner"]["embedder"] == "hash"
    with page.expect_download() as downloading:
        page.get_by_role("button", name="HTML report").click()
    downloading.value.save_as(tmp_path / "report.html")
    assert page.evaluate("window.pwned") is None
    require_report(page, tmp_path / "report.html")
    page.close()


def require_report(page: Page, report: Path) -> None:
    """A report in a browser: every chart is drawn, nothing is asked for, nothing is wrong, nothing in it has run."""
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: wrong.append(request.url) if request.url.startswith("http") else None)
    page.goto(report.as_uri())
    page.locator(".plot .main-svg").first.wait_for()
    assert page.locator(".plot").count() == page.locator(".plot.js-plotly-plot").count() > 5
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert wrong == []


# Without a browser


def planned(**others: object) -> Plan:
    grid = Grid((configure({}), configure({"answer.provider": "claude"})))
    return replace(Plan(tuple(questions()), grid, ()), **others)  # type: ignore[arg-type]


class TestPlan:
    def test_values_are_written_with_commas(self) -> None:
        """Each once, checked like any other value."""
        assert lab_new.parse_values("top_k", " 3, 5,5 ,, 10") == [3, 5, 10]
        assert lab_new.parse_values("fusion.alpha", "0.25") == [0.25]
        assert lab_new.parse_values("top_k", "") == []
        with pytest.raises(InvalidInput, match="a whole number from 1 to 100"):
            lab_new.parse_values("top_k", "3, x")

    def test_configurations_are_told_apart(self) -> None:
        """By the fields in which they differ."""
        made = [configure({"fusion.k": k, "top_k": 5}) for k in (10, 60)]
        names = lab_new.configuration_names(made)
        assert [name.split(" · ", 1)[1] for name in names.values()] == ["fusion.k=10", "fusion.k=60"]

    @pytest.mark.parametrize(
        ("plan", "words"),
        [
            (planned(answers=48), "no model is asked and nothing charged"),
            (planned(answers=48, tokens=120_000, dollars=1.5), "about 120,000 tokens to read, at most $1.50"),
            (planned(answers=48, tokens=120_000, dollars=None), "at a price that is not known here"),
            (planned(answers=48, tokens=120_000, dollars=0.0), "no charge"),
        ],
        ids=["extractive", "paid", "unknown", "free"],
    )
    def test_what_answers_cost(self, plan: Plan, words: str) -> None:
        """Tokens and money, or that there is none."""
        assert words in lab_new.cost_words(plan)

    def test_keys_that_are_missing_are_named(self) -> None:
        """Only when answers are asked for."""
        assert lab_new.lacking_keys(planned(answers=48), frozenset()) == [
            "claude needs ANTHROPIC_API_KEY, which is not set: its configurations would fail, the others run."
        ]
        assert lab_new.lacking_keys(planned(answers=48), frozenset({"ANTHROPIC_API_KEY"})) == []
        assert lab_new.lacking_keys(planned(), frozenset()) == []

    def test_indexes_to_build(self) -> None:
        """Named by what they are, with their time."""
        key = configure({}).index_key
        plan = planned(missing={key: Estimate(chunks=10, cached=4, seconds=3.2, sentences=0)})
        assert lab_new.missing_rows(plan) == [
            {"index": "structural-500 · minilm", "chunks": 10, "vectors cached": 4, "about": "3 s", "key": key}
        ]
        assert lab_new.building_seconds(plan) == 3.2


class TestProgress:
    job = Job("j", "t", "k", "running", 0.0, "evaluate", 600, 1200, 10.0)

    @pytest.mark.parametrize(
        ("job", "share", "words"),
        [
            (job, 0.5, "600 of 1,200 rows (about 10 s left)"),
            (replace(job, stage="embed", done=3, total=4), 0.75, "First, embed: 3 of 4 (about 10 s left)"),
            (replace(job, stage=""), 0.0, "Starting …"),
            (None, 0.0, "Starting …"),
        ],
        ids=["rows", "an index first", "nothing yet", "from a terminal"],
    )
    def test_how_far(self, job: Job | None, share: float, words: str) -> None:
        """A share, and words with the time left."""
        assert lab_runs.progress(job, [], 1200) == (share, words)

    def test_without_a_job_rows_are_counted(self) -> None:
        """A run from a terminal tells by its rows."""
        assert lab_runs.progress(None, [{"done": 200}, {"done": 100}], 1200) == (0.25, "300 of 1,200 rows")

    def test_a_line_of_what_there_is(self) -> None:
        """The mean with its interval where there is one."""
        row = {"configuration": "a", "done": 30, "questions": 60, "mean": 0.5, "low": 0.33, "high": 0.67, "n": 30, "of": 60}
        assert lab_runs.partial_row(row)["mean so far"] == "0.50 (0.33–0.67)"
        assert lab_runs.partial_row({**row, "mean": None, "low": None})["mean so far"] == "–"


class TestJudging:
    plan = JudgePlan(
        JudgeModel("claude", "m", "http://127.0.0.1:9", 100, None, True), ("groundedness",), 1, ((0, 0, 0, 0),), 3, 1, 900, None, 0
    )

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({}, "About 1 call of the judge, 900 tokens, at a price that is not known here. What is in the cache costs nothing."),
            ({"dollars": 0.5, "repeats": 3, "rewritten": 2}, "2 answers written anew, which shows how much the generator varies."),
            ({"dollars": 0.5, "calls": 2}, "About 2 calls of the judge, 900 tokens, at most about $0.50."),
            ({"calls": 0, "tokens": 0, "dollars": 0.0}, "Nobody is asked and nothing charged."),
            ({"units": ()}, "<b>Everything is judged</b>: 3 answers"),
        ],
        ids=["unknown price", "repeats", "paid", "free", "nothing left"],
    )
    def test_what_it_takes(self, changes: dict[str, Any], words: str) -> None:
        """Answers, calls, tokens, money."""
        assert words in lab_judge.plan_html(replace(self.plan, **changes))

    def test_who_would_judge(self) -> None:
        """With the address, and that it wrote some of the answers; without a key what can be had, and the variables to set."""
        assert "claude m at http://127.0.0.1:9" in lab_judge.who_html(self.plan.judge, None)
        assert "It wrote some of the answers itself" in lab_judge.who_html(self.plan.judge, None)
        without = lab_judge.who_html(None, replace(RUN_JUDGE, model="<img>"))
        for name in (
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "GROQ_API_KEY",
            "JUDGE_PROVIDER",
            "JUDGE_MODEL",
            "rouge-l",
            "semantic-similarity",
        ):
            assert name in without
        assert "<img" not in without

    @pytest.mark.parametrize(
        ("state", "message", "said"),
        [
            ("done", "", ""),
            ("cancelled", "Stopped.", "The last judging was stopped."),
            (
                "failed",
                "expected the budget to last for 2 answers more; got 9 of 10 tokens spent. Raise it.",
                "ended the last judging: 9 of 10",
            ),
            ("failed", "expected a key; got none.", "did not end: expected a key; got none."),
        ],
    )
    def test_how_the_last_one_ended(self, state: State, message: str, said: str) -> None:
        """Nothing of one that is whole."""
        words = lab_judge.ended_in_words(Job("j", "t", "k", state, 0.0, message=message))
        assert (words == "") == (said == "")
        assert said in words

    def test_how_far(self) -> None:
        """Answers of answers, with what is loaded first."""
        job = TestProgress.job
        assert lab_judge.progress(replace(job, stage="judge"), 0) == (0.5, "Judged: 600 of 1,200 answers (about 10 s left)")
        assert lab_judge.progress(replace(job, stage="load ragas"), 0) == (0.0, "Judging: first, load ragas …")
        assert lab_judge.progress(None, 3) == (0.0, "Being judged: 3 answers so far.")

    def test_its_command(self, tmp_path: Path) -> None:
        """Everything chosen, each value with its option, so that no value is taken for an option."""
        run = a_run(tmp_path, [entry()], columns(GOOD))
        made = lab_judge.arguments_of(run, ["groundedness"], ["-x"], 3, again=True, dollars=0.5, tokens=None)
        assert made == [
            "ragas",
            run.manifest.id,
            "--metrics=groundedness",
            "--kinds=-x",
            "--repeats=3",
            "--budget-usd=0.5",
            "--again",
            "--yes",
        ]

    def test_an_answer_to_be_read(self) -> None:
        """Each claim has a sign and a word, its reason and its passage; all of it is text."""
        claims = [
            {"claim": "It walks.", "supported": 1, "passages": [2], "reason": "It says so."},
            {"claim": HOSTILE, "supported": 0, "passages": [], "reason": HOSTILE},
        ]
        sentences = [{"sentence": f"It walks {HOSTILE}", "claims": claims}]
        statements = {"context-precision": claims[:1], "faithfulness": claims}
        view_ = AnswerView(
            0, HOSTILE, HOSTILE, False, "", {"rouge-l": 0.5}, {"faithfulness": HOSTILE}, sentences, statements, {"rubric": HOSTILE}
        )
        made = lab_sides.answer_html(view_, [("Ahool", "first"), (HOSTILE, f"second {HOSTILE}")])
        for told in (
            "✓ supported",
            "✗ not supported",
            "Reason: It says so.",
            "passage 2",
            "second ",
            "1 of 1 passages help",
            "1 of 2 supported",
        ):
            assert told in made
        assert not re.search(r"<(?!/?(article|h2|div|b|span|ul|li|details|summary|p|dl|dt|dd)\b)", made)
        refused = lab_sides.answer_html(replace(view_, refused=True, sentences=()), [])
        assert "Refused." in refused

    def test_questions_are_sorted_by_what_was_judged(self, tmp_path: Path) -> None:
        """Else by the run's own metric; a judged one cannot be confirmed."""
        run = a_run(tmp_path, [entry()], columns(GOOD))
        assert lab_sides.first_metric(run) == "recall@5"
        made = with_verdicts(run, {"rouge-l": columns(GOOD), "faithfulness": columns(GOOD)})
        assert lab_sides.first_metric(made) == "faithfulness"
        assert lab_confirm.confirmed_metric(made, "faithfulness") == "recall@5"
        assert lab_data.stamp(made) != lab_data.stamp(run)


class TestConfirming:
    made = Confirmation(3, 0.00625, "recall@5", "a (1)", "b (2)", "tales", "g", 0, None, None, None, None, None, 1.0, False, 0.0)

    def test_a_use_that_did_not_end(self) -> None:
        """It has no result, and says that it counts."""
        assert lab_confirm.said(self.made) == "Begun and not ended yet; it counts."
        row = lab_confirm.use_row(self.made)
        assert (row["outcome"], row["p"], row["difference"]) == ("not ended", None, None)

    def test_a_use_that_ended(self) -> None:
        """Its difference with the limits, and whether it confirmed."""
        ended = replace(self.made, n=30, mean=0.9, baseline_mean=0.6, difference=0.3, low=0.1, high=0.5, p=0.00123, confirmed=True)
        assert lab_confirm.said(ended).startswith("Confirmed: on 30 sealed questions recall@5 is 0.900 against 0.600")
        row = lab_confirm.use_row(ended)
        assert (row["outcome"], row["p"], row["difference"]) == ("confirmed", 0.0012, "+0.300 (+0.100 to +0.500)")

    def test_what_counts_of_the_sealed(self) -> None:
        """Answerable and written by hand, as in a headline; open ones never."""
        asked = [
            replace(questions()[0], id=f"q{at}", kind=kind, split=split)
            for at, (kind, split) in enumerate([("detail", "sealed"), ("named", "sealed"), ("unanswerable", "sealed"), ("detail", "open")])
        ]
        assert lab_confirm.counted_sealed(GoldenSet("g", tuple(asked))) == 1
        assert lab_confirm.counted_sealed(GoldenSet("g", tuple(asked[1:]))) == 1
        assert lab_confirm.counted_sealed(GoldenSet("g", tuple(asked[2:]))) == 0

    def test_by_a_metric_of_retrieval(self, tmp_path: Path) -> None:
        """The page's, or the run's own where that judges answers."""
        run = a_run(tmp_path, [entry()], columns(GOOD), metrics=("recall@5", "recall@10", "citation-recall"))
        assert lab_confirm.confirmed_metric(run, "recall@10") == "recall@10"
        assert lab_confirm.confirmed_metric(run, "citation-recall") == "recall@5"
        assert (
            lab_confirm.confirmed_metric(replace(run, manifest=replace(run.manifest, metrics=("citation-recall",))), "citation-recall")
            == ""
        )

    def test_what_it_would_be(self) -> None:
        """The use, its level, the log; escaped."""
        said = lab_confirm.use_html(sealed=150, use=2, metric="recall@5", log="<img>.jsonl")
        assert "use 2: it confirms at p ≤ 0.0125" in said
        assert "<img" not in said


def test_missing_scores_bound_a_mean(tmp_path: Path) -> None:
    """In the table where any is missing: what the mean would be if all of those were 0, and 1."""
    some = [None, None, None, *GOOD[3:]]
    made = analysis.board_rows(analysis.board(a_run(tmp_path, [entry(), entry(keyword="off")], columns(HALF, some))))
    first, second = lab.board_table(made)
    assert (first["n"], first["all missing 0–1"]) == ("57 of 60", "0.95–1.00")
    assert second["all missing 0–1"] is None
    whole = analysis.board_rows(analysis.board(a_run(tmp_path / "whole", [entry()], columns(GOOD))))
    assert "all missing 0–1" not in lab.board_table(whole)[0]


def test_a_run_in_a_line(tmp_path: Path) -> None:
    """Its name or what it asked, its size, its state unless it is done."""
    run = a_run(tmp_path, [entry()], columns(GOOD))
    assert lab_runs.run_row(run)["questions"] == 60
    assert lab_runs.run_name(run).startswith("tales on tales · ")
    assert lab_runs.run_name(run).endswith("60 × 1")


def test_the_address_of_a_question(tmp_path: Path) -> None:
    """The corpus, the configuration and the question of a cell."""
    run = a_run(tmp_path, [entry(), entry(keyword="off")], columns(GOOD, HALF))
    target = lab.address_of(run, 1, 7)
    assert (target.corpus, target.question, target.configuration.keyword) == ("tales", "Question 7?", "off")
    spoilt = replace(run.manifest.configurations[0], fields={"chunking.strategy": "by ear"})
    with pytest.raises(InvalidInput):
        lab.address_of(replace(run, manifest=replace(run.manifest, configurations=(spoilt,))), 0, 0)


def test_figures_are_kept_while_the_rows_are_the_same(tmp_path: Path) -> None:
    """A new name changes nothing; other rows, another state or a failure do."""
    run = a_run(tmp_path, [entry()], columns(GOOD))
    first = lab_data.stamp(run)
    results.rename(tmp_path, run.manifest.id, "another")
    assert lab_data.stamp(results.open_run(tmp_path, run.manifest.id)) == first
    assert lab_data.stamp(replace(run, state="stopped")) != first
    assert lab_data.stamp(replace(run, failures={"k": "why"})) != first
    (run.folder / results.TABLE).write_bytes(b"x")
    assert lab_data.stamp(run) != first


def test_what_a_page_says_in_html_is_escaped() -> None:
    """Findings and facts come from names that somebody gave."""
    assert "<img" not in lab.findings_html(["a <img> wins"])
    assert "<img" not in lab.facts_html({"note <img>": "<img>"})
    assert lab.facts_html({"empty": ""}) == '<dl class="sl-facts"></dl>'
