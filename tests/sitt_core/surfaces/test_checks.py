"""What a check for changes has left is found again, what may be published of it, and how that ended, as the Corpus page tells it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals.preflight import Preflight, Recall, Touch, Touched, Turned
from sitt_core import journal
from sitt_core.jobs import Job
from sitt_core.journal import Entry, Freshness, SourceEntry
from sitt_core.plan import plan_updates
from sitt_core.store.reading import Corpus
from sitt_core.surfaces.dashboard import checks, found_html, publishing
from sitt_core.surfaces.updating import Found
from sitt_core.types import Document, Failure, Listing
from tests.fakes.corpora import NAME, ORIGIN, document, listing, publish, recipe, tales, update
from tests.sitt_core.surfaces.test_corpus_page import Elements

NOW = 1_800_000_000.0
OTHER = "markdown:other"
DEFAULT = recipe().configuration


def job(name: str, key: str, *, state: Any = "done", started: float = NOW, message: str = "") -> Job:
    return Job(name, "Update tales", key, state, started, message=message)


def found(corpus: Corpus, *listings: Listing) -> Found:
    return Found(tuple(plan_updates(corpus, [(each, each.origin) for each in listings])))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """The dozen tales."""
    return publish(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """The dozen tales, and ten of another source."""
    store = tmp_path_factory.mktemp("store")
    publish(store)
    update(store, listing(others(10), origin=OTHER), recipe())
    return publish_again(store)


def publish_again(store: Path) -> Corpus:
    from sitt_core.store.reading import open_corpus

    return open_corpus(store, NAME)


def others(count: int) -> list[Document]:
    return [document(f"other-{number}.md", f"# Other {number}\n\nThe other of number {number}.", origin=OTHER) for number in range(count)]


class TestWhichJob:
    """Of all jobs the page shows the latest check that ended, and the result of an update until something is checked again."""

    CHECK, UPDATE = checks.check_key(NAME), checks.update_key(NAME)

    def test_the_latest_check_that_ended_counts(self) -> None:
        """One that runs, failed or is of another corpus does not hide it."""
        known = [
            job("4", self.CHECK, state="running"),
            job("3", self.CHECK, state="failed"),
            job("2", checks.check_key("other")),
            job("1", self.CHECK),
            job("0", self.CHECK),
        ]
        seen = checks.latest(known, self.CHECK, done=True)
        assert seen is not None and seen.id == "1"
        assert checks.latest(known, self.UPDATE) is None

    @pytest.mark.parametrize(
        ("known", "own", "shown"),
        [
            pytest.param([job("1", UPDATE)], "", True, id="a recent one"),
            pytest.param([job("1", UPDATE, started=NOW - 200_000)], "", False, id="an old one"),
            pytest.param([job("1", UPDATE, started=NOW - 200_000)], "1", True, id="an old one of this session"),
            pytest.param([job("1", UPDATE, state="running")], "1", False, id="one that runs"),
            pytest.param([job("2", CHECK, started=NOW + 1), job("1", UPDATE)], "1", False, id="checked since"),
            pytest.param([job("2", CHECK, state="failed", started=NOW + 1), job("1", UPDATE)], "", True, id="checked in vain since"),
            pytest.param([job("2", UPDATE, state="failed"), job("1", CHECK, started=NOW - 9)], "", True, id="one that failed"),
            pytest.param([], "", False, id="none"),
        ],
    )
    def test_a_result_is_shown_until_something_is_checked(self, known: list[Job], own: str, shown: bool) -> None:
        """This session's own whenever it was, another's for a day."""
        assert (checks.shown_result(known, NAME, own=own, now=NOW) is not None) is shown

    @pytest.mark.parametrize(
        ("known", "told"),
        [
            pytest.param([job("2", CHECK, state="failed"), job("1", CHECK)], "2", id="failed"),
            pytest.param([job("2", CHECK, state="cancelled"), job("1", UPDATE, started=NOW - 9)], "2", id="cancelled"),
            pytest.param([job("2", CHECK), job("1", CHECK, state="failed")], "", id="found something since"),
            pytest.param([job("2", CHECK, state="running"), job("1", CHECK, state="failed")], "", id="one that runs"),
            pytest.param([job("2", UPDATE, started=NOW + 1), job("1", CHECK, state="died")], "", id="updated since"),
            pytest.param([job("1", CHECK, state="failed", started=NOW - 200_000)], "", id="long ago"),
            pytest.param([], "", id="none"),
        ],
    )
    def test_a_check_in_vain_is_told_in_every_window(self, known: Sequence[Job], told: str) -> None:
        """Whoever closed the page meanwhile learns of it as well, until something else has come of it."""
        fruitless = checks.fruitless(known, NAME, now=NOW)
        assert (fruitless.id if fruitless else "") == told

    def test_a_corpus_in_the_making_is_found_by_whoever_comes(self) -> None:
        """An update of one that is there makes nothing, nor does a check."""
        known = [job("3", "check:new", state="running"), job("2", checks.update_key("tales"), state="running")]
        assert checks.being_made(known, ["tales"]) is None
        assert checks.being_made([*known, job("1", checks.update_key("new"), state="running")], ["tales"]) == "new"
        assert checks.being_made([job("1", checks.update_key("new"))], ["tales"]) is None


class TestRemovals:
    """The number that is typed has to be what would go."""

    def test_a_few_go_without_being_asked(self, corpus: Corpus) -> None:
        """A tenth of the source is free, and nothing is typed."""
        seen = found(corpus, listing(tales()[1:]))
        assert checks.removals(corpus, seen) == checks.Removals(1, 1, needed=False)
        assert not checks.removals(corpus, seen).asks
        assert checks.permission(corpus, seen, "") == 0

    @pytest.mark.parametrize(
        ("typed", "permitted"), [("", None), ("1", None), (" 2 ", 2), ("3", None), ("-2", None), ("two", None), ("²", None)]
    )
    def test_many_need_their_number(self, corpus: Corpus, typed: str, permitted: int | None) -> None:
        """Exactly that number."""
        seen = found(corpus, listing(tales()[2:]))
        assert checks.removals(corpus, seen) == checks.Removals(2, 2, needed=True)
        assert checks.permission(corpus, seen, typed) == permitted

    @pytest.mark.parametrize(("typed", "permitted"), [("", 0), ("3", 3), ("2", None), ("12", None)])
    def test_what_is_withheld_may_be_let_go(self, corpus: Corpus, typed: str, permitted: int | None) -> None:
        """Left empty it stays."""
        seen = found(corpus, listing(tales()[3:]))
        assert seen.updates[0].plan.withheld and not seen.updates[0].plan.removed
        assert checks.removals(corpus, seen) == checks.Removals(0, 3, needed=False)
        assert checks.permission(corpus, seen, typed) == permitted

    def test_what_a_faulty_listing_lacks_cannot_be_let_go(self, corpus: Corpus) -> None:
        """No number makes an incomplete listing whole."""
        seen = found(corpus, listing(tales()[3:], complete=False))
        assert checks.removals(corpus, seen) == checks.Removals(0, 0, needed=False)
        assert checks.permission(corpus, seen, "3") is None

    @pytest.mark.parametrize(("typed", "permitted"), [("2", 2), ("3", None), ("5", 5), ("4", None)])
    def test_permission_for_one_source_is_not_slipped_to_another(self, two: Corpus, typed: str, permitted: int | None) -> None:
        """2 of one would go and 3 of another are withheld: permission for 2 is not for 3, and 3 of each would be 5."""
        seen = found(two, listing(tales()[2:]), listing(others(10)[3:], origin=OTHER))
        assert checks.removals(two, seen) == checks.Removals(2, 5, needed=True)
        assert checks.permission(two, seen, typed) == permitted

    @pytest.mark.parametrize(
        ("wanted", "said"),
        [
            (checks.Removals(2, 2, needed=True), "This would retire 2 documents. If the source is whole, type that number."),
            (checks.Removals(0, 3, needed=False), "Withheld, and to stay: 3. If those are to go, type 3; otherwise leave this empty."),
            (
                checks.Removals(1, 4, needed=False),
                "1 would be retired. Withheld, and to stay: 3. If those are to go as well, type 4; otherwise leave this empty.",
            ),
            (checks.Removals(2, 5, needed=True), "With what is missing from a source that was not read as a whole: 5."),
        ],
    )
    def test_why_a_number_is_wanted_is_said(self, wanted: checks.Removals, said: str) -> None:
        """And which number does what."""
        assert said in publishing.removals_words(wanted)


class TestSettled:
    """There is nothing to publish when nothing would be another."""

    @pytest.mark.parametrize(
        ("documents", "place", "settled"),
        [(tales(), ORIGIN, True), (tales()[1:], ORIGIN, False), (tales(), "markdown:elsewhere/tales", False)],
        ids=["the same", "one gone", "moved"],
    )
    def test_the_same_documents_of_the_same_place(self, corpus: Corpus, documents: list[Document], place: str, settled: bool) -> None:
        """A source that has moved is remembered where it is now."""
        seen = Found(tuple(plan_updates(corpus, [(listing(documents), place)])))
        assert checks.is_settled(corpus, seen, DEFAULT) is settled

    def test_a_missing_index_is_something_to_do(self, corpus: Corpus) -> None:
        """Under another default it has to be built."""
        assert not checks.is_settled(corpus, found(corpus, listing(tales())), recipe(chunking__size=200).configuration)


class TestArguments:
    """The command lines that the buttons start."""

    def test_a_check(self) -> None:
        """All that is remembered, or what is named; it writes nothing."""
        assert checks.check_arguments(NAME, ()) == ["update", "--corpus", NAME, "--dry-run", "--json"]
        assert checks.check_arguments(NAME, ("a", "b"), moved=True)[3:] == [
            "--source",
            "a",
            "--source",
            "b",
            "--dry-run",
            "--json",
            "--moved",
        ]

    def test_publishing_and_publishing_anyway(self) -> None:
        """What was checked, as it was confirmed; the second time whatever the questions find."""
        made = checks.publish_arguments(NAME, Path("jobs/1"), "abc", carried=["k"], permitted=3)
        assert " ".join(made) == (
            f"update --corpus {NAME} --checked jobs/1 --confirmed abc --yes --max-recall-drop 0 --index k --allow-removals 3"
        )
        assert " ".join(checks.accepting(made)) == " ".join(made).replace("drop 0", "drop 1")
        assert checks.forget_arguments(NAME, OTHER) == ["forget", OTHER, "--corpus", NAME]
        assert "--allow-removals" not in checks.publish_arguments(NAME, Path("jobs/1"), "abc")


def leave(folder: Path, name: str, value: object) -> None:
    (folder / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")


PLAN = {
    "digest": "abc",
    "updates": [
        {
            "place": "wikipedia:",
            "plan": {"origin": "wikipedia:L", "failed": [{"id": "x", "reason": "404"}], "removed": ["a", "b"]},
            "sections": {"y": [{"heading_path": ["A", "B"], "how": "added"}, {"heading_path": [], "how": "changed"}]},
        }
    ],
    "unread": [{"place": "github:z", "reason": "down"}],
    "touched": Touched((Touch("question", "q", "Who?", "y", "changed", lost=True),)).to_json(),
}


class TestWhatAJobLeft:
    """A job's folder holds what it found; one that holds nothing, or something else, says nothing."""

    def test_it_is_read_back(self, tmp_path: Path) -> None:
        """Failures with their places, sections as paths, the digest, what is touched, the figures."""
        leave(tmp_path, "plan", PLAN)
        leave(tmp_path, "preflight", Preflight(all=Recall(2, 1.0, 0.5)).to_json())
        assert checks.failures_of(tmp_path) == ([("wikipedia:", "x", "404"), ("github:z", "", "down")], ["wikipedia:", "github:z"])
        assert checks.sections_of(tmp_path) == {"wikipedia:L": {"y": [("A › B", "added"), ("the beginning", "changed")]}}
        assert (checks.told_digest(tmp_path), checks.told_removals(tmp_path)) == ("abc", 2)
        touched, preflight = checks.touched_of(tmp_path), checks.preflight_of(tmp_path)
        assert touched is not None and touched.questions == {"q"}
        assert preflight is not None and preflight.all.after == 0.5

    @pytest.mark.parametrize("spoilt", [None, {"touched": {"touches": 1}, "all": 1}], ids=["nothing", "another version's"])
    def test_nothing_is_nothing(self, tmp_path: Path, spoilt: object) -> None:
        """No failure, no figures, no error."""
        if spoilt:
            leave(tmp_path, "plan", spoilt)
            leave(tmp_path, "preflight", spoilt)
        assert checks.failures_of(tmp_path) == ([], [])
        assert (checks.told_digest(tmp_path), checks.told_removals(tmp_path), checks.sections_of(tmp_path)) == ("", 0, {})
        assert checks.touched_of(tmp_path) is None
        assert checks.preflight_of(tmp_path) is None

    def test_a_refusal_is_known_by_its_line_of_the_journal(self, tmp_path: Path) -> None:
        """Not every update that fails was refused."""
        journal.record(tmp_path, Entry(NAME, "refused", message="found less"))
        journal.record(tmp_path, Entry(NAME, "failed", message="disk full"))
        key = checks.update_key(NAME)
        assert checks.was_refused(tmp_path, NAME, job("1", key, state="failed", message="found less"))
        assert not checks.was_refused(tmp_path, NAME, job("1", key, state="failed", message="disk full"))
        assert not checks.was_refused(tmp_path, NAME, job("1", key, message="found less"))

    def test_what_an_update_published_is_known_after_a_roll_back(self, tmp_path: Path) -> None:
        """By its line of the journal, which is written when it ends; one before it, or one that published nothing, is not it."""
        update = job("1", checks.update_key(NAME))
        journal.record(tmp_path, Entry(NAME, "published", generation="000006", at=NOW - 1))
        journal.record(tmp_path, Entry(NAME, "unchanged", generation="000006", at=NOW + 1))
        assert checks.published_by(tmp_path, NAME, update) == ""
        journal.record(tmp_path, Entry(NAME, "published", generation="000007", at=NOW + 2))
        assert checks.published_by(tmp_path, NAME, update) == "000007"


