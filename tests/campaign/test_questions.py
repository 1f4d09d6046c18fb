"""Questions from a table of tasks to the results, with real devices and from the command line alone."""

from command import rows_of
from patience import until
from sottovoce.lab.crowd import send_all

TASKS = "id,title,choices\npath,Is the path passable?,yes | no\nbird,Which bird is it?,finch | robin | wren | tit\n"


def test_from_a_table_of_questions_to_the_results(campaigns, tmp_path):
    path = tmp_path / "tasks.csv"
    path.write_text(TASKS)
    made = campaigns("create", path, "--title", "Paths in the park", "--noise", "response:3")
    assert [task["kind"] for task in made["tasks"]] == ["choice", "choice"]
    opened = campaigns("open", made["id"])
    assert opened["guarantee"]["epsilon"] == 3
    links = tmp_path / "invitations.csv"
    campaigns("invite", made["id"], "--count", 8, "--out", links)
    sent = send_all([{"path": "Yes", "bird": "robin"}] * 8, [row["link"] for row in rows_of(links)])
    assert (sent.reports, sent.refused) == (8, {})
    until(lambda: campaigns("results", made["id"])["reports"] >= 8, "results")
    first, second = campaigns("results", made["id"])["results"]
    assert first["chances"].keys() == {"yes", "no"}
    assert first["claims"] == second["claims"] == 8
    shown = campaigns.run("campaign", "results", made["id"]).stdout
    assert "majority" in shown
    assert "response:3" in campaigns.run("campaign", "status", made["id"]).stdout


def test_choices_that_cannot_be_used_are_refused_at_the_command(campaigns, tmp_path):
    path = tmp_path / "tasks.csv"
    path.write_text("id,choices\npath,yes | Yes\n")
    assert "more than spaces, case and" in campaigns.refused("create", path, "--title", "P", "--noise", "response:1")
    path.write_text("id,choices,low,high,grid\npath,yes | no,0,1,1\n")
    assert "a question with choices has no lowest value" in campaigns.refused(
        "create", path, "--title", "P", "--noise", "response:1"
    )


def test_numbers_and_questions_have_a_law_each(campaigns, tmp_path):
    path = tmp_path / "tasks.csv"
    path.write_text("id,choices,low,high,grid\npath,yes | no,,,\nwidth,,0,10,0.1\n")
    common = ("create", path, "--title", "Paths", "--distance", "1")
    made = campaigns(*common, "--noise", "response:2", "--noise", "fresh:0.5")
    assert made["noise"] == {"number": "fresh:0.5", "choice": "response:2.0"}
    assert "one that adds noise to numbers and one for choices" in campaigns.refused(
        *common, "--noise", "fresh:0.5", "--noise", "fresh:1"
    )


def test_numbers_under_a_law_for_answers_are_compared(campaigns, tmp_path):
    path = tmp_path / "tasks.csv"
    path.write_text("id,low,high,grid\nhall,0,50,0.01\nstairs,0,50,0.01\n")
    common = ("create", path, "--title", "Any value")
    assert campaigns(*common, "--noise", "response:1")["levels"] == 2
    assert campaigns(*common, "--noise", "response:3")["levels"] == 4
    assert campaigns(*common, "--noise", "response:1", "--levels", "4")["levels"] == 4
    assert "levels" in campaigns.refused(*common, "--noise", "response:1", "--levels", "3")
    assert "distance" in campaigns.refused(*common, "--noise", "fresh:0.5")


def test_a_campaign_that_only_compares_has_no_method(campaigns, tmp_path):
    path = tmp_path / "tasks.csv"
    path.write_text("id,low,high,grid,choices\nhall,0,50,0.01,\n")
    compared = campaigns("create", path, "--title", "Any value", "--noise", "response:1")["id"]
    path.write_text("id,low,high,grid,choices\nhall,0,50,0.01,\nopen,,,,yes | no\n")
    mixed = campaigns("create", path, "--title", "Any value, and a question", "--noise", "response:1")["id"]
    for campaign, method in ((compared, "comparisons"), (mixed, "noise-aware")):
        campaigns("open", campaign)
        results = campaigns.run("campaign", "results", campaign).stdout
        status = campaigns.run("campaign", "status", campaign).stdout
        assert ("method noise-aware" in results, f"method        {method}" in status) == (campaign == mixed, True)


def test_a_draft_has_no_invitations_and_the_operator_reads_what_to_do(campaigns, tmp_path):
    path = tmp_path / "tasks.csv"
    path.write_text(TASKS)
    draft = campaigns("create", path, "--title", "P", "--noise", "response:1")["id"]
    assert "it is a draft, and only open ones get new invitations; its operator can open a draft" in campaigns.refused(
        "invite", draft
    )
    assert draft in campaigns.run("campaign", "list").stdout  # whole, so that it can be copied
