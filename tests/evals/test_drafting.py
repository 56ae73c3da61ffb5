"""Drafted questions: which passages are asked about, what each filter leaves out, and that none joins the golden set. Over real HTTP."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evals import draft_filters, drafting, editing
from evals.draft_filters import Known, dangling, is_like, leaking, undiscriminating, unresolved
from evals.drafting import Ended
from evals.golden import Question, Quote
from sitt_core import build, notes
from sitt_core.build import Workshop
from sitt_core.configuration import configure
from sitt_core.errors import Busy, Cancelled, IndexMissing, InvalidInput, KeyMissing, StoreError
from sitt_core.settings import DEFAULT_CORPUS, ModelSettings, Settings
from tests.fakes import corpora, lab
from tests.fakes.claude import ClaudeHandler, FakeClaude, texts_of
from tests.fakes.embedder import HashEmbedder
from tests.fakes.judge import parts_of, verdict

KEY = "sk-secret-0123456789"
SEALED = "Which reptile tips boats over in the marsh?"
WINGS = "wings and red eyes"


def answer(question: str, quote: str, *, kind: str = "detail") -> str:
    """A draft as a model gives it."""
    return json.dumps({"question": question, "quote": quote, "answer": f"It says: {quote}", "kind": kind})


GOOD = {
    "The lake serpent": answer("Which animal with a lengthy neck rose at daybreak?", "A long neck rose from the cold lake at dawn."),
    "The moor hound": answer("Which dark dog trails people over the heath?", "follows travellers on the moor", kind="described"),
    "The desert worm": answer("What squirts acid?", "A red worm spits acid from the sand."),
    "The mine knockers": answer("Who knocks before a collapse?", "Little men knock on the walls of the tin mine"),
    "The ice man": answer("What did mountaineers discover in snow?", "footprints of a giant in the snow"),
}
"""Drafts that pass every filter."""
LEFT_OUT = {
    "The forest giant": ("evidence", answer("Which shaggy being walked beside water?", "A hairy giant leaves footprints")),
    "The sky bird": ("dangling", answer("How wide was this bird?", "A bird as wide as a barn")),
    "The harbour monk": (
        "wording",
        answer("Which fish with the face of a monk was it?", "A fish with the face of a monk was caught in the harbour."),
    ),
    "The island eel": ("undiscriminating", answer("Only spring: which eel guards an island?", "An eel guards the only spring")),
    "The swamp lizard": ("duplicate", answer(SEALED, "sinks canoes in the swamp")),
    "The bridge moth": ("duplicate", answer("Who stood there with crimson pupils?", WINGS)),
}
"""A draft for each filter; the last two are like what a sealed question asks, and use its evidence."""


class MoodyHandler(ClaudeHandler):
    """Misbehaves for the passages that its service is told."""

    def answer(self, body: Mapping[str, Any], mode: str) -> None:
        super().answer(body, self.service.moods.get(title_in("\n".join(texts_of(body))), mode))  # type: ignore[attr-defined]


class Moody(FakeClaude):
    handler = MoodyHandler

    def __init__(self) -> None:
        super().__init__()
        self.moods: dict[str, str] = {}

    @property
    def titles(self) -> list[str]:
        """The documents that were asked about, in order."""
        return [title_in("\n".join(texts_of(body))) for body in self.bodies]


def title_in(prompt: str) -> str:
    return parts_of(prompt)["title"]


def saying(answers: Mapping[str, str]) -> Callable[[str, str], str]:
    """A script with an answer for each document's title; there is nothing to ask about the others."""
    return lambda prompt, _mode: answers.get(title_in(prompt), answer("", ""))


@pytest.fixture
def service() -> Iterator[Moody]:
    with Moody() as fake:
        yield fake


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tales with the index of the fake embedder, made once."""
    folder = tmp_path_factory.mktemp("published")
    lab.subject(folder)
    return folder


@pytest.fixture
def settings(published: Path, tmp_path: Path, service: Moody, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The tales with a question of one's own about the lake, and sealed ones about the orchard."""
    shutil.copytree(published / "store", tmp_path / "data" / "store")
    made = HashEmbedder(dimension=256)
    monkeypatch.setitem(build.EMBEDDERS, "minilm", lambda **_: made)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    models = ModelSettings(
        idle_timeout=5.0,
        base_urls={"claude": service.url},
        judge_provider="claude",
        judge_model="claude-fake-draft",
        judge_price_input=1.0,
        judge_price_output=5.0,
    )
    settings = Settings(tmp_path / "data", defaults=lab.BASE, keys_present=frozenset({"ANTHROPIC_API_KEY"}), models=models)
    orchard = {"orchard.md": 1, "bridge.md": 1}
    own = (
        Question("own-traps", "What do they set?", "detail", grades={"lake.md": 1}),
        Question("own-sealed", SEALED, "combined", "sealed", orchard, ((Quote("bridge.md", WINGS),),)),
    )
    editing.add_questions(settings, corpora.NAME, own)
    return settings


