"""What a language model is asked, and what its answer is checked against."""
