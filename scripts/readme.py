"""Writes the README's table of fields from the code: python -m scripts.readme"""

from pathlib import Path

from sitt_core.configuration import FIELDS, MODELS, SIZING, UNSIZED, Configuration

README = Path(__file__).resolve().parents[1] / "README.md"
BEGIN, END = "<!-- fields: written by python -m scripts.readme, checked by a test -->\n", "<!-- /fields -->"


def field_table() -> str:
    """Every field of the configuration as a Markdown table."""
    rows = ["| field | values | default | |", "|---|---|---|---|"]
    default = Configuration()
    for field in FIELDS:
        names = [*field.choices, *(f"{prefix}NAME" for prefix in field.prefixes)]
        values = ", ".join(names) if names else "any name" if field.free else f"{field.least}–{field.most:,}"
        help_text = field.help
        if field.name in ("chunking.size", "chunking.overlap"):
            key = field.name.split(".")[1]
            sizes = "; ".join(
                f"{name} {getattr(sizing, key)} {getattr(sizing, key + '_unit')}" for name, sizing in SIZING.items() if name not in UNSIZED
            )
            help_text += f" By strategy: {sizes}; {', '.join(UNSIZED)} ignores it."
        if field.name == "answer.model":
            help_text += " By provider: " + "; ".join(f"{provider} {model}" for provider, model in MODELS.items()) + "."
        rows.append(f"| `{field.name}` | {values} | {default[field.name]} | {help_text} |")
    return "\n".join(rows) + "\n"


def with_table(text: str) -> str:
    """The README's text with the table between its two marks as the code has it now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + field_table() + "\n" + END + after


if __name__ == "__main__":
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")
