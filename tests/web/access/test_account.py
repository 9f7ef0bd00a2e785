"""The account of the dashboard: what is right, what is refused, and what that costs."""

import asyncio
import unicodedata

import pytest
from tests.web.access.accounts import CHEAP, LOGIN, RIGHT, Accounts, CountedChecks

from tocsin.testing.fakes import FakeClock
from tocsin.web.access.account import (
    DashboardAccount,
    LoginMissingError,
    TooManyLoginsError,
    WrongLoginError,
)
from tocsin.web.access.passwords import PasswordHashError, hash_password

HERE = "192.0.2.1"
WRONG = ("anna", "wrong")


async def outcome(account: DashboardAccount, pair: tuple[str, str], address: str = HERE, *, basic: bool = False) -> str:
    """Return `ok`, or the code of what refuses the pair."""
    try:
        await (account.check_basic if basic else account.check)(*pair, address)
    except (WrongLoginError, TooManyLoginsError, LoginMissingError) as error:
        return error.code
    return "ok"


@pytest.mark.parametrize("basic", [False, True])
@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (RIGHT, "ok"),
        (("anna", "a made-up passwor"), "invalid-credentials"),
        (("anna", "a made-up password "), "invalid-credentials"),
        (("anna", ""), "invalid-credentials"),
        (("Anna", RIGHT[1]), "invalid-credentials"),
        (("", RIGHT[1]), "invalid-credentials"),
        (("bert", RIGHT[1]), "invalid-credentials"),
        (("anna\0", RIGHT[1]), "invalid-credentials"),
        (("anna", f"{RIGHT[1]}\0"), "invalid-credentials"),
        (("\ud800", "\udfff"), "invalid-credentials"),
        (("x" * 100_000, "y" * 100_000), "invalid-credentials"),
    ],
)
async def test_only_the_name_and_the_password_of_the_settings_are_right(
    accounts: Accounts, pair: tuple[str, str], expected: str, *, basic: bool
):
    assert await outcome(accounts.make(), pair, basic=basic) == expected


async def test_a_hash_in_the_settings_takes_the_place_of_the_password(accounts: Accounts):
    account = accounts.make(DASHBOARD_USER="anna", DASHBOARD_PASS_HASH=hash_password(RIGHT[1], CHEAP))
    assert await outcome(account, RIGHT) == "ok"
    assert await outcome(account, WRONG) == "invalid-credentials"


async def test_a_hash_that_cannot_be_computed_is_told_with_what_to_do(accounts: Accounts):
    damaged = hash_password("x", CHEAP).replace("m=8", "m=1")
    with pytest.raises(PasswordHashError) as raised:
        await accounts.make(DASHBOARD_USER="anna", DASHBOARD_PASS_HASH=damaged).check(*RIGHT, HERE)
    assert "hash-password" in raised.value.hint
    assert damaged not in raised.value.sentence()


async def test_a_password_is_right_in_every_form_in_which_systems_type_its_letters(accounts: Accounts):
    account = accounts.make(DASHBOARD_USER="jörg", DASHBOARD_PASS="schöne grüße")
    for form in ("NFC", "NFD"):
        pair = unicodedata.normalize(form, "jörg"), unicodedata.normalize(form, "schöne grüße")
        assert await outcome(account, pair) == "ok"


@pytest.mark.parametrize(
    ("env", "missing"),
    [
        ({"DASHBOARD_HOST": "127.0.0.1"}, "DASHBOARD_USER and DASHBOARD_PASS"),
        ({"DASHBOARD_USER": "anna"}, "DASHBOARD_PASS"),
        ({"DASHBOARD_PASS": "x"}, "DASHBOARD_USER"),
    ],
)
async def test_without_a_login_in_the_settings_nobody_gets_in_and_the_setting_to_add_is_named(
    accounts: Accounts, env: dict[str, str], missing: str
):
    account = accounts.make(**env)
    for check in (account.check, account.check_basic):
        with pytest.raises(LoginMissingError) as raised:
            await check("", "", HERE)
        assert raised.value.hint.startswith(f"set {missing},")


