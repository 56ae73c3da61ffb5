"""How long a run of 500,000 rows takes to open on the Lab page: what is computed, and what a browser waits for.

python -m benchmarks.large_run

The run is made up: 20,833 questions about some 7,000 documents, 24 configurations, every default metric, differences that were put
there. Each round in a browser is a server of its own, so that nothing of the run has been computed before. What opening the run takes
is measured in a dashboard that is in use: the Lab stands open with a run of two configurations, and the large one is chosen. What a
new server with a new browser takes, of whose scripts nothing is compiled yet, is printed beside it.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from playwright.sync_api import Page, sync_playwright

from benchmarks._texts import ROOT
from evals import analysis, charts, results
from evals.findings import findings
from evals.golden import UNANSWERABLE
from evals.metrics import DEFAULT_METRICS, parse_metric
from evals.report import default_metric
from evals.results import Asked, Entry, Manifest, Run
from sitt_core.configuration import configure
from sitt_core.look import LIGHT
from tests.browser import find_browser, launch_arguments

QUESTIONS, DOCUMENTS = 20_833, 7_000
CHUNKINGS = {"fixed": 0.0, "sentence": 0.02, "structural": 0.08, "semantic": 0.05}
EMBEDDERS = {"static-minilm": 0.0, "minilm-int8": 0.25, "minilm": 0.26}
KEYWORDS = {"off": 0.0, "bm25s": 0.4}
"""What each value adds to the log-odds of the gold's being found earlier: the differences that a reader should meet."""
GRID = tuple((chunking, embedder, keyword) for chunking in CHUNKINGS for embedder in EMBEDDERS for keyword in KEYWORDS)
NAME = "half a million rows"
KINDS = ("detail", "detail", "described", "alias", "combined", "thematic", UNANSWERABLE)
PASSAGE = 350
"""Tokens of a passage, on average."""
ROUNDS = 5
TARGET = 2.0
SEED = 0
SECTIONS = ("Curves", "Trade-off", "Kinds", "Effects", "Questions", "Head to head", "Details")
CHART = ".st-key-lab-leaderboard .js-plotly-plot"
WAIT = 120_000


def main() -> None:
    """Makes the runs, then measures without and with a browser."""
    with tempfile.TemporaryDirectory() as folder:
        used, alone = Path(folder) / "used", Path(folder) / "alone"
        run = make_run(used / "runs", NAME, QUESTIONS, GRID)
        shutil.copytree(used, alone, copy_function=os.link)
        make_run(used / "runs", "small", 200, GRID[:2])
        print(f"{len(run.questions):,} questions × {len(run.manifest.configurations)} configurations: {results.count(run):,} rows")
        print_medians("computed", [computed(run) for _ in range(ROUNDS)])
        print_medians("a new server and a new browser", [in_browser(alone, from_nothing) for _ in range(ROUNDS)])
        rounds = [in_browser(used, in_use) for _ in range(ROUNDS)]
        print_medians("a dashboard in use", rounds)
        print(f"opening the run: {statistics.median(each['Leaderboard'] for each in rounds):.2f} s (target: at most {TARGET:.0f})")


def print_medians(title: str, rounds: list[dict[str, float]]) -> None:
    """Each step's median over the rounds, with the range."""
    print(f"{title}, median of {len(rounds)} (range), seconds")
    for name in rounds[0]:
        taken = [each[name] for each in rounds]
        print(f"{name:>24}: {statistics.median(taken):.2f} ({min(taken):.2f}–{max(taken):.2f})")


