"""``sottovoce discover`` on choices."""

import json

import pytest

from command import rows_of, run

ANSWERS = {"ann": "yes yes no no", "bob": "yes yes no yes", "cy": "yes no no no", "eve": "no no yes yes"}


def run_command(*arguments, status=0):
    ran = run(*map(str, arguments))
    assert ran.returncode == status, ran.stderr
    return ran


@pytest.fixture
def claims(tmp_path):
    path = tmp_path / "claims.csv"
    rows = [f"{user},t{n},{answer}" for user, said in ANSWERS.items() for n, answer in enumerate(said.split())]
    path.write_text("user,object,value\n" + "\n".join(rows) + "\n")
    return path


def test_json_has_chances_and_the_majority_beside_the_truth(claims, tmp_path):
    (tmp_path / "truth.csv").write_text("object,value\nt0,yes\nt1,yes\nt2,no\nt3,yes\n")
    ran = run_command("discover", claims, "--json", "--truth", tmp_path / "truth.csv")
    found = json.loads(ran.stdout)
    assert found["method"] == "noise-aware"
    first = found["truths"]["t0"]
    assert (first["truth"], first["majority"], first["runner_up"], first["claims"]) == ("yes", "yes", "no", 4)
    assert sum(first["chances"].values()) == pytest.approx(1)
    assert first["chance"] == pytest.approx(first["chances"]["yes"])
    assert set(found["scores"]) == {"accuracy", "objects", "majority"}
    assert found["scores"]["majority"]["accuracy"] == pytest.approx((1 + 0.5 + 1 + 0.5) / 4)


def test_files_pictures_and_tables_are_written(claims, tmp_path):
    names = "truths.csv", "weights.csv", "picture.png"
    out, weights, plot = (tmp_path / name for name in names)
    ran = run_command("discover", claims, "--out", out, "--weights", weights, "--plot", plot)
    assert "runner-up" in ran.stdout
    assert "majority" in ran.stdout
    rows = rows_of(out)
    assert [row["object"] for row in rows] == ["t0", "t1", "t2", "t3"]
    assert json.loads(rows[0]["chances"]).keys() == {"no", "yes"}
    assert plot.stat().st_size > 1000
    assert len(rows_of(weights)) == 4


def test_a_pack_gives_the_same_on_disk(claims, tmp_path):
    run_command("claims", "pack", claims, tmp_path / "pack")
    here, there = (
        json.loads(run_command("discover", *where, "--method", "crh", "--json").stdout)["truths"]
        for where in ((claims,), (tmp_path / "pack", "--engine", "disk"))
    )
    assert here == there


def test_numbers_are_choices_on_request(tmp_path):
    path = tmp_path / "claims.csv"
    path.write_text("user,object,value\na,x,0\nb,x,1\nc,x,1\n")
    found = json.loads(run_command("discover", path, "--kind", "choice", "--json").stdout)
    assert found["truths"]["x"]["truth"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "gtm"), "it works with numbers, but these claims are choices"),
        (("--noise", "response:1"), "it needs the number of options that devices could choose from"),
        (("--choices", "1"), "at least 2"),
        (("--kind", "number"), "value 'yes': a value must be a finite number"),
    ],
)
def test_mistakes_are_refused_with_the_rule_and_the_fix(claims, arguments, message, tmp_path):
    ran = run_command("discover", claims, *arguments, "--out", tmp_path / "out.csv", status=2)
    assert message in " ".join(ran.stderr.split())
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("method", ["noise-aware", "crh", "dawid-skene"])
def test_known_answers_are_kept(claims, tmp_path, method):
    (tmp_path / "known.csv").write_text("object,value\nt2,yes\n")
    options = "--known", tmp_path / "known.csv", "--method", method, "--json"
    found = json.loads(run_command("discover", claims, *options).stdout)
    assert (found["truths"]["t2"]["truth"], found["truths"]["t2"]["majority"]) == ("yes", "no")
    assert found["truths"]["t2"]["chance"] == 1


@pytest.mark.parametrize("method", ["DawidSkene", "CRH"])
def test_methods_go_by_the_names_that_tables_and_messages_show(claims, method):
    found = json.loads(run_command("discover", claims, "--method", method, "--json").stdout)
    assert found["method"] == {"DawidSkene": "dawid-skene", "CRH": "crh"}[method]


def test_truths_that_were_written_are_read_as_known_ones(claims, tmp_path):
    run_command("discover", claims, "--out", tmp_path / "truths.csv")
    found = json.loads(run_command("discover", claims, "--truth", tmp_path / "truths.csv", "--json").stdout)
    assert found["scores"]["accuracy"] == 1
    (tmp_path / "other.csv").write_text("object,answer\nt2,yes\n")
    ran = run_command("discover", claims, "--truth", tmp_path / "other.csv", status=2)
    assert "there is no column 'value' among 'object', 'answer'" in " ".join(ran.stderr.split())


def test_answers_that_differ_only_in_spaces_and_case_are_pointed_out(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("user,object,value\na,x,Yes\nb,x,yes\nc,x,no\na,y,no\nb,y,no\nc,y,y es\n")
    (warning,) = [
        one
        for one in json.loads(run_command("discover", path, "--json").stdout)["warnings"]
        if one["code"] == "spelt_alike"
    ]
    assert "'Yes' and 'yes'. Spell them alike" in warning["text"]
    assert "differ only in spaces and case" in " ".join(run_command("discover", path).stderr.split())
