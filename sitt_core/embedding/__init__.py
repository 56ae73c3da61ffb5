"""Texts to vectors: one file per embedder."""
