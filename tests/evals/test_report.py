"""A report is one file that loads nothing, shows hostile text as text, and holds the numbers of the analysis."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evals import analysis, judged, results
from evals.report import default_metric, report_html, write_report
from evals.results import Run
from evals.summary import labels
from sitt_core.errors import InvalidInput, StoreError
from sitt_core.surfaces.cli_evals import app
from tests.evals.test_charts import ENTRIES, HOSTILE, METRICS, row, written_run
from tests.fakes.runs import GOOD, HALF, MOST, a_run, columns, entry, with_verdicts


class Seen(HTMLParser):
    """What a browser would make of a file: elements with their attributes, visible text, table cells, scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.scripts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self._open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"{tag} ends what it did not begin"

    def handle_data(self, data: str) -> None:
        if "script" in self._open:
            self.scripts[-1] += data
        elif "style" not in self._open:
            self.text.append(data)
            if self._open and self._open[-1] in ("td", "th"):
                self.tables[-1][-1][-1] += data

    @property
    def said(self) -> str:
        return " ".join(" ".join(self.text).split())

    def table(self, column: str) -> list[dict[str, str]]:
        """The first table that has the column."""
        found = next(each for each in self.tables if column in each[0])
        return [dict(zip(found[0], line, strict=True)) for line in found[1:]]

    @property
    def figures(self) -> dict[str, list[dict[str, object]]]:
        held: dict[str, list[dict[str, object]]] = json.loads(next(script for script in self.scripts if script.startswith('{"light"')))
        return held


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Three configurations, two kinds, a baseline."""
    scores = columns(GOOD, MOST, HALF)
    kinds = ("detail", "detail", "alias")
    return a_run(tmp_path_factory.mktemp("runs"), ENTRIES[:3], scores, metrics=METRICS, kinds=kinds, baseline=ENTRIES[1].key)


@pytest.fixture(scope="module")
def seen(run: Run) -> Seen:
    """Its report, parsed."""
    return Seen(report_html(run))


def test_it_is_a_whole_document_that_loads_nothing(seen: Seen) -> None:
    """Every element ends where it should; no address is in an attribute that loads, and a policy forbids what a script might try."""
    assert not seen._open
    for tag, attributes in seen.elements:
        assert not attributes.keys() & {"src", "srcset", "href", "action", "data", "poster", "background"}, tag
    (policy,) = [held["content"] for tag, held in seen.elements if tag == "meta" and held.get("http-equiv") == "Content-Security-Policy"]
    assert policy == "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
    assert "://" not in " ".join(str(value) for _, held in seen.elements for value in held.values())
    assert sum("plotly.js v" in script for script in seen.scripts) == 1


def test_its_numbers_are_those_of_the_analysis(run: Run, seen: Seen) -> None:
    """The leaderboard's table, the charts in both schemes, the findings."""
    rows = analysis.board_rows(analysis.board(run))
    read = seen.table("rank")
    assert [(line["configuration"], line["key"], line["n"], line["of"], line["tied"]) for line in read] == [
        (each["configuration"], each["key"], "60", "60", "yes" if each["tied"] else "no") for each in rows
    ]
    for line, each in zip(read, rows, strict=True):
        for name in ("mean", "low", "high", "ms", "tokens"):
            assert float(line[name]) == pytest.approx(each[name], rel=1e-3)
    assert set(seen.figures) == {"light", "dark"}
    assert len(seen.figures["light"]) == len(seen.figures["dark"]) == sum(held.get("class") == "plot" for _, held in seen.elements)
    (dots,) = [trace for trace in seen.figures["light"][0]["data"] if trace["name"] == "means"]  # type: ignore[attr-defined]
    assert dots["x"] == [each["mean"] for each in rows]
    assert "Over 60 questions the highest recall at 5 is" in seen.said


def test_every_metric_has_its_n(run: Run, seen: Seen) -> None:
    """Means with n in brackets, in the order of the run."""
    assert [line["recall@5"] for line in seen.table("coverage@5")] == ["1.00 (60)", "0.95 (60)", "0.50 (60)"]
    assert [line["configuration"] for line in seen.table("coverage@5")] == labels(run)


