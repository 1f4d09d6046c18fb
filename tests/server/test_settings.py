"""Settings: each documented, each from the environment."""

from pathlib import Path

import pytest

from command import run
from sottovoce.server.settings import Settings

PAGE = Path(__file__).parents[2] / "docs/reference/settings.md"


def shown(default):
    if default is None or default == "":
        return "none"
    secret = getattr(default, "get_secret_value", None)
    return f"`{secret() if secret else str(default).lower() if isinstance(default, bool) else default}`"


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_every_setting_is_documented_as_it_is(name):
    field = Settings.model_fields[name]
    assert f"| `SOTTOVOCE_{name.upper()}` | {shown(field.default)} | {field.description} |" in PAGE.read_text()


def test_the_page_lists_nothing_else():
    listed = [line.split("`")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `SOTTOVOCE_")]
    assert sorted(listed) == sorted(f"SOTTOVOCE_{name.upper()}" for name in Settings.model_fields)


def test_settings_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("SOTTOVOCE_LEAST_CLAIMS", "9")
    monkeypatch.setenv("SOTTOVOCE_OPERATOR_TOKEN", "very-secret")
    settings = Settings()
    assert settings.least_claims == 9
    assert "very-secret" not in repr(settings)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--database", "mysql://x/y"], "sqlite:///FILE or postgresql://"),
        (["--database", "sqlite://"], "must be a file"),
        (["--database", "sqlite:////nowhere/at/all.db"], "there is no folder"),
        (["--database", "postgresql://nobody@127.0.0.1:1/x"], "cannot be opened"),
        (["--log-level", "loud"], "log_level"),
        (["--tls-cert", "cert.pem"], "https needs both"),
    ],
    ids=["kind", "memory", "folder", "unreachable", "level", "tls"],
)
def test_serve_tells_mistakes_in_one_sentence(arguments, words, tmp_path):
    done = run("serve", "--port", "0", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
