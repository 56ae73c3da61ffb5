"""Questions to start from, by corpus, each with what it shows about the retrievers."""

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "field-guide": (
        ("Which lake monster is said to live in Manitoba?", "Both retrievers know it; the confusable neighbours follow."),
        ("Who was Lisbeth Vefall?", "A rare name: the word finds it, the vector does not."),
        ("nocturnal bat-like flyer in Java", "Told in other words than the entry's: the vector's home ground."),
        ("a hoax made with a toy submarine", "The vector finds the famous photograph and a second hoax; words scatter."),
        ("creature with glowing red eyes on a bridge", "Each finds something the other lacks."),
        ("Gimlin", "One word that means nothing to the vector."),
    )
}