class TestFreshness:
    """How long ago each source was read as a whole, and what the last update met."""

    @pytest.mark.parametrize(
        ("seconds", "said"),
        [(5, "just now"), (60, "1 minute ago"), (3599, "59 minutes ago"), (7300, "2 hours ago"), (3 * 86_400 + 5, "3 days ago")],
    )
    def test_a_time_is_told_in_words(self, seconds: int, said: str) -> None:
        """In the largest unit that fits; a clock that went back says just now."""
        assert checks.ago(NOW - seconds, NOW) == said
        assert checks.ago(NOW + 9, NOW) == "just now"
        assert checks.ago(0, NOW) == "never"

    @pytest.mark.parametrize(
        ("known", "said"),
        [
            (Freshness(), "none noted"),
            (Freshness(NOW, NOW), "just now: all read"),
            (Freshness(0, NOW - 60, failures=[("a", "404"), ("b", "404")]), "1 minute ago: 2 not read"),
            (Freshness(0, NOW, failures=[("a", "x")] * journal.KEPT_FAILURES), f"just now: {journal.KEPT_FAILURES}+ not read"),
            (Freshness(0, NOW, failures=[("a", "x")], problem="no network"), "just now: not read as a whole"),
        ],
    )
    def test_what_an_update_met_is_told(self, known: Freshness, said: str) -> None:
        """The whole source's trouble before that of its documents."""
        assert checks.met(known, NOW) == said

    def test_a_source_has_a_line(self, two: Corpus, tmp_path: Path) -> None:
        """With its documents; a check that read it whole counts as a reading, one with a failure does not."""
        parts = {ORIGIN: SourceEntry(ORIGIN), OTHER: SourceEntry(OTHER, failures=[("x", "404")])}
        journal.record(tmp_path, Entry(NAME, "published", parts, at=NOW - 86_400))
        fresh = journal.freshness(tmp_path, NAME, {ORIGIN: ORIGIN, OTHER: OTHER})
        seen = found(two, listing(tales()), listing(others(10), origin=OTHER, failures=[Failure("x", "404")]))
        rows = checks.source_rows(two, fresh, checks.read_whole(seen, NOW - 60), now=NOW)
        assert [list(row.values())[:5] for row in rows] == [
            ["other", "folder", 10, "never", "1 day ago: 1 not read"],
            ["tales", "folder", 12, "1 minute ago", "1 day ago: all read"],
        ]
        assert checks.source_rows(two, {}, {}, now=NOW)[0]["last read whole"] == "never"


