"""The description of the API is true, and nothing that it allows or forbids makes the server fail."""

import json
import re
import subprocess
import sys

import pytest

CONFIG = """
[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "409", "410", "413", "415", "422", "429"]
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", "401", "403", "404", "409", "410", "413", "422"]
"""
# Who asks, and for what. Ids that are set take the place of bad ones too, which then are not refused.
ANYTHING = [
    "--exclude-path-regex",
    r"operators/\{",
]  # which would make the very token void that all others are asked with
WHAT_IS_THERE = ["--include-path-regex", r"campaign}|operators/\{", "--exclude-checks", "negative_data_rejection"]
OF_PARTICIPANTS = ["--include-path-regex", "reports$|participation$", "--exclude-checks", "negative_data_rejection"]


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
@pytest.mark.parametrize(
    "selection", [ANYTHING, WHAT_IS_THERE, OF_PARTICIPANTS], ids=["anything", "what is there", "of participants"]
)
def test_schemathesis_finds_nothing(running_server, tmp_path, selection):
    """Requests by an operator with random ids, by one with the ids of what exists, and by a participant."""
    server = running_server("--log-level", "debug", SOTTOVOCE_ADDRESS_RATE="0", SOTTOVOCE_TOKEN_RATE="0")
    campaign = server.opened()
    server.crowd(campaign, 5)
    header = server.operator
    if selection is OF_PARTICIPANTS:
        header = {"Authorization": f"Bearer {server.participants(campaign, 1)[0]}"}
    other = server.client.post("/api/operators", json={"name": "other"}, headers=server.operator).json()["id"]
    there = f'[parameters]\n"path.campaign" = "{campaign}"\n"path.operator" = {other}\n'
    (tmp_path / "config.toml").write_text(("" if selection is ANYTHING else there) + CONFIG)
    done = subprocess.run(
        [
            sys.executable, "-W", "ignore", "-m", "schemathesis.cli", "--config-file", tmp_path / "config.toml",
            "run", f"{server.url}/api/openapi.json", "--header", f"Authorization: {header['Authorization']}",
            "--max-examples", "2", "--phases", "coverage,fuzzing", "--generation-deterministic", "--no-color",
            "--warnings", "off", *selection,
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    described = server.client.get("/api/openapi.json").json()["paths"]
    server.stop()
    lines = [json.loads(line) for line in server.log.splitlines()]
    assert not [line for line in lines if line["level"] == "error" or line.get("status", 0) >= 500]
    asked = {(line["route"], line["method"]) for line in lines if line["message"] == "request"}
    wanted, pattern = selection[0] == "--include-path-regex", selection[1]
    expected = {
        (path, method.upper())
        for path, methods in described.items()
        if bool(re.search(pattern, path)) == wanted
        for method in methods
    }
    assert expected
    assert expected <= asked  # nothing was left out
