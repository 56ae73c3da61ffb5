"""Serves the dashboard with pretend language models on loopback, so that answers can be watched without a key.

`python -m tests.fakes.demo [--port N]`; LLM_PROVIDER=openai and LLM_MODEL=claude-fake-cut and the like may be set beforehand.
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
    with FakeClaude(delay=SECONDS_A_WORD, retry_after="1") as claude, FakeOpenAI(delay=SECONDS_A_WORD, retry_after="1") as openai:
        pretend = {
            "LLM_PROVIDER": os.environ.get("LLM_PROVIDER", "claude"),
            "ANTHROPIC_API_KEY": "demo",
            "ANTHROPIC_BASE_URL": claude.url,
            "OPENAI_API_KEY": "demo",
            "OPENAI_BASE_URL": f"{openai.url}/v1",
        }
        print("Answers come from stand-ins on this machine; no service is asked and nothing is paid:")
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
