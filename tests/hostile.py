"""Shell scripts with a value in them, and values that try to be code: each would write into the file `hit`."""

# ruff: noqa: E501, RUF001  # tables that are read as a whole, with quotes of every kind

from collections.abc import Iterator

# V is the value, as it stands in each of the quotings below.
CONTEXTS = (
    "echo V", "printf %s V >/dev/null", "x=V; echo \"$x\"", "for i in V; do echo \"$i\"; done", "case V in a) echo a;; esac",
    "[ V = a ] || echo b", "[ V -gt 3 ] || echo c", "test V -eq 1 || echo d", "echo $(echo V)", "echo `echo V`",
    "read -r x <<E\nV\nE", "read -r x <<'E'\nV\nE", "# V\necho e", "echo ${x:-V}", "y=a; echo ${y#V}", "f() { echo V; }; f",
    "echo < V", "pwd -- V", ": V + 1", "echo V | read -r x", "if [ -n V ]; then echo f; fi", "set -- V; echo \"$1\"",
    "(echo V)", "echo g; echo V; echo h", "export Z=V; export -p",
    "echo $((V + 1))", "echo $(( ( V + 1 ) ))", "[[ V -gt 3 ]] && echo i", "((V > 3)) && echo j", "let n=V",
    "declare -i n=V", "n=0; declare -i n; n=V", "a[V]=1", "echo ${a[V]}", "s=abc; echo ${s:V}", "printf -v V %s x",
    "read V < /dev/null", "unset V", "test -v V", "eval V",
)  # fmt: skip
QUOTINGS = ("@", '"@"', "'@'", '"a @ b"', "@@")
CODE = "echo 1 >hit"
HOSTILE = tuple(
    text.replace("CODE", CODE)
    for text in (
        "PATH[$(CODE)0]", "a[$(CODE)]", "a[`CODE`]", "1+a[$(CODE)]", "_[$(CODE)0]", "x[0$(CODE)]=1", "a[$(CODE)]+1", "$(CODE)",
        "`CODE`", "; CODE", "; CODE #", "&& CODE", "|| CODE", "| CODE", "& CODE", "\nCODE\n", "\r\nCODE\r\n", "'; CODE; '",
        "\"; CODE; \"", "'$(CODE)'", "\"$(CODE)\"", "\\$(CODE)", "\\\\$(CODE)", "\\'; CODE; \\'", ") ; CODE; (", ")); CODE; ((",
        "]]; CODE; [[", "}; CODE; {", "E\nCODE\ncat <<E", "E\n$(CODE)", "() { :; }; CODE", "<(CODE)", "${x:=$(CODE)}",
        "$((a[$(CODE)]))", "$[a[$(CODE)]]", "-v a[$(CODE)]", "esac; CODE; case a in", "done; CODE", "*; CODE", "’; CODE; ‘",
    )
)  # fmt: skip


def scripts() -> Iterator[str]:
    """Yield each script, with `@` for the value."""
    for context in CONTEXTS:
        yield from (context.replace("V", quoting) for quoting in QUOTINGS)
