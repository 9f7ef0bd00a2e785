import pytest

from tocsin.core.errors import ConfigError
from tocsin.core.http.addresses import is_private, refuse_clear_text


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "::1", "10.0.0.7", "192.168.1.2", "fe80::1", "ollama", "box.lan", "x.local"]
)
def test_this_machine_and_its_network_are_private(host: str):
    assert is_private(host)
    refuse_clear_text("SOME_URL", f"http://{f'[{host}]' if ':' in host else host}:8080/v1")


@pytest.mark.parametrize("host", ["8.8.8.8", "example.com", "local.example.com", "2606:4700::1111"])
def test_a_key_does_not_travel_in_clear_to_anybody_else(host: str):
    shown = f"[{host}]" if ":" in host else host
    assert not is_private(host)
    refuse_clear_text("SOME_URL", f"https://{shown}/v1")
    with pytest.raises(ConfigError, match="SOME_URL"):
        refuse_clear_text("SOME_URL", f"http://{shown}/v1")
