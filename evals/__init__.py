"""The eval lab: questions with known answers, what configurations make of them, and what the difference is worth."""
