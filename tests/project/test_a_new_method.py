"""A method is one file and one line in the registry: whatever offers methods offers it too."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sottovoce as sv
from patience import PATIENCE
from server_under_test import OPERATOR_TOKEN, local_server
from sottovoce.cli.app import app
from sottovoce.discovery import DEFAULT, METHODS, describe_method, make_method, methods_for, register
from sottovoce.errors import BadParameter
from sottovoce.lab.bench import iterative
from sottovoce.lab.reproduce.experiment import fitted
from sottovoce.lab.reproduce.style import label_of, style_of
from sottovoce.server.console import analysis
from steady_method import Steady

DOCS = Path(__file__).parents[2] / "docs"
CLAIMS = "user,object,value\na,x,1\nb,x,2\nc,x,6\na,y,3\nb,y,4\nc,y,9\n"
IN_WORDS = "Steady hand: whoever errs less counts more, and nobody counts for much."


@pytest.fixture
def steady():
    register(Steady)
    yield Steady
    del METHODS[Steady.name]


@pytest.fixture
def server(tmp_path):
    with local_server(tmp_path) as server:
        yield server


@pytest.fixture
def claims(tmp_path):
    (tmp_path / "claims.csv").write_text(CLAIMS)
    return tmp_path / "claims.csv"


def command(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "300", "NO_COLOR": "1"})


def sign_in(server):
    server.client.post("/sign-in", data={"token": OPERATOR_TOKEN}, follow_redirects=False)
    return re.search(r'name="form_token" value="([0-9a-f]+)"', server.client.get("/analyst").text)[1]


def test_the_command_takes_it_and_names_it_in_its_help(steady, claims):
    help_text = re.sub(r"[\s│]+", " ", command("discover", "--help").output)  # however its lines are broken
    assert re.search(r"noise-aware, [a-z, -]+, steady; all .*\[default: noise-aware\]", help_text)
    ran = command("discover", claims, "--method", "steady", "--json")
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.stdout)
    assert found["method"] == "steady"
    truths = Steady().fit(sv.Claims.read(claims)).truths_.tolist()
    assert [entry["truth"] for entry in found["truths"].values()] == truths


def test_the_command_refuses_what_is_not_registered_and_names_what_is(claims):
    ran = command("discover", claims, "--method", "steady")
    assert isinstance(ran.exception, BadParameter)
    assert all(name in str(ran.exception) for name in ("'steady'", *METHODS))


def test_a_campaign_can_be_pinned_to_it(steady, server):
    campaign = server.opened()
    server.crowd(campaign, 6)
    pinned = server.client.patch(f"/api/campaigns/{campaign}", json={"method": "steady"}, headers=server.operator)
    assert (pinned.status_code, pinned.json()["method"]) == (200, "steady")
    server.recompute()
    results = server.results(campaign)
    assert results["method"] == "steady"
    assert results["results"][0]["truth"] is not None
    assert IN_WORDS in server.client.get(f"/c/{campaign}").text


def test_the_server_refuses_what_is_not_registered_and_names_what_is(server):
    campaign = server.create()
    answer = server.client.patch(f"/api/campaigns/{campaign}", json={"method": "steady"}, headers=server.operator)
    assert answer.status_code == 422
    assert all(name in answer.json()["detail"] for name in ("'steady'", *METHODS))


def test_a_campaign_whose_method_is_gone_can_still_be_seen_and_changed(server):
    campaign = server.opened()
    register(Steady)
    server.client.patch(f"/api/campaigns/{campaign}", json={"method": "steady"}, headers=server.operator)
    del METHODS[Steady.name]
    assert server.status(campaign)["method"] == "steady"
    changed = server.client.patch(f"/api/campaigns/{campaign}", json={"method": None}, headers=server.operator)
    assert changed.json()["method"] is None


def test_the_description_of_the_api_has_it(steady, server):
    schemas = server.client.get("/api/openapi.json").json()["components"]["schemas"]
    for name in ("Campaign", "CampaignChange", "CampaignDraft"):
        (choices,) = [one["enum"] for one in schemas[name]["properties"]["method"]["anyOf"] if "enum" in one]
        assert choices == [*METHODS]


def test_the_console_offers_it(steady, server):
    campaign = server.opened()
    sign_in(server)
    assert '<option value="steady">' in server.client.get(f"/campaigns/{campaign}").text


def test_the_analysts_corner_offers_all_methods_at_once_and_draws_each_in_its_own_way(steady, server, monkeypatch):
    monkeypatch.setattr(analysis, "MOST_SECONDS", PATIENCE)  # the first fits on a machine compile the kernels
    token = sign_in(server)
    page = server.client.get("/analyst").text
    offered = re.findall(r'name="method" value="([a-z-]+)"', page)
    assert offered == [name for name, method in METHODS.items() if not method.plain]
    choices = [name for name in offered if name in methods_for("number")]
    assert "steady" in choices
    assert IN_WORDS in page
    answer = server.client.post(
        "/analyst", data={"form_token": token, "method": choices}, files={"claims": ("c.csv", CLAIMS.encode())}
    )
    assert answer.status_code == 200, answer.text
    legend = re.search(r'<ul class="legend">(.*?)</ul>', answer.text, re.DOTALL)[1]
    keys = re.findall(r'<g class="(found-\d)"><path class="interval" [^>]+>(<[^>]+>)</g></svg>([a-z-]+)', legend)
    assert [name for *_, name in keys] == choices
    assert len({(colour, shape) for colour, shape, _ in keys}) == len(choices)


def test_the_lab_draws_it_in_its_own_style(steady):
    assert label_of("steady") == "steady hand"
    assert len({repr(style_of(name)) for name in METHODS}) == len(METHODS)
    assert iterative(Steady)
    assert fitted("steady", sv.Claims.from_matrix([[1.0], [2.0]]), sv.Gaussian(1.0)).noise == sv.Gaussian(1.0)


def test_the_reference_describes_it(steady, monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    import command_reference
    import method_reference

    described = method_reference.reference()
    assert method_reference.PLACEHOLDER in (DOCS / "reference/python.md").read_text()
    assert f"`steady`, for claims that are numbers. {IN_WORDS}" in described
    assert ".. autoclass:: steady_method.Steady\n" in described
    assert all(f".. autoclass:: sottovoce.{METHODS[name].__name__}\n" in described for name in [*METHODS][:-1])
    assert ", steady; all to compare them" in command_reference.reference()


def test_every_method_of_the_package_is_public():
    assert all(getattr(sv, method.__name__) is method for method in METHODS.values())
    assert DEFAULT in METHODS


def test_the_noise_law_goes_to_methods_that_have_a_use_for_it(steady):
    law = sv.FreshVariance(0.5)
    assert make_method("steady", noise=law, tol=0.1).get_params() == {"noise": law, "max_iter": 1000, "tol": 0.1}
    assert make_method("crh", noise=law).get_params() == sv.CRH().get_params()


def test_a_method_without_words_or_with_a_name_that_is_taken_is_refused():
    class Nameless(Steady):
        name = ""

    class Shouting(Steady):
        name = "Steady!"

    class Mean(Steady):
        name = "mean"

    for wrong, why in ((Nameless, "Nameless without name"), (Shouting, "lower-case letters"), (Mean, "already has it")):
        with pytest.raises(BadParameter, match=why):
            register(wrong)
    assert METHODS["mean"] is sv.Mean
    assert describe_method("mean") == "Plain mean: all count equally."
    assert describe_method("no longer there") == "no longer there"