def make_run(runs_dir: Path, name: str, questions: int, grid: Sequence[tuple[str, str, str]]) -> Run:
    """A finished run with made-up scores, laid out as a real one."""
    made = [configure({"chunking.strategy": chunking, "embedder": embedder, "keyword": keyword}) for chunking, embedder, keyword in grid]
    manifest = Manifest(
        id=results.new_id(),
        name=name,
        started=time.time(),
        corpus="made-up",
        corpus_sha256="c" * 64,
        golden="made-up",
        golden_place="made-up.yaml",
        golden_sha256="g" * 64,
        metrics=DEFAULT_METRICS,
        configurations=tuple(Entry(each.key, each.slug, each.to_dict()) for each in made),
        baseline=made[0].key,
    )
    run = results.create(runs_dir, manifest, asked_questions(questions))
    better = [CHUNKINGS[chunking] + EMBEDDERS[embedder] + KEYWORDS[keyword] for chunking, embedder, keyword in grid]
    write_rows(run, np.array(better))
    (run.folder / results.END).write_text(json.dumps({"done": True, "failures": {}, "seconds": 3600.0}), encoding="utf-8")
    return results.open_run(runs_dir, manifest.id)


def asked_questions(many: int) -> list[Asked]:
    """Questions of several kinds, some of them about the same document."""
    drawn = np.random.default_rng(SEED).integers(DOCUMENTS, size=many).tolist()
    return [
        Asked(f"q{at}", f"What was told of case {at} in the archive?", KINDS[at % len(KINDS)], f"d{document}.md", (f"d{document}.md",))
        for at, document in enumerate(drawn)
    ]


def write_rows(run: Run, better: "np.ndarray") -> None:  # type: ignore[type-arg]
    """Every row, from a rank of the gold that depends on the question, its document and the configuration; as one Parquet file."""
    asked, random = run.questions, np.random.default_rng(SEED)
    documents = np.unique([each.primary for each in asked], return_inverse=True)[1]
    easy = random.normal(0.6, 0.9, len(asked)) + random.normal(0, 0.5, documents.max() + 1)[documents]
    odds = easy[None, :] + better[:, None] + random.normal(0, 0.7, (len(better), len(asked)))
    rank = np.minimum(1 + random.exponential(6 * np.exp(-odds)), 200).astype(int).ravel()
    share = random.beta(4, 2, rank.size)
    answerable = np.tile(np.array([each.kind != UNANSWERABLE for each in asked]), len(better))
    held = {
        "c": np.repeat(np.arange(len(better)), len(asked)),
        "q": np.tile(np.arange(len(asked)), len(better)),
        **{name: pa.array(score(name, rank, share), mask=~answerable) for name in run.manifest.metrics},
        "why": np.where(answerable, "{}", json.dumps(dict.fromkeys(run.manifest.metrics, "the corpus does not answer this question"))),
        "error": np.full(rank.size, ""),
        **{f"rank_{stage}": rank for stage in (*results.RANKED, "shown")},
        "evidence_rank": rank,
        "lost_at": np.full(rank.size, ""),
        "tokens": random.normal(5 * PASSAGE, 120, rank.size).astype(int),
        **{f"ms_{stage}": random.gamma(4, 1.5, rank.size) + np.repeat(better, len(asked)) * 10 for stage in results.STAGES},
        "found": np.array([json.dumps([[f"d{at}.md", 0, 900, 0.5] for at in range(first, first + 5)]) for first in range(97)])[rank % 97],
        "answer": pa.nulls(rank.size, pa.string()),
    }
    rows = pa.table(held)
    listed = ", ".join(f'"{name}"::{type_} AS "{name}"' for name, type_ in results.columns(run.manifest.metrics).items())
    with duckdb.connect() as connection:
        connection.register("made", rows)
        connection.execute(f"COPY (SELECT {listed} FROM made ORDER BY c, q) TO '{run.folder / results.TABLE}' (FORMAT parquet)")


def score(name: str, rank: "np.ndarray", share: "np.ndarray") -> "np.ndarray":  # type: ignore[type-arg]
    """What a metric might say of gold at that rank: 1 or a share of it within the cut, 0 beyond."""
    metric = parse_metric(name)
    within = rank <= (metric.k or (metric.budget or 5 * PASSAGE) / PASSAGE)
    return np.where(within, 1.0 if analysis.is_binary(name) else share, 0.0)


