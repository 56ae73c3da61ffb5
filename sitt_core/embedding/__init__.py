"""Texts to vectors: one file per embedder."""

import sys

# Importing openvino (2026.4) reports that to its makers, unless this package of theirs is not there: then it uses a stub.
sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
