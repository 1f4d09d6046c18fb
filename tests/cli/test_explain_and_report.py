"""Why an object has its truth, one page with everything, and a fit in a notebook."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from tests.command import run

import sottovoce as sv
from sottovoce.discovery import discovered
from sottovoce.discovery.explanation import explain
from sottovoce.discovery.pictures import shortened
from sottovoce.errors import BadParameter
from sottovoce.lab.plots import discovery_figure


def crowd():
    """Nine users about six objects; the last three err much, and one of them is far off at o3."""
    rng = np.random.default_rng(1)
    values = 5 * np.arange(6) + rng.standard_normal((9, 6)) * np.where(np.arange(9) < 6, 0.2, 1.0)[:, None]
    values[8, 3] = 40.0
    users, objects = np.repeat([f"u{n}" for n in range(9)], 6), np.tile([f"o{n}" for n in range(6)], 9)
    return sv.Claims.from_arrays(users, objects, values.ravel())


@pytest.fixture
def file(tmp_path):
    crowd().write(tmp_path / "claims.csv")
    return tmp_path / "claims.csv"


@pytest.mark.parametrize("method", [sv.CRH(), sv.GTM(), sv.CATD(), sv.NoiseAware(), sv.Mean()])
def test_weights_of_an_explanation_are_those_of_the_fit_and_add_up(method):
    claims = crowd()
    found = explain(discovered(method, claims), claims, "o3")
    assert sum(claim.weight for claim in found.claims) == pytest.approx(1)
    assert [claim.user for claim in found.claims if claim.far_off] == ["u8"]
    shares = {claim.user: claim.weight for claim in found.claims}
    weights = dict(zip(method.users_, method.weights_, strict=True))
    for user, share in shares.items():
        assert share == pytest.approx(weights[user] / sum(weights.values()))
    if isinstance(method, sv.CRH | sv.CATD):  # whose truths are weighted means
        assert sum(claim.weight * claim.value for claim in found.claims) == pytest.approx(found.truth, rel=1e-5)


def test_an_explanation_says_who_moved_the_truth():
    claims = crowd()
    found = explain(discovered(sv.CATD(), claims), claims, "o3")
    assert re.match(
        r"The truth is \S+ below the mean, because users differ in weight: user u8, who claims 40, counts 0%",
        found.why,
    )
    assert "practically the plain mean" in explain(discovered(sv.Mean(), claims), claims, "o3").why


def test_choices_are_explained_by_votes_and_weights():
    users, objects = np.repeat(list("abcde"), 8), np.tile([f"q{n}" for n in range(8)], 5)
    answers = np.array([["yes"] * 8, ["yes"] * 8, ["yes"] + ["no"] * 7, ["no"] * 4 + ["yes"] * 4, ["yes"] * 7 + ["no"]])
    claims = sv.Claims.from_arrays(users, objects, answers.ravel())
    found = explain(discovered(sv.CRH(), claims), claims, "q1")
    assert found.truth == "yes"
    assert {claim.user for claim in found.claims if claim.far_off} == {"c", "d"}
    assert "yes has 3 of 5 votes" in found.why


def test_sets_of_options_are_explained_claim_by_claim():
    answers = [["dry", "wet"], ["dry", "mud"], ["wet", "dry"], ["wet", "mud"], ["wet", "mud"], ["dry", "mud"]]
    claims = sv.Claims.from_arrays(list("abcabc"), ["path"] * 3 + ["road"] * 3, answers)
    found = explain(discovered(sv.NoiseAware(), claims), claims, "road")
    assert found.truth == "mud"
    assert {claim.user: claim.value for claim in found.claims} == {"a": "mud, wet", "b": "mud, wet", "c": "dry, mud"}
    assert sum(claim.weight for claim in found.claims) == pytest.approx(1)
    assert found.why == "mud has 3 of 3 votes and 100% of the weight."


def test_a_tie_is_not_called_a_majority():
    claims = sv.Claims.from_arrays(list("abbcac"), list("xxyyyx"), ["dry", "wet", "dry", "wet", "dry", "mud"])
    found = explain(discovered(sv.NoiseAware(), claims), claims, "x")
    assert found.truth == "wet"
    assert "dry has 1 of 3 votes and wet 1, but those who chose wet agree" in found.why


def test_the_command_explains_and_refuses_unknown_objects(file):
    ran = run("explain", file, "o3")
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"u8 .* far off", ran.stdout)
    assert "below the mean" in ran.stdout
    found = json.loads(run("explain", file, "o3", "--json").stdout)
    assert len(found["claims"]) == 9
    ran = run("explain", file, "O9")
    assert ran.returncode == 2
    assert "object 'O9': it has no claims; there are claims about 'o0'" in ran.stderr


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.links = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("src", "href")]


def test_a_report_is_self_contained_and_complete(tmp_path):
    claims = tmp_path / "claims.csv"
    crowd().write(claims)
    with claims.open("a") as file:
        file.write('"<script>alert(1)</script>",o1,5.0\nu1,<b>,much\n')
    (tmp_path / "truth.csv").write_text("object,value\no1,5\no2,10\n")
    page = tmp_path / "report.html"
    ran = run("discover", claims, "--skip-bad", "--truth", tmp_path / "truth.csv", "--report", page)
    assert ran.returncode == 0, ran.stderr
    text = page.read_text()
    outline = Page(text)
    assert "script" not in outline.tags
    assert all(link.startswith("data:image/png;base64,") for link in outline.links)
    for words in ("Truths", "Warnings", "All methods", "Whose claims counted", "Rows left out", "How this was made",
                  "known truth", "within 95%", "value &#x27;much&#x27;", "lfcn", "--skip-bad"):  # fmt: skip
        assert words in text
    assert run("discover", claims, "--report", tmp_path / "report.txt").returncode == 2


def test_a_report_about_choices_shows_chances(tmp_path):
    claims = tmp_path / "claims.csv"
    claims.write_text("user,object,value\na,x,yes\nb,x,yes\nc,x,no\na,y,no\nb,y,no\nc,y,no\n")
    ran = run("discover", claims, "--method", "crh", "--report", tmp_path / "report.html", "--plot", tmp_path / "p.svg")
    assert ran.returncode == 0, ran.stderr
    assert "majority" in (tmp_path / "report.html").read_text()


def test_a_fit_shows_itself_in_a_notebook():
    fit = sv.CRH().fit(sv.Claims.from_arrays(["a", "b"], ["<i>", "<i>"], [1.0, 2.0]))
    assert "&lt;i&gt;" in fit._repr_html_()
    assert sv.CRH()._repr_html_() is None
    figure = fit.plot()
    assert len(figure.axes) == 2


def test_short_labels_stay_different():
    long = "a very long name of a hallway, segment"
    labels = [f"{long} {n}" for n in range(30)] + [f"{long} {n}{long}" for n in range(5)]
    short = shortened(labels)
    assert len(set(short)) == len(labels)
    assert max(map(len, short)) <= 24


def test_one_method_is_explained_at_a_time(file):
    claims = crowd()
    result = discovered(sv.Mean(), claims)
    with pytest.raises(BadParameter, match="no claims"):
        explain(result, claims, "nowhere")
    assert run("explain", file, "o3", "--method", "all").returncode == 2


@pytest.mark.slow
def test_one_claim_is_one_claim_and_figures_have_the_same_digits(tmp_path):
    sv.Claims.from_arrays(["u"], ["hall"], [3.0]).write(tmp_path / "claims.csv")
    ran = run("discover", tmp_path / "claims.csv", "--method", "mean", "--report", tmp_path / "one.html")
    assert ran.returncode == 0, ran.stderr
    words = " ".join((tmp_path / "one.html").read_text().split())
    assert "1 claim by 1 user about 1 object." in words
    assert "after 1 iteration;" in words
    crowd().write(tmp_path / "claims.csv")
    (tmp_path / "truth.csv").write_text("object,value\no1,5.123456789\n")
    run("discover", tmp_path / "claims.csv", "--truth", tmp_path / "truth.csv", "--report", tmp_path / "all.html")
    page = (tmp_path / "all.html").read_text()
    (row,) = re.findall(r"<tr><td>o1</td>.*?</tr>", page)
    figures = re.findall(r'<td class="figure">([^<]*)</td>', row)
    assert len(figures[0].partition(".")[2]) == len(figures[-1].partition(".")[2]) > 0
    assert "5.123456789".startswith(figures[-1][:3])


def test_users_are_counted_in_whole_numbers_and_known_truths_hide_nothing():
    result = discovered(sv.Mean(), sv.worlds.synthetic(3, 1000, seed=1).claims)
    left, right = discovery_figure(result, (np.arange(1000), result.fit.truths_.tolist())).axes
    assert all(float(tick).is_integer() for tick in right.get_yticks())
    layers = {line.get_label(): line.get_zorder() for line in left.lines}
    assert layers["known truth"] < layers["truth"]
