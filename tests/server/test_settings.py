"""Settings: each documented, each from the environment."""

import os
from pathlib import Path

import pytest

from command import run_process
from sottovoce.errors import BadParameter
from sottovoce.server.settings import Settings
from sottovoce.server.storage.backup import back_up
from sottovoce.server.storage.engine import open_engine

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
    monkeypatch.setenv("SOTTOVOCE_OPERATOR_TOKEN", "very-secret-token")
    settings = Settings()
    assert settings.least_claims == 9
    assert "very-secret-token" not in repr(settings)


def test_a_token_that_could_be_guessed_is_refused_without_being_shown(tmp_path):
    environment = {**os.environ, "SOTTOVOCE_OPERATOR_TOKEN": "fifteen-signs-0"}
    done = run_process("serve", "--port", "0", cwd=tmp_path, env=environment)
    assert done.returncode == 2
    words = " ".join(done.stderr.split())
    assert "SOTTOVOCE_OPERATOR_TOKEN: the token has 15 characters: it must be at least 16" in words
    assert "generate one with python3 -c" in words
    assert "fifteen-signs-0" not in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []  # nothing was begun


@pytest.mark.parametrize("token", ["", "fifteen-signs-0", "long enough, but with spaces", "sixteen-signs-\u00e9\u00e9"])
def test_a_token_that_could_be_guessed_or_not_be_sent_is_refused(token):
    with pytest.raises(ValueError, match="at least 16") as refused:
        Settings(operator_token=token)
    assert not token or token not in str(refused.value)


@pytest.mark.alike
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--database", "mysql://x/y"], "sqlite:///FILE or postgresql://"),
        (["--database", "sqlite://"], "it exists only in memory"),
        (["--database", "sqlite:////nowhere/at/all.db"], "there is no folder"),
        (["--database", "postgresql://nobody@127.0.0.1:1/x"], "cannot be opened"),
        (["--log-level", "loud"], "log_level"),
        (["--tls-cert", "cert.pem"], "https needs both"),
    ],
    ids=["kind", "memory", "folder", "unreachable", "level", "tls"],
)
def test_serve_reports_mistakes_in_one_sentence(arguments, words, tmp_path):
    done = run_process("serve", "--port", "0", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "database",
    [
        "postgresql//user:very-secret@host/name",
        "postgresql://user:very-secret@host:port/name",
        "mysql://user:very-secret@host/name",
        "mysql://host/name?password=very-secret",
        "sqlite://user:very-secret@",
    ],
)
def test_a_database_that_cannot_be_used_is_refused_without_its_password(database, tmp_path):
    for refuse in (open_engine, lambda url: back_up(url, tmp_path / "copy.db")):
        with pytest.raises(BadParameter) as refused:
            refuse(database)
        assert "sqlite:///" in str(refused.value)
        assert "very-secret" not in str(refused.value)
