"""Runs: what they take, the rows they make, what happens when they are stopped, and that a row is what a search gives."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals import results, summary
from evals.editing import add_questions
from evals.golden import GoldenSet, Question, Quote, resolve
from evals.grid import Grid, expand, parse_grid
from evals.metrics import DEFAULT_METRICS, parse_metric
from evals.results import Run
from evals.run import Selection, choose_metrics, corpus_sha256, execute, plan_run, start
from evals.scoring import Ground, Texts, embed_questions, find, retrieval_row
from evals.subject import OWN, Subject, open_questions, reopen
from sitt_core.build import Workshop
from sitt_core.configuration import configure
from sitt_core.errors import Busy, Cancelled, InvalidInput
from sitt_core.pipeline import search
from sitt_core.settings import ModelSettings
from tests.fakes import corpora, lab
from tests.fakes.corpora import silent
from tests.fakes.openai import FakeOpenAI

Lab = tuple[Workshop, Subject]


@pytest.fixture(scope="module")
def tales(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A corpus and its golden set, for tests that only add runs."""
    return lab.subject(tmp_path_factory.mktemp("data"))


def begin(tales: Lab, *pairs: str, metrics: tuple[str, ...] = (), kinds: tuple[str, ...] = ()) -> Run:
    workshop, subject = tales
    grid = expand(parse_grid(pairs), [lab.BASE])
    return start(workshop, subject, plan_run(workshop, subject, Selection(kinds), grid, choose_metrics(metrics)))


def made(tales: Lab, *pairs: str, metrics: tuple[str, ...] = (), kinds: tuple[str, ...] = ()) -> Run:
    return execute(tales[0], begin(tales, *pairs, metrics=metrics, kinds=kinds), tales[1], report=silent)


def by_question(run: Run, place: int = 0) -> dict[str, dict[str, Any]]:
    return {run.questions[row["q"]].id: row for row in results.rows(run, configuration=place)}


def timeless(run: Run) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if not name.startswith("ms_")} for row in results.rows(run)]


