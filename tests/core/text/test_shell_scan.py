"""Where a script evaluates a variable as code: bash(1), ARITHMETIC EVALUATION and Arrays."""

# ruff: noqa: E501  # tables that are read as a whole

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.core.text.shell_scan import evaluated_variables

EVALUATES = (
    "echo $((X+1))", "echo $(( ( $X + 1 ) ))", "((X>3))", "for ((i=0;i<X;i++)); do :; done", "if ((X)); then :; fi",
    "n=1; (( n += X ))", "echo $[X+1]", "[[ $X -gt 3 ]] && echo", "[[ X -eq 1 ]]", "[[ a == b && $X -ge 2 ]]", "let n=X+1",
    'let "n=$X"', "builtin let n=X", "declare -i n=$X", "declare -i n; n=$X", "local -i n\nn=$X", "typeset -i n=$X",
    "local -n r=$X", 'declare "$X=1"', "export $X", "a[$X]=1", "echo ${a[X]}", 'echo "${a[$X]}"', "echo ${s:X}",
    "echo ${s:$X:2}", "echo ${s:1:$X}", 'printf -v "$X" %s a', 'read "$X"', "read -r $X <<< a", 'IFS=: read -r "$X"',
    'unset "$X"', 'unset "a[$X]"', 'test -v "$X"', '[ -v "$X" ]', "[[ -v $X ]]", 'if [ -v "$1" ]; then :; fi',
    'readarray "$X"', 'getopts ab "$X"', 'eval "$X"', "echo ${!X}", "echo ${X@P}", "y=$X; echo $((y))", "echo $(($1+1))",
    "for i in $X; do echo $((i)); done", "x=${X:-3}\necho $((x))",
)  # fmt: skip
DOES_NOT = (
    "echo $X", 'echo "$X"', '[ "$X" -gt 3 ]', 'test "$X" -eq 1', "[[ $X == a ]]", "[[ -n $X && $n -gt 3 ]]",
    "[[ -v X ]]", 'expr "$X" + 1', "cat <<E\n$X\nE", 'local x="$X"', 'export A="$X"', 'printf "%s" "$X"', 'printf -v out "%s" "$X"',
    'read -r a <<< "$X"', 'read -r line < "$X"', 'for i in $X; do echo "$i"; done', "case $X in a) :;; esac",
    "echo ${X:-3} ${X#a} ${X%b} ${X/a/b} ${#X} ${X:0:3}", "unset X", "[ -v X ] && echo", "let n=1; echo $X",
    "echo $((1+2)) $X", "a[1]=$X", 'grep "[0-9]" "$X"', 'sed "s/[[:space:]]//" "$X"', "echo let me see $X",
    '(cd "$X"; ls)', 'a=("$X")', 'awk -v x="$X" "{print x}"', "echo $XY $(( Y ))",
)  # fmt: skip


@pytest.mark.parametrize("script", EVALUATES)
def test_a_script_that_evaluates_a_variable_is_noticed(script: str):
    assert set(evaluated_variables(script, {"X", "1"})) in ({"X"}, {"1"})


@pytest.mark.parametrize("script", DOES_NOT)
def test_a_script_that_takes_a_variable_as_text_is_not_noticed(script: str):
    assert evaluated_variables(script, {"X", "1"}) == {}


@given(st.text(alphabet="$X{}[]()<;&| =:!@-vigt\"'\\n", max_size=60))
def test_any_text_can_be_read(script: str):
    assert set(evaluated_variables(script, {"X"})) <= {"X"}
