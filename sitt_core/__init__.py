"""SITT Lab's engine: question in, cited passages out, every stage visible. Read pipeline.py first, then ingest.py."""