async def test_a_wrong_name_costs_as_many_hashes_as_a_wrong_password(accounts: Accounts):
    checks = CountedChecks()
    account = accounts.make(checks)
    await outcome(account, RIGHT)
    counts = []
    for number, pair in enumerate([WRONG, ("nobody", "wrong"), ("nobody", RIGHT[1])]):
        before = checks.checked
        assert await outcome(account, pair, f"192.0.2.{number}") == "invalid-credentials"
        counts.append(checks.checked - before)
    assert counts == [1, 1, 1]


# Throttling


@pytest.mark.parametrize("basic", [False, True])
async def test_after_five_wrong_passwords_an_address_is_refused_for_five_minutes(
    accounts: Accounts, clock: FakeClock, *, basic: bool
):
    account = accounts.make()
    guesses = [await outcome(account, ("anna", str(number)), basic=basic) for number in range(7)]
    assert guesses == ["invalid-credentials"] * 5 + ["rate-limited"] * 2
    assert await outcome(account, RIGHT, basic=basic) == "rate-limited", "else guessing would go on unseen"
    assert await outcome(account, RIGHT, "192.0.2.2", basic=basic) == "ok"
    clock.advance(299)
    assert await outcome(account, RIGHT, basic=basic) == "rate-limited"
    clock.advance(1)
    assert await outcome(account, RIGHT, basic=basic) == "ok"


async def test_a_script_whose_password_was_right_goes_on_until_its_address_guesses_fifty_times_more(accounts: Accounts):
    account = accounts.make()
    assert await outcome(account, RIGHT, basic=True) == "ok"
    for number in range(5 + 49):
        await outcome(account, ("anna", str(number)), basic=True)
    assert await outcome(account, RIGHT, basic=True) == "ok"
    assert await outcome(account, RIGHT) == "rate-limited", "signing in is refused from the sixth try on"
    assert await outcome(account, ("anna", "54"), basic=True) == "rate-limited"
    assert await outcome(account, RIGHT, basic=True) == "rate-limited", "each of these could be a guess at it"


@pytest.mark.parametrize(("every_s", "refused"), [(70, False), (50, True)])
async def test_only_wrong_passwords_of_the_last_five_minutes_count(
    accounts: Accounts, clock: FakeClock, every_s: float, *, refused: bool
):
    account, guesses = accounts.make(), []
    for number in range(9):
        guesses.append(await outcome(account, ("anna", str(number))))
        clock.advance(every_s)
    assert ("rate-limited" in guesses) == refused


async def test_the_addresses_of_one_ipv6_network_are_refused_together(accounts: Accounts):
    account = accounts.make()
    for number in range(5):
        await outcome(account, ("anna", str(number)), f"2001:db8:1:2::{number:x}")
    assert await outcome(account, RIGHT, "2001:db8:1:2:ffff::1") == "rate-limited"
    assert await outcome(account, RIGHT, "2001:db8:1:3::1") == "ok"


@pytest.mark.parametrize("name", ["anna", "nobody"])
async def test_fifty_wrong_passwords_from_many_addresses_close_a_name_whether_it_exists_or_not(
    accounts: Accounts, name: str
):
    account = accounts.make()
    assert await outcome(account, RIGHT, "198.51.100.1", basic=True) == "ok"
    guesses = [await outcome(account, (name, str(n)), f"192.0.2.{n // 5}") for n in range(50)]
    assert set(guesses) == {"invalid-credentials"}
    assert await outcome(account, (name, "x"), "192.0.2.99") == "rate-limited"
    assert await outcome(account, (name, "x"), "192.0.2.99", basic=True) == "rate-limited"
    assert await outcome(account, RIGHT, "198.51.100.1", basic=True) == "ok", "what worked before goes on"


