"""What buttons carry: four prefixes, at most 64 bytes."""

from hypothesis import given
from hypothesis import strategies as st

from tocsin.bot import keyboards
from tocsin.bot.contract import ChatMode
from tocsin.channels.conversation import Keyboard
from tocsin.features.ability_records import SkillInfo


def data_of(rows: Keyboard) -> list[str]:
    return [data for row in rows for _, data in row]


@given(st.lists(st.text(min_size=1, max_size=90), min_size=1, max_size=50, unique=True))
def test_every_skill_has_a_button_that_leads_back_to_it(names: list[str]):
    for name in names:
        data = keyboards.skill_data(name)
        prefix, rest = keyboards.parse(data)
        assert len(data.encode()) <= 64
        assert prefix == "skill:"
        assert keyboards.parse_page(rest) is None
        assert keyboards.find_skill(rest, names) == name


def test_a_short_name_is_carried_as_it_is():
    assert keyboards.skill_data("code-reviewer") == "skill:code-reviewer"


def test_a_skill_that_is_gone_is_not_found():
    assert keyboards.find_skill("gone", ["here"]) is None


def test_only_the_four_prefixes_are_known():
    found = [keyboards.parse(data) for data in ("skill:a", "mode:chat", "confirm:x:y", "cancel:", "else:a", "")]
    assert found == [
        ("skill:", "a"),
        ("mode:", "chat"),
        ("confirm:", "x:y"),
        ("cancel:", ""),
        ("", "else:a"),
        ("", ""),
    ]


def test_more_than_twenty_skills_make_pages():
    skills = [SkillInfo(f"skill-{number:02}") for number in range(45)]
    first, middle, last = (data_of(keyboards.skills_keyboard(skills, page)) for page in range(3))
    assert keyboards.pages(skills) == 3
    assert (len(first), first[-1]) == (21, "skill:>1")
    assert (len(middle), middle[-2:]) == (22, ["skill:>0", "skill:>2"])
    assert (len(last), last[-1]) == (6, "skill:>1")
    assert [keyboards.parse_page(keyboards.parse(data)[1]) for data in middle[-2:]] == [0, 2]


def test_a_few_skills_need_no_way_to_another_page():
    assert data_of(keyboards.skills_keyboard([SkillInfo("one")], 0)) == ["skill:one"]


def test_the_current_mode_is_marked():
    assert keyboards.mode_keyboard(ChatMode.SKILL) == [[("chat", "mode:chat"), ("• skill", "mode:skill")]]


@given(st.integers(-(2**52) + 1, 2**52 - 1))
def test_the_admins_buttons_fit_every_chat(chat: int):
    assert all(len(data) <= 64 for data in data_of(keyboards.decision_keyboard(str(chat))))
