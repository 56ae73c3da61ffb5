"""The only code that speaks SQL about the corpus."""