def drafted(settings: Settings, *, count: int = 20, seed: int = 0, **options: Any) -> Ended:
    """A whole drafting about the tales."""
    workshop = Workshop(settings)
    plan = drafting.plan_drafting(workshop, corpora.NAME, count=count, seed=seed)
    return drafting.draft(workshop, plan, **{"report": corpora.silent, **options})


def waiting(settings: Settings) -> list[str]:
    return [each.question for each in notes.drafts(settings.notes_dir, corpora.NAME)]


def questions_in(answers: Mapping[str, str]) -> set[str]:
    return {json.loads(each)["question"] for each in answers.values()}


class TestFilters:
    @pytest.mark.parametrize(
        ("quote", "reason"),
        [
            pytest.param("A giant walks", "", id="once"),
            pytest.param("A giant\n walks", "", id="white space is folded"),
            pytest.param("A giant runs", "its evidence is not word for word in wood.md", id="other words"),
            pytest.param("in the wood", "its evidence stands at 2 places of wood.md", id="twice"),
            pytest.param("  ", "its evidence is not word for word in wood.md", id="nothing"),
        ],
    )
    def test_evidence_stands_in_its_document_once(self, quote: str, reason: str) -> None:
        """Word for word, as the golden check has it."""
        assert unresolved(quote, corpora.document("wood.md", "A giant walks in the wood. It sleeps in the wood.")) == reason

    @pytest.mark.parametrize(
        ("text", "word"),
        [
            ("What does the passage say of the lake?", "the passage"),
            ("According to the given text, who saw the worm?", "the given text"),
            ("Why does the author doubt the film?", "the author"),
            ("Which of the lakes mentioned above is deepest?", "mentioned above"),
            ("What do the above sightings share?", "the above"),
            ("How wide was this bird?", "this"),
            ("Which of these was seen first?", "these"),
            ("Where does it live?", "it"),
            ("What is it called?", "it"),
            ("When did he film the creature?", "he"),
            ("Who was their leader?", "their"),
        ],
    )
    def test_what_only_a_reader_of_the_passage_can_follow_dangles(self, text: str, word: str) -> None:
        """The reason names the word."""
        assert f"“{word}”" in dangling(text)

    @pytest.mark.parametrize(
        "text",
        [
            "What flies above the lake at dusk?",
            "Where did Gimlin stand when he saw the animal?",
            "Which bird uses its wings as a sail?",
            "Why is it said that the worm spits acid?",
            "How long did it take to film the serpent?",
            "Which lake monster is reported to this day?",
            "What name did the author of Treasure Island give the beast?",
        ],
    )
    def test_a_word_that_has_something_to_stand_for_does_not(self, text: str) -> None:
        """Pronouns behind a name, "it" that stands for nothing, places above and below."""
        assert dangling(text) == ""

    def test_other_languages_have_other_words(self) -> None:
        """German "her" is no pronoun; nothing is said of what nobody listed."""
        assert dangling("Wo kommt es her?", "german") == ""
        assert dangling("Her wo kommt es?", "english") != ""

    def test_no_question_that_people_wrote_dangles(self) -> None:
        """The open ones of the field guide are what drafts should be like."""
        asked = [each for each in editing.bundled_set(DEFAULT_CORPUS).questions if each.split == "open"]
        assert len(asked) > 100
        assert [each.id for each in asked if dangling(each.text)] == []

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("Which fish with the face of a monk was it?", "75% of its word 3-grams are in its evidence, at most 15% may be"),
            ("Which sea creature resembled a cleric?", ""),
        ],
    )
    def test_copied_wording_leaks(self, text: str, reason: str) -> None:
        """By the golden check's own measure and bound."""
        evidence = ((Quote("harbour.md", "A fish with the face of a monk was caught in the harbour."),),)
        assert leaking(Question("q", text, "alias", evidence=evidence)) == reason

    @pytest.mark.parametrize(
        ("dense", "keyword", "word"),
        [(1, 1, "too easy"), (None, None, "hopeless"), (1, 2, ""), (None, 1, ""), (50, None, "")],
    )
    def test_a_question_discriminates_when_fusions_can_differ(self, dense: int | None, keyword: int | None, word: str) -> None:
        """Not when both retrievers have its evidence first, nor when neither has it at all."""
        reason = undiscriminating({"dense": dense, "keyword": keyword}, 50)
        assert reason.startswith(word)
        assert bool(reason) == bool(word)

    @pytest.mark.parametrize(
        ("text", "cosine", "alike"),
        [
            pytest.param("What SET they, do?", 0.0, False, id="other order"),
            pytest.param("what do they set", 0.0, True, id="the same words"),
            pytest.param("Else?", 0.93, True, id="near"),
            pytest.param("Else?", 0.91, False, id="less near"),
        ],
    )
    def test_the_same_words_or_a_near_vector_are_a_duplicate(self, text: str, cosine: float, alike: bool) -> None:
        """Case and punctuation aside; a cosine from .92."""
        known = Known()
        known.add(["What do they set?"], np.array([[1.0, 0.0]], np.float32))
        assert is_like(text, np.array([cosine, (1 - cosine**2) ** 0.5], np.float32), known) is alike
        assert not is_like(text, np.array([1.0, 0.0], np.float32), Known())

    def test_the_local_model_sees_a_rewording(self, tmp_path: Path) -> None:
        """The bound holds for the vectors that it is meant for."""
        embed = Workshop(Settings(tmp_path)).embedder(configure({"embedder": drafting.EMBEDDER})).embed_passages
        known = Known()
        known.add(["Where did fishermen set traps for the lake serpent?"], embed(["Where did fishermen set traps for the lake serpent?"]))
        near, far = embed(["Where have fishermen set traps for the lake serpent?", "What colour is the moor hound?"])
        assert (is_like("a", near, known), is_like("b", far, known)) == (True, False)