class TestRows:
    def test_every_open_question_has_one_row_for_every_configuration(self, tales: Lab) -> None:
        """Sealed questions are not asked; the run is done, as one Parquet file."""
        run = made(tales, "keyword=bm25s,off")
        assert run.state == "done"
        assert [asked.id for asked in run.questions] == [question.id for question in lab.OPEN]
        assert {(row["c"], row["q"]) for row in results.rows(run)} == {(c, q) for c in range(2) for q in range(len(lab.OPEN))}
        assert (run.folder / results.TABLE).is_file()

    def test_three_outcomes(self, tales: Lab) -> None:
        """A value, or no value with the reason: unanswerable for everything, stale for what needs evidence."""
        rows = by_question(made(tales))
        assert set(DEFAULT_METRICS) <= rows["neck"].keys()
        assert (rows["neck"]["recall@5"], rows["neck"]["coverage@5"], rows["neck"]["why"]) == (1.0, 1.0, None)
        assert rows["tax"]["recall@5"] is None
        assert "does not answer" in rows["tax"]["why"]["recall@5"]
        assert rows["gone"]["recall@5"] is not None
        assert rows["gone"]["coverage@5"] is None
        assert "stale" in rows["gone"]["why"]["coverage@5"]
        assert "desert.md" in rows["gone"]["why"]["coverage@5"]

    def test_a_row_is_what_a_search_gives(self, tales: Lab) -> None:
        """Passages, order and scores are those of `search` under the same configuration, for every kind of retrieval."""
        workshop, subject = tales
        run = made(tales, "dense=exact,off", "keyword=bm25s,rank-bm25,off", "fusion=rrf,convex")
        assert len(run.manifest.configurations) > 5
        for place, entry in enumerate(run.manifest.configurations):
            engine = workshop.engine(subject.corpus, entry.configuration)
            for question, row in ((question, by_question(run, place)[question.id]) for question in lab.OPEN):
                shown = search(question.text, engine).passages
                found = [[passage.chunk.document_id, passage.chunk.start, round(passage.hit.score, 5)] for passage in shown]
                assert [[document, begun, score] for document, begun, _, score in row["found"][: len(shown)]] == found

    def test_top_k_changes_what_is_shown_and_nothing_else(self, tales: Lab) -> None:
        """The lab retrieves to one depth: of the metrics only those at top K follow it."""
        run = made(tales, "top_k=1,8")
        few, many = by_question(run, 0), by_question(run, 1)
        assert many["prints"]["recall@top_k"] == many["prints"]["recall@5"] == 1.0
        for id_, row in few.items():
            differing = {name for name, value in row.items() if value != many[id_][name] and not name.startswith("ms_")}
            assert differing <= {"recall@top_k", "lost_at", "tokens", "c"}

    def test_where_the_gold_was_lost(self, tales: Lab) -> None:
        """The gold's rank at every stage that ran, and the stage that lost it."""
        rows = by_question(made(tales, "top_k=1", "keyword=bm25s"))
        assert (rows["neck"]["rank_keyword"], rows["neck"]["lost_at"]) == (1, "" if rows["neck"]["rank_shown"] == 1 else "cut")
        assert rows["cake"]["rank_shown"] is None
        keyword = by_question(made(tales, "dense=off", kinds=("detail",)))
        assert (keyword["gone"]["rank_keyword"], keyword["gone"]["rank_dense"], keyword["gone"]["rank_fusion"]) == (1, None, None)

    def test_nothing_found_is_retrieval_lost(self, tmp_path: Path) -> None:
        """A question none of whose words the corpus has is lost at retrieval by keyword search alone, and scores 0."""
        golden = GoldenSet("one", (Question("odd", "Zyzzyva?", "detail", grades={"lake.md": 1}),))
        rows = by_question(made(lab.subject(tmp_path, golden), "dense=off"))
        assert (rows["odd"]["recall@5"], rows["odd"]["lost_at"], rows["odd"]["found"]) == (0.0, "retrieval", [])

    def test_a_question_that_cannot_be_asked_is_an_error_row(self, tmp_path: Path) -> None:
        """Blank, too long or only punctuation: the row says so, and the others are scored."""
        golden = GoldenSet(
            "bad",
            (
                Question("blank", "?!", "detail", grades={"lake.md": 1}),
                Question("long", "x" * 5000, "detail", grades={"lake.md": 1}),
                Question("good", "cold lake", "detail", grades={"lake.md": 1}),
            ),
        )
        run = made(lab.subject(tmp_path, golden))
        rows = by_question(run)
        assert "only punctuation" in rows["blank"]["error"]
        assert "4,000" in rows["long"]["error"]
        assert (rows["blank"]["recall@5"], rows["good"]["error"], rows["good"]["recall@5"]) == (None, "", 1.0)
        (figures,) = summary.summarise(run)
        assert (figures.errors, figures.metrics["recall@5"].n, figures.metrics["recall@5"].of) == (2, 1, 3)
        told = summary.lines(run, [figures])
        at = told.index(f"{figures.label}: 2 questions could not be scored")
        assert sorted(told[at + 1 : at + 3]) == sorted(f"  1 × {rows[name]['error']}" for name in ("blank", "long"))

    def test_latency_is_there_for_the_stages_that_ran(self, tales: Lab) -> None:
        """Milliseconds of each stage, and their sum."""
        rows = by_question(made(tales, "keyword=off"))
        for row in rows.values():
            assert row["ms_keyword"] is None
            stages = [row[f"ms_{stage}"] for stage in ("embed", "dense", "passages")]
            assert row["ms_total"] == pytest.approx(sum(stages), abs=0.01)

    def test_a_document_with_the_questions_own_id_is_no_hit(self, tmp_path: Path) -> None:
        """Where a collection asks with its documents, they do not answer themselves."""
        golden = GoldenSet(
            "own", (Question("lake.md", "cold lake serpent", "test", grades={"lake.md": 1, "ice.md": 1}),), drops_own_id=True
        )
        rows = by_question(made(lab.subject(tmp_path, golden)))
        assert "lake.md" not in [document for document, *_ in rows["lake.md"]["found"]]

    def test_a_document_with_the_questions_own_id_is_no_hit_at_any_stage(self, tmp_path: Path) -> None:
        """What is expected moves up a rank wherever the question's own document stood before it, and a chunk with its text takes its place."""
        text = "The owl of the old mill counts the hours aloud."
        documents = [corpora.document("own.md", text), corpora.document("twin.md", text), *corpora.tales()]
        question = Question("own.md", "The owl of the old mill counts the hours aloud.", "test", grades={"own.md": 1, "twin.md": 1})
        kept, dropped = (
            by_question(made(lab.subject(tmp_path / str(drops), GoldenSet("own", (question,), drops_own_id=drops), documents)))["own.md"]
            for drops in (False, True)
        )
        stages = ("rank_dense", "rank_keyword", "rank_fusion", "rank_shown")
        assert [kept[stage] for stage in stages] == [dropped[stage] for stage in stages] == [1, 1, 1, 1]
        assert (kept["found"][0][0], dropped["found"][0][0]) == ("own.md", "twin.md")
        alone = replace(question, grades={"own.md": 1})
        lost = by_question(
            made(lab.subject(tmp_path / "alone", GoldenSet("own", (alone,), drops_own_id=True), [documents[0], *documents[2:]]))
        )
        assert [lost["own.md"][stage] for stage in (*stages, "lost_at")] == [None, None, None, None, "retrieval"]

    def test_a_passage_counts_for_every_document_that_has_its_text(self, tmp_path: Path) -> None:
        """Two documents with the very same paragraph: whichever is expected, the one passage finds it."""
        text = "The owl of the old mill counts the hours aloud."
        documents = [corpora.document(f"{name}.md", text) for name in ("mill", "tower")] + corpora.tales()
        golden = GoldenSet(
            "twins", tuple(Question(name, "owl mill counts hours aloud", "detail", grades={f"{name}.md": 1}) for name in ("mill", "tower"))
        )
        workshop, subject = lab.subject(tmp_path, golden, documents)
        run = made((workshop, subject), "chunking.header=off", "keyword=bm25s")
        assert {id_: row["recall@1"] for id_, row in by_question(run).items()} == {"mill": 1.0, "tower": 1.0}

    def test_neighbours_cover_a_quote_together(self, tmp_path: Path) -> None:
        """Evidence that lies across two chunks is covered when both are shown, the white space between them counting as seen."""
        text = "# Log\n\n" + " ".join(f"word{number}" for number in range(60)) + ".\n\nThe bell rang twice.\n\nThen it was still."
        quote = "The bell rang twice.\n\nThen it was still."
        golden = GoldenSet(
            "log", (Question("bell", "bell rang twice still", "detail", grades={"log.md": 1}, evidence=((Quote("log.md", quote),),)),)
        )
        run = made(
            lab.subject(tmp_path, golden, [corpora.document("log.md", text)]),
            "chunking.strategy=sentence",
            "chunking.size=24",
            "chunking.overlap=0",
        )
        row = by_question(run)["bell"]
        assert row["coverage@10"] == 1.0
        assert row["evidence_rank"] > 1


