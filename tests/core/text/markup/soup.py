"""Random Markdown: pieces of syntax, words of several scripts, and anything else, thrown together."""

from hypothesis import strategies as st

from tocsin.core.text.strings import normalise

PIECES = (
    *("*", "**", "_", "__", "~~", "`", "``", "```", "```py\n", "\n```\n", "\n~~~\n", "[", "](", ")", "![", "]"),
    *("](https://a.b/c_d)", "](javascript:x)", "<https://q.r>", "<me@a.b>", "https://x.y/z_a*b", "mailto:a@b.c"),
    *("> ", "\n> ", "\n> > ", "- ", "\n- ", "\n  - ", "\n    * ", "1. ", "\n9) ", "#", "\n## ", "\n---\n", "\n===\n"),
    *("|", "|a|b|\n", "\n|---|:-:|--:|\n", "\n", "\n\n", "  \n", " ", "  ", "\t", "    ", "\\", "<", "&amp;", "<b>"),
    *(
        "😀",
        "👩\u200d👩\u200d👧",
        "漢字",
        "。",
        "שלום",
        "مرحبا",
        "a",
        "word ",
        "snake_case",
        "é",
        "e\u0301",
        "long" * 20,
    ),
    *("\u200b", "\u00a0", "\x0b", "\u2028", "\ufeff", "@here", "<!channel>", "||", "$", "- [ ] "),
)


def markdown_soup(max_pieces: int = 60) -> st.SearchStrategy[str]:
    """Return normalised, non-blank texts."""
    piece = st.one_of(st.sampled_from(PIECES), st.text(max_size=8))
    return st.lists(piece, min_size=1, max_size=max_pieces).map("".join).map(normalise).filter(str.strip)
