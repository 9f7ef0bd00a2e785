"""Lists on screens of every size: their rows, what lies below them, and the files they are written in."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect
from tests.e2e.dashboard.conftest import NARROW, WIDE, Visitor
from tests.e2e.dashboard.served import ServedDashboard, serve_dashboard

Visit = Callable[..., Visitor]
PHONE = (390, 844)
# What each list is written in, the page about it, and the part of that page.
FILES = [
    ("watchers", "watchers.yaml", "Watchers", "Rules"),
    ("triggers", "triggers.yaml", "Triggers", ""),
    ("ssh", "ssh_hosts.yaml", "SSH", "Hosts"),
    ("msg", "profiles.yaml", "Guide", "Profiles"),
    ("browser", "browser_profiles.yaml", "Browser profiles", "Profiles"),
]
# How high the rows of a list are, and how much of each tab is outside its list.
LINES = """() => {
    const line = parseFloat(getComputedStyle(document.body).lineHeight);
    return [...document.querySelectorAll("main tbody tr[data-key]")].map((row) => row.clientHeight / line);
}"""
CUT = """() => {
    const list = document.querySelector("[role=tablist]").getBoundingClientRect();
    return [...document.querySelectorAll("[role=tab]")].map((tab) => tab.getBoundingClientRect())
        .filter(({ left, right }) => left < list.left - 1 || right > list.right + 1).length;
}"""

# Where the text of the title of a column of numbers ends, and that of its first number.
ENDS = """() => ["th.table__end-align button", "td.table__end-align"].map((cell) => {
    const text = document.createRange();
    text.selectNodeContents(document.querySelector(`main ${cell}`).firstChild);
    return text.getBoundingClientRect().right;
})"""


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDashboard]:
    """Serve an installation with one record in each list that is written in a file."""
    folder = tmp_path_factory.mktemp("lists")
    (folder / "inbox").mkdir()
    texts = {
        "watchers.yaml": f"- {{name: inbox, path: {folder}/inbox, command: 'true'}}\n",
        "triggers.yaml": "- {pattern: uptime, command: uptime}\n",
        "ssh_hosts.yaml": "hosts: [{name: web1, hostname: 127.0.0.1, port: 9}]\n",
        "profiles.yaml": "oncall: [{channel: email, target: ops@example.org}]\n",
        "browser_profiles.yaml": "profiles: [{name: office}]\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
    with serve_dashboard(folder) as served:
        yield served


def test_below_a_list_stand_the_whole_path_of_its_file_and_a_way_to_its_documentation(visit: Visit):
    visitor = visit()
    folder = visitor.page.request.get(f"{visitor.address}api/status").json()["data_dir"]
    for name, file, title, part in FILES:
        page = visitor.open(f"#/{name}")
        note = page.locator(".file-note")
        expect(note.locator("code")).to_have_text(f"{folder}/{file}")
        note.get_by_role("link", name="Documentation").click()
        expect(page.get_by_role("heading", level=1)).to_have_text(title)
        if part:
            expect(page.get_by_role("heading", name=part, exact=True)).to_be_in_viewport()


def test_the_documentation_is_searched_from_the_keyboard_and_needs_no_login(visit: Visit):
    visitor = visit(NARROW, "dark")
    page = visitor.page
    page.context.clear_cookies()
    page.goto(f"{visitor.address}docs/watchers.html")
    assert visitor.violations("body") == []
    assert visitor.overflow() <= 0
    page.locator("main").get_by_role("link", name="run", exact=True).first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Runs")
    page.wait_for_load_state()  # its script hears the key
    page.keyboard.press("/")
    page.keyboard.type("tocsin_data_dir settings")
    expect(page.get_by_role("option").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Settings")
    page.get_by_role("button", name="Switch between light and dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")


def test_the_page_of_the_api_shows_every_operation_and_sends_requests(visit: Visit):
    visitor = visit(WIDE)
    visitor.expected += ("404", "401")
    page = visitor.open("#/settings")
    page.get_by_role("link", name="REST API").click()
    document = page.request.get(f"{visitor.address}api/openapi.json").json()
    expected = sum(len(methods.keys() - {"parameters"}) for methods in document["paths"].values())
    expect(page.locator(".operation")).to_have_count(expected)
    assert visitor.violations("body") == []
    page.get_by_label("Filter operations").fill("get /api/watchers/rules/{name}")
    operation = page.locator(".operation")
    operation.locator("summary").first.click()
    operation.get_by_role("textbox", name="name").fill("none such")
    operation.get_by_role("button", name="Send GET").click()
    answer = operation.get_by_role("status")
    expect(answer).to_contain_text("404")
    expect(answer).to_contain_text("not-found")
    assert visitor.violations("body") == []
    page.get_by_label("Token for the requests").fill("tok_wrong")
    operation.get_by_role("button", name="Send GET").click()
    expect(answer).to_contain_text("401")


def test_an_entry_of_the_audit_log_is_opened_by_a_click_anywhere_on_its_row(visit: Visit):
    page = visit(WIDE).open("#/audit")
    row = page.locator("tbody tr[data-key]").first
    row.locator("td").nth(2).click()
    entry = page.locator(".audit__entry")
    expect(entry).to_contain_text("prev_hash")
    # Each name stands beside its value, in one line.
    tops = entry.locator("dt, dd").evaluate_all("all => all.map((one) => one.getBoundingClientRect().top)")
    assert tops[::2] == tops[1::2]
    assert len(set(tops[::2])) == len(tops) / 2
    entry.click()
    expect(entry).to_be_visible()
    row.locator("td").nth(2).click()
    expect(entry).to_have_count(0)


def test_on_a_phone_rows_take_two_lines_and_no_tab_is_cut(visit: Visit):
    visitor = visit(PHONE)
    for name in ("audit", "skills"):
        page = visitor.open(f"#/{name}")
        expect(page.locator("main tbody tr[data-key]").first).to_be_visible()
        assert [lines for lines in page.evaluate(LINES) if not 2 <= lines < 3] == [], name
    for route in ("settings", "skills/code-reviewer", "cron"):
        page = visitor.open(f"#/{route}")
        expect(page.get_by_role("tab").first).to_be_visible()
        assert page.evaluate(CUT) == 0, route


def test_a_list_says_whether_it_is_empty_or_its_filters_match_nothing(visit: Visit):
    visitor = visit()
    expect(visitor.open("#/memory").locator(".empty")).to_contain_text("No entries yet.")
    for route in ("audit?q=zzzz", "deliveries?q=zzzz", "memory?q=zzzz", "notifications?level=error", "heartbeats?q=zz"):
        expect(visitor.open(f"#/{route}").locator(".empty")).to_have_text("No entries match the filters.")


def test_on_a_phone_commands_break_between_words_and_no_button_covers_an_example(visit: Visit):
    page = visit(PHONE).open("#/heartbeats")
    words = page.locator(".empty .command-word")
    expect(words).to_have_count(8)
    expect(words.nth(5)).to_have_text("'0 3 * * *'")
    assert len(set(words.evaluate_all("all => all.map((one) => one.clientHeight)"))) == 1
    example = page.locator(".empty__example pre").bounding_box()
    button = page.get_by_role("button", name="Copy the example").bounding_box()
    assert example is not None
    assert button is not None
    assert example["x"] + example["width"] <= button["x"]


def test_the_title_of_a_column_of_numbers_ends_where_they_end(visit: Visit):
    page = visit(WIDE).open("#/skills")
    expect(page.locator("main tbody td.table__end-align").first).to_be_visible()
    title, number = page.evaluate(ENDS)
    assert abs(title - number) <= 1


@pytest.mark.parametrize("size", [PHONE, (768, 1024), WIDE], ids=str)
def test_the_composer_of_a_conversation_stands_at_the_bottom(visit: Visit, size: tuple[int, int], tmp_path):
    model = {"CHAT_PROVIDER": "openai", "CHAT_MODEL": "m", "OPENAI_API_KEY": "sk-of-a-test-000000000000"}
    with serve_dashboard(tmp_path, model) as served:
        page = visit(size, served=served).open("#/chat")
        composer = page.locator(".chat__composer").bounding_box()
        bar = page.locator(".bottom-bar").bounding_box()
        assert composer is not None
        end = bar["y"] if bar else size[1]
        assert 0 < end - composer["y"] - composer["height"] <= 24