def test_it_says_what_was_run(run: Run, seen: Seen) -> None:
    """Corpus, questions, hashes, seed, state, baseline, every field."""
    manifest = run.manifest
    for held in (
        manifest.id,
        manifest.corpus_sha256,
        manifest.golden_sha256,
        "60: detail 40, alias 20",
        "seed 0",
        ENTRIES[1].slug,
        *METRICS,
    ):
        assert held in seen.said
    assert "chunking.size=500" in seen.said
    assert "Nothing was skipped, nothing failed, every row was scored." in seen.said
    assert manifest.golden_place not in seen.said  # a path of somebody's machine


def test_where_configurations_disagree(run: Run, seen: Seen) -> None:
    """The questions in which they differ, and no others."""
    order, _ = analysis.disagreement(run, only_different=True)
    read = seen.table("lowest")
    assert [line["question"] for line in read] == [run.questions[place].id for place in order][:40]
    assert read[0]["highest"].startswith("1.00 (")


def test_nothing_is_called_simulated_by_itself(run: Run, seen: Seen) -> None:
    """Only the manifest's notes may say so."""
    assert "simulated" not in seen.said.casefold()
    noted = replace(run, manifest=replace(run.manifest, notes=("The answers are simulated: a fake provider wrote them.",)))
    assert "The answers are simulated" in Seen(report_html(noted)).said


def test_what_did_not_run_has_its_reasons(tmp_path: Path) -> None:
    """Skipped combinations, failed configurations, rows without scores, stale evidence, an unfinished run."""
    rows = [row(0, q, 1.0) for q in range(20)] + [{"c": 1, "q": 0, "error": "the model <fell> over"}]
    run = written_run(tmp_path, rows, entries=ENTRIES[:3], skipped=("dense=off, keyword=off: nothing to rank by",))
    failed = replace(
        run, failures={ENTRIES[2].key: "no key"}, questions=(replace(run.questions[0], stale="stale: gone"), *run.questions[1:])
    )
    said = Seen(report_html(failed)).said
    for told in ("Skipped: 1", "nothing to rank by", "Failed: 1", "no key", "the model <fell> over", "Stale evidence: 1", "not finished"):
        assert told in said


def test_refusals_of_a_run_with_answers(tmp_path: Path) -> None:
    """With its interval and n, for each sort of question."""
    run = a_run(tmp_path, ENTRIES[:2], columns(GOOD, HALF), metrics=("recall@5", "refused"), kinds=("detail", "unanswerable"))
    (line, _) = Seen(report_html(run)).table("unanswerable")
    assert (line["unanswerable"], line["answerable"]) == ("1.00 (0.89–1.00), n 30", "1.00 (0.89–1.00), n 30")


def test_judged_answers_have_their_section(run: Run, seen: Seen, tmp_path: Path) -> None:
    """A chart for each metric, who judged, why scores are missing, noise, agreement; nothing of it in a run that nobody judged."""
    made = a_run(tmp_path, ENTRIES[:2], columns(GOOD, HALF))
    some = [*GOOD[:40], *[HOSTILE] * 20]
    judged_run = with_verdicts(made, {"faithfulness": columns(HALF, some), "groundedness": columns(HALF, GOOD)}, repeats=3)
    for question in range(24):
        judged.set_thumb(judged_run.folder, 0, question, "down" if question % 2 else "up")
    judged_seen = Seen(report_html(judged_run))
    said = judged_seen.said
    assert "Answers" not in re.findall(r"<h2>(.*?)</h2>", report_html(run))
    assert "Judge: claude claude-fake-judge at http://127.0.0.1:9, which wrote some of the answers itself." in said
    assert len(judged_seen.figures["dark"]) == sum(held.get("class") == "plot" for _, held in judged_seen.elements)
    (reason,) = judged_seen.table("reason")
    assert (reason["metric"], reason["answers"], reason["reason"]) == ("faithfulness", "20", HOSTILE)
    noise = judged_seen.table("SD, judged again")
    assert [(line["metric"], line["SD, judged again"], line["SD, written again"], line["beyond noise"]) for line in noise] == [
        ("faithfulness", "0.01", "–", "yes"),
        ("groundedness", "0.01", "–", "yes"),
    ]
    agreed = judged_seen.table("kappa")
    assert [(line["metric"], line["n"], line["agree"], line["kappa"]) for line in agreed] == [
        ("groundedness", "24", "1", "1"),
        ("faithfulness", "24", "1", "1"),
    ]
    other = Seen(report_html(judged_run, metric="groundedness"))
    assert "Leaderboard (exploratory)" in other.said
    assert "How many of the configurations is in brackets. Judge: claude claude-fake-judge at" in other.said
    assert "faithfulness, groundedness: judged by claude claude-fake-judge at" in said
    assert {tag for tag, _ in judged_seen.elements}.isdisjoint({"img", "iframe", "object", "svg", "a"})


