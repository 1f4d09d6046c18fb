"""The description of the interface is true, and nothing that it allows or forbids makes the server fail."""

import json
import subprocess
import sys

import pytest

CONFIG = """
[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "409", "410", "413", "415", "422", "429"]
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", "401", "403", "404", "409", "410", "413", "422"]
"""


def test_every_route_is_described_with_its_problems(server):
    description = server.client.get("/api/openapi.json").json()
    text = json.dumps(description)
    assert "HTTPValidationError" not in text
    names = set(description["components"]["schemas"])
    for reference in {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]}:
        assert reference in names
    for path, methods in description["paths"].items():
        for method, described in methods.items():
            if path.startswith("/api"):
                assert {"429", "503"} <= set(described["responses"]), (path, method)


@pytest.mark.slow
@pytest.mark.parametrize("campaigns", ["any", "a real one"])
def test_schemathesis_finds_nothing(running_server, tmp_path, campaigns):
    """All routes, with ids as they come and with those of a campaign that is there."""
    server = running_server(SOTTOVOCE_ADDRESS_RATE="0", SOTTOVOCE_TOKEN_RATE="0")
    campaign = server.opened()
    server.crowd(campaign, 5)
    real = f'[parameters]\n"path.campaign" = "{campaign}"\n' if campaigns == "a real one" else ""
    (tmp_path / "config.toml").write_text(real + CONFIG)
    # Routes that make the token void, with which all others are asked, are left to tests of their own.
    selection = ["--include-path-regex", "campaign}"] if real else ["--exclude-path-regex", r"operators/\{"]
    done = subprocess.run(
        [
            sys.executable, "-W", "ignore", "-m", "schemathesis.cli", "--config-file", tmp_path / "config.toml",
            "run", f"{server.url}/api/openapi.json", "--header", f"Authorization: {server.operator['Authorization']}",
            "--max-examples", "4", "--phases", "coverage,fuzzing", "--max-time", "15", "--seed", "1",
            "--generation-deterministic", "--no-color", "--warnings", "off", *selection,
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    server.stop()
    lines = [json.loads(line) for line in server.log.splitlines()]
    assert len([line for line in lines if line["message"] == "request"]) > 100
    assert not [line for line in lines if line["level"] == "error" or line.get("status", 0) >= 500]
