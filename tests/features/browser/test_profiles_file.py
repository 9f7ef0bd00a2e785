"""browser_profiles.yaml."""

from pathlib import Path

import pytest

from tocsin.features.browser.model import BrowserDriver, BrowserKind, masked
from tocsin.features.browser.profiles_file import ProfilesFile


def problem_of(tmp_path: Path, text: str) -> str:
    (tmp_path / "browser_profiles.yaml").write_text(text)
    return str(ProfilesFile(tmp_path / "browser_profiles.yaml", tmp_path / "browser").problem)


def test_a_profile_needs_no_more_than_a_name(tmp_path: Path):
    assert problem_of(tmp_path, "profiles:\n  - name: office\n") == "None"
    (profile,) = ProfilesFile(tmp_path / "browser_profiles.yaml", tmp_path / "browser").all().values()
    assert (profile.browser, profile.driver, profile.headless) == (BrowserKind.CHROMIUM, BrowserDriver.MANAGED, True)
    assert profile.user_data_dir == tmp_path / "browser" / "office" / "data"
    assert problem_of(tmp_path, "# none\n") == "None"


def test_a_plain_list_means_the_same(tmp_path: Path):
    assert problem_of(tmp_path, "- name: office\n- {name: shop, browser: chrome}\n") == "None"
    assert list(ProfilesFile(tmp_path / "browser_profiles.yaml", tmp_path / "browser").all()) == ["office", "shop"]
    assert "browser_profiles.yaml:1:10: [0].name" in problem_of(tmp_path, "- {name: ../x}\n")


@pytest.mark.parametrize(
    ("profile", "told"),
    [
        ("{}", "name"),
        ("{name: ../x}", "'../x' is not a valid profile name"),
        ("{name: a, hedless: true}", "hedless"),
        ("{name: a, browser: safari}", "safari"),
        ("{name: a, browser: firefox}", "only chromium and chrome can be managed"),
        ("{name: a, user_data_dir: here}", "expected an absolute path"),
        ("{name: a, port: 65536}", "from 0 to 65535"),
        ("{name: a, cdp_endpoint: 'http://h:1'}", "the endpoint of a managed browser is chosen automatically"),
        ("{name: a, driver: remote}", "a remote browser needs cdp_endpoint"),
        ("{name: a, driver: remote, cdp_endpoint: 'ftp://h'}", "starts with http://, https://, ws:// or wss://"),
        ("{name: a, driver: remote, cdp_endpoint: 'ws://h', user_data_dir: /d}", "user_data_dir has no effect"),
        ("{name: a, driver: remote, cdp_endpoint: 'ws://h', headless: true}", "headless has no effect"),
        ("{name: a, driver: existing_session}", "needs user_data_dir, cdp_endpoint or both"),
        ("{name: a, driver: existing_session, cdp_endpoint: 'http://10.0.0.1:1'}", "must be on this machine:"),
        ("{name: a, proxy: 'http://u:p@h:1'}", "a user and password here"),
        ("{name: a, proxy: 'h:1'}", "expected a URL with a host"),
        ("{name: a, proxy: 'http://h:1/x'}", "only host and port"),
        ("{name: a}\n  - {name: a}", "the profile in line 2 already has this name"),
        ("{name: a, default: true}\n  - {name: b, default: true}", "the profile in line 2 is already the default"),
        ("{name: a, port: 9}\n  - {name: b, port: 9}", "the profile in line 2 already has this port"),
        ("{name: a, user_data_dir: /d}\n  - {name: b, user_data_dir: /d}", "line 2 already has this directory"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, profile: str, told: str):
    problem = problem_of(tmp_path, f"profiles:\n  - {profile}\n")
    assert told in problem
    assert "browser_profiles.yaml:" in problem


def test_credentials_of_a_wrong_endpoint_are_not_quoted(tmp_path: Path):
    problem = problem_of(
        tmp_path, "profiles:\n  - {name: a, driver: remote, cdp_endpoint: 'x://u:hunter2@h?k=hunter2'}\n"
    )
    assert "cdp_endpoint" in problem
    assert "hunter2" not in problem


def test_a_broken_edit_leaves_the_last_good_version_in_force(tmp_path: Path):
    path = tmp_path / "browser_profiles.yaml"
    path.write_text("profiles:\n  - name: office\n")
    file = ProfilesFile(path, tmp_path)
    assert list(file.all()) == ["office"]
    path.write_text("profiles:\n  - nam: wor")
    assert (list(file.all()), "nam" in str(file.problem)) == (["office"], True)


def test_an_endpoint_is_shown_without_user_password_query_and_fragment():
    assert masked("wss://me:pw@h:1/devtools?token=t#f") == "wss://[secret]@h:1/devtools?[secret]#[secret]"
    assert masked("http://127.0.0.1:9222") == "http://127.0.0.1:9222"