class TestPlan:
    def test_a_passage_of_each_document_and_never_of_a_sealed_one(self, settings: Settings) -> None:
        """The orchard's questions are sealed; the lake, which an open question is about, comes last."""
        plan = drafting.plan_drafting(Workshop(settings), corpora.NAME, count=50)
        of = [passage.document_id for passage in plan.passages]
        assert sorted(of) == sorted(f"{name}.md" for name, *_ in corpora.TALES if name != "orchard")
        assert of[-1] == "lake.md"
        assert (plan.documents, plan.asked_before) == (11, 0)

    def test_documents_come_in_turn(self, settings: Settings, tmp_path: Path) -> None:
        """A second passage of any only after one of each."""
        sections = "\n\n".join(f"## Part {at}\n\nEight words are enough to ask about part {at}." for at in range(3))
        listing = [corpora.document(f"{name}.md", f"# {name}\n\n{sections.replace('part', name)}") for name in ("one", "two")]
        lab.subject(tmp_path / "other", documents=listing)
        plan = drafting.plan_drafting(Workshop(replace(settings, data_dir=tmp_path / "other")), corpora.NAME, count=4)
        of = [passage.document_id for passage in plan.passages]
        assert len(set(of[:2])) == len(set(of[2:])) == 2
        assert len({passage.id for passage in plan.passages}) == 4

    def test_a_seed_is_an_order(self, settings: Settings) -> None:
        """The same one twice, another with another."""
        orders = [
            [passage.id for passage in drafting.plan_drafting(Workshop(settings), corpora.NAME, count=5, seed=seed).passages]
            for seed in (0, 0, 1)
        ]
        assert orders[0] == orders[1] != orders[2]

    def test_it_says_what_it_takes_and_asks_nobody(self, settings: Settings, service: Moody) -> None:
        """Tokens and dollars as many as the calls; dollars unknown where no price is."""
        one, two = (drafting.plan_drafting(Workshop(settings), corpora.NAME, count=count) for count in (1, 2))
        assert one.dollars is not None and two.dollars is not None
        assert 0 < one.dollars < two.dollars < 2.5 * one.dollars
        assert drafting.WRITTEN_TOKENS < one.tokens < two.tokens
        unpriced = replace(settings.models, judge_price_input=None, judge_price_output=None)
        assert drafting.plan_drafting(Workshop(replace(settings, models=unpriced)), corpora.NAME).dollars is None
        assert service.requests == []

    @pytest.mark.parametrize("count", [0, 1001])
    def test_a_count_has_bounds(self, settings: Settings, count: int) -> None:
        """Before anything is read."""
        with pytest.raises(InvalidInput, match="1 to 1,000 passages"):
            drafting.plan_drafting(Workshop(settings), corpora.NAME, count=count)

    @pytest.mark.parametrize(("provider", "named"), [("", "Set one of ANTHROPIC_API_KEY"), ("openai", "Set OPENAI_API_KEY")])
    def test_without_a_key_it_says_which_to_set(self, settings: Settings, provider: str, named: str) -> None:
        """Any of them, or that of the provider that was named."""
        keyless = replace(settings, keys_present=frozenset(), models=replace(settings.models, judge_provider=provider))
        with pytest.raises(KeyMissing) as caught:
            drafting.plan_drafting(Workshop(keyless), corpora.NAME)
        assert named in caught.value.remedy

    def test_what_would_make_the_filters_fail_is_told_before_anything_is_paid(self, settings: Settings) -> None:
        """No index to try a draft on; own questions that cannot be read, so that duplicates would go unseen."""
        with pytest.raises(IndexMissing):
            drafting.plan_drafting(Workshop(replace(settings, defaults=configure({"chunking.size": 77}, lab.BASE))), corpora.NAME)
        editing.own_file(settings, corpora.NAME).write_text("- id: broken")
        with pytest.raises(InvalidInput, match=r"tales\.yaml|golden questions"):
            drafting.plan_drafting(Workshop(settings), corpora.NAME)


