"""Serves the dashboard with pretend language models on loopback, so that answers, judging and drafting can be watched without a key.

`python -m tests.fakes.demo [--port N]`; LLM_PROVIDER=openai, LLM_MODEL=claude-fake-cut, JUDGE_MODEL=fake-few and the like may be set
beforehand.
"""

import os
import signal
import subprocess
import sys
import time

from tests.fakes.claude import FakeClaude
from tests.fakes.openai import FakeOpenAI

SECONDS_A_WORD = 0.06
SECONDS_TO_END = 5.0
"""A dashboard that has been told to end and has not by then is killed."""


def main(arguments: list[str]) -> int:
    """Serves until the dashboard ends; returns its exit code."""
    with (
        FakeClaude(delay=SECONDS_A_WORD, retry_after="1") as claude,
        FakeOpenAI(delay=SECONDS_A_WORD, retry_after="1") as openai,
        FakeOpenAI() as judge,  # at once: a run has thousands of verdicts
    ):
        pretend = {
            "LLM_PROVIDER": os.environ.get("LLM_PROVIDER") or "claude",
            "ANTHROPIC_API_KEY": "demo",
            "ANTHROPIC_BASE_URL": claude.url,
            "OPENAI_API_KEY": "demo",
            "OPENAI_BASE_URL": f"{openai.url}/v1",
            "GROQ_API_KEY": "demo",
            "GROQ_BASE_URL": f"{judge.url}/v1",
            "JUDGE_PROVIDER": os.environ.get("JUDGE_PROVIDER") or "groq",
            "JUDGE_MODEL": os.environ.get("JUDGE_MODEL") or "fake",
            "JUDGE_PRICE_INPUT": "1",
            "JUDGE_PRICE_OUTPUT": "5",
        }
        print(
            "Answers come from stand-ins on this machine, and so do the lab's verdicts and the drafts of questions: a pretend judge holds true"
        )
        print("what stands word for word in the passages. No service is asked and nothing is paid; the prices are made up.")
        print("\n".join(f"  {name}={value}" for name, value in pretend.items()), flush=True)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the dashboard does not outlive us
        dashboard = subprocess.Popen([sys.executable, "-m", "sitt_core.surfaces.serve", *arguments], env={**os.environ, **pretend})
        try:
            # Not one wait without end: a signal that another thread receives does not interrupt that.
            while dashboard.poll() is None:
                time.sleep(0.1)
            return dashboard.returncode
        except KeyboardInterrupt:  # Ctrl-C has reached the dashboard as well
            return dashboard.wait()
        finally:
            dashboard.terminate()
            try:
                dashboard.wait(SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                dashboard.kill()
                dashboard.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