async def test_guesses_that_arrive_together_are_counted_as_if_they_came_one_by_one(accounts: Accounts):
    checks = CountedChecks()
    account = accounts.make(checks)
    await account.credential()
    before = checks.checked
    tries = [outcome(account, ("anna", str(number))) for number in range(40)]
    found = await asyncio.gather(*tries)
    assert sorted(found) == ["invalid-credentials"] * 5 + ["rate-limited"] * 35
    assert (checks.checked - before, checks.most_running) == (5, 1)


async def test_one_who_signs_in_waits_for_no_more_than_the_guess_that_is_being_checked(accounts: Accounts):
    account = accounts.make()
    await account.credential()
    order: list[str] = []

    async def note(pair: tuple[str, str], address: str) -> None:
        await outcome(account, pair, address)
        order.append(address)

    attacks = [note(("anna", str(n)), f"192.0.2.{n % 4}") for n in range(20)]
    await asyncio.gather(*attacks, note(RIGHT, "198.51.100.1"))
    assert order.index("198.51.100.1") <= 1


async def test_a_login_that_is_given_up_while_it_waits_leaves_the_way_open(accounts: Accounts):
    account = accounts.make()
    await account.credential()
    tasks = [asyncio.create_task(outcome(account, WRONG, f"192.0.2.{n}")) for n in range(6)]
    await asyncio.sleep(0)
    for task in tasks[:5]:
        task.cancel()
    await asyncio.gather(*tasks[:5], return_exceptions=True)
    assert await tasks[5] == "invalid-credentials"
    assert await outcome(account, RIGHT) == "ok"


# What is remembered of Basic credentials


async def test_right_basic_credentials_are_hashed_once_for_each_address(accounts: Accounts):
    checks = CountedChecks()
    account = accounts.make(checks)
    await account.credential()
    before = checks.checked
    assert set(await asyncio.gather(*(outcome(account, RIGHT, basic=True) for _ in range(20)))) == {"ok"}
    assert checks.checked - before == 1
    assert await outcome(account, RIGHT, "192.0.2.2", basic=True) == "ok"
    assert checks.checked - before == 2


async def test_a_script_that_goes_on_with_an_old_password_locks_out_nobody_else_on_its_host(accounts: Accounts):
    checks = CountedChecks()
    account = accounts.make(checks)
    await account.credential()
    before = checks.checked
    assert {await outcome(account, WRONG, basic=True) for _ in range(100)} == {"invalid-credentials"}
    assert checks.checked - before == 1
    assert await outcome(account, RIGHT, basic=True) == "ok"


async def test_what_was_right_from_one_address_is_no_shortcut_for_guessing_from_another(accounts: Accounts):
    account = accounts.make()
    await outcome(account, RIGHT, "198.51.100.1", basic=True)
    for number in range(5):
        await outcome(account, ("anna", str(number)), basic=True)
    assert await outcome(account, RIGHT, basic=True) == "rate-limited"


async def test_where_a_name_ends_and_a_password_begins_is_remembered_too(accounts: Accounts):
    account = accounts.make(DASHBOARD_USER="an", DASHBOARD_PASS="napassword")
    assert await outcome(account, ("an", "napassword"), basic=True) == "ok"
    assert await outcome(account, ("anna", "password"), basic=True) == "invalid-credentials"


# What a change of the login changes


async def test_the_credential_stays_over_a_restart_and_changes_with_the_name_and_the_password(accounts: Accounts):
    first = await accounts.make().credential()
    assert await accounts.make().credential() == first
    others = [
        await accounts.make(**LOGIN | {"DASHBOARD_USER": "bert"}).credential(),
        await accounts.make(**LOGIN | {"DASHBOARD_PASS": "another"}).credential(),
        await accounts.make().credential(),
    ]
    assert len({first, *others}) == 4, "back to the first password, sessions from before stay ended"


async def test_the_credential_and_what_is_kept_hold_no_password(accounts: Accounts):
    account = accounts.make()
    kept = await account.credential()
    rows = await accounts.database.read(lambda c: [tuple(row) for row in c.execute("SELECT * FROM access_password")])
    assert "made-up" not in f"{kept} {rows}"