class TestDrafting:
    def test_a_good_draft_waits_for_review_with_where_it_is_from(self, settings: Settings, service: Moody) -> None:
        """Question, answer, kind, the evidence's place, the model's name; on the page it becomes a question to be checked."""
        service.script = saying(GOOD)
        ended = drafted(settings)
        assert ended.counts == {"kept": 5, "nothing": 6}
        held = {each.question: each for each in notes.drafts(settings.notes_dir, corpora.NAME)}
        assert set(held) == questions_in(GOOD)
        draft = held["Which dark dog trails people over the heath?"]
        assert (draft.origin, draft.kind) == ("a passage, drafted by claude-fake-draft", "described")
        assert draft.reference == "It says: follows travellers on the moor"
        corpus = Workshop(settings).corpus(corpora.NAME)
        (evidence,) = draft.evidence
        assert corpus.document("moor.md").text[evidence["start"] : evidence["end"]] == evidence["quote"] == "follows travellers on the moor"
        made = editing.question_from_draft(draft, corpus.document, editing.open_shelf(settings, corpora.NAME))
        assert (made.kind, made.split, made.documents) == ("described", "open", ("moor.md",))
        assert made.evidence == ((Quote("moor.md", "follows travellers on the moor"),),)

    def test_each_filter_leaves_its_draft_out(self, settings: Settings, service: Moody) -> None:
        """Counted, with the reason in words; none of them is stored, the others are."""
        service.script = saying(GOOD | {title: said for title, (_, said) in LEFT_OUT.items()})
        ended = drafted(settings)
        assert ended.counts == {"kept": 5, "duplicate": 2, "evidence": 1, "dangling": 1, "wording": 1, "undiscriminating": 1}
        assert all(outcome.reason for outcome in ended.outcomes if outcome.kind != "kept")
        told = {outcome.document: outcome.kind for outcome in ended.outcomes if outcome.kind not in ("kept", "duplicate")}
        assert told == {"forest.md": "evidence", "sky.md": "dangling", "harbour.md": "wording", "island.md": "undiscriminating"}
        assert set(waiting(settings)) == questions_in(GOOD)

    def test_what_is_like_a_sealed_question_says_nothing_of_it(self, settings: Settings, service: Moody) -> None:
        """Neither its words nor its evidence nor a document, as of one that is like an open question."""
        service.script = saying(
            {title: said for title, (kind, said) in LEFT_OUT.items() if kind == "duplicate"}
            | {
                "The mine knockers": answer("what do they set", "Little men knock on the walls of the tin mine"),
            }
        )
        alike = [outcome for outcome in drafted(settings).outcomes if outcome.kind == "duplicate"]
        assert alike == [drafting.Outcome("duplicate", "like a question that there is")] * 3
        kept = "".join(path.read_text() for path in settings.notes_dir.rglob("*.json*"))
        assert SEALED not in kept
        assert waiting(settings) == []

    def test_a_draft_like_one_that_waits_is_shown(self, settings: Settings, service: Moody) -> None:
        """There is no secret about that one."""
        notes.save_draft(settings.notes_dir, corpus=corpora.NAME, question="What squirts acid?", origin="somebody/else")
        service.script = saying(GOOD)
        (alike,) = [outcome for outcome in drafted(settings).outcomes if outcome.kind == "duplicate"]
        assert (alike.reason, alike.document, alike.question) == ("like a draft that waits for review", "desert.md", "What squirts acid?")

    def test_two_drafts_of_one_question_are_one(self, settings: Settings, service: Moody) -> None:
        """Of the same drafting too, whichever is answered first."""
        twice = {
            title: answer("What squirts acid?", quote)
            for title, quote in (("The desert worm", "A red worm"), ("The sky bird", "A bird as"))
        }
        service.script = saying(twice)
        assert drafted(settings).counts["duplicate"] == 1
        assert waiting(settings) == ["What squirts acid?"]

    def test_what_no_retriever_finds_is_hopeless(self, settings: Settings, service: Moody) -> None:
        """As deep as the default configuration looks: kept with 50 candidates, left out with one."""
        service.script = saying({"The moor hound": GOOD["The moor hound"]})
        shallow = replace(settings, defaults=configure({"fusion.candidates": 1, "top_k": 1}, lab.BASE))
        (lost,) = [outcome for outcome in drafted(shallow).outcomes if outcome.kind != "nothing"]
        assert (lost.kind, "hopeless" in lost.reason, "first 1 of" in lost.reason) == ("undiscriminating", True, True)

    def test_what_fails_is_told_and_the_others_go_on(self, settings: Settings, service: Moody) -> None:
        """Prose, half an answer, 429, silence, an echoed key: each an error; they alone are asked about again next time."""
        half = GOOD["The desert worm"][:40]
        service.script = saying(GOOD | {"The desert worm": half, "The ice man": "I would ask about the snow."})
        service.moods = {"The forest giant": "429", "The sky bird": "dead", "The harbour monk": "echo"}
        impatient = replace(settings, models=replace(settings.models, idle_timeout=4.0))
        ended = drafted(impatient)
        assert ended.counts == {"kept": 3, "nothing": 3, "failed": 5}
        failed = {outcome.document: outcome.reason for outcome in ended.outcomes if outcome.kind == "failed"}
        assert {"desert.md", "ice.md"} == {id_ for id_, reason in failed.items() if "not of the form asked for" in reason}
        assert "status 429" in failed["forest.md"]
        assert "silence for 4 s" in failed["sky.md"]
        assert KEY not in repr(ended)
        service.moods, service.script = {}, saying(GOOD)
        service.requests.clear()
        assert drafted(settings).counts == {"kept": 2, "nothing": 3}
        assert set(service.titles) == {"The desert worm", "The ice man", "The forest giant", "The sky bird", "The harbour monk"}
        assert set(waiting(settings)) == questions_in(GOOD)

    def test_a_passage_has_its_time(self, settings: Settings, service: Moody) -> None:
        """One that takes longer fails by itself."""
        service.moods = {"The sky bird": "dead"}
        service.script = saying(GOOD)
        ended = drafted(settings, passage_seconds=4.0)
        assert [outcome.reason for outcome in ended.outcomes if outcome.kind == "failed"] == ["no draft within 4 s"]

    def test_what_was_answered_is_not_asked_again(self, settings: Settings, service: Moody) -> None:
        """A draft that a person rejected does not come back, and a second drafting takes other passages."""
        service.script = saying(GOOD)
        first = drafted(settings, count=6)
        asked = list(service.titles)
        for draft in notes.drafts(settings.notes_dir, corpora.NAME):
            notes.delete_draft(settings.notes_dir, draft.id)
        second = drafted(settings)
        assert (len(first.outcomes), len(second.outcomes)) == (6, 5)
        assert not set(asked) & set(service.titles[len(asked) :])
        assert drafted(settings).outcomes == ()
        assert len(service.requests) == 11

    def test_after_a_loss_of_the_ledger_the_cache_answers(self, settings: Settings, service: Moody) -> None:
        """As after a kill between the answer and its line: nobody is asked, and drafts that wait stay as they are."""
        service.script = saying(GOOD)
        drafted(settings)
        held = notes.drafts(settings.notes_dir, corpora.NAME)
        (settings.notes_dir / drafting.FOLDER / "tales.jsonl").write_text('{"passage": "torn')
        again = drafted(settings)
        assert (again.counts, again.tally.calls, again.tally.cached) == ({"kept": 5, "nothing": 6}, 0, 11)
        assert len(service.requests) == 11
        assert notes.drafts(settings.notes_dir, corpora.NAME) == held

    def test_a_budget_ends_it_before_it_is_passed(self, settings: Settings, service: Moody) -> None:
        """In tokens and in dollars; what was drafted stays, what is left is asked about next time."""
        service.script = saying(GOOD)
        none = drafted(settings, budget_tokens=100)
        assert (none.left, none.outcomes, service.requests) == (11, (), [])
        assert "0 of 100 tokens spent" in none.budget
        some = drafted(settings, budget_dollars=0.0245, concurrency=1)  # a call may take about 2 cents, and takes less
        assert 0 < len(some.outcomes) == len(service.requests) < 11
        assert some.left == 11 - len(some.outcomes)
        assert "$0.0" in some.budget
        assert some.tally.dollars is not None and some.tally.dollars <= 0.0245
        rest = drafted(settings)
        assert (len(rest.outcomes), rest.budget, len(service.requests)) == (some.left, "", 11)

    def test_a_budget_in_dollars_wants_a_price(self, settings: Settings, service: Moody) -> None:
        """Else it could not be kept."""
        unpriced = replace(settings, models=replace(settings.models, judge_price_input=None, judge_price_output=None))
        with pytest.raises(InvalidInput, match="a budget in tokens"):
            drafted(unpriced, budget_dollars=1.0)
        assert service.requests == []

    def test_a_stop_is_noticed_while_the_model_is_silent(self, settings: Settings, service: Moody) -> None:
        """What was drafted before is kept."""
        service.script = saying(GOOD)
        service.moods = dict.fromkeys(("The sky bird", "The forest giant"), "dead")

        def stop(stage: str, done: int, total: int) -> None:
            if stage == "draft" and done == 9:
                raise Cancelled(expected="to finish", got=f"{done} of {total}", remedy="Go on.")

        with pytest.raises(Cancelled):
            drafted(settings, report=stop)
        assert set(waiting(settings)) == questions_in(GOOD)

    def test_one_process_drafts_about_a_corpus(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        """A second is told."""
        monkeypatch.setattr(drafting, "LOCK_SECONDS", 0.0)
        with drafting._alone(settings, corpora.NAME), pytest.raises(Busy, match="drafts questions about it"):
            drafted(settings)

    def test_notes_that_cannot_be_written_end_it(self, settings: Settings, service: Moody) -> None:
        """Rather than paying for what is lost."""
        service.script = saying(GOOD)
        (settings.notes_dir / "drafts.json").write_text("[]")
        with pytest.raises(StoreError, match=r"drafts\.json"):
            drafted(settings)

    def test_nothing_enters_the_golden_set(self, settings: Settings, service: Moody) -> None:
        """One's own file stays as it is, byte for byte, and so does what a run would ask."""
        file = editing.own_file(settings, corpora.NAME)
        before, asked = file.read_bytes(), editing.load_all(settings, corpora.NAME).sha256
        service.script = saying(GOOD)
        assert drafted(settings).counts["kept"] == 5
        assert (file.read_bytes(), editing.load_all(settings, corpora.NAME).sha256) == (before, asked)

    def test_the_pretend_judge_drafts_by_a_rule(self, settings: Settings, service: Moody) -> None:
        """So that drafting can be watched without a key: quotations that stand in their documents."""
        service.script = verdict
        ended = drafted(settings)
        assert sum(ended.counts.values()) == 11
        assert not {"failed", "evidence", "nothing"} & set(ended.counts)

    def test_outcomes_since_a_moment_are_counted(self, settings: Settings, service: Moody) -> None:
        """For a page that watches a job: by kind, nothing from before."""
        service.script = saying(GOOD)
        drafted(settings)
        assert drafting.counts_since(settings, corpora.NAME, 0.0) == {"kept": 5, "nothing": 6}
        assert drafting.counts_since(settings, corpora.NAME, 1e12) == {}
        assert drafting.counts_since(settings, "other", 0.0) == {}


def test_every_reason_has_its_filter() -> None:
    """The filters that are counted are those that there are."""
    assert set(drafting.FILTERS) == {kind for kind, _ in LEFT_OUT.values()}
    assert draft_filters.SIMILAR == 0.92