class TestAnswers:
    def test_answers_are_scored_and_kept(self, tales: Lab) -> None:
        """Refusals by kind of question, citations against the evidence, and the text to read."""
        run = made(tales, metrics=("answers",))
        rows = by_question(run)
        assert rows["neck"]["answer"]["text"]
        assert (rows["neck"]["refused"], rows["neck"]["citation-recall"]) == (0.0, 1.0)
        assert rows["cake"]["refused"] == 1.0
        assert rows["cake"]["why"]["citation-precision"]
        for document, begun, end, verdict in rows["neck"]["answer"]["citations"]:
            assert (verdict, document) == ("quoted", "lake.md")
            assert tales[1].corpus.document(document).text[begun:end].strip()
        (figures,) = summary.summarise(run)
        assert set(figures.abstention) == {"unanswerable", "near-miss", "off-topic", "answerable"}
        assert (figures.abstention["off-topic"].mean, figures.abstention["near-miss"].of) == (1.0, 1)

    def test_an_answer_that_breaks_off_is_an_error_not_a_refusal(self, tales: Lab, asked: Callable[..., Run]) -> None:
        """A provider that fails says so in the row; what retrieval scored stays, and what had come of the answer."""
        row = by_question(asked("fake-error"))["neck"]
        assert row["error"].startswith("answer: expected ")
        assert (row["refused"], row["recall@5"], bool(row["answer"]["text"])) == (None, 1.0, True)
        (why,) = results.reasons(results.open_run(tales[0].settings.runs_dir, "latest"))
        assert why.errors == {row["error"]: 3}

    def test_a_provider_that_never_speaks_fails_its_configuration(self, asked: Callable[..., Run]) -> None:
        """After three answers of which not a word came nobody is asked any more, and no question has a row."""
        run = asked("fake-401")
        (why,) = run.failures.values()
        assert "OPENAI_API_KEY" in why
        assert (run.state, results.rows(run)) == ("done", [])

    def test_two_answers_that_never_came_are_rows(self, asked: Callable[..., Run], service: FakeOpenAI) -> None:
        """Fewer questions than it takes to give up are told one by one."""
        run = asked("fake-403", kinds=("unanswerable",))
        assert [row["error"][:8] for row in results.rows(run)] == ["answer: "] * 2
        assert (run.failures, len(service.requests)) == ({}, 2)

    def test_an_answer_without_a_word_is_an_answer(
        self, asked: Callable[..., Run], service: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A model that thinks and then says nothing has been asked and paid: its rows are kept as they come."""
        asked_by_then: list[int] = []
        append = results.Writer.append
        monkeypatch.setattr(results.Writer, "append", lambda self, row: asked_by_then.append(len(service.requests)) or append(self, row))
        run = asked("fake-think-on")
        assert [(row["answer"]["text"], row["error"]) for row in results.rows(run)] == [("", "")] * 3
        assert asked_by_then == [1, 2, 3]

    def test_what_an_answer_would_cost_is_known_beforehand(self, tales: Lab) -> None:
        """The most that it can be, of a model whose price is known."""
        base = configure({"answer.provider": "claude"}, lab.BASE)
        plan = plan_run(*tales, Selection(("detail",)), Grid((base,)), choose_metrics(("recall@5", "refused")))
        assert plan.dollars
        assert plan.answers == 3

    @pytest.fixture
    def service(self) -> Iterator[FakeOpenAI]:
        with FakeOpenAI() as made:
            yield made

    @pytest.fixture
    def asked(self, tales: Lab, service: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
        """A run whose questions a model on loopback answers, as its name asks."""
        monkeypatch.setenv("OPENAI_API_KEY", "sk-nobodys")
        settings = replace(tales[0].settings, models=ModelSettings(base_urls={"openai": service.url}))

        def run(model: str, kinds: tuple[str, ...] = ("detail",)) -> Run:
            workshop = Workshop(settings)
            base = configure({"answer.provider": "openai", "answer.model": model}, lab.BASE)
            plan = plan_run(workshop, tales[1], Selection(kinds), Grid((base,)), choose_metrics(("recall@5", "refused")))
            return execute(workshop, start(workshop, tales[1], plan), tales[1], report=silent)

        return run


class TestStopped:
    @pytest.fixture
    def whole(self, tales: Lab) -> Run:
        return made(tales, "keyword=bm25s,off", "dense=exact")

    @pytest.mark.parametrize("after", [0, 1, 5, 7, 11])
    def test_a_run_goes_on_from_the_row_it_was_at(self, tales: Lab, whole: Run, after: int) -> None:
        """Cancelled after any number of rows and resumed, it has the rows of one that was not, each made once."""
        run = begin(tales, "keyword=bm25s,off", "dense=exact")
        told: list[int] = []

        def stop(stage: str, done: int, _total: int) -> None:
            if stage == "evaluate" and done == after:
                raise Cancelled(expected="to finish", got="a request to stop", remedy="Resume it.")

        with pytest.raises(Cancelled):
            execute(tales[0], run, tales[1], report=stop)
        stopped = results.open_run(run.folder.parent, run.manifest.id)
        assert (stopped.state, results.count(stopped)) == ("stopped", after)
        done = execute(tales[0], stopped, tales[1], report=silent, told=lambda *_: told.append(1))
        assert (done.state, len(told)) == ("done", 12 - after)
        assert timeless(done) == timeless(whole)

    def test_a_torn_row_is_made_again(self, tales: Lab, whole: Run) -> None:
        """What a kill left half written is cut off, and the row made once more."""
        run = begin(tales, "keyword=bm25s,off", "dense=exact")
        done = execute(tales[0], run, tales[1], report=silent)
        lines = (done.folder / results.ROWS).read_bytes().splitlines(keepends=True)
        (done.folder / results.TABLE).unlink()
        (done.folder / results.END).unlink()
        (done.folder / results.ROWS).write_bytes(b"".join(lines[:4]) + lines[4][:30])
        again = execute(tales[0], results.open_run(run.folder.parent, run.manifest.id), tales[1], report=silent)
        assert again.state == "done"
        assert timeless(again) == timeless(whole)

    def test_one_writer_at_a_time(self, tales: Lab) -> None:
        """A run that another process works on is Busy."""
        run = begin(tales)
        with results.writing(run):
            assert results.open_run(run.folder.parent, run.manifest.id).state == "running"
            with pytest.raises(Busy, match="another process"):
                execute(tales[0], run, tales[1], report=silent)

    def test_another_corpus_or_set_cannot_go_on(self, tmp_path: Path) -> None:
        """Rows of two corpora or two sets are never mixed in a run."""
        workshop, subject = lab.subject(tmp_path)
        run = start(workshop, subject, plan_run(workshop, subject, Selection(), Grid((lab.BASE,)), choose_metrics(())))
        fewer = replace(subject, golden=replace(subject.golden, questions=subject.golden.questions[1:]))
        with pytest.raises(InvalidInput, match="question set"):
            execute(workshop, run, fewer, report=silent)
        corpora.update(workshop.settings.store_dir, corpora.listing(corpora.tales()[1:]), workshop.recipe(lab.BASE, language="english"))
        changed = replace(subject, corpus=workshop.corpus(corpora.NAME))
        assert corpus_sha256(changed.corpus) != run.manifest.corpus_sha256
        with pytest.raises(InvalidInput, match="corpus tales"):
            execute(workshop, run, changed, report=silent)


class TestPlans:
    def test_missing_indexes_are_estimated_once_and_built_first(self, tmp_path: Path) -> None:
        """Configurations that share an index share its estimate and its building."""
        workshop, subject = lab.subject(tmp_path)
        grid = expand(parse_grid(["chunking.strategy=structural,whole", "keyword=bm25s,off"]), [lab.BASE])
        plan = plan_run(workshop, subject, Selection(), grid, choose_metrics(("recall@5",)))
        assert [estimate.chunks for estimate in plan.missing.values()] == [len(corpora.TALES)]
        assert (plan.rows, plan.dollars, plan.answers) == (4 * len(lab.OPEN), 0.0, 0)
        stages: list[str] = []
        execute(workshop, start(workshop, subject, plan), subject, report=lambda stage, _done, _total: stages.append(stage))
        assert stages.count("publish") <= 2
        assert not plan_run(workshop, subject, Selection(), grid, choose_metrics(())).missing

    def test_questions_are_embedded_once_per_embedder(self, tales: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
        """However many configurations share it, and one question at a time, as a person asks."""
        asked: list[int] = []
        embedder = tales[0].embedder(lab.BASE)
        original = type(embedder).embed_queries
        monkeypatch.setattr(type(embedder), "embed_queries", lambda self, texts: asked.append(len(texts)) or original(self, texts))
        made(tales, "keyword=bm25s,off", "fusion.k=10,60")
        assert asked == [1] * len(lab.OPEN)

    @pytest.mark.parametrize(
        ("kinds", "message"),
        [pytest.param(("detial",), "kinds of tales: detail, thematic, unanswerable", id="unknown"), pytest.param((), "", id="all")],
    )
    def test_kinds(self, kinds: tuple[str, ...], message: str) -> None:
        """An unknown kind names those that there are."""
        if message:
            with pytest.raises(InvalidInput, match=message):
                Selection(kinds).of(lab.GOLDEN)
        else:
            assert Selection().of(lab.GOLDEN) == lab.OPEN

    def test_nothing_that_can_run_is_an_error(self, tales: Lab) -> None:
        """A grid of which everything was skipped says what was wrong."""
        grid = expand(parse_grid(["dense=off", "keyword=off"]), [lab.BASE])
        with pytest.raises(InvalidInput, match="dense or keyword to be on"):
            plan_run(*tales, Selection(), grid, choose_metrics(()))

    def test_a_configuration_that_fails_is_named_and_the_others_go_on(self, tales: Lab) -> None:
        """A model that is missing costs its own rows, not the run's."""
        missing = configure({"embedder": "st:/nowhere/to/be/found"}, lab.BASE)
        workshop, subject = tales
        plan = plan_run(workshop, subject, Selection(), Grid((lab.BASE,)), choose_metrics(("recall@5",)))
        run = start(workshop, subject, replace(plan, grid=Grid((missing, lab.BASE))))
        done = execute(workshop, run, subject, report=silent)
        assert list(done.failures) == [missing.key]
        assert done.state == "done"
        assert {row["c"] for row in results.rows(done)} == {1}

    def test_metrics_by_name(self) -> None:
        """Nothing means the default ones, answers adds those of answers, and a wrong name says what there is."""
        assert [metric.name for metric in choose_metrics(())] == list(DEFAULT_METRICS)
        assert [metric.name for metric in choose_metrics(("recall@7", "answers"))][:2] == ["recall@7", "refused"]
        assert set(DEFAULT_METRICS) < {metric.name for metric in choose_metrics(("answers",))}
        with pytest.raises(InvalidInput, match="a metric: recall"):
            choose_metrics(("recal@5",))

    def test_the_manifest_says_what_made_the_rows(self, tales: Lab) -> None:
        """Corpus, questions, configurations, code and library versions; nothing of the environment."""
        manifest = begin(tales, "keyword=bm25s,off").manifest
        assert (manifest.corpus, manifest.golden, len(manifest.code), len(manifest.corpus_sha256)) == ("tales", "tales", 64, 64)
        assert manifest.versions["duckdb"]
        assert [configure(entry.fields).key for entry in manifest.configurations] == [entry.key for entry in manifest.configurations]
        written = (results.runs(tales[0].settings.runs_dir)[0].folder / results.MANIFEST).read_text()
        assert json.loads(written)["golden_place"] == "tales.yaml"


def test_the_gold_is_held_by_whole_evidence_else_by_a_part_else_by_the_document(tales: Lab) -> None:
    """What stage ranks look for, from the strictest that a chunk of the index fulfils."""
    workshop, subject = tales
    engine = workshop.engine(subject.corpus, lab.BASE)
    texts = Texts(subject.corpus)
    chunks = engine.index.all_chunks()

    def held(question: Question) -> set[str]:
        holding = Ground(engine.index, texts).holding(question, resolve(question, texts.get))
        return {chunks[position].text for position in holding}

    traps = Question("traps", "?", "detail", grades={"lake.md": 1}, evidence=((Quote("lake.md", "traps of iron"),),))
    assert all("traps of iron" in text for text in held(traps))
    across = Question(
        "across", "?", "detail", grades={"lake.md": 1}, evidence=((Quote("lake.md", "at dawn.\n\n## Traps\n\nFishermen set traps"),),)
    )
    assert held(across)
    document = Question("document", "?", "detail", grades={"lake.md": 1})
    assert held(document) == {chunk.text for chunk in chunks if chunk.document_id == "lake.md"}


def test_a_stage_is_timed_by_itself(tales: Lab) -> None:
    """What was embedded beforehand is counted with the time that it took then."""
    workshop, subject = tales
    engine = workshop.engine(subject.corpus, lab.BASE)
    assert engine.embed is not None
    embedded = embed_questions(engine.embed, ["a lake", "a lake", "a bird"], report=lambda _: None)
    assert set(embedded.milliseconds) == {"a lake", "a bird"}
    found = find("a lake", engine, embedded)
    assert found.ms["embed"] == embedded.milliseconds["a lake"]
    row = retrieval_row(
        found,
        lab.OPEN[0],
        resolve(lab.OPEN[0], Texts(subject.corpus).get),
        Ground(engine.index, Texts(subject.corpus)),
        [parse_metric("recall@5")],
        top_k=5,
    )
    assert row["ms_total"] >= row["ms_embed"]


def test_own_questions_are_asked_with_the_generated_ones(tmp_path: Path) -> None:
    """What the Questions page keeps about a corpus is a golden set by the name of own, found again when the run goes on."""
    workshop, subject = lab.subject(tmp_path)
    add_questions(workshop.settings, corpora.NAME, [lab.OPEN[0]])
    mine = open_questions(workshop, OWN, corpora.NAME, report=silent)
    assert [question.kind for question in mine.golden.questions].count("named") == len(subject.corpus.documents)
    run = start(workshop, mine, plan_run(workshop, mine, Selection(("detail",)), Grid((lab.BASE,)), choose_metrics(("recall@5",))))
    again = reopen(workshop, run.manifest.golden_place, run.manifest.corpus, report=silent)
    assert by_question(execute(workshop, run, again, report=silent))["neck"]["recall@5"] == 1.0