def test_hostile_text_is_text(tmp_path: Path) -> None:
    """Names, questions, errors, notes and fields: nothing of them becomes an element or ends a script."""
    entries = (entry(embedder=HOSTILE), entry(embedder=HOSTILE, keyword="off"))
    rows = [row(c, q, float((q + c) % 2)) for q in range(24) for c in range(2)] + [{"c": 1, "q": 24, "error": HOSTILE}]
    texts = [f"{HOSTILE}<!-- {at}" for at in range(25)]
    run = written_run(tmp_path, rows, entries=entries, texts=texts, name=HOSTILE, notes=(HOSTILE,), skipped=(HOSTILE,), corpus=HOSTILE)
    seen = Seen(report_html(run))
    assert not seen._open
    assert {tag for tag, _ in seen.elements}.isdisjoint({"img", "iframe", "object", "svg", "a"})
    assert [held for tag, held in seen.elements if tag == "b" and not str(held.get("class", "")).startswith("sl-s")] == []
    assert len(seen.scripts) == 3
    assert seen.said.count(" ".join(HOSTILE.split())) > 20
    assert not any(name.startswith("on") for _, held in seen.elements for name in held)


def test_one_configuration_and_no_row(tmp_path: Path) -> None:
    """Little to say, and said without an error."""
    assert "configurations do not differ" in Seen(report_html(a_run(tmp_path / "one", ENTRIES[:1], columns(GOOD)))).said
    assert "No question has a score" in Seen(report_html(written_run(tmp_path / "none", []))).said


def test_the_metric_is_chosen(run: Run, tmp_path: Path) -> None:
    """The headline unless said, or what the run has; one that it has not is a named error."""
    assert "Evidence coverage at 5, means over 60 questions" in Seen(report_html(run, metric="coverage@5")).said
    other = a_run(tmp_path, ENTRIES[:1], columns(GOOD), metrics=("evidence-mrr",))
    assert default_metric(other) == "evidence-mrr"
    with pytest.raises(InvalidInput, match="a metric of run"):
        report_html(run, metric="recall@99")


def test_it_is_written_whole_or_not_at_all(run: Run, tmp_path: Path) -> None:
    """A place that cannot be written is named, and nothing half stays."""
    write_report(run, tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text(encoding="utf-8").endswith("</html>\n")
    with pytest.raises(StoreError, match="to write"):
        write_report(run, tmp_path / "nowhere" / "a.html")
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]


def test_the_command_writes_it(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m evals report RUN`, by the beginning of an id."""
    data = tmp_path / "data"
    monkeypatch.setenv("SITT_DATA_DIR", str(data))
    a_run(data / "runs", ENTRIES[:2], columns(GOOD, HALF))
    done = CliRunner().invoke(app, ["report", "20260101", "--output", str(tmp_path / "r.html"), "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout) == {"run": "20260101-000000-0001", "file": str(tmp_path / "r.html")}
    assert (tmp_path / "r.html").is_file()
    wrong = CliRunner().invoke(app, ["report", "20260101", "--metric", "nope", "--output", str(tmp_path / "w.html")])
    assert (wrong.exit_code, (tmp_path / "w.html").exists()) == (1, False)
    assert results.count(results.open_run(data / "runs", "latest")) == 120


def test_a_leaderboard_by_another_metric_is_exploratory(run: Run) -> None:
    """Only the metric that the run was planned for is covered by the corrections; kinds and single fields never are."""
    titles = re.compile(r"<section><h2>(.*?)</h2>")
    planned, other = (titles.findall(report_html(run, metric=metric)) for metric in ("recall@5", "coverage@5"))
    assert "Leaderboard" in planned
    assert "Leaderboard (exploratory)" in other
    assert "By kind of question (exploratory)" in planned
