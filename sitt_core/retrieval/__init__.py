"""Rankings of chunks: dense, keyword, and their fusion."""