def computed(made: Run) -> dict[str, float]:
    """Seconds of each thing that the page computes to open the run, in this process."""
    marks = [time.perf_counter()]
    run = results.open_run(made.folder.parent, made.manifest.id)
    marks.append(time.perf_counter())
    board = analysis.board(run, default_metric(run))
    marks.append(time.perf_counter())
    charts.leaderboard(board, LIGHT, highlights=charts.highlighted(board))
    marks.append(time.perf_counter())
    findings(run, [run], made=board)
    marks.append(time.perf_counter())
    names = ("open_run", "board", "chart", "findings", "together")
    return dict(zip(names, [*(later - sooner for sooner, later in pairwise(marks)), marks[-1] - marks[0]], strict=True))


def in_browser(data_dir: Path, measure: Callable[[Page], dict[str, float]]) -> dict[str, float]:
    """What is measured of a page of a new browser, on a server that has just started."""
    with serving(data_dir) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=launch_arguments())
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(WAIT)
        page.goto(url)
        page.get_by_role("link", name="Lab").wait_for()
        settle(page)
        try:
            return measure(page)
        finally:
            browser.close()


def from_nothing(page: Page) -> dict[str, float]:
    """Seconds from the click on *Lab* until the run's leaderboard is drawn, and until the page is whole."""
    started = time.perf_counter()
    page.get_by_role("link", name="Lab").click()
    return {"Leaderboard": drawn(page, started), "with the findings": settled(page, started)}


def in_use(page: Page) -> dict[str, float]:
    """The same from the choice of the run, and from the click on each other section until that is whole; last, what the page itself takes.

    That is the choice of the small run, whose figures are there already.
    """
    page.get_by_role("link", name="Lab").click()
    page.locator(f"{CHART} .point").first.wait_for()
    settle(page)
    started = choose(page, NAME)
    spent = {"Leaderboard": drawn(page, started), "with the findings": settled(page, started)}
    spent |= _sections(page)
    page.get_by_role("tab", name="Leaderboard", exact=True).click()
    page.locator(f"{CHART} .point").first.wait_for()
    settle(page)
    started = choose(page, "small")
    page.wait_for_function(f"document.querySelectorAll('{CHART} .point').length === 2")
    return spent | {"for comparison, small": time.perf_counter() - started}


def choose(page: Page, name: str) -> float:
    """Chooses a run, and returns when."""
    page.get_by_test_id("stMain").get_by_role("combobox", name="Run").click()
    option = page.get_by_role("option", name=name)
    option.wait_for()
    started = time.perf_counter()
    option.click()
    return started


def _sections(page: Page) -> dict[str, float]:
    spent = {}
    for name in SECTIONS:
        started = time.perf_counter()
        page.get_by_role("tab", name=name, exact=True).click()
        page.locator(
            "[role=tabpanel]:not([hidden]) " + (".sl-facts" if name == "Details" else ".js-plotly-plot .main-svg")
        ).first.wait_for()
        spent[name] = settled(page, started)
    return spent


def drawn(page: Page, started: float) -> float:
    """Seconds until the leaderboard has a mark for each configuration."""
    page.locator(f"{CHART} .point").nth(len(GRID) - 1).wait_for()
    return time.perf_counter() - started


def settled(page: Page, started: float) -> float:
    """Seconds until the server has finished its run."""
    settle(page)
    return time.perf_counter() - started


def settle(page: Page) -> None:
    """Waits until the server has finished its run."""
    page.wait_for_function("document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'")


@contextlib.contextmanager
def serving(data_dir: Path) -> Iterator[str]:
    """The address of a dashboard of its own on a data folder."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    code = f"from sitt_core.surfaces import serve; serve.serve(serve.ROOT / 'app.py', {port})"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "SITT_DATA_DIR": str(data_dir)})
    try:
        url = f"http://127.0.0.1:{port}"
        while not answers(url):
            if process.poll() is not None:
                raise SystemExit("The dashboard ended before it answered.")
            time.sleep(0.1)
        yield url
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def answers(url: str) -> bool:
    """Whether the server is up."""
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=5):
            return True
    except OSError:
        return False


if __name__ == "__main__":
    main()