EVIL = "<img src=x onerror=alert(1)>"


def drawn_html() -> Sequence[str]:
    touch = Touch("citation", EVIL, EVIL, EVIL, "removed", lost=True)
    return (
        found_html.source_html(f"github:{EVIL}", {"failed": 1}),
        found_html.sections_html([(EVIL, EVIL)]),
        found_html.failures_html([(EVIL, EVIL)]),
        found_html.touches_html([touch]),
        found_html.preflight_html(Preflight(note=EVIL)),
    )


class TestHtml:
    """What people and sources wrote is text, and what matters is said in words."""

    def test_nothing_that_a_source_holds_is_markup(self) -> None:
        """Places, sections, failures, touched texts, notes."""
        assert not [tag for html in drawn_html() for tag, _, _ in Elements(html).opened if tag == "img"]
        assert all(EVIL in Elements(html).text for html in drawn_html())

    def test_a_source_shows_its_usual_buckets_and_the_others_when_there_are_any(self) -> None:
        """Five always, in order."""
        seen = Elements(found_html.source_html("github:octocat?forks=yes", {"added": 2, "withheld": 1, "elsewhere": 0})).text
        assert seen == "octocat, with forksGitHub · github:octocat?forks=yes2added0changed0removed0unchanged0failed1withheld"

    def test_sections_say_how_they_differ(self) -> None:
        """A dozen, and how many more."""
        assert Elements(found_html.sections_html([("History", "changed")])).text == "Sections: History changed"
        assert found_html.sections_html([]) == ""
        assert "and 3 more" in found_html.sections_html([("x", "added")] * (found_html.SHOWN_SECTIONS + 3))

    def test_what_is_touched_is_told_with_what_is_lost_first(self) -> None:
        """Counts in the head, words in the lines."""
        kept = Touch("question", "a", "Where?", "x.md", "changed", lost=False)
        gone = Touch("question", "b", "Who?", "y.md", "removed", lost=True)
        touched = Touched((kept, gone), {"question": 2, "citation": 1, "answer": 0}, {"question": 1, "citation": 0, "answer": 0})
        assert found_html.touched_label(touched, "question") == "2 open questions, 1 of which loses words"
        assert found_html.touched_label(touched, "citation") == "1 citation of past answers"
        text = Elements(found_html.touches_html(touched.touches)).text
        assert text == "Who? y.md, removed its words are goneWhere? x.md, changed"
        assert "and 4 more" in found_html.touches_html([kept] * (found_html.SHOWN_TOUCHES + 4))
        assert not found_html.is_untouched(touched)
        assert found_html.is_untouched(Touched())

    def test_what_was_not_looked_through_is_said(self) -> None:
        """Older conversations and runs, and files that cannot be read."""
        touched = replace(Touched(), unread={"conversations": 1, "runs": 2}, note="questions: broken")
        note = found_html.touched_note(touched)
        assert note == "Not looked through: 1 conversation and 2 runs, older than those that were. questions: broken"
        assert found_html.touched_note(Touched()) == ""

    def test_recall_is_told_before_and_after(self) -> None:
        """A fall has an arrow, not colour alone; generated questions have a line of their own unless they are all there are."""
        html = found_html.preflight_html(Preflight(Recall(4, 0.75, 0.5), Recall(1, 1.0, 0.0), Recall(9, 0.5, 0.625), left_out=2))
        seen = Elements(html).text
        assert "open questions4.750.500 ↓" in seen
        assert "those that are touched11.00.000 ↓" in seen
        assert "generated questions9.500.625" in seen
        assert "2 questions could not be asked before either." in seen
        alone = Elements(found_html.preflight_html(Preflight(Recall(9, 0.5, 0.5), Recall(), Recall(9, 0.5, 0.5)))).text
        assert alone.count("generated questions") == 1 and "open questions" not in alone
        note = Elements(found_html.preflight_html(Preflight(note="there is no earlier generation to compare with"))).text
        assert note == "There is no earlier generation to compare with."

    def test_a_question_that_turned_is_one_line(self) -> None:
        """Lost or found, and why."""
        turned = Turned("q", "Who?", 1.0, 0.0, True, "now found nowhere, before at 1")
        assert found_html.turned_label(turned) == "lost: Who? (now found nowhere, before at 1)"
        assert found_html.turned_label(replace(turned, before=0.0, after=1.0)).startswith("found: Who?")
